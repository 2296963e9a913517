"""`omnigraph logout`: forget the token of a server."""

from __future__ import annotations

import os

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session


@click.command("logout", cls=OmniCommand, example="omnigraph logout prod")
@click.argument("name")
@json_option
@click.pass_obj
def command(session: Session, name: str) -> None:
    """Forget the token of a server.

    It is no mistake if there was none.
    """
    from omnigraph.cli.target import write_token

    path = write_token(name, None, os.environ)
    session.output.show({"server": name, "credentials_path": str(path)}, [f"'{name}' has no token in {path}"])
