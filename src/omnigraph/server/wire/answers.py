"""Answers: what the server sends when a request succeeds, member by member in the order of the contract.

A member that may be UNSET is left out when it has no value; every other one is always there, as null if need be.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.server.wire.shapes import I64, U32, U64, BranchMergeOutcome, EntityKindOutput, LoadMode, ParamKind, Uint


class HealthOutput(msgspec.Struct, kw_only=True):
    status: str
    version: str
    internal_schema_version: U32
    source_version: str | UnsetType | None = UNSET


class ReadyGraph(msgspec.Struct, kw_only=True):
    graph_id: str
    state: str


class ReadinessOutput(msgspec.Struct, kw_only=True):
    status: str
    graphs: list[ReadyGraph] | UnsetType = UNSET
    """Only for callers with a token."""


class GraphInfo(msgspec.Struct, kw_only=True):
    graph_id: str
    uri: str


class GraphListResponse(msgspec.Struct, kw_only=True):
    graphs: list[GraphInfo]


class SnapshotDatasetOutput(msgspec.Struct, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    dataset_path: str
    published_dataset_version: U64
    native_dataset_branch: str | None = None
    entity_count: U64


class SnapshotOutput(msgspec.Struct, kw_only=True):
    graph_branch: str
    graph_manifest_version: U64
    internal_schema_version: U32
    datasets: list[SnapshotDatasetOutput]


class BranchListOutput(msgspec.Struct, kw_only=True):
    branches: list[str]
    details: list[Any] | UnsetType = UNSET
    """Heads, ages, and how far each branch is ahead of and behind main; with `details=true`."""
    next_cursor: str | UnsetType = UNSET


class BranchCreateOutput(msgspec.Struct, kw_only=True):
    uri: str
    from_: str = msgspec.field(name="from")
    name: str
    actor_id: str | None = None


class BranchDeleteOutput(msgspec.Struct, kw_only=True):
    uri: str
    name: str
    actor_id: str | None = None


class CommitOutput(msgspec.Struct, kw_only=True):
    graph_commit_id: str
    graph_branch: str | None = None
    graph_manifest_version: U64
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    actor_id: str | None = None
    created_at: I64


class CommitListOutput(msgspec.Struct, kw_only=True):
    commits: list[CommitOutput]
    next_cursor: str | UnsetType = UNSET


class BranchMergeOutput(msgspec.Struct, kw_only=True):
    source: str
    target: str
    outcome: BranchMergeOutcome
    actor_id: str | None = None
    branch_deleted: bool | UnsetType | None = UNSET
    branch_delete_error: str | UnsetType | None = UNSET
    commit: str | UnsetType | None = UNSET
    """The id of the merge commit."""
    stats: Any | UnsetType = UNSET
    conflicts: list[Any] | UnsetType = UNSET
    """What a dry run found."""
    conflicts_total: Uint | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


class ReadTargetOutput(msgspec.Struct, kw_only=True):
    branch: str | None = None
    snapshot: str | None = None


class LegacyReadOutput(msgspec.Struct, kw_only=True):
    query_name: str
    target: ReadTargetOutput
    row_count: Uint
    columns: list[str] | UnsetType = UNSET
    rows: Any


class ReadOutput(msgspec.Struct, kw_only=True):
    query_name: str
    target: ReadTargetOutput
    row_count: Uint
    columns: list[str] | UnsetType = UNSET
    rows: Any
    graph_commit_id: str | UnsetType | None = UNSET


class ChangeOutput(msgspec.Struct, kw_only=True):
    branch: str
    query_name: str
    affected_nodes: Uint
    affected_edges: Uint
    actor_id: str | None = None
    commit: CommitOutput | None = None
    replayed: bool | UnsetType = UNSET
    """True when an earlier request with the same idempotency key had done it."""


class ParamDescriptor(msgspec.Struct, kw_only=True):
    name: str
    kind: ParamKind
    item_kind: ParamKind | UnsetType | None = UNSET
    vector_dim: U32 | UnsetType | None = UNSET
    nullable: bool
    type: str | UnsetType = UNSET
    """As the query declares it."""


class QueryCatalogEntry(msgspec.Struct, kw_only=True):
    name: str
    tool_name: str
    description: str | UnsetType | None = UNSET
    instruction: str | UnsetType | None = UNSET
    mutation: bool
    params: list[ParamDescriptor]


class QueriesCatalogOutput(msgspec.Struct, kw_only=True):
    queries: list[QueryCatalogEntry]


class SchemaOutput(msgspec.Struct, kw_only=True):
    schema_source: str


class SchemaApplyOutput(msgspec.Struct, kw_only=True):
    uri: str
    supported: bool
    applied: bool
    step_count: Uint
    graph_manifest_version: U64
    steps: list[Any]
    commit: str | UnsetType | None = UNSET
    """The id of the commit that changed it."""
    text_stored: bool | UnsetType = UNSET
    tables: list[Any] | UnsetType = UNSET
    notes: list[Any] | UnsetType = UNSET
    """What to do afterwards: `code`, `message`, `hint`."""


class GraphBatchDeclarationOutput(msgspec.Struct, kw_only=True):
    name: str
    entities_loaded: Uint


class GraphBatchLoadOutput(msgspec.Struct, kw_only=True):
    branch: str
    base_branch: str | None = None
    branch_created: bool
    mode: LoadMode
    nodes: list[GraphBatchDeclarationOutput]
    edges: list[GraphBatchDeclarationOutput]
    total_entities: Uint
    actor_id: str | None = None
    commit: CommitOutput | None = None
    replayed: bool | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    """What failed after the commit; the load is done."""


class IngestOutput(msgspec.Struct, kw_only=True):
    uri: str
    branch: str
    base_branch: str | None = None
    branch_created: bool
    mode: LoadMode
    nodes: list[GraphBatchDeclarationOutput]
    edges: list[GraphBatchDeclarationOutput]
    total_entities: Uint
    actor_id: str | None = None
    commit: CommitOutput | None = None
    replayed: bool | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
