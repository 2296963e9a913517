"""`omnigraph login`: keep the token of a server."""

from __future__ import annotations

import os
import sys

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session


@click.command("login", cls=OmniCommand, example="omnigraph login prod < token.txt")
@click.argument("name")
@click.option("--token", metavar="TOKEN", help="The token; without it, one line of stdin.")
@json_option
@click.pass_obj
def command(session: Session, name: str, token: str | None) -> None:
    """Keep the token of a server.

    It is written to the file `credentials` beside config.yaml, which only you may read, and is sent to that server
    alone. A token on the command line is seen by other programs: pass it on stdin.
    """
    from omnigraph.cli.refusals import InvalidCredentials
    from omnigraph.cli.target import write_token

    if not name.strip() or any(sign in name for sign in "[]\n\r"):
        raise click.UsageError(f"'{name}' is not the name of a server")
    if "://" in name:
        raise click.UsageError(
            f"'{name}' is an address; declare it below `servers:` of config.yaml and pass the name that it has there, "
            "or set OMNIGRAPH_BEARER_TOKEN for servers that have no name"
        )
    given = (_asked(name) if token is None else token).strip()
    if not given or not given.isprintable():
        raise InvalidCredentials("the token is blank, or has characters that no token has", "pass it on stdin")
    declared = name in session.config.servers
    path = write_token(name, given, os.environ)
    if not declared:
        session.output.note(f"note: config.yaml declares no server '{name}' yet; the token is used once it does")
    session.output.show(
        {"server": name, "credentials_path": str(path), "declared": declared},
        [f"kept the token of '{name}' in {path}"],
    )


def _asked(name: str) -> str:
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"token of '{name}': ")
    return sys.stdin.readline()
