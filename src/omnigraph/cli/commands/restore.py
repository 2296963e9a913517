"""`omnigraph restore`: give a branch the entities of an earlier commit again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.conflict_report import dry_run_lines, fail_dry_run, show_conflicts_of
from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import undo_options
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.merge import RestoreResult


@click.command("restore", cls=OmniCommand, example="omnigraph restore release-1 --store lib.omni")
@click.argument("to")
@undo_options
@uri_option
@json_option
@click.pass_obj
def command(
    session: Session,
    to: str,
    branch: str,
    message: str | None,
    if_commit: str | None,
    dry_run: bool,
    uri: str | None,
) -> None:
    """Give a branch the entities of an earlier commit again.

    TO is a commit id, a tag, a branch or a time. The result is a new commit, so nothing of the history is lost. The
    schema stays as it is today: entities that do not fit it are refused.
    """
    from omnigraph.model.errors import OmniGraphError

    target = session.target(uri)
    if not dry_run:
        target.announce("restore")
    try:
        with target.open_for_reading() if dry_run else target.open_for_writing() as graph:
            result = graph.branch(branch).restore(to, message=message, if_commit=if_commit, dry_run=dry_run)
    except OmniGraphError as error:
        show_conflicts_of(error, session)
        raise
    happened = "nothing was changed" if result.commit is None else f"the restore is done, as commit {result.commit_id}"
    session.output.show_receipt(result.to_json(), _lines(result), happened)
    if result.conflicts_total:
        fail_dry_run(session, f"restoring '{result.branch}'", result.conflicts_total)


def _lines(result: RestoreResult) -> Iterator[str]:
    from omnigraph.cli.formats import totals

    yield from dry_run_lines(result)
    if result.conflicts_total:
        return
    if not result.stats.total:
        yield f"{result.branch} already has the entities of commit {result.restored_commit_id}"
        return
    verb = "would restore" if result.dry_run else "restored"
    commit = "" if result.commit is None else f" as commit {result.commit_id}"
    yield f"{verb} {result.branch} to {result.restored_commit_id}{commit}: {totals(result.stats.to_json())}"
