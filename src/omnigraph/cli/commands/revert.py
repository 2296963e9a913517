"""`omnigraph revert`: take back what a commit changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import on_conflict_option, read_resolutions, resolve_option, undo_options, word_or_pairs
from omnigraph.cli.session import Session
from omnigraph.cli.undoing import Words, undo

if TYPE_CHECKING:
    from omnigraph.merge import UndoResult


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
    options: dict[str, Any] = {
        "on_conflict": word_or_pairs("--on-conflict", on_conflict),
        "resolve": None if resolve is None else read_resolutions(resolve),
    }
    options |= {"mainline": mainline, "message": message, "if_commit": if_commit, "dry_run": dry_run}
    undo(
        session,
        uri,
        branch=branch,
        dry_run=dry_run,
        command="revert",
        carry_out=lambda graph: graph.revert(what, **options),
        words=lambda result: _words(result, what),
    )


def _words(result: UndoResult, what: str) -> Words:
    return Words(
        doing=f"reverting {what} on '{result.branch}'",
        done=(f"would revert {what} on {result.branch}", f"reverted {what} on {result.branch}"),
        nothing=f"nothing of {what} is left to revert on {result.branch}",
    )
