"""The toolbox: the tools that one caller gets, and the one place where a tool is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from omnigraph.graph import with_nearest_branch
from omnigraph.mcp.arguments import Document, check_arguments
from omnigraph.mcp.cutting import MAX_BYTES, cut
from omnigraph.mcp.reading_tools import AD_HOC_TOOLS, READING_TOOLS
from omnigraph.mcp.stored_tools import Stored, queries_of_server, stored_tools
from omnigraph.mcp.tool import Tool
from omnigraph.mcp.writing_tools import WRITING_TOOLS
from omnigraph.model.errors import BranchNotFound, OmniGraphError

if TYPE_CHECKING:
    from omnigraph.client import RemoteGraph
    from omnigraph.graph import Graph


class UnknownTool(Exception):
    """A tool that does not exist, or that this caller does not get: both look the same."""


class Toolbox:
    """The tools of one graph for one caller."""

    def __init__(self, graph: Graph, tools: Sequence[Tool], *, max_bytes: int = MAX_BYTES) -> None:
        self.graph = graph
        self.max_bytes = max_bytes
        self._tools = {tool.name: tool for tool in tools}

    @property
    def tools(self) -> list[Tool]:
        """Those that a policy may let pass; a server that has one decides at the call."""
        return [tool for tool in self._tools.values() if self._may_be_of_use(tool)]

    def run(self, name: str, arguments: Mapping[str, Any]) -> tuple[Document, bool]:
        """The result of a tool, cut to size, and whether it is an error. Raises UnknownTool.

        Wrong arguments are an error like others: an agent sees the results of its calls, and nothing of the protocol.
        """
        tool = self._tools.get(name)
        if tool is None or not self._may_be_of_use(tool):
            raise UnknownTool(name)
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            check_arguments(name, tool.input_schema(), given)
            offset = int(given.pop("offset", 0))
            document = tool.call(self.graph, given)
        except OmniGraphError as error:
            return self._error(error), True
        return self._in_parts(tool, document, offset), False

    def _in_parts(self, tool: Tool, document: Document, offset: int) -> Document:
        result = cut(document, tool.listed, offset, self.max_bytes)
        commit = document.get("graph_commit_id")
        if "rest" in result and tool.listed == "rows" and isinstance(commit, str):
            result["rest"]["snapshot"] = commit
            result["rest"]["how"] += f" and snapshot {commit}, so that all parts are of one state"
        return result

    def _error(self, error: OmniGraphError) -> Document:
        if isinstance(error, BranchNotFound) and not _is_remote(self.graph):  # a server has suggested one already
            error = with_nearest_branch(self.graph, error)
        body: Document = {"code": error.code, "message": error.sentence()}
        if error.hint:
            body["hint"] = error.hint
        details = error.details()
        if details and len(json.dumps(details, default=str)) <= self.max_bytes:
            body["details"] = details
        return {"error": body}

    def _may_be_of_use(self, tool: Tool) -> bool:
        allows = getattr(self.graph, "allows", None) if not _is_remote(self.graph) else None
        if allows is None or tool.action is None:
            return True
        return bool(allows(tool.action, on_some_branch=True))


def _is_remote(graph: Graph) -> bool:
    from omnigraph.client import RemoteGraph

    return isinstance(cast("Any", graph), RemoteGraph)


def make_toolbox(
    graph: Graph | RemoteGraph,
    *,
    allow_writes: bool = False,
    ad_hoc: bool = True,
    queries: Sequence[Stored] = (),
    max_bytes: int = MAX_BYTES,
) -> Toolbox:
    """The tools for a graph on disk or on a server. Those that write are left out unless they are allowed."""
    tools: list[Tool] = [*READING_TOOLS, *(AD_HOC_TOOLS if ad_hoc else ()), *WRITING_TOOLS]
    local = cast("Graph", graph)
    stored = list(queries)
    if _is_remote(local):
        stored += queries_of_server(cast("RemoteGraph", graph))
    if not allow_writes:
        stored = [query for query in stored if not query.mutation]
    if not ad_hoc:
        tools = [tool for tool in tools if not tool.name.startswith("mutate")]
    tools += stored_tools(stored, [tool.name for tool in tools])
    return Toolbox(local, [tool for tool in tools if allow_writes or not tool.writes], max_bytes=max_bytes)
