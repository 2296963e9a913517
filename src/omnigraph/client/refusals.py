"""Refusals of the client: what only exists where there is a server between. Everything else is the server's own."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.model.errors import BadRequest, Denied, Internal, Json, LimitExceeded, NotFound, Unreachable


class InvalidServerAddress(BadRequest):
    """An address that is not one of a server or of a graph on a server."""

    _hint = "write http://host:port/graphs/<id>, or https://…"


class NotOverHttp(BadRequest):
    """Something that `Graph` can do and the HTTP API does not carry."""

    _hint = "open the storage of the graph itself"


@dataclass(eq=False)
class GraphNotNamed(NotFound):
    """A server was named without a graph, and it has not exactly one."""

    url: str
    graphs: tuple[str, ...]

    def sentence(self) -> str:
        if not self.graphs:
            return f"the server '{self.url}' does not say which graphs it has"
        return f"the server '{self.url}' has several graphs: {', '.join(self.graphs)}"

    @property
    def hint(self) -> str | None:
        return "name one of them: --graph <id>, or …/graphs/<id> in Python"

    def details(self) -> dict[str, Json]:
        return {"url": self.url, "graphs": list(self.graphs)}


class NotAuthenticated(Denied):
    """The server does not know the caller: the token is missing or not valid."""

    _hint = (
        "pass a token that the server knows: token=… in Python; on the command line OMNIGRAPH_BEARER_TOKEN, or "
        "`omnigraph login NAME` for a server that config.yaml declares"
    )


class TooManyRequests(LimitExceeded):
    """The server has enough work of this caller. Nothing was begun."""

    _hint = "wait, then send it again"


class ServerFailed(Internal):
    """The server failed. It may have a reason in its log, under the id that the message has."""


class ServerTooOld(NotFound):
    """The server does not have the route that this call needs."""

    _hint = "upgrade the server"


@dataclass(eq=False)
class ServerUnreachable(Unreachable):
    """No connection, no answer in time, or an answer that broke off. Nothing was changed."""

    url: str
    reason: str

    def sentence(self) -> str:
        return f"the server '{self.url}' did not answer: {self.reason}"
