"""Reading tools: they change nothing. Also the proposal of a merge, which says what it would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.mcp.arguments import Arguments, Document
from omnigraph.mcp.tool import BRANCH, PARAMS, Tool, text
from omnigraph.model.format_version import INTERNAL_SCHEMA_VERSION

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.storage.manifest import GraphCommit

LISTED_MAX = 1000
_LIMIT: Document = {"type": "integer", "minimum": 1, "maximum": LISTED_MAX, "description": "At most so many."}
_KINDS: Document = {"type": "array", "items": {"enum": ["node", "edge"]}, "description": "Only nodes, or only edges."}
_TYPES: Document = {"type": "array", "items": {"type": "string"}, "description": "Only these types."}
_OPS: Document = {"type": "array", "items": {"enum": ["insert", "update", "delete"]}, "description": "Only these."}
_FILTERS = {"kinds": _KINDS, "types": _TYPES, "ops": _OPS}


def commit_document(commit: GraphCommit) -> Document:
    return {
        "graph_commit_id": commit.commit_id,
        "graph_branch": commit.branch,
        "parent_commit_id": commit.parent_id,
        "merged_parent_commit_id": commit.merged_parent_id,
        "actor_id": commit.actor_id,
        "created_at": commit.created_at,
    }


def _limit(arguments: Arguments, default: int = 100) -> int:
    return min(int(arguments.get("limit", default)), LISTED_MAX)


def _filters(arguments: Arguments) -> dict[str, Any]:
    return {name: arguments[name] for name in _FILTERS if name in arguments}


def _health(graph: Graph, _: Arguments) -> Document:
    return {"status": "ok", "graph": graph.uri, "internal_schema_version": INTERNAL_SCHEMA_VERSION}


def _schema(graph: Graph, _: Arguments) -> Document:
    return {"schema_source": graph.schema_source}


def _branches(graph: Graph, _: Arguments) -> Document:
    return {"branches": graph.branches()}


def _snapshot(graph: Graph, arguments: Arguments) -> Document:
    snapshot = graph.snapshot(arguments.get("branch"))
    types = [
        {"entity_kind": pin.table_key.kind, "type_name": pin.table_key.type_name, "entity_count": pin.row_count}
        for pin in snapshot.tables
    ]
    return {"graph_branch": snapshot.branch, "graph_commit_id": snapshot.commit_id, "types": types}


def _commits(graph: Graph, arguments: Arguments) -> Document:
    found = graph.commits(arguments.get("branch"), limit=_limit(arguments))
    return {"commits": [commit_document(commit) for commit in found]}


def _commit(graph: Graph, arguments: Arguments) -> Document:
    return commit_document(graph.commit(arguments["commit_id"]))


def _query(graph: Graph, arguments: Arguments) -> Document:
    """All rows of one snapshot; a later part names the commit that the first one was read at."""
    result = graph.query(
        arguments["query"],
        arguments.get("params"),
        query_name=arguments.get("name"),
        branch=None if "snapshot" in arguments else arguments.get("branch"),
        commit=arguments.get("snapshot"),
    )
    return result.to_json()


def _explain(graph: Graph, arguments: Arguments) -> Document:
    found = graph.explain(
        arguments["query"],
        arguments.get("params"),
        query_name=arguments.get("name"),
        branch=arguments.get("branch"),
    )
    return {"text": found.text}


def _diff(graph: Graph, arguments: Arguments) -> Document:
    difference = graph.diff(arguments["before"], arguments.get("after", "main"), **_filters(arguments))
    return _difference(difference)


def _difference(difference: Any) -> Document:
    from itertools import islice

    changes = [change.to_json() for change in islice(difference, LISTED_MAX)]
    return {"stats": difference.stats.to_json(), "changes": changes}


def _commit_changes(graph: Graph, arguments: Arguments) -> Document:
    page = graph.commit_changes(arguments["commit_id"], page_token=arguments.get("page_token"), **_filters(arguments))
    return page.to_json()


def _changes(graph: Graph, arguments: Arguments) -> Document:
    position = {name: arguments[name] for name in ("start", "cursor", "page_token") if name in arguments}
    return graph.changes(arguments.get("branch"), **position, **_filters(arguments)).to_json()


def _blob(graph: Graph, arguments: Arguments) -> Document:
    name = f"{arguments['entity']}:{arguments['type']}"
    blob = graph.blob(name, arguments["id"], arguments["property"], branch=arguments.get("branch"))
    return blob.to_json()


def _propose(graph: Graph, arguments: Arguments) -> Document:
    """What a merge would do, and what it would bring: nothing is changed, somebody else decides."""
    source, target = arguments["source"], arguments.get("target", "main")
    tried = graph.merge(source, target, dry_run=True)
    document: Document = {"proposal": tried.to_json()}
    document |= _difference(graph.diff(target, source))
    if tried.conflicts_total:
        document["advice"] = "there are conflicts: change the source branch, or let a person decide them"
    else:
        document["advice"] = f"ready: somebody who may merge can merge '{source}' into '{target}'"
    return document


_QUERY_ARGUMENTS = {
    "query": text("The text of the query, in the .gq language. Read the schema first."),
    "name": text("Which query of the text, if it has several."),
    "params": PARAMS,
    "branch": BRANCH,
    "snapshot": text("A commit id or tag to read at, instead of a branch. Pass it with offset to get the rest."),
}
_QUERY_HELP = (
    "Run a read query. Example: query by($n: String) { match { $p: Person { name: $n }  $p knows $q } "
    "return { $q.name } order { $q.name } limit 20 }"
)
READING_TOOLS: tuple[Tool, ...] = (
    Tool(name="health", description="Whether the graph can be reached.", call=_health, action=None),
    Tool(
        name="schema_get",
        description="The schema of the graph: its node and edge types with their properties. Read it before you query.",
        call=_schema,
        listed="schema_source",
    ),
    Tool(name="branches_list", description="The branches of the graph.", call=_branches, listed="branches"),
    Tool(
        name="snapshot",
        description="How many entities of each type a branch has, and its head commit.",
        properties={"branch": BRANCH},
        call=_snapshot,
        listed="types",
    ),
    Tool(
        name="commits_list",
        description="The commits of a branch, newest first.",
        properties={"branch": BRANCH, "limit": _LIMIT},
        call=_commits,
        listed="commits",
    ),
    Tool(
        name="commits_get",
        description="One commit by its id.",
        properties={"commit_id": text("The id of the commit.")},
        required=("commit_id",),
        call=_commit,
    ),
    Tool(
        name="commit_changes",
        description="The entities that a commit changed, before and after.",
        properties={
            "commit_id": text("The commit."),
            "page_token": text("next_page_token of the page before."),
            **_FILTERS,
        },
        required=("commit_id",),
        call=_commit_changes,
        listed="changes",
    ),
    Tool(
        name="changes_poll",
        description="What the commits of a branch changed since a cursor, oldest first.",
        properties={
            "branch": BRANCH,
            "start": text("now, beginning, or after:<commit id>."),
            "cursor": text("The cursor of an earlier answer."),
            "page_token": text("next_page_token of the page before."),
            **_FILTERS,
        },
        call=_changes,
        listed="blocks",
    ),
    Tool(
        name="diff",
        description="What differs between two branches, tags, commits or times, entity by entity.",
        properties={
            "before": text("A branch, tag, commit or time."),
            "after": text("The other one; main."),
            **_FILTERS,
        },
        required=("before",),
        call=_diff,
        listed="changes",
    ),
    Tool(
        name="blob_stat",
        description="The kind, size and tag of one Blob value; never its bytes.",
        properties={
            "entity": text("node or edge.", enum=["node", "edge"]),
            "type": text("The type."),
            "id": text("The id of the entity."),
            "property": text("The Blob property."),
            "branch": BRANCH,
        },
        required=("entity", "type", "id", "property"),
        call=_blob,
    ),
    Tool(
        name="merge_propose",
        description="Propose to merge a branch: what the merge would change, and its conflicts. Nothing is changed.",
        properties={"source": text("The branch with the work."), "target": text("The branch to merge into; main.")},
        required=("source",),
        call=_propose,
        action="branch_merge",
        listed="changes",
    ),
)
AD_HOC_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="query",
        description=_QUERY_HELP,
        properties=_QUERY_ARGUMENTS,
        required=("query",),
        call=_query,
        listed="rows",
    ),
    Tool(
        name="explain",
        description="The plan of a read query; nothing is run.",
        properties={name: each for name, each in _QUERY_ARGUMENTS.items() if name != "snapshot"},
        required=("query",),
        call=_explain,
        listed="text",
    ),
)
