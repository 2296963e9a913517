"""Error answers: the one envelope of every failure, with at most one detail that says what to do about it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph.server.wire.shapes import (
    U64,
    ChangeDiffRefusalReason,
    EntityKindOutput,
    ErrorCode,
    MergeConflictKindOutput,
    Uint,
)


class MergeConflictOutput(msgspec.Struct, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | None = None
    kind: MergeConflictKindOutput
    message: str
    base: Any | UnsetType = UNSET
    source: Any | UnsetType = UNSET
    target: Any | UnsetType = UNSET


class PublishedDatasetVersionConflictOutput(msgspec.Struct, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    expected_published_dataset_version: U64
    actual_published_dataset_version: U64


class ReadSetConflictOutput(msgspec.Struct, kw_only=True):
    member: str
    expected: str | None = None
    actual: str | None = None


class KeyConflictOutput(msgspec.Struct, kw_only=True):
    entity_kind: EntityKindOutput
    type_name: str
    entity_id: str | UnsetType | None = UNSET


class ResourceLimitOutput(msgspec.Struct, kw_only=True):
    resource: str
    limit: U64
    actual: U64


class BlobRangeOutput(msgspec.Struct, kw_only=True):
    start: U64
    end: U64
    length: U64


class ExternalBlobSourceOutput(msgspec.Struct, kw_only=True):
    uri: str
    reason: str


class RecoveryRequiredOutput(msgspec.Struct, kw_only=True):
    operation_id: str


class PreconditionFailureOutput(msgspec.Struct, kw_only=True):
    expected: str
    actual: str | UnsetType | None = UNSET


class ChangeFeedGapOutput(msgspec.Struct, kw_only=True):
    cursor: str | UnsetType | None = UNSET
    first_unreadable_commit_id: str


class ChangeDiffRefusalOutput(msgspec.Struct, kw_only=True):
    reason: ChangeDiffRefusalReason
    graph_commit_id: str
    type_name: str | UnsetType | None = UNSET


class EmbeddingProviderOutput(msgspec.Struct, kw_only=True):
    provider: str
    status: Uint | UnsetType | None = UNSET


class ErrorOutput(msgspec.Struct, kw_only=True):
    error: str
    code: ErrorCode | UnsetType | None = UNSET
    merge_conflicts: list[MergeConflictOutput] | UnsetType = UNSET
    published_dataset_version_conflict: PublishedDatasetVersionConflictOutput | UnsetType | None = UNSET
    read_set_conflict: ReadSetConflictOutput | UnsetType | None = UNSET
    key_conflict: KeyConflictOutput | UnsetType | None = UNSET
    resource_limit: ResourceLimitOutput | UnsetType | None = UNSET
    blob_range: BlobRangeOutput | UnsetType | None = UNSET
    external_blob_source: ExternalBlobSourceOutput | UnsetType | None = UNSET
    recovery_required: RecoveryRequiredOutput | UnsetType | None = UNSET
    precondition_failure: PreconditionFailureOutput | UnsetType | None = UNSET
    change_feed_gap: ChangeFeedGapOutput | UnsetType | None = UNSET
    change_diff_refusal: ChangeDiffRefusalOutput | UnsetType | None = UNSET
    embedding_provider: EmbeddingProviderOutput | UnsetType | None = UNSET
    violations: list[Any] | UnsetType = UNSET
    violations_total: Uint | UnsetType = UNSET
    error_code: str | UnsetType = UNSET
    """The name of the error in Python and on the command line; never reworded."""
    hint: str | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    """The facts of an error that has no member of its own above."""


class ChangeErrorOutput(msgspec.Struct, kw_only=True):
    error: str
    code: ErrorCode | UnsetType | None = UNSET
    resource_limit: ResourceLimitOutput | UnsetType | None = UNSET
    recovery_required: RecoveryRequiredOutput | UnsetType | None = UNSET
    change_feed_gap: ChangeFeedGapOutput | UnsetType | None = UNSET
    change_diff_refusal: ChangeDiffRefusalOutput | UnsetType | None = UNSET
    error_code: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET
