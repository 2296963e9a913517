"""`omnigraph commit`: list and show commits, and what they changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniGroup, branch_option, json_option, uri_argument, uri_option
from omnigraph.cli.inputs import PAGE, filter_options, filters, page_limits
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.history.feed import CommitChanges
    from omnigraph.model.errors import Json
    from omnigraph.storage.manifest import GraphCommit


@click.group("commit", cls=OmniGroup)
def command() -> None:
    """List and show commits, and what they changed."""


@command.command("list", example="omnigraph commit list lib.omni --limit 10")
@uri_argument
@branch_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N commits.")
@click.option("--before", metavar="REF", help="Only commits before this time, or before this commit.")
@click.option("--since", metavar="REF", help="Only commits from this time on, or after this commit.")
@click.option("--actor", multiple=True, metavar="ACTOR", help="Only commits of this actor; may be repeated.")
@json_option
@click.pass_obj
def list_(
    session: Session,
    uri: str | None,
    branch: str,
    limit: int | None,
    before: str | None,
    since: str | None,
    actor: tuple[str, ...],
) -> None:
    """List the commits of a branch, newest first."""
    with session.target(uri).open_for_reading() as graph:
        commits = _commits(graph, branch, limit, {"before": before, "since": since, "actor": actor or None})
    session.output.show(
        {"commits": [commit_document(commit) for commit in commits]}, (_line(commit) for commit in commits)
    )


def _commits(graph: Graph, branch: str, limit: int | None, filters: dict[str, Any]) -> list[GraphCommit]:
    if not any(filters.values()):
        return graph.commits(branch, limit=limit)
    wanted = {entry.commit_id for entry in graph.log(f"branch:{branch}", limit=limit, **filters)}
    return [commit for commit in graph.commits(branch) if commit.commit_id in wanted]


@command.command("show", example="omnigraph commit show 01J9Z8Q5W3V7C2B4N6M8K0H1G3 --uri lib.omni")
@click.argument("commit_id", metavar="ID")
@uri_option
@json_option
@click.pass_obj
def show(session: Session, commit_id: str, uri: str | None) -> None:
    """Show one commit."""
    with session.target(uri).open_for_reading() as graph:
        commit = graph.commit(commit_id)
    document = commit_document(commit)
    known = (f"{name}: {value}" for name, value in (document | _main_by_name(commit)).items() if value is not None)
    session.output.show(document, known)


@command.command("changes", example="omnigraph commit changes 01J9Z8Q5W3V7C2B4N6M8K0H1G3 --uri lib.omni")
@click.argument("commit_id", metavar="ID")
@click.option("--limit", type=PAGE, metavar="N", help="The size of a page: so many changes are read at a time.")
@click.option("--page-token", metavar="TOKEN", help="Print one page only: the one that this token names.")
@filter_options
@uri_option
@json_option
@click.pass_obj
def changes(
    session: Session,
    commit_id: str,
    limit: int | None,
    page_token: str | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
) -> None:
    """Show what a commit changed, compared with its first parent."""
    from omnigraph.cli.formats import block_lines, json_stream

    options = {**filters(kinds, types, ops), "limits": page_limits(limit)}
    with session.target(uri).open_for_reading() as graph:
        page = graph.commit_changes(commit_id, page_token=page_token, **options)
        cause = page.cause.to_json()
        if page_token is not None:
            token: dict[str, Json] = {"next_page_token": page.next_page_token} if page.next_page_token else {}
            listed = [change.to_json() for change in page]
            shown = [*block_lines(cause, listed), *(f"{name}: {value}" for name, value in token.items())]
            session.output.show({"cause": cause, "changes": [*listed], **token}, shown)
            return
        every = _every_change(graph, commit_id, page, options)
        for line in json_stream({"cause": cause}, "changes", every) if session.json else block_lines(cause, every):
            session.output.write(line)


def _every_change(graph: Graph, commit_id: str, page: CommitChanges, options: dict[str, Any]) -> Iterator[Any]:
    """The changes of all pages, one page in memory at a time."""
    while True:
        for change in page:
            yield change.to_json()
        if page.next_page_token is None:
            return
        page = graph.commit_changes(commit_id, page_token=page.next_page_token, **options)


def commit_document(commit: GraphCommit) -> dict[str, Json]:
    """The one JSON form of a commit; a null branch is main."""
    return {
        "graph_commit_id": commit.commit_id,
        "graph_branch": commit.branch,
        "graph_manifest_version": commit.version,
        "parent_commit_id": commit.parent_id,
        "merged_parent_commit_id": commit.merged_parent_id,
        "actor_id": commit.actor_id,
        "created_at": commit.created_at,
    }


def _main_by_name(commit: GraphCommit) -> dict[str, Json]:
    return {"graph_branch": commit.branch or "main"}


def _line(commit: GraphCommit) -> str:
    actor = f" actor={commit.actor_id}" if commit.actor_id else ""
    return f"{commit.commit_id} graph_branch={commit.branch or 'main'} graph_manifest_version={commit.version}{actor}"
