"""`omnigraph-server`: serves the applied revision of a cluster over HTTP."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from omnigraph.server.boot import DEFAULT_BIND, Launch, run_server, run_worker


def main(argv: Sequence[str] | None = None) -> int:
    arguments = server_parser().parse_args(argv)
    if arguments.worker is not None:
        return run_worker(Launch.from_text(arguments.worker), arguments.socket, arguments.ready)
    if arguments.cluster is None:
        print("omnigraph-server boots from a cluster; pass --cluster <dir|uri>", file=sys.stderr)
        return 2
    return run_server(
        Launch(
            cluster=arguments.cluster,
            bind=arguments.bind,
            unauthenticated=arguments.unauthenticated,
            require_all_graphs=arguments.require_all_graphs,
            workers=arguments.workers,
            upkeep=arguments.upkeep,
            load_body_max=arguments.load_body_max,
            drain_seconds=arguments.drain_seconds,
            query_seconds=arguments.query_seconds,
            head_seconds=arguments.head_seconds,
            idle_seconds=arguments.idle_seconds,
        )
    )


def server_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("omnigraph-server", description="Serves the graphs of a cluster over HTTP.")
    parser.add_argument("--cluster", metavar="DIR|URI", help="The cluster: its folder, or its storage root.")
    parser.add_argument(
        "--bind", metavar="HOST:PORT", default=DEFAULT_BIND, help="Default: %(default)s; port 0 takes any."
    )
    parser.add_argument("--unauthenticated", action="store_true", help="Let everyone on this machine do everything.")
    parser.add_argument("--require-all-graphs", action="store_true", help="Do not start unless every graph is served.")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="Processes that serve; default 1.")
    parser.add_argument("--upkeep", action="store_true", help="Compact tables and extend indexes while it serves.")
    parser.add_argument("--load-body-max", type=int, metavar="BYTES", help="The largest load; default 32 MiB, 0: none.")
    parser.add_argument("--drain-seconds", type=float, metavar="S", help="How long a stop waits; default 30.")
    parser.add_argument("--query-seconds", type=float, metavar="S", help="End queries that take longer.")
    parser.add_argument("--head-seconds", type=float, metavar="S", help="The time for a request's head; default 10.")
    parser.add_argument("--idle-seconds", type=float, metavar="S", help="The longest pause in a body; default 30.")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ready", type=int, help=argparse.SUPPRESS)
    return parser


def run() -> None:
    """The console script."""
    sys.exit(main())


if __name__ == "__main__":
    run()
