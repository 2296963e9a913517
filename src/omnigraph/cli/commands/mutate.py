"""`omnigraph mutate`: insert, update and delete entities with a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.inputs import QuerySource, condition_options, source_options
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.write import MutationResult


@click.command(
    "mutate",
    cls=OmniCommand,
    example='omnigraph mutate -e \'query add() { insert Book { isbn: "b-1", title: "T" } }\' --store lib.omni',
)
@source_options
@click.option("--branch", metavar="BRANCH", default="main", show_default=True, help="The branch to write.")
@condition_options
@json_option
@click.pass_obj
def command(
    session: Session,
    name: str | None,
    file: str | None,
    text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str,
    if_commit: str | None,
    idempotency_key: str | None,
    message: str | None,
) -> None:
    """Insert, update and delete entities with a query.

    All statements of the query become one commit, or none. NAME selects a query when the source has several. A query
    that matches nothing succeeds and publishes no commit, unless an idempotency key is to be kept.
    """
    source = QuerySource(name, file, text, params, params_file)
    target = session.target(None)
    query = None if source.is_stored(target) else source.query_text(target, "mutate")
    parameters = source.parameters()
    conditions: dict[str, Any] = {"branch": branch, "if_commit": if_commit, "idempotency_key": idempotency_key}
    if query is None and message is not None:
        raise click.UsageError("--message cannot be used with a stored query")
    target.announce("mutate")
    with target.open_for_writing() as graph:
        if query is None:
            result: MutationResult = target.stored(graph)(name, parameters, expect_mutation=True, **conditions)
        else:
            result = graph.mutate(query, parameters, query_name=name, message=message, **conditions)
    happened = "nothing matched" if result.commit is None else f"the mutation is done, as commit {result.commit_id}"
    session.output.show_receipt(_document(result), _lines(result), happened)


def _document(result: MutationResult) -> dict[str, Json]:
    from omnigraph.cli.commands.commit import commit_document

    document: dict[str, Json] = {
        "branch": result.branch,
        "query_name": result.query_name,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": None if result.commit is None else commit_document(result.commit),
    }
    if result.replayed:
        document["replayed"] = True
    return document


def _lines(result: MutationResult) -> Iterator[str]:
    counts = f"{result.affected_nodes} nodes, {result.affected_edges} edges"
    yield f"changed {result.branch} via {result.query_name}: {counts}"
    if result.actor_id is not None:
        yield f"actor_id: {result.actor_id}"
    if result.replayed:
        yield f"already done: commit {result.commit_id} has this idempotency key; nothing was written again"
