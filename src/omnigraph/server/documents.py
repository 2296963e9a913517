"""Documents: what `Graph` returns, as the structs of the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION
from omnigraph.server.wire import answers, change_answers

if TYPE_CHECKING:
    from omnigraph.history import Snapshot
    from omnigraph.storage import RecoveryRecord
    from omnigraph.storage.manifest import GraphCommit
    from omnigraph.write import MutationResult
    from omnigraph.write.recovery import Sidecar


def commit_output(commit: GraphCommit) -> answers.CommitOutput:
    return answers.CommitOutput(
        graph_commit_id=commit.commit_id,
        graph_branch=commit.branch,
        graph_manifest_version=commit.version,
        parent_commit_id=commit.parent_id,
        merged_parent_commit_id=commit.merged_parent_id,
        actor_id=commit.actor_id,
        created_at=commit.created_at,
    )


def snapshot_output(snapshot: Snapshot) -> answers.SnapshotOutput:
    pins = sorted(snapshot.tables, key=lambda pin: str(pin.table_key))
    datasets = [
        answers.SnapshotDatasetOutput(
            entity_kind=pin.table_key.kind,
            type_name=pin.table_key.type_name,
            dataset_path=pin.location,
            published_dataset_version=pin.version,
            native_dataset_branch=pin.lineage,
            entity_count=pin.row_count,
        )
        for pin in pins
    ]
    return answers.SnapshotOutput(
        graph_branch=snapshot.branch,
        graph_manifest_version=snapshot.version,
        internal_schema_version=INTERNAL_SCHEMA_VERSION,
        datasets=datasets,
    )


def change_output(result: MutationResult) -> answers.ChangeOutput:
    return answers.ChangeOutput(
        branch=result.branch,
        query_name=result.query_name,
        affected_nodes=result.affected_nodes,
        affected_edges=result.affected_edges,
        actor_id=result.actor_id,
        commit=None if result.commit is None else commit_output(result.commit),
        replayed=True if result.replayed else UNSET,
    )


def declarations(types: Mapping[str, int]) -> list[answers.GraphBatchDeclarationOutput]:
    return [answers.GraphBatchDeclarationOutput(name=name, entities_loaded=types[name]) for name in sorted(types)]


def recovery_output(pending: Sequence[Sidecar], resolved: Sequence[RecoveryRecord]) -> change_answers.RecoveryOutput:
    """Without the tables' places: types alone."""
    return change_answers.RecoveryOutput(
        pending=[
            {
                "operation_id": each.operation_id,
                "started_at": each.started_at,
                "branch": each.branch_name,
                "actor_id": each.actor_id,
                "writer_kind": each.writer_kind,
                "tables": [pin.table_key for pin in each.tables],
            }
            for each in pending
        ],
        resolved=[
            {
                "operation_id": each.operation_id,
                "recovery_kind": each.recovery_kind,
                "graph_commit_id": each.graph_commit_id,
                "recovery_for_actor": each.recovery_for_actor,
                "sidecar_writer_kind": each.sidecar_writer_kind,
                "created_at": each.created_at,
            }
            for each in resolved
        ],
    )
