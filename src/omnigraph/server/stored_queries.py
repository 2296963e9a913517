"""Stored queries: parsed and checked when a graph is opened, described for the catalogue, run by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.language import CompileError
from omnigraph.language.query import compile_query, declared_type, describe_param, parse_queries
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.server.wire import answers


class InvalidStoredQueries(BadRequest):
    """Stored queries of a graph that cannot be served; the graph is not served with them."""


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """One query by its name."""

    name: str
    text: str
    is_mutation: bool
    entry: answers.QueryCatalogEntry


def stored_queries(graph_id: str, sources: Mapping[str, str], catalog: Catalog) -> dict[str, StoredQuery]:
    """All of them, checked against the schema. Raises InvalidStoredQueries with every query that does not fit."""
    found: dict[str, StoredQuery] = {}
    wrong: list[str] = []
    for name in sorted(sources):
        try:
            found[name] = _stored(name, sources[name], catalog)
        except BadRequest as error:
            wrong.append(f"query '{name}': {error.sentence()}")
    if wrong:
        raise InvalidStoredQueries(f"graph '{graph_id}': schema check of its stored queries failed: {'; '.join(wrong)}")
    return found


def _stored(name: str, text: str, catalog: Catalog) -> StoredQuery:
    declared = parse_queries(text).by_name.get(name)
    if declared is None:
        raise BadRequest(f"its file declares no query '{name}'")
    compile_query(text, catalog, name=name)
    described: list[Any] = [{**describe_param(param), "type": declared_type(param)} for param in declared.params]
    entry = answers.QueryCatalogEntry(
        name=name,
        tool_name=name,
        mutation=declared.kind == "mutation",
        params=[answers.ParamDescriptor(**each) for each in described],
    )
    if declared.description is not None:
        entry.description = declared.description
    if declared.instruction is not None:
        entry.instruction = declared.instruction
    return StoredQuery(name, text, declared.kind == "mutation", entry)


def broken_by(stored: Mapping[str, StoredQuery], catalog: Catalog) -> list[str]:
    """The stored queries that another schema would break, with the reason."""
    broken = []
    for query in stored.values():
        try:
            compile_query(query.text, catalog, name=query.name)
        except CompileError as error:
            broken.append(f"query '{query.name}': {error.sentence()}")
    return broken
