"""`omnigraph revert`: take back what a commit changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.conflict_report import dry_run_lines, fail_dry_run, show_conflicts_of
from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import on_conflict_option, read_resolutions, resolve_option, undo_options, word_or_pairs
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.merge import RevertResult


@click.command("revert", cls=OmniCommand, example="omnigraph revert 01J9Z8Q5W3V7C2B4N6M8K0H1G3 --store lib.omni")
@click.argument("what")
@click.option(
    "--mainline",
    type=click.IntRange(1, 2),
    metavar="1|2",
    help="For a merge: the parent whose state is to come back; 1 is the branch that was merged into.",
)
@on_conflict_option
@resolve_option
@undo_options
@uri_option
@json_option
@click.pass_obj
def command(
    session: Session,
    what: str,
    mainline: int | None,
    on_conflict: tuple[str, ...],
    resolve: str | None,
    branch: str,
    message: str | None,
    if_commit: str | None,
    dry_run: bool,
    uri: str | None,
) -> None:
    """Take back what a commit changed, as a new commit.

    WHAT is a commit, or A..B for everything after A up to B. Changes that came later stay. Where they touch the same
    entities it is a conflict: nothing is changed and the exit code is 5, unless --on-conflict or --resolve decides it.
    """
    from omnigraph.model.errors import OmniGraphError

    options: dict[str, Any] = {
        "on_conflict": word_or_pairs("--on-conflict", on_conflict),
        "resolve": None if resolve is None else read_resolutions(resolve),
    }
    options |= {"mainline": mainline, "message": message, "if_commit": if_commit, "dry_run": dry_run}
    target = session.target(uri)
    if not dry_run:
        target.announce("revert")
    try:
        with target.open_for_reading() if dry_run else target.open_for_writing() as graph:
            result = graph.branch(branch).revert(what, **options)
    except OmniGraphError as error:
        show_conflicts_of(error, session)
        raise
    happened = "nothing was changed" if result.commit is None else f"the revert is done, as commit {result.commit_id}"
    session.output.show_receipt(result.to_json(), _lines(result, what), happened)
    if result.conflicts_total:
        fail_dry_run(session, f"reverting {what} on '{result.branch}'", result.conflicts_total)


def _lines(result: RevertResult, what: str) -> Iterator[str]:
    from omnigraph.cli.formats import totals

    yield from dry_run_lines(result)
    if result.conflicts_total:
        return
    if not result.stats.total:
        yield f"nothing of {what} is left to revert on {result.branch}"
        return
    verb = "would revert" if result.dry_run else "reverted"
    commit = "" if result.commit is None else f" as commit {result.commit_id}"
    yield f"{verb} {what} on {result.branch}{commit}: {totals(result.stats.to_json())}"
