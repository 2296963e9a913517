"""`omnigraph snapshot`: the tables that a branch makes visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, branch_option, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.history import Snapshot
    from omnigraph.model.errors import Json
    from omnigraph.storage.manifest import TablePin


@click.command("snapshot", cls=OmniCommand, example="omnigraph snapshot lib.omni --branch review")
@uri_argument
@branch_option
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, branch: str) -> None:
    """Show the tables that a branch makes visible."""
    from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION

    with session.target(uri).open_for_reading() as graph:
        snapshot = graph.snapshot(branch)
    session.output.show(
        {
            "graph_branch": snapshot.branch,
            "graph_manifest_version": snapshot.version,
            "internal_schema_version": INTERNAL_SCHEMA_VERSION,
            "datasets": [_document(pin) for pin in snapshot.tables],
        },
        [
            *_header(snapshot, INTERNAL_SCHEMA_VERSION),
            *(_line(pin) for pin in snapshot.tables),
        ],
    )


def _document(pin: TablePin) -> dict[str, Json]:
    return {
        "entity_kind": pin.table_key.kind,
        "type_name": pin.table_key.type_name,
        "dataset_path": pin.location,
        "published_dataset_version": pin.version,
        "native_dataset_branch": pin.lineage,
        "entity_count": pin.row_count,
    }


def _header(snapshot: Snapshot, format_version: int) -> list[str]:
    return [
        f"graph_branch: {snapshot.branch}",
        f"graph_manifest_version: {snapshot.version}",
        f"internal_schema_version: {format_version}",
    ]


def _line(pin: TablePin) -> str:
    return (
        f"{pin.table_key.kind} type '{pin.table_key.type_name}' published_dataset_version={pin.version} "
        f"native_dataset_branch={pin.lineage or 'main'} entities={pin.row_count}"
    )
