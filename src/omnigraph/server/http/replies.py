"""Replies: what a handler answers with, and how it is sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = MutableMapping[str, Any]

JSON = b"application/json"
NDJSON = b"application/x-ndjson; charset=utf-8"
ARROW = b"application/vnd.apache.arrow.stream"

_ENCODER = msgspec.json.Encoder()


def to_json(value: Any) -> bytes:
    """A struct or plain value as compact JSON."""
    return _ENCODER.encode(value)


@dataclass(slots=True)
class Reply:
    """A whole answer."""

    status: int = 200
    body: bytes = b""
    media: bytes | None = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    commit_id: str | None = None
    """The commit that the request made, for the logs."""
    is_final: bool = False
    """The connection is closed after it: what the client still sends is not read."""

    @classmethod
    def of(cls, value: Any, status: int = 200, commit_id: str | None = None) -> Reply:
        return cls(status, to_json(value), commit_id=commit_id)

    def add(self, name: str, value: str) -> None:
        self.headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))


@dataclass(slots=True)
class StreamReply:
    """An answer that is made while it is sent. The chunks end with an error when the answer breaks off."""

    chunks: AsyncGenerator[bytes, None]
    media: bytes = NDJSON
    status: int = 200
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    length: int | None = None
    """The size of the body, where it is known before."""

    def add(self, name: str, value: str) -> None:
        self.headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))


async def send_reply(send: Send, reply: Reply, *, without_body: bool, hold: Callable[[], None] | None = None) -> None:
    """Sends a whole answer. `hold` makes the connection send its head together with the body that follows."""
    if hold is not None and reply.body and not without_body:
        hold()
    headers = list(reply.headers)
    if reply.media is not None and reply.status != 304:
        headers.append((b"content-type", reply.media))
    if reply.status != 304 and not any(name == b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(len(reply.body)).encode()))
    if reply.is_final:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if without_body else reply.body})


class BrokenStream(Exception):
    """The body broke off after its head was sent: the connection is closed without the end of the body."""


async def send_stream(send: Send, reply: StreamReply, idle_seconds: float) -> None:
    """Sends chunk by chunk, each when the one before has left. Raises BrokenStream if the chunks end with an error,
    or if the client takes nothing for too long."""
    headers = [*reply.headers, (b"content-type", reply.media)]
    if reply.length is not None:
        headers.append((b"content-length", str(reply.length).encode()))
    async with contextlib.aclosing(reply.chunks) as chunks:
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        async for chunk in chunks:
            try:
                await asyncio.wait_for(
                    send({"type": "http.response.body", "body": chunk, "more_body": True}), idle_seconds
                )
            except TimeoutError:
                raise BrokenStream from None
    await send({"type": "http.response.body", "body": b""})
