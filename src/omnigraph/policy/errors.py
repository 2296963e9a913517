"""Errors of policies: a file that is not valid, a request that is denied, an evaluation that failed."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.model.errors import BadRequest, Denied, Internal


@dataclass(eq=False)
class InvalidPolicy(BadRequest):
    """A policy file, or a file of policy tests, that cannot be used. The place names the rule or the member."""

    file: str
    place: str
    reason: str

    def sentence(self) -> str:
        where = f"{self.file}: {self.place}" if self.place else self.file
        return f"{where}: {self.reason}"


@dataclass(eq=False)
class PolicyDenied(Denied):
    """The policy does not allow this request."""

    action: str
    actor: str | None
    reason: str
    branch: str | None = None
    target_branch: str | None = None
    rule: str | None = None
    """The rule that forbids it; none if no rule allows it."""

    def sentence(self) -> str:
        return self.reason

    @property
    def hint(self) -> str | None:
        if self.actor is None:
            return "open the graph with an actor: a policy decides by who asks"
        return "`omnigraph policy explain` shows how the policy decides"


@dataclass(eq=False)
class PolicyEvaluationFailed(Internal):
    """The policy engine gave no decision. The request was refused."""

    action: str
    reason: str

    def sentence(self) -> str:
        return f"policy: the action '{self.action}' could not be decided: {self.reason}"
