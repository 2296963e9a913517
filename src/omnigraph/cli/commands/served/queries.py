"""`omnigraph queries`: the stored queries of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniGroup, json_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.cluster import StoredQuery


@click.group("queries", cls=OmniGroup)
def command() -> None:
    """List and check the stored queries of a cluster."""


@command.command("list", example="omnigraph queries list --cluster ./library")
@json_option
@click.pass_obj
def list_(session: Session) -> None:
    """List the stored queries that were applied, with their parameters.

    Each is exposed by a server under /graphs/<id>/queries/<name> and to agents as a tool of that name.
    """
    from omnigraph.cluster import declared_queries

    listed: list[StoredQuery] = []
    for graph in session.applied_graphs():
        queries, broken = declared_queries(graph)
        listed += queries
        for each in broken:
            session.output.warn(f"stored query '{each.query}' of graph '{each.graph}': {each.message}")
    session.output.show({"queries": [query.to_json() for query in listed]}, _lines(listed))


def _lines(queries: list[StoredQuery]) -> Iterator[str]:
    several = len({query.graph for query in queries}) > 1
    for query in queries:
        params = ", ".join(f"${param.name}: {param.type}" for param in query.params)
        where = f"  [{query.graph}]" if several else ""
        yield f"{'mutation' if query.mutation else 'read'}  {query.name}({params}){where}"
        yield from _note("description", query.description)
        yield from _note("instruction", query.instruction)
    if not queries:
        yield "no stored queries are applied"


def _note(label: str, text: str | None) -> Iterator[str]:
    """A note below its query; further lines begin where the first one does."""
    for place, line in enumerate(() if text is None else text.splitlines()):
        yield f"  {label}: {line}" if place == 0 else f"  {' ' * len(label)}  {line}"


@command.command("validate", example="omnigraph queries validate --cluster ./library")
@json_option
@click.pass_obj
def validate(session: Session) -> None:
    """Check every stored query against the schema that its graph has now."""
    from omnigraph.cli.refusals import ReportedFailure
    from omnigraph.cluster import check_queries
    from omnigraph.graph import Graph

    broken, warnings, checked = [], [], 0
    for graph in session.applied_graphs():
        with Graph.open(graph.uri, read_only=True) as opened:
            faults, noticed = check_queries(graph, opened.schema.catalog)
        broken += faults
        warnings += noticed
        checked += len(graph.queries)
    session.output.show(
        {
            "ok": not broken,
            "breakages": [each.to_json() for each in broken],
            "warnings": [each.to_json() for each in warnings],
        },
        [
            *(f"ERROR {each.graph} `{each.query}`: {each.message}" for each in broken),
            *(f"WARN  {each.graph} `{each.query}`: {each.message}" for each in warnings),
            f"{checked} stored queries checked, {len(broken)} broken",
        ],
    )
    if broken:
        raise ReportedFailure(f"{len(broken)} stored queries do not fit their graphs")
