"""Undoing: what the commands `restore` and `revert` share, from opening the graph to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.cli.conflict_report import dry_run_lines, fail_dry_run, show_conflicts_of

if TYPE_CHECKING:
    from omnigraph.cli.session import Session
    from omnigraph.graph import Graph
    from omnigraph.merge import UndoResult


@dataclass(frozen=True)
class Words:
    """How one of the two commands speaks of what it did."""

    doing: str
    """With the branch or the commit that it is done to: `restoring 'main'`."""
    done: tuple[str, str]
    """Before and after it happened: `would restore main to X`, `restored main to X`."""
    nothing: str
    """When there was nothing to change."""


def undo(
    session: Session,
    uri: str | None,
    *,
    branch: str,
    dry_run: bool,
    command: str,
    carry_out: Callable[[Graph], UndoResult],
    words: Callable[[UndoResult], Words],
) -> None:
    """Carries it out on a branch and reports it; conflicts of a dry run have the exit code that they would have."""
    from omnigraph.model.errors import OmniGraphError

    target = session.target(uri)
    if not dry_run:
        target.announce(command)
    try:
        with target.open_for_reading() if dry_run else target.open_for_writing() as graph:
            result = carry_out(graph.branch(branch))
    except OmniGraphError as error:
        show_conflicts_of(error, session)
        raise
    said = words(result)
    happened = (
        "nothing was changed" if result.commit is None else f"the {command} is done, as commit {result.commit_id}"
    )
    session.output.show_receipt(result.to_json(), _lines(result, said), happened)
    if result.conflicts_total:
        fail_dry_run(session, said.doing, result.conflicts_total)


def _lines(result: UndoResult, words: Words) -> Iterator[str]:
    from omnigraph.cli.formats import totals

    yield from dry_run_lines(result)
    if result.conflicts_total:
        return
    if not result.stats.total:
        yield words.nothing
        return
    commit = "" if result.commit is None else f" as commit {result.commit_id}"
    yield f"{words.done[not result.dry_run]}{commit}: {totals(result.stats.to_json())}"
