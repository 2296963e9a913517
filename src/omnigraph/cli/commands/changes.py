"""`omnigraph changes`: follow what the commits of a branch change, from wherever the reader stopped last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniGroup, branch_option, json_option, uri_option
from omnigraph.cli.inputs import PAGE, filter_options, filters, page_limits
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.model.errors import Json


@click.group("changes", cls=OmniGroup)
def command() -> None:
    """Follow what the commits of a branch change."""


@command.command("poll", example="omnigraph changes poll --start beginning --store lib.omni")
@branch_option
@click.option("--cursor", metavar="CURSOR", help="Continue where an earlier poll or a baseline ended.")
@click.option("--start", metavar="WHERE", help="now, beginning, or after:<commit id>.  [default: now]")
@click.option(
    "--limit",
    type=PAGE,
    metavar="N",
    help="Read pages of N changes; the poll ends with the first that ends with a whole commit.",
)
@filter_options
@uri_option
@json_option
@click.pass_obj
def poll(
    session: Session,
    branch: str,
    cursor: str | None,
    start: str | None,
    limit: int | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
) -> None:
    """Show what changed since a cursor, commit by commit, oldest first.

    The last lines are the cursor to pass next time, and whether this poll reached the head of the branch. Keep the
    cursor with what you made of the changes: the graph knows nothing about its readers.
    """
    if cursor is not None and start is not None:
        raise click.UsageError("--cursor and --start cannot be used together")
    limits = page_limits(limit)
    with session.target(uri).open_for_reading() as graph:
        document = _whole_poll(graph, branch, cursor, start, {**filters(kinds, types, ops), "limits": limits})
    session.output.show(document, _lines(document))


def _whole_poll(
    graph: Graph, branch: str, cursor: str | None, start: str | None, options: dict[str, Any]
) -> dict[str, Json]:
    """The pages of one poll as one; a commit that was split over pages is one block again."""
    page = graph.changes(branch, cursor=cursor, start=start, **options)
    blocks: list[Any] = [block.to_json() for block in page]
    while page.next_page_token is not None:
        page = graph.changes(branch, page_token=page.next_page_token, **options)
        for block in (block.to_json() for block in page):
            if blocks and blocks[-1]["cause"] == block["cause"]:
                blocks[-1]["changes"] += block["changes"]
            else:
                blocks.append(block)
    return {"blocks": blocks, "cursor": page.cursor, "caught_up": page.caught_up}


def _lines(document: dict[str, Any]) -> Iterator[str]:
    from omnigraph.cli.formats import block_lines

    for block in document["blocks"]:
        yield from block_lines(block["cause"], block["changes"])
        yield ""
    if not document["blocks"]:
        yield "(no new commits)"
    yield f"cursor: {document['cursor']}"
    yield f"caught_up: {'true' if document['caught_up'] else 'false'}"


@command.command("baseline", example="omnigraph changes baseline --out lib.jsonl --store lib.omni")
@click.option("--out", required=True, metavar="FILE", help="The file to write; it is replaced when it is complete.")
@branch_option
@filter_options
@uri_option
@json_option
@click.pass_obj
def baseline(
    session: Session,
    out: str,
    branch: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
) -> None:
    """Write the whole branch to a file, and show the cursor from which `changes poll` continues.

    The file has JSON lines as `export` writes them. --op does not change it: a poll with the cursor must have the same
    --kind, --type and --op.
    """
    with session.target(uri).open_for_reading() as graph:
        made = graph.baseline(out, branch, **filters(kinds, types, ops))
    session.output.show(
        made.to_json(),
        [
            f"snapshot: {out}",
            f"snapshot_commit_id: {made.snapshot_commit_id}",
            f"resume_cursor: {made.resume_cursor}",
        ],
    )
