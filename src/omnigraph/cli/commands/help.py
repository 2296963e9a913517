"""`omnigraph help`: the help page of a command, by its words."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniCommand
from omnigraph.cli.session import Session


@click.command("help", cls=OmniCommand, example="omnigraph help branch create")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command."""
    here = context.find_root()
    for word in words:
        group = here.command
        if not isinstance(group, click.Group):
            context.fail(f"`{here.info_name}` has no subcommands")
        found = group.get_command(here, word)
        if found is None:
            context.fail(f"unrecognized subcommand '{word}'")
        here = click.Context(found, info_name=word, parent=here)
    session = context.find_object(Session)
    if session is not None:
        session.output.write(here.get_help())
