"""Bodies: what callers send. Members that are not known are ignored, except where a struct forbids them."""

from __future__ import annotations

from typing import Any

import msgspec

from omnigraph.server.wire.shapes import ChangeOpOutput, EntityKindOutput, LoadMode


class QueryRequest(msgspec.Struct, kw_only=True):
    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None


class ReadRequest(msgspec.Struct, kw_only=True):
    query_source: str
    query_name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None


class ChangeRequest(msgspec.Struct, kw_only=True):
    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None
    message: str | None = None
    """Is kept with the commit."""


class InvokeStoredQueryRequest(msgspec.Struct, kw_only=True):
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None
    expect_mutation: bool | None = None


class SchemaApplyRequest(msgspec.Struct, kw_only=True):
    schema_source: str
    allow_data_loss: bool = False


class IngestRequest(msgspec.Struct, kw_only=True):
    branch: str | None = None
    from_: str | None = msgspec.field(default=None, name="from")
    mode: LoadMode | None = None
    data: str
    message: str | None = None


class ExportRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    branch: str | None = None
    type_names: list[str] = []


class BranchCreateRequest(msgspec.Struct, kw_only=True):
    from_: str | None = msgspec.field(default=None, name="from")
    name: str


class BranchMergeRequest(msgspec.Struct, kw_only=True):
    source: str
    target: str | None = None
    delete_branch: bool = False
    message: str | None = None
    dry_run: bool = False
    on_conflict: Any = None
    """`ours`, `theirs`, or one of them for each kind of conflict."""
    resolve: Any = None
    """A list of decisions about single entities."""
    merge_edges: Any = None
    """`keep`, `converge`, or one of them for each edge type."""


class ChangeBaselineRequest(msgspec.Struct, kw_only=True):
    branch: str | None = None
    kind: list[EntityKindOutput] = []
    type: list[str] = []
    op: list[ChangeOpOutput] = []


class ExplainRequest(msgspec.Struct, kw_only=True):
    query: str
    name: str | None = None
    params: Any = None
    branch: str | None = None
    snapshot: str | None = None
    analyze: bool = False


class RestoreRequest(msgspec.Struct, kw_only=True):
    to: str
    branch: str | None = None
    message: str | None = None
    dry_run: bool = False


class RevertRequest(msgspec.Struct, kw_only=True):
    what: str
    branch: str | None = None
    mainline: int | None = None
    on_conflict: Any = None
    resolve: Any = None
    message: str | None = None
    dry_run: bool = False


class TagRequest(msgspec.Struct, kw_only=True):
    name: str
    commit: str | None = None
    """A commit id, a branch, another tag or a time; by default the head of main."""
    force: bool = False
