"""`omnigraph merge`, which is also `omnigraph branch merge`: bring the changes of a branch into another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.conflict_report import dry_run_lines, fail_dry_run, show_conflicts_of
from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import on_conflict_option, read_resolutions, resolve_option, word_or_pairs
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.merge import MergeResult

F = TypeVar("F", bound=Callable[..., Any])


def merge_command(path: str) -> click.Command:
    """The command under one of its two names."""
    made = click.command(path.split()[-1], cls=OmniCommand, example=f"omnigraph {path} review --store lib.omni")
    return made(_options(click.pass_obj(_merge)))


def _options(command: F) -> F:
    for decorate in (
        json_option,
        uri_option,
        click.option("--delete-branch", is_flag=True, help="Delete the source after the merge."),
        click.option(
            "--merge-edges",
            multiple=True,
            metavar="[TYPE=]keep|converge",
            help="converge makes one edge of equal edges that both sides added; keep, the default, keeps both. With a "
            "TYPE it says so for one edge type, and may be repeated.",
        ),
        resolve_option,
        on_conflict_option,
        click.option("--dry-run", is_flag=True, help="Show what the merge would do; change nothing."),
        click.option("--message", metavar="TEXT", help="A message to keep with the commit."),
        click.option("--into", metavar="BRANCH", default="main", show_default=True, help="The branch to merge into."),
        click.argument("source"),
    ):
        command = decorate(command)
    return command


def _merge(
    session: Session,
    source: str,
    into: str,
    message: str | None,
    dry_run: bool,
    on_conflict: tuple[str, ...],
    resolve: str | None,
    merge_edges: tuple[str, ...],
    delete_branch: bool,
    uri: str | None,
) -> None:
    """Merge a branch into another one as one commit.

    Both sides are compared with what they last had in common. Entities that both changed differently are conflicts:
    then nothing is changed and the exit code is 5, unless --on-conflict or --resolve decides them.
    """
    from omnigraph.model.errors import OmniGraphError

    options: dict[str, Any] = {
        "on_conflict": word_or_pairs("--on-conflict", on_conflict),
        "merge_edges": word_or_pairs("--merge-edges", merge_edges) or "keep",
        "resolve": None if resolve is None else read_resolutions(resolve),
    }
    target = session.target(uri)
    if not dry_run:
        target.announce(session.facts.path if session.facts else "merge")
    try:
        with target.open_for_reading() if dry_run else target.open_for_writing() as graph:
            result = graph.merge(source, into, message=message, dry_run=dry_run, delete_branch=delete_branch, **options)
    except OmniGraphError as error:
        show_conflicts_of(error, session)
        raise
    happened = "nothing was changed" if result.commit is None else f"the merge is done, as commit {result.commit_id}"
    session.output.show_receipt(result.to_json(), _lines(result), happened)
    if result.branch_delete_error is not None:
        session.output.warn(f"{happened}; branch '{result.source}' was not deleted: {result.branch_delete_error}")
    if result.conflicts_total:
        fail_dry_run(session, f"merging '{result.source}' into '{result.target}'", result.conflicts_total)


def _lines(result: MergeResult) -> Iterator[str]:
    from omnigraph.cli.formats import totals

    yield from dry_run_lines(result)
    if not result.conflicts_total:
        yield _summary(result, totals(result.stats.to_json()))
    if result.branch_deleted:
        yield f"deleted branch {result.source}"


def _summary(result: MergeResult, counts: str) -> str:
    if result.outcome == "already_up_to_date":
        return f"{result.target} is already up to date with {result.source}"
    verb = "would merge" if result.dry_run else "merged"
    how = " (fast-forward)" if result.outcome == "fast_forward" else ""
    commit = "" if result.commit is None else f" as commit {result.commit_id}"
    return f"{verb} {result.source} into {result.target}{how}{commit}: {counts}"


command = merge_command("merge")
