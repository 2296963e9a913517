"""`omnigraph version`: the release and the storage format that it serves."""

from __future__ import annotations

import click

import omnigraph
from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session
from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION


@click.command("version", cls=OmniCommand, example="omnigraph version")
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Show the release and its storage format."""
    session.output.show(
        {"version": omnigraph.__version__, "internal_schema_version": INTERNAL_SCHEMA_VERSION},
        [f"omnigraph {omnigraph.__version__}", f"internal-schema {INTERNAL_SCHEMA_VERSION}"],
    )
