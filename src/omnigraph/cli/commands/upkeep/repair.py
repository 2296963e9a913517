"""`omnigraph repair`: show and publish what another program did to the tables of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.write.upkeep import RepairedTable, RepairReport


@click.command("repair", cls=OmniCommand, example="omnigraph repair lib.omni")
@uri_argument
@click.option("--confirm", is_flag=True, help="Publish tables that were only compacted.")
@click.option("--force", is_flag=True, help="Publish all others too, unchecked. Needs --confirm.")
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, confirm: bool, force: bool) -> None:
    """Show and publish what another program did to the tables.

    Writes to such a table are refused until then. Compaction is safe to publish; other changes only by force, and
    `omnigraph verify` should look at them afterwards. Works on main.
    """
    from omnigraph.cli.refusals import ReportedFailure

    if force and not confirm:
        raise click.UsageError("--force needs --confirm")
    target = session.target(uri)
    target.announce("repair")
    opened = target.open_for_writing if confirm else target.open_for_reading
    with opened() as graph:
        report = graph.repair("main", confirm=confirm, force=force)
    session.output.show(_document(target.uri, report), _lines(target.uri, report))
    if report.refused:
        names = ", ".join(table.type for table in report.refused)
        raise ReportedFailure(f"repair refused {names}: look at the operations, then pass --force --confirm")


def _document(uri: str, report: RepairReport) -> dict[str, Json]:
    return {
        "uri": uri,
        "confirm": report.confirm,
        "force": report.force,
        "graph_manifest_version": None if report.commit is None else report.commit.version,
        "datasets": [_dataset(table) for table in report.tables],
    }


def _dataset(table: RepairedTable) -> dict[str, Json]:
    return {
        "type_key": table.type,
        "published_dataset_version": table.published_version,
        "lance_head_version": table.head_version,
        "classification": table.classification,
        "action": table.action,
        "operations": list(table.operations),
        "error": table.error,
    }


def _lines(uri: str, report: RepairReport) -> Iterator[str]:
    yield f"repair {uri} — {len(report.tables)} datasets"
    for table in report.tables:
        kind, _, name = table.type.partition(":")
        label = f"{kind} type '{name}'"
        moved = f" ({table.published_version} → {table.head_version}: {', '.join(table.operations)})"
        yield f"  {label:<40} {table.classification} {table.action}" + (moved if table.operations else "")
