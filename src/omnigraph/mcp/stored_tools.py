"""Stored queries as tools, one each with typed arguments; where there are many, two tools that list and run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.language import did_you_mean
from omnigraph.mcp.arguments import Arguments, Document, InvalidArguments
from omnigraph.mcp.tool import BRANCH, PARAMS, TARGET, Tool, text
from omnigraph.mcp.writing_tools import mutation_document
from omnigraph.model.errors import NotFound
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.client import RemoteGraph
    from omnigraph.graph import Graph

SEPARATE_MAX = 24
"""More tools than this are more than an agent chooses well from."""
_SCALARS: dict[str, Document] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bigint": {"type": "string", "pattern": r"^-?\d+$"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "blob": {"type": "string"},
}

Run = Callable[["Graph", str, Mapping[str, Any], dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored query, wherever it is kept."""

    name: str
    mutation: bool
    params: tuple[Mapping[str, Any], ...]
    description: str | None
    instruction: str | None
    run: Run

    @property
    def help(self) -> str:
        said = [each for each in (self.description, self.instruction) if each]
        return " ".join(said) or f"The stored {'mutation' if self.mutation else 'query'} '{self.name}'."


def queries_of_file(path: str) -> list[Stored]:
    """The queries of a .gq file, for a graph without a server. Raises CompileError."""
    from omnigraph.language.query import describe_param, parse_queries
    from omnigraph.model.errors import BadRequest

    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
    except OSError as error:
        raise BadRequest(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from error

    def run(graph: Graph, name: str, params: Mapping[str, Any], options: dict[str, Any]) -> Any:
        is_mutation = kinds[name] == "mutation"
        if is_mutation:
            return graph.mutate(source, params, query_name=name, branch=options.get("branch"))
        return graph.query(source, params, query_name=name, **options)

    declared = parse_queries(source, file=path).declarations
    kinds = {each.name: each.kind for each in declared}
    return [
        Stored(
            name=each.name,
            mutation=each.kind == "mutation",
            params=tuple(describe_param(param) for param in each.params),
            description=each.description,
            instruction=each.instruction,
            run=run,
        )
        for each in declared
    ]


def queries_of_server(graph: RemoteGraph) -> list[Stored]:
    """The stored queries that the server lists for this caller."""

    def run(_: Graph, name: str, params: Mapping[str, Any], options: dict[str, Any]) -> Any:
        return graph.run_stored(name, params, **options)

    return [
        Stored(
            name=each.name,
            mutation=each.mutation,
            params=each.params,
            description=each.description,
            instruction=each.instruction,
            run=run,
        )
        for each in graph.stored_queries()
    ]


def stored_tools(queries: Sequence[Stored], taken: Sequence[str]) -> list[Tool]:
    """One tool for each query; a name that a tool has already gets a prefix."""
    if len(queries) > SEPARATE_MAX:
        return _two_tools(queries)
    return [_tool(query, f"stored_{query.name}" if query.name in taken else query.name) for query in queries]


def param_schema(param: Mapping[str, Any]) -> Document:
    """The JSON schema of a parameter of the catalogue."""
    kind = param["kind"]
    if kind == "vector":
        size = param.get("vector_dim")
        schema: Document = {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
    elif kind == "list":
        schema = {"type": "array", "items": dict(_SCALARS.get(param.get("item_kind") or "string", {}))}
    else:
        schema = dict(_SCALARS.get(kind, {}))
    if param["nullable"] and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    return schema


def _tool(query: Stored, name: str) -> Tool:
    names = {each["name"] for each in query.params}
    extra = {"branch": TARGET if query.mutation else BRANCH} if "branch" not in names else {}
    if not query.mutation and "snapshot" not in names:
        extra["snapshot"] = text("A commit id or tag to read at, instead of a branch.")

    def call(graph: Graph, arguments: Arguments) -> Document:
        params = {key: value for key, value in arguments.items() if key in names}
        return _ran(graph, query, params, {key: arguments.get(key) for key in extra})

    return Tool(
        name=name,
        description=query.help,
        properties={each["name"]: param_schema(each) for each in query.params} | extra,
        required=(*(each["name"] for each in query.params if not each["nullable"]), *(extra if query.mutation else ())),
        call=call,
        action="change" if query.mutation else "read",
        writes=query.mutation,
        listed=None if query.mutation else "rows",
    )


def _ran(graph: Graph, query: Stored, params: Mapping[str, Any], where: Mapping[str, Any]) -> Document:
    options = {"branch": where.get("branch"), "commit": where.get("snapshot")}
    given = {key: value for key, value in options.items() if value is not None}
    result = query.run(graph, query.name, params, given)
    return mutation_document(result) if query.mutation else result.to_json()


def _two_tools(queries: Sequence[Stored]) -> list[Tool]:
    known = {query.name: query for query in queries}

    def listed(_: Graph, __: Arguments) -> Document:
        return {"queries": [_described(query) for query in queries]}

    def run(graph: Graph, arguments: Arguments) -> Document:
        query = known.get(arguments["name"])
        if query is None:
            near = did_you_mean(arguments["name"], known) or "stored_query_list has them all"
            raise NotFound(f"there is no stored query '{arguments['name']}'", near)
        if query.mutation and "branch" not in arguments:
            raise InvalidArguments(f"'{query.name}' writes, so it needs the argument 'branch'")
        return _ran(graph, query, arguments.get("params") or {}, arguments)

    writes = any(query.mutation for query in queries)
    return [
        Tool(
            name="stored_query_list",
            description="The stored queries with their parameters.",
            call=listed,
            listed="queries",
        ),
        Tool(
            name="stored_query_run",
            description="Run a stored query by its name.",
            properties={"name": text("Its name."), "params": PARAMS, "branch": BRANCH, "snapshot": text("A commit.")},
            required=("name",),
            call=run,
            writes=writes,
            listed="rows",
        ),
    ]


def _described(query: Stored) -> Document:
    return {"name": query.name, "mutation": query.mutation, "description": query.help, "params": list(query.params)}
