"""The client: the verbs of `Graph` over HTTP, with the same results and errors. Start with `remote_graph`.

A verb is a generator of requests that gets their answers (`verbs`), so that it is written once for both kinds of
programs: `RemoteGraph` runs it in this thread, `AsyncRemoteGraph` in an event loop. What comes back becomes values
(`wire`), and what may be sent again is one table (`retries`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.client.async_remote_graph import AsyncRemoteGraph as AsyncRemoteGraph
    from omnigraph.client.calls import refuse_options as refuse_options
    from omnigraph.client.connecting import connect as connect
    from omnigraph.client.connecting import connect_async as connect_async
    from omnigraph.client.connecting import graph_url as graph_url
    from omnigraph.client.connecting import known_graphs as known_graphs
    from omnigraph.client.connecting import list_graphs as list_graphs
    from omnigraph.client.refusals import GraphNotNamed as GraphNotNamed
    from omnigraph.client.refusals import InvalidServerAddress as InvalidServerAddress
    from omnigraph.client.refusals import NotAuthenticated as NotAuthenticated
    from omnigraph.client.refusals import NotOverHttp as NotOverHttp
    from omnigraph.client.refusals import ServerFailed as ServerFailed
    from omnigraph.client.refusals import ServerTooOld as ServerTooOld
    from omnigraph.client.refusals import ServerUnreachable as ServerUnreachable
    from omnigraph.client.refusals import TooManyRequests as TooManyRequests
    from omnigraph.client.remote_graph import RemoteGraph as RemoteGraph
    from omnigraph.client.remote_graph import RemotePinned as RemotePinned
    from omnigraph.client.retries import RetryBudget as RetryBudget
    from omnigraph.client.wire import RemoteBlob as RemoteBlob
    from omnigraph.client.wire import RemoteDiff as RemoteDiff
    from omnigraph.client.wire import ServedGraphInfo as ServedGraphInfo
    from omnigraph.client.wire import StoredQueryInfo as StoredQueryInfo
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "async_remote_graph": ("AsyncRemoteGraph",),
            "calls": ("refuse_options",),
            "connecting": ("connect", "connect_async", "graph_url", "known_graphs", "list_graphs"),
            "refusals": (
                "GraphNotNamed",
                "InvalidServerAddress",
                "NotAuthenticated",
                "NotOverHttp",
                "ServerFailed",
                "ServerTooOld",
                "ServerUnreachable",
                "TooManyRequests",
            ),
            "remote_graph": ("RemoteGraph", "RemotePinned"),
            "retries": ("RetryBudget",),
            "wire": ("RemoteBlob", "RemoteDiff", "ServedGraphInfo", "StoredQueryInfo"),
        },
    )
