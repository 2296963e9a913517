"""Change answers: what the change routes send, and the answers of the routes about history and upkeep."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.server.wire.shapes import I64, ChangeOpOutput, EntityKindOutput, Uint


class ChangeTypeOutput(msgspec.Struct, kw_only=True):
    id: str
    name: str


class ChangeEndpointsOutput(msgspec.Struct, kw_only=True):
    from_: str = msgspec.field(name="from")
    to: str


class ChangeImageOutput(msgspec.Struct, kw_only=True):
    properties: Any
    endpoints: ChangeEndpointsOutput | UnsetType | None = UNSET


class EntityChangeOutput(msgspec.Struct, kw_only=True):
    kind: EntityKindOutput
    type: ChangeTypeOutput
    id: str
    op: ChangeOpOutput
    before: ChangeImageOutput | UnsetType | None = UNSET
    after: ChangeImageOutput | UnsetType | None = UNSET


class ChangeCauseOutput(msgspec.Struct, kw_only=True):
    graph_commit_id: str
    parent_commit_id: str | UnsetType | None = UNSET
    merged_parent_commit_id: str | UnsetType | None = UNSET
    authored_branch: str
    actor_id: str | UnsetType | None = UNSET
    authored_at: I64


class CommitChangesOutput(msgspec.Struct, kw_only=True):
    cause: ChangeCauseOutput
    changes: list[EntityChangeOutput]
    next_page_token: str | UnsetType | None = UNSET


class ChangeBlockOutput(msgspec.Struct, kw_only=True):
    cause: ChangeCauseOutput
    changes: list[EntityChangeOutput]


class ChangeFeedOutput(msgspec.Struct, kw_only=True):
    blocks: list[ChangeBlockOutput]
    next_page_token: str | UnsetType | None = UNSET
    cursor: str | UnsetType | None = UNSET
    caught_up: bool | UnsetType | None = UNSET


class ChangeBaselineOutput(msgspec.Struct, kw_only=True):
    snapshot_commit_id: str
    resume_cursor: str


class ChangeBaselineRecord(msgspec.Struct, kw_only=True):
    baseline: ChangeBaselineOutput


class LogOutput(msgspec.Struct, kw_only=True):
    commits: list[Any]


class DiffOutput(msgspec.Struct, kw_only=True):
    from_: Any = msgspec.field(name="from")
    to: Any
    changes: list[Any]
    stats: Any
    truncated: bool | UnsetType = UNSET
    """True when there are more changes than `limit`; the statistics count all of them."""


class IndexesOutput(msgspec.Struct, kw_only=True):
    indexes: list[Any]


class ExplainOutput(msgspec.Struct, kw_only=True):
    text: str
    plan: Any


class TagOutput(msgspec.Struct, kw_only=True):
    name: str
    commit_id: str
    created_at: str | UnsetType = UNSET
    actor_id: str | UnsetType = UNSET


class TagListOutput(msgspec.Struct, kw_only=True):
    tags: list[TagOutput]


class RecoveryOutput(msgspec.Struct, kw_only=True):
    pending: list[Any]
    resolved: list[Any]


class DecisionOutput(msgspec.Struct, kw_only=True):
    number: Uint
    at: I64
    actor_id: str | None
    action: str
    graph_id: str | None
    branch: str | None
    target_branch: str | None
    allowed: bool
    rule: str | None
    request_id: str
    graph_commit_id: str | None = None


class DecisionListOutput(msgspec.Struct, kw_only=True):
    decisions: list[DecisionOutput]
    next_cursor: Uint
    """Pass it as `after` to go on from here."""


class OperationOutput(msgspec.Struct, kw_only=True):
    operation_id: str
    state: str
    """`running`, `succeeded` or `failed`."""
    status: Uint | UnsetType = UNSET
    result: Any | UnsetType = UNSET
