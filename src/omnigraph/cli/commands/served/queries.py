"""`omnigraph queries`: the stored queries of a cluster, or of a graph on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from omnigraph.cli.frame import OmniGroup, json_option
from omnigraph.cli.session import Session


@click.group("queries", cls=OmniGroup)
def command() -> None:
    """List and check stored queries."""


@command.command("list", example="omnigraph queries list --cluster ./library")
@json_option
@click.pass_obj
def list_(session: Session) -> None:
    """List the stored queries of a graph on a server, or of a cluster, with their parameters.

    Each is run by a server under /graphs/<id>/queries/<name>, and is a tool of that name for agents.
    """
    is_served = session.is_served
    listed = _served(session) if is_served else _applied(session)
    session.output.show({"queries": listed}, _lines(listed, "served" if is_served else "applied"))


def _served(session: Session) -> list[Any]:
    """Those that the server shows to this caller."""
    target = session.target(None)
    graph = target.remote(target.open_for_reading())
    graph_id = graph.uri.rpartition("/")[2]
    return [query.to_json() | {"graph": graph_id} for query in graph.stored_queries()]


def _applied(session: Session) -> list[Any]:
    """Those of the applied revision of the cluster."""
    from omnigraph.cluster import declared_queries

    listed: list[Any] = []
    for graph in session.applied_graphs():
        queries, broken = declared_queries(graph)
        listed += [query.to_json() for query in queries]
        for each in broken:
            session.output.warn(f"stored query '{each.query}' of graph '{each.graph}': {each.message}")
    return listed


def _lines(queries: list[Any], state: str) -> Iterator[str]:
    several = len({query["graph"] for query in queries}) > 1
    for query in queries:
        params = ", ".join(_param(param) for param in query["params"])
        where = f"  [{query['graph']}]" if several else ""
        yield f"{'mutation' if query['mutation'] else 'read'}  {query['name']}({params}){where}"
        yield from _note("description", query.get("description"))
        yield from _note("instruction", query.get("instruction"))
    if not queries:
        yield f"no stored queries are {state}"


def _param(param: Any) -> str:
    return f"${param['name']}: {param['type']}{'?' if param['nullable'] else ''}"


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
