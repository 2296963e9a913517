"""The gate: what every method of `Graph` asks before it acts. Without a policy everything is allowed.

A method names the action and the branches that it is about, after their names were brought into their one form. Methods
of `Graph` that only call other methods of `Graph` ask nothing themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.policy import ActionName, Authorizer, Decision, Policy, PolicyRequest

    DecisionListener = Callable[[str, PolicyRequest, Decision], None]
    """Hears of every decision: who asked, what, and the answer."""

SOME_BRANCH = "some/branch"
"""A branch that no policy names."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Who asks, and what decides."""

    actor: str | None = None
    authorizer: Authorizer | None = None
    listener: DecisionListener | None = None

    def require(
        self,
        action: ActionName,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> None:
        """Lets an allowed request pass. Raises PolicyDenied for another, and PolicyEvaluationFailed."""
        decision = self.decide(action, branch=branch, target_branch=target_branch, query=query)
        if decision is not None and not decision.allowed:
            from omnigraph.policy import PolicyDenied

            raise PolicyDenied(
                action=action,
                actor=self.actor,
                reason=decision.message,
                branch=branch,
                target_branch=target_branch,
                rule=decision.rule,
            )

    def decide(
        self,
        action: ActionName,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> Decision | None:
        """What the policy says to a request; None where there is no policy."""
        if self.authorizer is None:
            return None
        from omnigraph.policy import Action, Decision, PolicyRequest

        request = PolicyRequest(action=Action(action), branch=branch, target_branch=target_branch, query=query)
        if self.actor is None:
            return Decision(allowed=False, rule=None, message=f"policy denied action '{action}': no actor is known")
        decision = self.authorizer.authorize(self.actor, request)
        if self.listener is not None:
            self.listener(self.actor, request, decision)
        return decision

    def may_list_names(self) -> bool:
        """Whether a hint may name branches and tags. Nobody has asked for a list, so no listener hears of it."""
        decision = Gate(self.actor, self.authorizer).decide("read")
        return decision is None or decision.allowed

    def samples(self, action: ActionName) -> list[tuple[str | None, str | None]]:
        """The branch and the target branch of a question, for each kind of branch that the policy tells apart."""
        if self.authorizer is None:
            return [(None, None)]
        from omnigraph.policy import Action, CedarPolicy

        named = self.authorizer.branch_examples if isinstance(self.authorizer, CedarPolicy) else ()
        match Action(action).scope_key:
            case "branch":
                return [(name, None) for name in (MAIN, SOME_BRANCH, *named)]
            case "target_branch":
                return [(MAIN, name) for name in (MAIN, SOME_BRANCH, *named)]
            case _:
                return [(None, None)]


def authorizer_of(policy: Policy | None, uri: str) -> Authorizer | None:
    """What decides: the object itself, or a policy file, compiled for the graph at this address."""
    if policy is None or not isinstance(policy, str | os.PathLike):
        return policy
    from omnigraph.policy import compile_policy, read_bundle

    return compile_policy(read_bundle(policy), PurePath(uri.rstrip("/")).stem, file=os.fspath(policy))
