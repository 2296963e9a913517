"""One exchange: a request, who sent it, and the ways to its body, its headers and its parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers

from omnigraph.model.strict_json import DECODER
from omnigraph.server.http.body_bytes import BodyBytes
from omnigraph.server.http.refusals import HttpRefusal, bad_request, too_large, wrong_media
from omnigraph.server.http.replies import Receive, Scope

Body = TypeVar("Body")


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class Request:
    """What came in. Nothing of the body is read before a handler asks for it."""

    def __init__(self, scope: Scope, receive: Receive, idle_seconds: float, bytes_held: BodyBytes) -> None:
        self.method: str = scope["method"]
        self.raw_path: str = scope["raw_path"].decode("latin-1")
        self.query_string: str = scope["query_string"].decode("latin-1")
        self._scope = scope
        self._receive = receive
        self._idle_seconds = idle_seconds
        self._bytes_held = bytes_held
        self._held = 0
        self.actor: str | None = None
        """Who asks, once that is known: before the body is read."""
        self.was_read = asyncio.Event()
        self.is_read = False
        """The whole body has been read, or there is none."""
        self.is_detached = False
        """The client has got an answer already: its leaving means nothing."""
        if not self._has_body:
            self._note_read()

    @cached_property
    def headers(self) -> Headers:
        return Headers(raw=self._scope["headers"])

    @property
    def content_length(self) -> int | None:
        text = self.headers.get("content-length", "")
        return int(text) if text.isascii() and text.isdigit() else None

    @property
    def _has_body(self) -> bool:
        return self.headers.get("content-length", "0") != "0" or "transfer-encoding" in self.headers

    def _note_read(self) -> None:
        self.is_read = True
        self.was_read.set()

    async def chunk(self) -> bytes | None:
        """The next piece of the body; None at its end. Raises ClientGone, and 408 for a client that pauses too long."""
        if self.is_read:
            return None
        try:
            async with asyncio.timeout(self._idle_seconds):
                message = await self._receive()
        except TimeoutError:
            refusal = HttpRefusal(408, f"nothing of the body came for {self._idle_seconds:g} s")
            refusal.closes = True
            raise refusal from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        is_last = not message.get("more_body", False)
        if is_last:
            self._note_read()
        body: bytes = message.get("body", b"")
        return None if is_last and not body else body

    async def body(self, limit: int) -> bytes:
        """The whole body, which counts as held until `release`. Raises 413 as soon as it is known to be larger than the
        limit, and 429 while other requests hold as much as they may together."""
        declared = self.content_length
        if declared is not None and declared > limit:
            raise too_large(f"the request body exceeds {limit} bytes")
        parts, size = [], 0
        while (part := await self.chunk()) is not None:
            size += len(part)
            if size > limit:
                raise too_large(f"the request body exceeds {limit} bytes")
            self._bytes_held.take(self.actor, len(part), self._held)
            self._held += len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def release(self) -> None:
        """The request is answered: what it held of its body is not counted any more."""
        self._bytes_held.give_back(self.actor, self._held)
        self._held = 0

    async def gone(self) -> None:
        """Returns when the client has closed the connection. Only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def require_json(self) -> None:
        """Bodies are `application/json`, or a kind of it."""
        media = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
        if not is_json:
            raise wrong_media("the content type must be application/json")


def parsed(body: bytes) -> Any:
    """A body as JSON values: UTF-8, each member once, no NaN. Raises 400."""
    try:
        return DECODER.decode(body.decode())
    except UnicodeDecodeError:
        raise bad_request("the body is not valid UTF-8") from None
    except RecursionError:
        raise bad_request("the body is nested too deeply") from None
    except ValueError as error:
        reason = "a number with too many digits" if "int_max_str" in str(error) else str(error)
        raise bad_request(f"the body is not valid JSON: {reason}") from None
    except StopIteration:
        raise bad_request("the body is not valid JSON: it ends where a value is expected") from None


def shaped(value: Any, shape: type[Body]) -> Body:
    """Values in the form that an operation takes. Raises 400 with the place of what does not fit."""
    if not isinstance(value, Mapping):
        raise bad_request("the body must be a JSON object")
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise bad_request(f"the body does not fit: {error}") from None


def params_of(value: Any) -> dict[str, Any]:
    """The parameters of a query: an object, null, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request("params must be a JSON object")
    return value
