"""`omnigraph mcp`: a graph as tools for agents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, uri_argument
from omnigraph.cli.session import Session, Target

if TYPE_CHECKING:
    from omnigraph.graph import Graph


@click.command("mcp", cls=OmniCommand, example="omnigraph mcp lib.omni --queries library.gq")
@uri_argument
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP on this machine, not over stdio.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="With --http; 0 takes any."
)
@click.option("--allow-writes", is_flag=True, help="Offer the tools that write, too.")
@click.option("--no-ad-hoc", is_flag=True, help="Offer stored queries only, no queries that the agent writes itself.")
@click.option("--queries", metavar="FILE", help="Offer the queries of this .gq file as tools.")
@click.option("--policy", metavar="FILE", help="Ask this policy before every call, for the actor of --as.")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1024),
    default=49152,
    show_default=True,
    metavar="N",
    help="Cut results to this size.",
)
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    over_http: bool,
    port: int,
    allow_writes: bool,
    no_ad_hoc: bool,
    queries: str | None,
    policy: str | None,
    max_bytes: int,
) -> None:
    """Serve a graph to agents, as tools of the Model Context Protocol.

    Agents may read: the schema, queries, branches, commits, differences, and the proposal of a merge. With
    --allow-writes they may also write, on branches that they name. The graph is a store, or one of a server, whose
    policy decides then. The extra `mcp` must be installed.
    """
    from omnigraph.mcp import make_toolbox, queries_of_file, serve_http, serve_stdio

    target = session.target(uri)
    stored = [] if queries is None else queries_of_file(queries)
    with _opened(target, policy, allow_writes=allow_writes) as graph:
        toolbox = make_toolbox(
            graph, allow_writes=allow_writes, ad_hoc=not no_ad_hoc, queries=stored, max_bytes=max_bytes
        )
        if over_http:
            serve_http(toolbox, "127.0.0.1", port, lambda address: _announce(session, target, address))
        else:
            serve_stdio(toolbox)


def _opened(target: Target, policy: str | None, *, allow_writes: bool) -> Graph:
    if policy is None:
        return target.open_for_writing() if allow_writes else target.open_for_reading()
    from omnigraph.cli.refusals import WrongScope
    from omnigraph.graph import Graph
    from omnigraph.model.errors import BadRequest

    if target.is_served:
        raise WrongScope("--policy is for a store: a server has its own policy", "drop --policy")
    if target.actor is None:
        raise BadRequest("--policy needs --as: a policy allows nothing to nobody", "add --as ACTOR")
    return Graph.open(target.uri, read_only=not allow_writes, actor=target.actor, policy=policy)


def _announce(session: Session, target: Target, address: str) -> None:
    session.output.write(f"serving {target.uri} to agents at {address}")
    sys.stdout.flush()
