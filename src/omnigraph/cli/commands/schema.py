"""`omnigraph schema`: show the accepted schema, and plan, apply and take back changes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.cli.frame import OmniGroup, json_option, uri_argument, uri_option
from omnigraph.cli.inputs import engine_options, refuse_master_without_spark
from omnigraph.cli.session import Session, Target

if TYPE_CHECKING:
    from omnigraph.cli.progress import ProgressLine
    from omnigraph.write.evolution import SchemaReceipt

Engine = Literal["auto", "local", "spark"]


@click.group("schema", cls=OmniGroup)
def command() -> None:
    """Show the accepted schema and change it."""


_drop_options = (
    click.option("--allow-data-loss", is_flag=True, help="What is dropped is gone for good, from the past too."),
    click.option(
        "--allow-drop",
        multiple=True,
        metavar="ENTITY",
        help="Drop this for good and the rest not: node:T, edge:E, node:T.p. Repeatable.",
    ),
    click.option(
        "--rename-value",
        "renamed_values",
        multiple=True,
        metavar="ENTITY=OLD:NEW",
        help="Values of an enum that get another name: node:T.p=open:todo. Repeatable.",
    ),
)


def change_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a plan and its apply take alike."""
    for option in reversed(_drop_options):
        function = option(function)
    return function


@command.command("plan", example="omnigraph schema plan --schema next.pg lib.omni")
@uri_argument
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The new schema, a .pg file.")
@change_options
@json_option
@click.pass_obj
def plan(
    session: Session,
    uri: str | None,
    schema_file: str,
    allow_data_loss: bool,
    allow_drop: tuple[str, ...],
    renamed_values: tuple[str, ...],
) -> None:
    """Show the steps from the accepted schema to another one, and what they cost; nothing is changed.

    An unsupported change is part of the answer and not a failure.
    """
    from omnigraph.cli.inputs import compile_file

    target = session.target(uri)
    wanted = compile_file(session, schema_file)
    with target.open_for_reading() as graph:
        migration = graph.plan_schema(
            wanted.source,
            file=schema_file,
            allow_data_loss=allow_data_loss,
            allow_drop=allow_drop,
            enum_values=_enum_values(renamed_values),
        )
    session.warn_about(migration.warnings)
    document = migration.to_json()
    steps = document.pop("steps")
    supported = document.pop("supported")
    session.output.show(
        {"uri": target.uri, "supported": supported, "step_count": len(steps), "steps": steps, **document},
        [
            f"schema plan for {target.uri}",
            f"supported: {'yes' if supported else 'no'}",
            migration.render(),
        ],
    )


@command.command("apply", example="omnigraph schema apply --schema next.pg lib.omni")
@uri_argument
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The new schema, a .pg file.")
@change_options
@click.option("--wait", type=float, default=0.0, metavar="SECONDS", help="Wait for another change, and for branches.")
@click.option("--message", "-m", help="A note that is kept with the commit.")
@engine_options
@json_option
@click.pass_obj
def apply(
    session: Session,
    uri: str | None,
    schema_file: str,
    allow_data_loss: bool,
    allow_drop: tuple[str, ...],
    renamed_values: tuple[str, ...],
    wait: float,
    message: str | None,
    engine: Engine,
    spark: str | None,
) -> None:
    """Give main another schema, as one commit, or change nothing.

    Stored entities are carried over. What is dropped stays readable in earlier commits, unless it is dropped for good.
    """
    from omnigraph.cli.inputs import compile_file
    from omnigraph.cli.target import refuse_cluster_managed

    refuse_master_without_spark(engine, spark)
    target = session.target(uri)
    refuse_cluster_managed(target.uri, "schema apply")
    wanted = compile_file(session, schema_file)
    target.announce("schema apply")
    if target.is_served:
        options = {"allow_drop": allow_drop, "rename_value": renamed_values, "wait": wait, "message": message}
        options |= {"engine": None if engine == "auto" else engine, "spark": spark}
        _apply_on_server(session, target, wanted.source, allow_data_loss, options)
        return
    with target.open_for_writing() as graph, _progress(session) as line:
        receipt = graph.apply_schema(
            wanted.source,
            file=schema_file,
            allow_data_loss=allow_data_loss,
            allow_drop=allow_drop,
            enum_values=_enum_values(renamed_values),
            wait=wait,
            message=message,
            engine=engine,
            spark=spark,
            progress=line,
        )
    _show_receipt(session, target.uri, "apply", receipt)


def _apply_on_server(
    session: Session, target: Target, text: str, allow_data_loss: bool, options: dict[str, Any]
) -> None:
    """A server takes the text and whether data may go; it refuses where a cluster owns the schema."""
    from omnigraph.client import refuse_options

    refuse_options(**{name: value or None for name, value in options.items()})
    with target.open_for_writing() as graph:
        document = dict(target.remote(graph).apply_schema_text(text, allow_data_loss=allow_data_loss))
    lines = [
        f"schema apply for {target.uri}",
        f"applied: {'yes' if document['applied'] else 'no'}",
        *(f"- {step['kind']}" for step in document["steps"]),
        *(f"note: {note['message']}; {note['hint']}" for note in document.get("notes", ())),
    ]
    session.output.show(document | {"uri": target.uri}, lines)


@command.command("restore", example="omnigraph schema restore node:Book.year --at 01J… --store lib.omni")
@click.argument("entity")
@click.option("--at", "at", required=True, metavar="COMMIT", help="A commit, tag or time that still has it.")
@click.option("--wait", type=float, default=0.0, metavar="SECONDS", help="Wait for another change, and for branches.")
@click.option("--message", "-m", help="A note that is kept with the commit.")
@engine_options
@uri_option
@json_option
@click.pass_obj
def restore(
    session: Session,
    entity: str,
    at: str,
    wait: float,
    message: str | None,
    engine: Engine,
    spark: str | None,
    uri: str | None,
) -> None:
    """Bring back a type or property that was dropped, with its data.

    ENTITY is node:T, edge:E or node:T.p, as it was in an earlier commit. A property comes back nullable.
    """
    from omnigraph.cli.target import refuse_cluster_managed

    refuse_master_without_spark(engine, spark)
    target = session.target(uri)
    refuse_cluster_managed(target.uri, "schema restore")
    target.announce("schema restore")
    with target.open_for_writing() as graph, _progress(session) as line:
        receipt = graph.restore_schema(
            entity, at=at, wait=wait, message=message, engine=engine, spark=spark, progress=line
        )
    _show_receipt(session, target.uri, "restore", receipt)


@command.command("unlock", example="omnigraph schema unlock lib.omni")
@uri_argument
@json_option
@click.pass_obj
def unlock(session: Session, uri: str | None) -> None:
    """Remove the lock of a schema change whose program is dead.

    A change of OmniGraph for Python that died needs nobody: whoever writes next finishes it or takes it back.
    """
    target = session.target(uri)
    target.announce("schema unlock")
    with target.open_for_writing() as graph:
        unlocked = graph.unlock_schema()
    owner = unlocked.owner.owner if unlocked.owner is not None and unlocked.owner.owner else "another program"
    line = f"removed the schema lock of {owner}" if unlocked.found else "there is no schema lock"
    session.output.show({"uri": target.uri, **unlocked.to_json()}, [line])


@contextmanager
def _progress(session: Session) -> Iterator[ProgressLine | None]:
    """A line that is gone when the change ends."""
    from omnigraph.cli.progress import progress_line

    line = progress_line(quiet=session.quiet)
    try:
        yield line
    finally:
        if line is not None:
            line.wipe()


def _show_receipt(session: Session, uri: str, verb: str, receipt: SchemaReceipt) -> None:
    session.warn_about(receipt.plan.warnings)
    lines = [
        f"schema {verb} for {uri}",
        "supported: yes",
        f"applied: {'yes' if receipt.applied else 'no'}",
        f"graph_manifest_version: {receipt.graph_manifest_version}",
        receipt.plan.render(),
    ]
    if receipt.text_stored and not receipt.applied:
        lines.append("stored the new text of the schema")
    session.output.show({"uri": uri, **receipt.to_json()}, lines)


def _enum_values(given: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """`node:T.p=old:new`, any number of them, by property."""
    found: dict[str, dict[str, str]] = {}
    for each in given:
        entity, equals, pair = each.partition("=")
        old, colon, new = pair.partition(":")
        if not (entity and equals and old and colon and new):
            raise click.BadParameter(f"'{each}' is not ENTITY=OLD:NEW", param_hint="--rename-value")
        found.setdefault(entity, {})[old] = new
    return found


@command.command("show", example="omnigraph schema show lib.omni")
@uri_argument
@json_option
@click.pass_obj
def show(session: Session, uri: str | None) -> None:
    """Show the source of the accepted schema."""
    with session.target(uri).open_for_reading() as graph:
        source = graph.schema_source
    session.output.show({"schema_source": source}, [source])
