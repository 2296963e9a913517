"""`omnigraph branch`: create, list, compare, merge and delete branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.commands.diff import diff_command
from omnigraph.cli.commands.merge import merge_command
from omnigraph.cli.frame import OmniGroup, json_option, uri_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.graph import Graph


@click.group("branch", cls=OmniGroup)
def command() -> None:
    """Create, list, compare, merge and delete branches."""


@command.command("create", example="omnigraph branch create review/new --store lib.omni")
@click.argument("name")
@click.option(
    "--from",
    "source",
    metavar="REF",
    default="main",
    show_default=True,
    help="Where to start: a branch, a tag, a commit or a time.",
)
@uri_option
@json_option
@click.pass_obj
def create(session: Session, name: str, source: str, uri: str | None) -> None:
    """Create a branch at the head of another one, or at an earlier commit."""
    target = session.target(uri)
    target.announce("branch create")
    with target.open_for_writing() as graph:
        graph.create_branch(name, source=source)
        actor = target.actor_of(graph)
    session.output.show(
        {"uri": target.uri, "from": source, "name": name, "actor_id": actor},
        [f"created branch {name} from {source}"],
    )


@command.command("list", example="omnigraph branch list --store lib.omni")
@click.option(
    "--details", is_flag=True, help="Show heads and ages, and how many commits each is ahead of and behind main."
)
@uri_option
@json_option
@click.pass_obj
def list_(session: Session, details: bool, uri: str | None) -> None:
    """List the branches, sorted by name."""
    with session.target(uri).open_for_reading() as graph:
        if details:
            _show_details(session, graph)
            return
        branches = graph.branches()
    session.output.show({"branches": [*branches]}, branches)


def _show_details(session: Session, graph: Graph) -> None:
    from omnigraph.cli.formats import table_lines

    rows = [each.to_json() for each in graph.branch_details()]
    shown = [{name: "" if value is None else value for name, value in row.items()} for row in rows]
    lines = (line.rstrip() for line in table_lines(list(rows[0]), shown))
    session.output.show({"branches": [row["name"] for row in rows], "details": [*rows]}, lines)


@command.command("delete", example="omnigraph branch delete review/new --store lib.omni")
@click.argument("name")
@uri_option
@json_option
@click.pass_obj
def delete(session: Session, name: str, uri: str | None) -> None:
    """Delete a branch.

    On a graph that is not on this machine it asks first, and a script must pass --yes.
    """
    target = session.target(uri)
    target.announce("branch delete")
    target.confirm("branch delete")
    with target.open_for_writing() as graph:
        graph.delete_branch(name)
        actor = target.actor_of(graph)
    session.output.show(
        {"uri": target.uri, "name": name, "actor_id": actor},
        [f"deleted branch {name}"],
    )


command.add_command(diff_command("branch diff"))
command.add_command(merge_command("branch merge"))
