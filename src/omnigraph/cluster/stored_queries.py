"""Stored queries of an applied revision: what each declares, and whether the graph still has what it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cluster.snapshot import ServedGraph
from omnigraph.language.query import UnknownQuery, compile_query, declared_type, listed_query, parse_queries
from omnigraph.model.errors import Json, OmniGraphError
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.language.query import Param
    from omnigraph.language.schema import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """A stored query as callers see it."""

    graph: str
    name: str
    mutation: bool
    params: tuple[Param, ...]
    description: str | None = None
    instruction: str | None = None

    def to_json(self) -> dict[str, Json]:
        params: list[Json] = [
            {"name": param.name, "type": declared_type(param), "nullable": param.type.nullable} for param in self.params
        ]
        notes = {"description": self.description, "instruction": self.instruction}
        return listed_query(self.name, self.name, mutation=self.mutation, params=params, **notes) | {
            "graph": self.graph
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """A stored query that cannot run, or could run into trouble."""

    graph: str
    query: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {"query": self.query, "message": self.message, "graph": self.graph}


def declared_queries(graph: ServedGraph) -> tuple[list[StoredQuery], list[Breakage]]:
    """The stored queries of a graph by name, and those whose file does not declare them."""
    queries, broken = [], []
    for name, text in sorted(graph.queries.items()):
        try:
            declaration = parse_queries(text).by_name.get(name)
            if declaration is None:
                raise UnknownQuery(name, parse_queries(text).names)
        except OmniGraphError as error:
            broken.append(Breakage(graph=graph.id, query=name, message=error.sentence()))
            continue
        queries.append(
            StoredQuery(
                graph=graph.id,
                name=name,
                mutation=declaration.kind == "mutation",
                params=declaration.params,
                description=declaration.description,
                instruction=declaration.instruction,
            )
        )
    return queries, broken


def check_queries(graph: ServedGraph, catalog: Catalog) -> tuple[list[Breakage], list[Breakage]]:
    """The stored queries that do not fit the schema of their graph; and what may surprise a caller."""
    broken, warnings = [], []
    for name, text in sorted(graph.queries.items()):
        try:
            compiled = compile_query(text, catalog, name=name)
        except OmniGraphError as error:
            broken.append(Breakage(graph=graph.id, query=name, message=error.sentence()))
            continue
        said = [warning.message for warning in compiled.warnings]
        said += [
            f"${param.name} is a vector, which few callers can supply"
            for param in compiled.params
            if param.type.is_vector
        ]
        warnings += [Breakage(graph=graph.id, query=name, message=message) for message in said]
    return broken, warnings
