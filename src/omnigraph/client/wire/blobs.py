"""Blobs over HTTP: the facts of a value without its bytes, and its bytes range by range, of exactly this value."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Literal

from omnigraph.client.requests import Answer
from omnigraph.history import BlobIsExternal, BlobRangeNotSatisfiable
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass

Fetch = Callable[["RemoteBlob", int, int], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class BlobSelector:
    """Which value is meant."""

    entity_kind: EntityKind
    type_name: str
    entity_id: str
    property: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBlob:
    """A Blob value on a server, as `Blob` is one on disk. Its bytes are read when they are asked for."""

    selector: BlobSelector
    kind: Literal["managed", "external"]
    size: int | None
    etag: str | None
    uri: str | None
    branch: str
    snapshot: str
    """Names the snapshot that was read; opaque."""
    at: str | None
    fetch: Fetch
    commit_id: str | None = None

    @property
    def entity_kind(self) -> EntityKind:
        return self.selector.entity_kind

    @property
    def type_name(self) -> str:
        return self.selector.type_name

    @property
    def entity_id(self) -> str:
        return self.selector.entity_id

    @property
    def property(self) -> str:
        return self.selector.property

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`; all of them by default."""
        return b"".join(self.chunks(start, end))

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The same bytes as they arrive. Raises BlobRangeNotSatisfiable and BlobIsExternal."""
        first, last = self.span(start, end)
        return iter(()) if first == last else self.fetch(self, first, last)

    def open(self) -> io.BytesIO:
        """A file with the bytes, all of them in memory."""
        return io.BytesIO(self.read())

    def span(self, start: int, end: int | None) -> tuple[int, int]:
        """The bytes that are meant, within the value."""
        if self.uri is not None:
            raise BlobIsExternal(self.uri)
        size = self.size or 0
        if start < 0 or (end is not None and end <= start):
            raise BadRequest(f"[{start}, {end}) is not a range of bytes", "pass start ≥ 0 and end > start")
        if start >= size and (start > 0 or end is not None):
            raise BlobRangeNotSatisfiable(start, size if end is None else end, size)
        return start, size if end is None else min(end, size)

    def to_json(self) -> dict[str, Json]:
        """The facts as `omnigraph blob stat --json` shows them, without the target."""
        selector: dict[str, Json] = {"entity": self.entity_kind, "type": self.type_name}
        selector |= {"id": self.entity_id, "property": self.selector.property}
        facts: dict[str, Json] = {"size": self.size, "etag": self.etag, "uri": self.uri}
        known = {name: value for name, value in facts.items() if value is not None}
        return {"selector": selector, "kind": self.kind, **known}


def remote_blob(answer: Answer, selector: BlobSelector, branch: str, at: str | None, fetch: Fetch) -> RemoteBlob:
    """The facts that the headers of an answer tell."""
    is_external = answer.status == 302
    length = answer.headers.get("content-length", "")
    return RemoteBlob(
        selector=selector,
        kind="external" if is_external else "managed",
        size=None if is_external or not length.isdecimal() else int(length),
        etag=None if is_external else answer.headers.get("etag"),
        uri=answer.headers.get("location") if is_external else None,
        branch=branch,
        snapshot=answer.headers.get("omnigraph-snapshot-id", ""),
        at=at,
        fetch=fetch,
    )
