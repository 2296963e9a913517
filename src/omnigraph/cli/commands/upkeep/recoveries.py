"""`omnigraph recoveries`: the interrupted writes of a graph, those that wait and those that were resolved."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.storage import RecoveryRecord
    from omnigraph.write.recovery import Sidecar


@click.command("recoveries", cls=OmniCommand, example="omnigraph recoveries lib.omni")
@uri_argument
@json_option
@click.pass_obj
def command(session: Session, uri: str | None) -> None:
    """List the interrupted writes of a graph.

    Pending ones are resolved by the next command that writes; one of a writer that is still at work may be among them.
    The others were finished or taken back, and say which commit shows it.
    """
    with session.target(uri).open_for_reading() as graph:
        pending, resolved = graph.pending_recoveries(), graph.recoveries()
    lines = [*map(_pending_line, pending), *map(_resolved_line, resolved)]
    session.output.show(
        {"pending": [_pending(each) for each in pending], "resolved": [_resolved(each) for each in resolved]},
        lines or ["no write of this graph was ever interrupted"],
    )


def _pending(sidecar: Sidecar) -> dict[str, Json]:
    return {
        "operation_id": sidecar.operation_id,
        "started_at": sidecar.started_at,
        "branch": sidecar.branch_name,
        "actor_id": sidecar.actor_id,
        "writer_kind": sidecar.writer_kind,
        "tables": [pin.table_key for pin in sidecar.tables],
    }


def _resolved(record: RecoveryRecord) -> dict[str, Json]:
    return {
        "operation_id": record.operation_id,
        "recovery_kind": record.recovery_kind,
        "graph_commit_id": record.graph_commit_id,
        "recovery_for_actor": record.recovery_for_actor,
        "sidecar_writer_kind": record.sidecar_writer_kind,
        "created_at": record.created_at,
        "outcomes": [asdict(outcome) for outcome in record.outcomes],
    }


def _pending_line(sidecar: Sidecar) -> str:
    actor = f" actor={sidecar.actor_id}" if sidecar.actor_id else ""
    return f"pending {sidecar.operation_id} writer={sidecar.writer_kind} branch={sidecar.branch_name}{actor}"


def _resolved_line(record: RecoveryRecord) -> str:
    actor = f" actor={record.recovery_for_actor}" if record.recovery_for_actor else ""
    kind = f"{record.recovery_kind} {record.operation_id} writer={record.sidecar_writer_kind}"
    return f"{kind} commit={record.graph_commit_id}{actor}"
