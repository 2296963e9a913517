"""Actions: what a policy can allow, on which kind of resource, and by which branch it can be narrowed."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

ScopeKey = Literal["branch", "target_branch"]
ResourceKind = Literal["graph", "server"]
ActionName = Literal[
    "read",
    "export",
    "change",
    "schema_apply",
    "branch_create",
    "branch_delete",
    "branch_merge",
    "admin",
    "invoke_query",
    "graph_list",
]
"""The words by themselves: what asks only sometimes does without importing the rest."""


class Action(StrEnum):
    """One kind of request. The words are those of policy files; the command line writes `-` for `_`."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    ADMIN = "admin"
    INVOKE_QUERY = "invoke_query"
    GRAPH_LIST = "graph_list"

    @property
    def resource_kind(self) -> ResourceKind:
        """What the action is done to: one graph, or the server that has them all."""
        return "server" if self is Action.GRAPH_LIST else "graph"

    @property
    def scope_key(self) -> ScopeKey | None:
        """Which branch of a request a rule may narrow the action by."""
        return SCOPE_KEYS.get(self)


SCOPE_KEYS: dict[Action, ScopeKey] = {
    Action.READ: "branch",
    Action.EXPORT: "branch",
    Action.CHANGE: "branch",
    Action.SCHEMA_APPLY: "target_branch",
    Action.BRANCH_CREATE: "target_branch",
    Action.BRANCH_DELETE: "target_branch",
    Action.BRANCH_MERGE: "target_branch",
}
