"""Writing tools: only where the operator allows them. Each names the branch that it writes, and returns a receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.mcp.arguments import Arguments, Document
from omnigraph.mcp.reading_tools import commit_document
from omnigraph.mcp.tool import PARAMS, TARGET, Tool, text

if TYPE_CHECKING:
    from omnigraph.graph import Graph

_KEY = text("A key of your choice: a repeated call with it does not write again.")
_MESSAGE = text("A note that is kept with the commit.")


def mutation_document(result: Any) -> Document:
    document = {
        "branch": result.branch,
        "query_name": result.query_name,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": None if result.commit is None else commit_document(result.commit),
    }
    return document | ({"replayed": True} if result.replayed else {})


def _mutate(graph: Graph, arguments: Arguments) -> Document:
    options: dict[str, Any] = {"query_name": arguments.get("name"), "branch": arguments["branch"]}
    options |= {"message": arguments.get("message"), "idempotency_key": arguments.get("idempotency_key")}
    options["if_commit"] = arguments.get("if_commit")
    return mutation_document(graph.mutate(arguments["query"], arguments.get("params"), **options))


def _load(graph: Graph, arguments: Arguments) -> Document:
    lines = [line.encode() for line in arguments["data"].splitlines() if line.strip()]
    result = graph.load(
        lines,
        mode=arguments.get("mode", "merge"),
        branch=arguments["branch"],
        idempotency_key=arguments.get("idempotency_key"),
        engine="local",
    )
    return {
        "branch": result.branch,
        "mode": result.mode,
        "nodes": dict(result.nodes),
        "edges": dict(result.edges),
        "total_entities": result.total_entities,
        "commit": None if result.commit is None else commit_document(result.commit),
    }


def _create(graph: Graph, arguments: Arguments) -> Document:
    source = arguments.get("from", "main")
    graph.create_branch(arguments["name"], source=source)
    return {"name": arguments["name"], "from": source}


def _delete(graph: Graph, arguments: Arguments) -> Document:
    graph.delete_branch(arguments["branch"])
    return {"name": arguments["branch"]}


def _merge(graph: Graph, arguments: Arguments) -> Document:
    result = graph.merge(
        arguments["source"],
        arguments.get("target", "main"),
        message=arguments.get("message"),
        delete_branch=bool(arguments.get("delete_branch", False)),
    )
    return result.to_json()


_MUTATION = {
    "query": text("The text: query name($p: Type) { insert T { … } }, or update, or delete."),
    "name": text("Which query of the text, if it has several."),
    "params": PARAMS,
    "branch": TARGET,
    "message": _MESSAGE,
    "idempotency_key": _KEY,
}
WRITING_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="mutate",
        description="Insert, update or delete entities on a branch, as one commit.",
        properties=_MUTATION,
        required=("query", "branch"),
        call=_mutate,
        action="change",
        writes=True,
    ),
    Tool(
        name="mutate_if_commit",
        description="The same, only if a commit is still the head of the branch.",
        properties=_MUTATION | {"if_commit": text("The commit that must still be the head.")},
        required=("query", "branch", "if_commit"),
        call=_mutate,
        action="change",
        writes=True,
    ),
    Tool(
        name="load_ndjson",
        description="Load entities on a branch as one commit, from JSON lines.",
        properties={
            "data": text('Lines: {"type":"T","data":{…}} and {"edge":"E","from":"id","to":"id","data":{…}}.'),
            "branch": TARGET,
            "mode": text("append refuses existing ids, merge replaces them.", enum=["append", "merge", "overwrite"]),
            "idempotency_key": _KEY,
        },
        required=("data", "branch"),
        call=_load,
        action="change",
        writes=True,
    ),
    Tool(
        name="branches_create",
        description="Create a branch to work on.",
        properties={"name": text("The name, such as agent/fix-dates."), "from": text("Where it begins; main.")},
        required=("name",),
        call=_create,
        action="branch_create",
        writes=True,
    ),
    Tool(
        name="branches_delete",
        description="Delete a branch.",
        properties={"branch": text("The branch.")},
        required=("branch",),
        call=_delete,
        action="branch_delete",
        writes=True,
    ),
    Tool(
        name="branches_merge",
        description="Merge a branch into another one. Use merge_propose first.",
        properties={
            "source": text("The branch with the work."),
            "target": text("The branch to merge into; main."),
            "message": _MESSAGE,
            "delete_branch": {"type": "boolean", "description": "Delete the source afterwards."},
        },
        required=("source",),
        call=_merge,
        action="branch_merge",
        writes=True,
    ),
)
