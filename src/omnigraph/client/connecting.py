"""Connecting: the address of a server or of one of its graphs to a handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from omnigraph.client import verbs
from omnigraph.client.exchange import ANSWER_S, Connection
from omnigraph.client.refusals import GraphNotNamed, InvalidServerAddress
from omnigraph.client.remote_graph import RemoteGraph
from omnigraph.client.requests import Request, address
from omnigraph.client.retries import RetryBudget
from omnigraph.client.transport import Transport
from omnigraph.model.errors import Denied, NotFound
from omnigraph.model.identifiers import MAIN, normalize_branch

if TYPE_CHECKING:
    from omnigraph.client.async_remote_graph import AsyncRemoteGraph
    from omnigraph.client.wire import ServedGraphInfo


def connect(
    url: str,
    *,
    graph: str | None = None,
    branch: str | None = None,
    token: str | None = None,
    read_only: bool = False,
    timeout: float = ANSWER_S,
    retries: RetryBudget | None = None,
    is_graph: bool = False,
) -> RemoteGraph:
    """A handle on a graph of a server: `http://host/graphs/ID`, or the server and the id of its `graph`.

    Without an id the server must say that it has exactly one graph. `timeout` is how long the server may be silent, in
    seconds. With `is_graph` the address is taken as that of a graph, whatever it looks like.

    Raises InvalidServerAddress, GraphNotNamed, BranchNotFound and ServerUnreachable.
    """
    transport = Transport(connection_of(token, timeout, retries))
    base, named = split_address(url, graph)
    if named is None and not is_graph:
        named = only_graph(base, transport.run(_known_graphs(), base))
    wanted = normalize_branch(branch)
    made = RemoteGraph(transport, base if named is None else graph_url(base, named), read_only=read_only)
    return made if wanted == MAIN else made.branch(wanted)


async def connect_async(
    url: str,
    *,
    graph: str | None = None,
    branch: str | None = None,
    token: str | None = None,
    read_only: bool = False,
    timeout: float = ANSWER_S,
    retries: RetryBudget | None = None,
) -> AsyncRemoteGraph:
    """The same for an event loop."""
    from omnigraph.client.async_remote_graph import AsyncRemoteGraph
    from omnigraph.client.async_transport import AsyncTransport

    transport = AsyncTransport(connection_of(token, timeout, retries))
    base, named = split_address(url, graph)
    if named is None:
        named = only_graph(base, await transport.run(_known_graphs(), base))
    wanted = normalize_branch(branch)
    made = AsyncRemoteGraph(transport, graph_url(base, named), read_only=read_only)
    return made if wanted == MAIN else await made.branch(wanted)


def list_graphs(
    url: str, *, token: str | None = None, timeout: float = ANSWER_S, retries: RetryBudget | None = None
) -> list[ServedGraphInfo]:
    """The graphs of a server, if its policy allows this caller to list them."""
    transport = Transport(connection_of(token, timeout, retries))
    try:
        return transport.run(verbs.graphs(), split_address(url, None)[0])
    finally:
        transport.close()


def known_graphs(url: str, *, token: str | None = None, timeout: float = ANSWER_S) -> list[str]:
    """The ids of the graphs of a server; none, if it does not list them to this caller or does not answer."""
    from omnigraph.model.errors import OmniGraphError

    try:
        found = list_graphs(url, token=token, timeout=timeout, retries=RetryBudget(attempts=1))
        return [each.graph_id for each in found]
    except OmniGraphError:
        return []


def connection_of(token: str | None, timeout: float, retries: RetryBudget | None) -> Connection:
    told = token.strip() if token else ""
    if told and not (told.isascii() and told.isprintable()):
        raise InvalidServerAddress("the token has characters that no header can have", "pass the token as it was given")
    return Connection(token=told or None, budget=retries or RetryBudget(), seconds=timeout)


def split_address(url: str, graph: str | None) -> tuple[str, str | None]:
    """The base of a server, and the id of a graph where the address or the caller names one."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidServerAddress(f"'{_without_secrets(url)}' is not the address of a server")
    if parts.username is not None or parts.password is not None:
        raise InvalidServerAddress(f"'{_without_secrets(url)}' has a user name or a password", "pass token=…")
    base, slash, rest = url.rstrip("/").rpartition("/graphs/")
    if slash and rest and "/" not in rest:
        if graph not in (None, rest):
            raise InvalidServerAddress(f"the address names the graph '{rest}', and '{graph}' is asked for")
        return base, rest
    return url.rstrip("/"), graph


def _without_secrets(url: str) -> str:
    head, at, tail = url.partition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if at else head


def graph_url(base: str, graph: str) -> str:
    return address(base, Request(method="GET", path=("graphs", graph)))


def only_graph(base: str, graphs: list[str]) -> str:
    if len(graphs) != 1:
        raise GraphNotNamed(base, tuple(graphs))
    return graphs[0]


def _known_graphs() -> Any:
    """The ids that the server lists; none, if it lists them to others only."""
    try:
        return [each.graph_id for each in (yield from verbs.graphs())]
    except (Denied, NotFound) as error:
        if error.code == "not_authenticated":
            raise
        return []
