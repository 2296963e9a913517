"""MCP: the operations of a graph as tools for agents, over stdio or HTTP. Start with `toolbox`.

A tool is a value with its arguments and a function; the official SDK is known to `sdk_server` alone and imported late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.mcp.sdk_server import McpMissing as McpMissing
    from omnigraph.mcp.sdk_server import serve_http as serve_http
    from omnigraph.mcp.sdk_server import serve_stdio as serve_stdio
    from omnigraph.mcp.stored_tools import queries_of_file as queries_of_file
    from omnigraph.mcp.toolbox import Toolbox as Toolbox
    from omnigraph.mcp.toolbox import make_toolbox as make_toolbox
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "sdk_server": ("McpMissing", "serve_http", "serve_stdio"),
            "stored_tools": ("queries_of_file",),
            "toolbox": ("Toolbox", "make_toolbox"),
        },
    )
