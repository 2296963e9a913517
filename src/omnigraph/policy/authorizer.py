"""Authorizer: the question that the gate asks, and the decision that it gets."""

from __future__ import annotations

import os
from typing import Protocol

from omnigraph.model.late_dataclass import dataclass
from omnigraph.policy.actions import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """What is asked for. Who asks is told apart from it, so that no request can carry an identity."""

    action: Action
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None
    """The stored query, for `invoke_query`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a request is allowed, by which rule, and that in one sentence."""

    allowed: bool
    rule: str | None
    message: str


class Authorizer(Protocol):
    """Decides requests. Raises PolicyEvaluationFailed if it cannot: that is never a permission."""

    def authorize(self, actor: str, request: PolicyRequest) -> Decision: ...


Policy = Authorizer | str | os.PathLike[str]
"""What a graph is opened with: an object that decides, or the path of a policy file."""


class ReadOnlyAuthorizer:
    """What holds where callers are known but no policy was given: everyone may read, nobody may do more."""

    def authorize(self, actor: str, request: PolicyRequest) -> Decision:
        if request.action is Action.READ:
            return Decision(allowed=True, rule=None, message=allowed_message(actor, request))
        message = f"{denied_message(actor, request)}: no policy is configured, so the server is in default-deny mode"
        return Decision(allowed=False, rule=None, message=message)


def allowed_message(actor: str, request: PolicyRequest) -> str:
    return f"policy allowed action '{request.action}' for actor '{actor}'"


def denied_message(actor: str, request: PolicyRequest) -> str:
    on_branch = "" if request.branch is None else f" on branch '{request.branch}'"
    target = "" if request.target_branch is None else f" targeting branch '{request.target_branch}'"
    return f"policy denied action '{request.action}'{on_branch}{target} for actor '{actor}'"


def unknown_actor_message(actor: str, request: PolicyRequest) -> str:
    return f"policy denied action '{request.action}' for unknown actor '{actor}'"
