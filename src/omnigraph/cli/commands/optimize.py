"""`omnigraph optimize`: put small fragments together and bring the indexes up to date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.model.identifiers import TableKey
    from omnigraph.write.upkeep import OptimizeReport

MANIFEST = "__manifest"


@click.command("optimize", cls=OmniCommand, example="omnigraph optimize lib.omni")
@uri_argument
@json_option
@click.pass_obj
def command(session: Session, uri: str | None) -> None:
    """Merge small files and bring the indexes up to date.

    No entity changes; answers stay the same and become faster. Works on main.
    """
    from omnigraph.cli.commands.commit import commit_document
    from omnigraph.cli.refusals import ReportedFailure

    target = session.target(uri)
    target.announce("optimize")
    with target.open_for_writing() as graph:
        keys = [pin.table_key for pin in graph.snapshot("main").tables]
        report = graph.optimize("main")
    datasets = [_document(str(key), report) for key in keys] + [_document(MANIFEST, report)]
    commits: list[Json] = [commit_document(c) for c in (report.commit, report.indexes.commit) if c is not None]
    lines = [f"optimize {target.uri} — {len(datasets)} datasets", *_lines(keys, report)]
    session.output.show({"uri": target.uri, "datasets": list(datasets), "commits": commits}, lines)
    if reason := report.conflict or report.indexes.conflict:
        raise ReportedFailure(f"optimize could not finish: {reason}")


def _document(type_key: str, report: OptimizeReport) -> dict[str, Json]:
    """One table; the manifest is kept short by its own writers, so nothing is ever to be done about it here."""
    removed, added = _fragments(type_key, report)
    pending: list[Json] = [
        {"property": status.column, "reason": status.reason}
        for status in report.indexes.pending
        if status.type == type_key
    ]
    return {
        "type_key": type_key,
        "fragments_removed": removed,
        "fragments_added": added,
        "committed": removed > 0,
        "skipped": None,
        "published_dataset_version": None,
        "lance_head_version": None,
        "pending_indexes": pending,
    }


def _fragments(type_key: str, report: OptimizeReport) -> tuple[int, int]:
    for table in report.compacted:
        if table.type == type_key:
            return table.fragments_removed, table.fragments_added
    return 0, 0


def _lines(keys: list[TableKey], report: OptimizeReport) -> Iterator[str]:
    for key in keys:
        removed, added = _fragments(str(key), report)
        label = f"{key.kind} type '{key.type_name}'"
        yield f"  {label:<40} frags {removed} → {added} ✓"
        for status in report.indexes.pending:
            if status.type == str(key):
                yield f"    index on {status.column} is pending: {status.reason}"
    label = f"dataset '{MANIFEST}'"
    yield f"  {label:<40} frags 0 → 0 ✓"
    if report.indexes.built:
        yield f"brought {len(report.indexes.built)} indexes up to date"
