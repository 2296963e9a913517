"""`omnigraph serve`: one graph over HTTP, in one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.server.boot import Launch


@click.command("serve", cls=OmniCommand, example="omnigraph serve lib.omni --port 8080")
@uri_argument
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free port.")
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="Another one needs tokens.")
@click.option("--token-file", metavar="FILE", help='The bearer tokens as JSON: {"actor": "token", …}.')
@click.option("--policy", metavar="FILE", help="A policy file that says who may do what.")
@click.option("--queries", metavar="FILE", help="Offer the queries of this .gq file by their names.")
@click.option("--graph-id", metavar="ID", help="The id of the graph in URLs.  [default: the name of its folder]")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that serve.")
@click.option("--upkeep", is_flag=True, help="Compact tables and extend indexes while it serves.")
@click.option(
    "--load-body-max",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="The largest body of a load; 0 for no limit.  [default: 32 MiB]",
)
@click.option(
    "--query-timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End longer queries."
)
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    port: int,
    host: str,
    token_file: str | None,
    policy: str | None,
    queries: str | None,
    graph_id: str | None,
    workers: int,
    upkeep: bool,
    load_body_max: int | None,
    query_timeout: float | None,
) -> None:
    """Serve one graph over HTTP.

    Without tokens and policy everyone on this machine may do everything, and nobody else reaches it. With tokens but
    without a policy callers may only read. It runs until it is interrupted.
    """
    from omnigraph.server.boot import Launch, run_server

    bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    launch = Launch(
        store=session.target(uri).uri,
        graph_id=graph_id,
        policy_file=policy,
        queries_file=queries,
        token_file=token_file,
        bind=bind,
        unauthenticated=True,
        workers=workers,
        upkeep=upkeep,
        load_body_max=load_body_max,
        query_seconds=query_timeout,
    )
    code = run_server(launch, lambda address: _announce(session, launch, address))
    if code:
        raise SystemExit(code)


def _announce(session: Session, launch: Launch, address: str) -> None:
    base = f"http://{address}"
    token = ' -H "Authorization: Bearer $TOKEN"' if launch.token_file else ""
    for line in (
        f"OMNIGRAPH_LISTEN_ADDR={address}",
        f"serving {launch.store} as graph '{launch.served_id}' at {base}",
        f"  try   curl -s{token} {base}/graphs/{launch.served_id}/schema",
        f"  API   {base}/docs",
    ):
        session.output.write(line)
    import sys

    sys.stdout.flush()
