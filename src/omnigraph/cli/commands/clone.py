"""`omnigraph clone`: a graph, a branch or a snapshot as another graph elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.pipeline.clone import CloneResult


@click.command("clone", cls=OmniCommand, example="omnigraph clone lib.omni s3://bucket/lib.omni --history")
@click.argument("uri", nargs=-1, metavar="[URI] TARGET")
@click.option("--branch", metavar="BRANCH", help="Only this branch; without --history it becomes main.")
@click.option("--snapshot", metavar="REF", help="Only what this commit, tag or time shows, as main.")
@click.option("--history", is_flag=True, help="With all commits, their ids, times and actors, and the tags.")
@json_option
@click.pass_obj
def command(session: Session, uri: tuple[str, ...], branch: str | None, snapshot: str | None, history: bool) -> None:
    """Make another graph of this one, at a new path or s3:// address.

    Without --history the new graph begins with the entities of today: of every branch, or of one branch or snapshot.
    The graph that is cloned may be written meanwhile. A clone that was killed leaves nothing that opens, and can be run
    again.
    """
    if len(uri) not in (1, 2):
        raise click.UsageError("clone takes the address of the new graph, and before it that of the graph to clone")
    if snapshot is not None and (branch is not None or history):
        raise click.UsageError("--snapshot takes neither --branch nor --history")
    from omnigraph.cli.progress import progress_line

    target = session.target(uri[0] if len(uri) == 2 else None)
    line = progress_line(quiet=session.quiet)
    try:
        with target.open_for_reading() as graph:
            result = graph.clone(uri[-1], branch=branch, at=snapshot, history=history, progress=line)
    finally:
        if line is not None:
            line.wipe()
    for warning in _warnings(result):
        session.output.warn(warning)
    happened = f"cloned {result.source} to {result.target}"
    session.output.show_receipt(result.to_json(), _lines(result), happened)


def _warnings(result: CloneResult) -> Iterator[str]:
    if result.reclaimed:
        yield f"{result.reclaimed} table versions of main were reclaimed: commits that show them cannot be read"
    if result.left_out:
        yield f"commits of branches whose rows were reclaimed are left out: {', '.join(result.left_out)}"
    if result.without_base:
        yield f"the base of branches was reclaimed, a merge of them will conflict: {', '.join(result.without_base)}"


def _lines(result: CloneResult) -> Iterator[str]:
    how = "with history" if result.history else "without history"
    yield f"cloned {result.source} to {result.target} {how}"
    counts = f"{len(result.branches)} branches, {result.commits} commits, {result.total_entities} entities on main"
    yield f"{counts} in {result.seconds:.1f}s"
