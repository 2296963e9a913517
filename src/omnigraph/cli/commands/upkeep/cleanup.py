"""`omnigraph cleanup`: remove old versions of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.write.upkeep import CleanedTable, CleanupReport


@click.command("cleanup", cls=OmniCommand, example="omnigraph cleanup lib.omni --keep 10 --confirm")
@uri_argument
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N versions of each table.")
@click.option("--older-than", metavar="D", help="Remove only what is older than this: 90s, 15m, 6h, 7d, 2w.")
@click.option("--since", metavar="REF", help="Keep this commit, tag or time and everything later.")
@click.option(
    "--grace", metavar="D", default="1h", show_default=True, help="Keep what readers may still use: for how long."
)
@click.option("--confirm", is_flag=True, help="Remove it. Without this the command says what would go.")
@json_option
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    keep: int | None,
    older_than: str | None,
    since: str | None,
    grace: str,
    confirm: bool,
) -> None:
    """Remove old versions of the tables, for good.

    At least one of --keep, --older-than and --since says what stays; a version goes only if each of them lets it go.
    What a branch or a tag shows always stays, and what a merge of two branches needs. On a graph that is not on this
    machine --confirm asks first, and a script must pass --yes.
    """
    target = session.target(uri)
    limits = {"keep_versions": keep, "older_than": older_than, "since": since, "grace": grace}
    if not confirm:
        with target.open_for_reading() as graph:
            _show_preview(session, target.uri, graph.cleanup(**limits))  # type: ignore[arg-type]
        return
    target.announce("cleanup")
    target.confirm("cleanup")
    with target.open_for_writing() as graph:
        report = graph.cleanup(**limits, confirm=True)  # type: ignore[arg-type]
    session.output.show(_document(target.uri, report), _lines(target.uri, report))
    _require_success(report)


def _show_preview(session: Session, uri: str, report: CleanupReport) -> None:
    """For people on stderr: nothing has happened, so there is no result."""
    if session.json:
        session.output.show(_document(uri, report), ())
    else:
        for line in _lines(uri, report):
            session.output.note(line)
        session.output.note("nothing was removed; pass --confirm to remove it")
    _require_success(report)


def _require_success(report: CleanupReport) -> None:
    from omnigraph.cli.refusals import ReportedFailure

    if report.failed:
        names = ", ".join(table.type for table in report.failed)
        raise ReportedFailure(f"cleanup could not finish {names}: {report.failed[0].error}")


def _document(uri: str, report: CleanupReport) -> dict[str, Json]:
    older = report.policy.older_than_s
    return {
        "uri": uri,
        "keep_versions": report.policy.keep_versions,
        "older_than_secs": None if older is None else int(older),
        "datasets": [_dataset(table) for table in report.tables],
        "since": report.policy.since,
        "grace_secs": int(report.policy.grace_s),
        "confirm": report.confirmed,
        "manifest": {"files_removed": report.manifest_files, "bytes_removed": report.manifest_bytes},
    }


def _dataset(table: CleanedTable) -> dict[str, Json]:
    return {
        "type_key": table.type,
        "bytes_removed": table.bytes,
        "old_versions_removed": table.versions,
        "error": table.error,
        "files_removed": table.files,
        "forks_removed": list(table.forks),
    }


def _lines(uri: str, report: CleanupReport) -> Iterator[str]:
    verb = "removed" if report.confirmed else "would remove"
    yield f"cleanup {uri} — {verb} {report.versions} versions, {report.files} files, {_size(report.bytes)}"
    for table in report.tables:
        kind, _, name = table.type.partition(":")
        label = f"{kind} type '{name}'"
        forks = f", {len(table.forks)} orphan forks" if table.forks else ""
        counts = f"{table.versions} versions, {table.files} files, {_size(table.bytes)}{forks}"
        yield f"  {label:<40} {counts}" + (f" — error: {table.error}" if table.error else "")
    if report.manifest_files:
        label = "dataset '__manifest'"
        yield f"  {label:<40} {report.manifest_files} files, {_size(report.manifest_bytes)}"


def _size(count: int) -> str:
    """Bytes as people read them."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
