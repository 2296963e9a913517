"""`omnigraph export`: the entities of a branch as JSON lines."""

from __future__ import annotations

import sys
from typing import Literal, cast

import click

from omnigraph.cli.frame import OmniCommand, branch_option, uri_argument
from omnigraph.cli.session import Session


@click.command("export", cls=OmniCommand, example="omnigraph export lib.omni --type Author > authors.jsonl")
@uri_argument
@branch_option
@click.option("--type", "types", multiple=True, metavar="NAME", help="Only this node or edge type; may be repeated.")
@click.option(
    "--dates",
    type=click.Choice(["raw", "iso"]),
    default="raw",
    show_default=True,
    help="Dates as days and milliseconds since 1970, or as text.",
)
@click.option("--jsonl", is_flag=True, hidden=True)
@click.pass_obj
def command(session: Session, uri: str | None, branch: str, types: tuple[str, ...], dates: str, jsonl: bool) -> None:
    """Write the entities of a branch as JSON lines.

    One snapshot, nodes before edges, each type in the order of its ids; `load` reads the lines back. When it fails
    midway the lines before are on stdout already: check the exit code.
    """
    if jsonl:
        session.output.warn("`--jsonl` is deprecated: an export is always JSON lines")
    with session.target(uri).open_for_reading() as graph:
        lines = graph.export(branch, types=types or None, dates=cast("Literal['raw', 'iso']", dates))
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines)
    sys.stdout.buffer.flush()
