"""Connections: uvicorn's protocol with limits on how long a client may take, and ways to break a body off and to send
a whole answer at once."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from omnigraph.server.failures import failure_of
from omnigraph.server.http import JSON, bad_request, to_json

HEAD_BYTES_MAX = 64 * 1024


class JoiningTransport:
    """A transport that holds the head of an answer back when it is asked to, and sends it together with the body.

    Two writes are two packets, which wake the client twice: as much work as a lookup takes.
    """

    __slots__ = ("_held", "_is_asked", "_transport")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._is_asked = False
        self._held: bytes | None = None

    def hold(self) -> None:
        """The next write waits for the one after it."""
        self._is_asked = True

    def write(self, data: bytes) -> None:
        if self._is_asked:
            self._held, self._is_asked = data, False
        elif self._held is not None:
            head, self._held = self._held, None
            self._transport.writelines((head, data))
        else:
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def protocol_with(head_seconds: float, drop_seconds: float) -> type[HttpToolsProtocol]:
    """A client has `head_seconds` for the head of a request, and `drop_seconds` to stop sending what nobody reads."""

    class PatientProtocol(HttpToolsProtocol):
        """One connection."""

        _head_timer: asyncio.TimerHandle | None = None
        _drop_timer: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _is_in_head = True

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.transport = JoiningTransport(transport)  # type: ignore[assignment]
            self._head_timer = self.loop.call_later(head_seconds, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop("_head_timer")
            self._stop("_drop_timer")
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_in_head:
                self._head_bytes += len(data)
                if self._head_timer is None:
                    self._head_timer = self.loop.call_later(head_seconds, self._too_slow)
            super().data_received(data)
            if self._is_in_head and self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

        def on_headers_complete(self) -> None:
            self._stop("_head_timer")
            self._is_in_head, self._head_bytes = False, 0
            self.scope["omnigraph.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
            self.scope["omnigraph.hold"] = self.transport.hold  # type: ignore[typeddict-unknown-key, attr-defined]
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._is_in_head = True
            self._stop("_drop_timer")
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._is_in_head and not self.transport.is_closing():
                self._drop_timer = self.loop.call_later(drop_seconds, self.transport.abort)

        def send_400_response(self, msg: str) -> None:
            self.transport.write(_bad_request(msg, self.server_state.default_headers))
            self.transport.close()

        def _too_slow(self) -> None:
            self._head_timer = None
            if not self.transport.is_closing() and self._is_in_head:
                self.transport.abort()

        def _stop(self, name: str) -> None:
            timer = getattr(self, name)
            if timer is not None:
                timer.cancel()
                setattr(self, name, None)

    return PatientProtocol


def _bad_request(reason: str, usual: list[tuple[bytes, bytes]]) -> bytes:
    """The whole answer to what is no request: an error like every other one."""
    body = to_json(failure_of(bad_request(reason)).body)
    own = [(b"content-type", JSON), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    head = b"".join(b"%s: %s\r\n" % header for header in (*usual, *own))
    return b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + body
