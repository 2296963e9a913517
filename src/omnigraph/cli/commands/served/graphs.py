"""`omnigraph graphs`: the graphs of a server."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniGroup, json_option
from omnigraph.cli.session import Session


@click.group("graphs", cls=OmniGroup)
def command() -> None:
    """List the graphs of a server."""


@command.command("list", example="omnigraph graphs list --server prod")
@json_option
@click.pass_obj
def list_(session: Session) -> None:
    """List the graphs of a server. Its policy must allow it."""
    from omnigraph.client import list_graphs

    url = session.server().url
    graphs = sorted(list_graphs(url, token=session.token_for(url)), key=lambda each: each.graph_id)
    session.output.show(
        {"graphs": [each.to_json() for each in graphs]}, (f"{each.graph_id}\t{each.uri}" for each in graphs)
    )
