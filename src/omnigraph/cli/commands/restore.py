"""`omnigraph restore`: give a branch the entities of an earlier commit again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import undo_options
from omnigraph.cli.session import Session
from omnigraph.cli.undoing import Words, undo

if TYPE_CHECKING:
    from omnigraph.merge import UndoResult


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
    undo(
        session,
        uri,
        branch=branch,
        dry_run=dry_run,
        command="restore",
        carry_out=lambda graph: graph.restore(to, message=message, if_commit=if_commit, dry_run=dry_run),
        words=_words,
    )


def _words(result: UndoResult) -> Words:
    name, commit_id = result.branch, result.undone()["restored_commit_id"]
    return Words(
        doing=f"restoring '{name}'",
        done=(f"would restore {name} to {commit_id}", f"restored {name} to {commit_id}"),
        nothing=f"{name} already has the entities of commit {commit_id}",
    )
