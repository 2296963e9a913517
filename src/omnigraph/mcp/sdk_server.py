"""The SDK server: tools and resources as the official MCP SDK wants them, over stdio or HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from omnigraph.mcp.tool import Tool
from omnigraph.mcp.toolbox import Toolbox, UnknownTool
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = (
    "A typed property graph with branches. Read schema_get first, then query. To change something: create a branch, "
    "write there, look at diff, and propose the merge with merge_propose. A result with `rest` continues at its offset."
)
RESOURCES = {"omnigraph://schema": "schema_get", "omnigraph://branches": "branches_list"}


class McpMissing(BadRequest):
    """The MCP SDK is not installed."""

    def __init__(self) -> None:
        super().__init__("the MCP SDK is not installed", "pip install 'omnigraph[mcp]'")


def make_server(toolbox: Toolbox) -> Server[Any]:
    """The server of the SDK over a toolbox. Raises McpMissing."""
    try:
        import mcp_types as types
        from mcp.server.lowlevel import Server
        from mcp.shared.exceptions import MCPError
    except ImportError as error:
        raise McpMissing from error
    from anyio import to_thread

    from omnigraph import __version__

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        tools = await to_thread.run_sync(lambda: toolbox.tools)
        return types.ListToolsResult(tools=[_described(types, tool) for tool in tools])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            run = lambda: toolbox.run(params.name, params.arguments or {})  # noqa: E731 - for a thread
            document, is_error = await to_thread.run_sync(run)
        except UnknownTool:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool '{params.name}'") from None
        text = types.TextContent(type="text", text=_text(document))
        return types.CallToolResult(content=[text], structured_content=document, is_error=is_error)

    async def list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        listed = [types.Resource(name=uri.partition("://")[2], uri=uri, mime_type=_media(uri)) for uri in RESOURCES]
        return types.ListResourcesResult(resources=listed)

    async def read_resource(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        tool = RESOURCES.get(str(params.uri))
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown resource '{params.uri}'")
        document, is_error = await to_thread.run_sync(lambda: toolbox.run(tool, {}))
        if is_error:
            raise MCPError(types.INVALID_PARAMS, document["error"]["message"])
        text = document["schema_source"] if tool == "schema_get" else _text(document)
        made = types.TextResourceContents(uri=params.uri, mime_type=_media(str(params.uri)), text=text)
        return types.ReadResourceResult(contents=[made])

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    return Server(
        "omnigraph",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
    )


def _described(types: Any, tool: Tool) -> Any:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=tool.writes, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema(), annotations=hints)


def _text(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, default=str)


def _media(uri: str) -> str:
    return "text/plain" if uri.endswith("schema") else "application/json"


def serve_stdio(toolbox: Toolbox) -> None:
    """Serves one client over stdin and stdout until it leaves."""
    server = make_server(toolbox)
    import anyio
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    anyio.run(run)


def serve_http(toolbox: Toolbox, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serves clients at `http://host:port/mcp`, without sessions, until interrupted. Other origins are refused."""
    server = make_server(toolbox)
    import socket

    import uvicorn

    app = server.streamable_http_app(json_response=True, stateless_http=True, host=host)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise BadRequest(f"cannot listen on {host}:{port}: {error.strerror}", "choose another --port") from error
    announce(f"http://{host}:{listener.getsockname()[1]}/mcp")
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
