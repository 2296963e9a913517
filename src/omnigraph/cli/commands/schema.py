"""`omnigraph schema`: show the accepted schema and plan changes to it."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniGroup, json_option, uri_argument
from omnigraph.cli.session import Session


@click.group("schema", cls=OmniGroup)
def command() -> None:
    """Show the accepted schema and plan changes to it."""


@command.command("plan", example="omnigraph schema plan --schema next.pg lib.omni")
@uri_argument
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The new schema, a .pg file.")
@click.option("--allow-data-loss", is_flag=True, help="Plan drops that delete the data at once.")
@json_option
@click.pass_obj
def plan(session: Session, uri: str | None, schema_file: str, allow_data_loss: bool) -> None:
    """Show the steps from the accepted schema to another one; nothing is changed.

    An unsupported change is part of the answer and not a failure.
    """
    from omnigraph.cli.inputs import compile_file

    target = session.target(uri)
    wanted = compile_file(session, schema_file)
    with target.open_for_reading() as graph:
        migration = graph.plan_schema(wanted.source, file=schema_file, allow_data_loss=allow_data_loss)
    session.warn_about(migration.warnings)
    steps = migration.to_json()["steps"]
    session.output.show(
        {"uri": target.uri, "supported": migration.supported, "step_count": len(steps), "steps": steps},
        [
            f"schema plan for {target.uri}",
            f"supported: {'yes' if migration.supported else 'no'}",
            migration.render(),
        ],
    )


@command.command("show", example="omnigraph schema show lib.omni")
@uri_argument
@json_option
@click.pass_obj
def show(session: Session, uri: str | None) -> None:
    """Show the source of the accepted schema."""
    with session.target(uri).open_for_reading() as graph:
        source = graph.schema_source
    session.output.show({"schema_source": source}, [source])
