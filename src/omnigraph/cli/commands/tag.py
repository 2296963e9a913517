"""`omnigraph tag`: names for commits that stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniGroup, json_option, uri_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.history import Tag


@click.group("tag", cls=OmniGroup)
def command() -> None:
    """Create, list and delete tags."""


@command.command("create", example="omnigraph tag create release-1 --store lib.omni")
@click.argument("name")
@click.option(
    "--commit", metavar="REF", default="main", show_default=True, help="What to tag: a commit, branch, tag or time."
)
@click.option("--force", is_flag=True, help="Move a tag that exists.")
@uri_option
@json_option
@click.pass_obj
def create(session: Session, name: str, commit: str, force: bool, uri: str | None) -> None:
    """Give a commit a name."""
    target = session.target(uri)
    target.announce("tag create")
    with target.open_for_writing() as graph:
        tag = graph.tag(name, commit, force=force)
    happened = f"tagged commit {tag.commit_id} as {tag.name}"
    session.output.show_receipt(tag.to_json(), [happened], happened)


@command.command("list", example="omnigraph tag list --store lib.omni")
@uri_option
@json_option
@click.pass_obj
def list_(session: Session, uri: str | None) -> None:
    """List the tags, sorted by name."""
    with session.target(uri).open_for_reading() as graph:
        tags = graph.tags()
    session.output.show({"tags": [tag.to_json() for tag in tags]}, (_line(tag) for tag in tags))


@command.command("delete", example="omnigraph tag delete release-1 --store lib.omni")
@click.argument("name")
@uri_option
@json_option
@click.pass_obj
def delete(session: Session, name: str, uri: str | None) -> None:
    """Delete a tag. Its commit stays."""
    target = session.target(uri)
    target.announce("tag delete")
    with target.open_for_writing() as graph:
        tag = graph.delete_tag(name)
    happened = f"deleted tag {tag.name}, which named commit {tag.commit_id}"
    session.output.show_receipt(tag.to_json(), [happened], happened)


def _line(tag: Tag) -> str:
    actor = f" actor={tag.actor_id}" if tag.actor_id else ""
    return f"{tag.name} {tag.commit_id}{actor}"
