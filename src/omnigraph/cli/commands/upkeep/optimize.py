"""`omnigraph optimize`: put small fragments together and bring the indexes up to date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.write.upkeep import OptimizedTable, OptimizeReport


@click.command("optimize", cls=OmniCommand, example="omnigraph optimize lib.omni")
@uri_argument
@click.option("--rebuild-indexes", is_flag=True, help="Build every index again, whatever it looks like.")
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, rebuild_indexes: bool) -> None:
    """Merge small files and bring the indexes up to date.

    No entity changes; answers stay the same and become faster. Works on main.
    """
    from omnigraph.cli.commands.commit import commit_document
    from omnigraph.cli.refusals import ReportedFailure

    target = session.target(uri)
    target.announce("optimize")
    with target.open_for_writing() as graph:
        report = graph.optimize("main", rebuild_indexes=rebuild_indexes)
    datasets: list[Json] = [_document(table) for table in report.tables]
    commits: list[Json] = [commit_document(c) for c in (report.commit, report.indexes.commit) if c is not None]
    lines = [f"optimize {target.uri} — {len(datasets)} datasets", *_lines(report)]
    session.output.show({"uri": target.uri, "datasets": datasets, "commits": commits}, lines)
    if reason := report.conflict or report.indexes.conflict:
        raise ReportedFailure(f"optimize could not finish: {reason}")


def _document(table: OptimizedTable) -> dict[str, Json]:
    pending: list[Json] = [{"property": each.column, "reason": each.reason} for each in table.pending_indexes]
    return {
        "type_key": table.type,
        "fragments_removed": table.fragments_removed,
        "fragments_added": table.fragments_added,
        "committed": table.committed,
        "skipped": table.skipped,
        "published_dataset_version": table.published_version,
        "lance_head_version": table.head_version,
        "pending_indexes": pending,
    }


def _lines(report: OptimizeReport) -> Iterator[str]:
    for table in report.tables:
        kind, _, name = table.type.partition(":")
        label = f"{kind} type '{name}'" if name else f"dataset '{table.type}'"
        if table.skipped is not None:
            moved = f"{table.published_version} → {table.head_version}"
            yield f"  {label:<40} skipped: {table.skipped} ({moved}); see `omnigraph repair`"
            continue
        yield f"  {label:<40} frags {table.fragments_removed} → {table.fragments_added} ✓"
        for status in table.pending_indexes:
            yield f"    index on {status.column} is pending: {status.reason}"
    if report.indexes.built:
        yield f"brought {len(report.indexes.built)} indexes up to date"
