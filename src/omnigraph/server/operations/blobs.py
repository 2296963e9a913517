"""Blobs: the bytes of one value, whole or a range of it, with tags and conditions as HTTP has them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from omnigraph.model.errors import CommitNotFound, Denied, NotFound, OmniGraphError
from omnigraph.server.call import Call, branch_name
from omnigraph.server.failures import failure_of, shape_of
from omnigraph.server.http import BrokenStream, HttpRefusal, Parameter, Reply, StreamReply, bad_request, to_json
from omnigraph.server.observe import failure
from omnigraph.server.operation import Answer, Operation, on_graph

if TYPE_CHECKING:
    from omnigraph.history import Blob

MEDIA = b"application/octet-stream"
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE | re.ASCII)
_TAGS = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"\s*')
_LARGEST = 2**64 - 1


async def get_blob(call: Call) -> Reply | StreamReply:
    blob = await _find(call)
    if blob.uri is not None:
        return _redirect(blob)
    stopped = _condition(call, blob)
    if stopped is not None:
        return stopped
    length = blob.size or 0
    wanted = _range(call, blob, length)
    if isinstance(wanted, Reply):
        return wanted
    if length == 0:
        return Reply(200, b"", MEDIA, _headers(blob))
    start, end = wanted or (0, length)
    reply = StreamReply(_chunks(call, blob, start, end), MEDIA, 206 if wanted else 200, _headers(blob), end - start)
    if wanted is not None:
        reply.add("Content-Range", f"bytes {start}-{end - 1}/{length}")
    return reply


async def head_blob(call: Call) -> Reply:
    """The same without the bytes; ranges mean nothing here."""
    blob = await _find(call)
    if blob.uri is not None:
        return _redirect(blob)
    stopped = _condition(call, blob)
    reply = stopped or Reply(200, b"", MEDIA, _headers(blob))
    if reply.status in (200, 304):
        reply.add("Content-Length", str(blob.size or 0))
    return reply


# --- the value --------------------------------------------------------------------------------------------


async def _find(call: Call) -> Blob:
    parameters = call.parameters
    branch, snapshot = parameters.text("branch"), parameters.text("snapshot")
    if branch is not None and snapshot is not None:
        raise bad_request("request may specify branch or snapshot, not both")
    type_name = f"{parameters.text('entity')}:{parameters.text('type')}"
    where = {"branch": branch_name(branch)} if snapshot is None else {"at": snapshot}
    selected = type_name, parameters.text("id") or "", parameters.text("property") or ""
    try:
        return await call.read(lambda: _masked(call, selected, where, snapshot))
    except OmniGraphError as error:
        if shape_of(error) is not None:
            raise
        failure("a blob could not be found", error, request_id=call.request_id)
        raise HttpRefusal(500, "Blob delivery failed before response headers", code="internal") from None


def _masked(call: Call, selected: tuple[str, str, str], where: dict[str, str], snapshot: str | None) -> Blob:
    try:
        return call.graph.blob(*selected, **where)
    except Denied:
        if snapshot is None:
            raise
        raise CommitNotFound(snapshot) from None
    except NotFound as error:
        if error.code == "unknown_reference":
            raise CommitNotFound(snapshot or "") from None
        raise


def _headers(blob: Blob) -> list[tuple[bytes, bytes]]:
    return [
        (b"accept-ranges", b"bytes"),
        (b"etag", (blob.etag or "").encode()),
        (b"omnigraph-snapshot-id", blob.snapshot.encode("ascii", "backslashreplace")),
    ]


def _redirect(blob: Blob) -> Reply:
    reply = Reply(302, b"", None)
    reply.add("Location", _plain_uri(blob.uri or ""))
    reply.add("Cache-Control", "no-store")
    reply.headers.append(_headers(blob)[2])
    return reply


def _plain_uri(uri: str) -> str:
    if not (uri.isascii() and uri.isprintable()):
        raise HttpRefusal(500, "Blob delivery failed before response headers", code="internal")
    return uri


async def _chunks(call: Call, blob: Blob, start: int, end: int) -> AsyncGenerator[bytes, None]:
    """Read when the one before has left: at most two pieces are in memory."""
    pieces = blob.chunks(start, end)
    while True:
        try:
            piece = await call.read(lambda: next(pieces, None))
        except (OmniGraphError, OSError) as error:
            raise BrokenStream from error
        if piece is None:
            return
        yield piece
        await asyncio.sleep(0)


# --- conditions -------------------------------------------------------------------------------------------


def _tags(values: list[str]) -> list[str] | None:
    """The tags of a list; None when it is malformed."""
    listed = ",".join(values)
    parts = [part for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', listed) if part.strip()]
    if not parts or any(_TAGS.fullmatch(part) is None for part in parts):
        return None
    return [part.strip() for part in parts]


def _condition(call: Call, blob: Blob) -> Reply | None:
    """If-Match compares strongly, If-None-Match weakly; a malformed list matches nothing."""
    headers, etag = call.request.headers, blob.etag or ""
    must = headers.getlist("if-match")
    if must and [value.strip() for value in must] != ["*"] and etag not in (_tags(must) or ()):
        return _refused(blob, HttpRefusal(412, "the value is not the one that If-Match names", code="conflict"))
    if must_not := headers.getlist("if-none-match"):
        known = [tag.removeprefix("W/") for tag in _tags(must_not) or ()]
        if [value.strip() for value in must_not] == ["*"] or etag in known:
            return Reply(304, b"", None, _headers(blob))
    return None


def _range(call: Call, blob: Blob, length: int) -> tuple[int, int] | Reply | None:
    """The bytes that are asked for; None for all of them, a reply if there are none such."""
    values, only_if = call.request.headers.getlist("range"), call.request.headers.getlist("if-range")
    if len(values) != 1 or (only_if and only_if != [blob.etag]):
        return None
    found = _RANGE.fullmatch(values[0])
    if found is None or (not found[1] and not found[2]):
        return None
    first, last = (int(text) if text else None for text in found.groups())
    if max(first or 0, last or 0) > _LARGEST:
        return None
    if first is None:
        suffix = min(last or 0, length)
        return (length - suffix, length) if suffix else _unsatisfiable(blob, length, length, length)
    if last is not None and first > last:
        return None
    if first >= length:
        return _unsatisfiable(blob, first, length if last is None else last + 1, length)
    return first, length if last is None else min(last + 1, length)


def _unsatisfiable(blob: Blob, start: int, end: int, length: int) -> Reply:
    from omnigraph.errors import BlobRangeNotSatisfiable

    reply = _refused(blob, BlobRangeNotSatisfiable(start, end, length))
    reply.add("Content-Range", f"bytes */{length}")
    return reply


def _refused(blob: Blob, error: OmniGraphError) -> Reply:
    """A refusal that tells the tag of the value, too."""
    told = failure_of(error)
    return Reply(told.status, to_json(told.body), headers=_headers(blob))


_SELECTOR = (
    Parameter("entity", enum=("node", "edge"), enum_name="BlobEntityKind", required=True, nullable=False),
    Parameter("type", required=True, nullable=False),
    Parameter("id", required=True, nullable=False),
    Parameter("property", required=True, nullable=False),
    Parameter("branch", nullable=False),
    Parameter("snapshot", nullable=False),
)
_CONDITIONS = tuple(Parameter(name, place="header") for name in ("If-Match", "Range", "If-None-Match", "If-Range"))
_TAGGED = {"Accept-Ranges": "string", "ETag": "string", "Omnigraph-Snapshot-Id": "string"}
_SIZED = {"Accept-Ranges": "string", "Content-Length": "u64", "ETag": "string", "Omnigraph-Snapshot-Id": "string"}
_MOVED = {"Cache-Control": "string", "Location": "string", "Omnigraph-Snapshot-Id": "string"}
_RANGED = _SIZED | {"Content-Range": "string"}
_ERRORS = (400, 401, 403, 404, 409, 410, 500, 503)
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/blob"),
        id="cluster_getBlob",
        tag="blobs",
        summary="The bytes of one Blob value.",
        handler=get_blob,
        parameters=(*_SELECTOR, *_CONDITIONS),
        parameter_prefix="invalid Blob selector query parameters: ",
        answers={
            200: Answer(shape=bytes, media="application/octet-stream", headers=_SIZED),
            206: Answer(shape=bytes, media="application/octet-stream", headers=_RANGED),
            302: Answer(headers=_MOVED),
            304: Answer(headers=_SIZED),
            412: Answer(shape="error", headers=_TAGGED),
            416: Answer(shape="error", headers=_TAGGED | {"Content-Range": "string"}),
        },
        errors=_ERRORS,
    ),
    Operation(
        method="HEAD",
        path=on_graph("/blob"),
        id="cluster_headBlob",
        tag="blobs",
        summary="The size and tag of one Blob value.",
        handler=head_blob,
        parameters=(*_SELECTOR, *_CONDITIONS),
        parameter_prefix="invalid Blob selector query parameters: ",
        answers={
            200: Answer(headers=_SIZED),
            302: Answer(headers=_MOVED),
            304: Answer(headers=_SIZED),
            412: Answer(headers=_TAGGED),
        },
        errors=_ERRORS,
    ),
)
