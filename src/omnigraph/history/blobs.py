"""One blob of one snapshot: its facts without its bytes, and its bytes range by range. Start at `find_blob`."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any, Literal

from omnigraph.history.diff import is_blob
from omnigraph.history.entity_lookup import pin_of_type
from omnigraph.history.export import has_foreign_commits
from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import BadRequest, Conflict, Corrupt, Json, NotFound, TypeNotFound
from omnigraph.model.identifiers import EntityKind, fnv1a64_hex
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import Compare, GraphStorage
from omnigraph.storage.blobs import BlobCell, blob_cells, read_blob_range
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table, plainly_typed

CHUNK_BYTES = 4 * 1024 * 1024
"""What one read of a stream holds in memory."""


class BlobNotFound(NotFound):
    """There is no such entity, or it has no value there."""

    def __init__(self, why: str) -> None:
        super().__init__("Blob cell not found", why)


class InvalidBlobSelector(BadRequest):
    """The type is not in the graph, or the property is not a Blob."""

    def __init__(self, why: str) -> None:
        super().__init__("invalid Blob selector", why)


class BlobIsExternal(Conflict):
    """The graph does not hold these bytes: it refers to an object elsewhere, which it does not follow."""

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"the value is external: it refers to '{uri}', which is not followed",
            "see it with `omnigraph blob stat`, and read the object from its own store",
        )
        self.uri = uri


class BlobRangeNotSatisfiable(BadRequest):
    """A range that begins behind the end of the value."""

    def __init__(self, start: int, end: int, length: int) -> None:
        super().__init__(f"blob range [{start}, {end}) is not satisfiable for a value of length {length}")
        self.range = (start, end, length)

    def details(self) -> dict[str, Json]:
        start, end, length = self.range
        return {"start": start, "end": end, "length": length}


@dataclass(frozen=True, slots=True)
class Blob:
    """A Blob value of one snapshot. It stays the same whatever is written meanwhile.

    >>> cover = library.blob("Book", "b1", "cover")
    >>> cover.kind, cover.size, cover.read(0, 5)
    ('managed', 11, b'hello')
    """

    entity_kind: EntityKind
    type_name: str
    entity_id: str
    property: str
    kind: Literal["managed", "external"]
    size: int | None
    """The bytes of a managed value."""
    etag: str | None
    """A strong entity tag of a managed value, in quotes: other bytes have another one."""
    uri: str | None
    """What an external value refers to."""
    branch: str
    commit_id: str | None
    snapshot: str
    """Names the snapshot that was read; opaque."""
    _table: Table
    _row_id: int

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`, which may lie behind the end of the value; all of them by default.

        >>> library.blob("Book", "b1", "cover").read(6)
        b'world'

        Raises BlobRangeNotSatisfiable, BlobIsExternal, and HistoricalVersionReclaimed if the version was removed.
        """
        return b"".join(self.chunks(start, end))

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The same bytes, at most four megabytes at a time.

        >>> [len(chunk) for chunk in library.blob("Book", "b1", "cover").chunks()]
        [11]

        Raises what `read` raises.
        """
        first, last = self._range(start, end)
        return self._chunks(first, last)

    def open(self) -> io.BufferedReader:
        """A file to read from and to seek in. It reads as it goes.

        >>> with library.blob("Book", "b1", "cover").open() as file:
        ...     file.read(5)
        b'hello'

        Raises BlobIsExternal.
        """
        self._range(0, None)
        return io.BufferedReader(_BlobFile(self), CHUNK_BYTES)

    def to_json(self) -> dict[str, Json]:
        """The facts as `omnigraph blob stat --json` shows them, without the target.

        >>> library.blob("Book", "b1", "cover").to_json()["kind"]
        'managed'
        """
        selector: dict[str, Json] = {"entity": self.entity_kind, "type": self.type_name}
        selector |= {"id": self.entity_id, "property": self.property}
        facts: dict[str, Json] = {"size": self.size, "etag": self.etag, "uri": self.uri}
        known = {name: value for name, value in facts.items() if value is not None}
        return {"selector": selector, "kind": self.kind, **known}

    def _range(self, start: int, end: int | None) -> tuple[int, int]:
        if self.uri is not None:
            raise BlobIsExternal(self.uri)
        size = self.size or 0
        if start < 0 or (end is not None and end <= start):
            raise BadRequest(f"[{start}, {end}) is not a range of bytes", "pass start ≥ 0 and end > start")
        if start >= size and (start > 0 or end is not None):
            raise BlobRangeNotSatisfiable(start, size if end is None else end, size)
        return start, size if end is None else min(end, size)

    def _chunks(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            step = min(end, start + CHUNK_BYTES)
            yield read_blob_range(self._table, self.property, self._row_id, start, step)
            start = step


class _BlobFile(io.RawIOBase):
    """A managed value as a file of the operating system's kind."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._blob.size or 0}[whence]
        if origin + offset < 0:
            raise ValueError(f"cannot seek to {origin + offset}")
        self._at = origin + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._blob.size or 0, self._at + min(len(view), CHUNK_BYTES))
        if end <= self._at:
            return 0
        data = self._blob.read(self._at, end)
        view[: len(data)] = data
        self._at = end
        return len(data)


# --- finding it -------------------------------------------------------------------------------------------


def find_blob(
    storage: GraphStorage,
    snapshot: Snapshot,
    type_name: str,
    entity_id: str,
    property_name: str,
    *,
    pinned: bool = False,
) -> Blob:
    """The blob of an entity in a snapshot. A type is named `Book`, or `node:Book`; `pinned` is the caller's choice."""
    try:
        pin = pin_of_type(snapshot.tables, type_name)
    except TypeNotFound as error:
        raise InvalidBlobSelector(f"there is no type '{type_name}'") from error
    try:
        storage.tables.require_there(pin)
        table = storage.tables.open(pin)
        _require_blob(table, pin, property_name)
        found = table.read(["_rowid", property_name], Compare("id", "=", entity_id))
    except Corrupt:
        storage.tables.require_there(pin)  # removed while it was read: that is no damage
        raise
    whose = f"{pin.table_key.type_name} '{entity_id}'"
    if not found.num_rows:
        raise BlobNotFound(f"there is no {whose}")
    column = plainly_typed(found)[property_name].combine_chunks()
    nullable = table.schema.field(property_name).nullable
    cell = blob_cells(column, nothing_is_null=nullable and has_foreign_commits(storage, snapshot))[0]
    if cell is None:
        raise BlobNotFound(f"'{property_name}' of {whose} is null")
    return _blob(snapshot, table, pin, entity_id, property_name, cell, int(found["_rowid"][0].as_py()), pinned=pinned)


def _require_blob(table: Table, pin: TablePin, name: str) -> None:
    blobs = [field.name for field in table.schema if is_blob(field)]
    if name not in blobs:
        known = f"its Blob properties are {', '.join(blobs)}" if blobs else "it has no Blob property"
        raise InvalidBlobSelector(f"'{name}' is not a Blob property of {pin.table_key.type_name}; {known}")


def _blob(
    snapshot: Snapshot,
    table: Table,
    pin: TablePin,
    entity_id: str,
    name: str,
    cell: BlobCell,
    row_id: int,
    *,
    pinned: bool,
) -> Blob:
    managed = cell.kind == "managed"
    ids = (_number(pin.table_key.type_name), 0, _number(name), table.version, row_id)
    shown = f"manifest:{snapshot.branch}:v{snapshot.version}:{snapshot.commit_id}"
    return Blob(
        entity_kind=pin.table_key.kind,
        type_name=pin.table_key.type_name,
        entity_id=entity_id,
        property=name,
        kind=cell.kind,
        size=cell.size if managed else None,
        etag=strong_etag(ids, table.identity.transaction) if managed else None,
        uri=None if managed else cell.uri or "",
        branch=snapshot.branch,
        commit_id=snapshot.commit_id,
        snapshot=str(snapshot.commit_id) if pinned else shown,
        _table=table,
        _row_id=row_id,
    )


def strong_etag(ids: tuple[int, int, int, int, int], transaction: str) -> str:
    """Type, its incarnation, property, table version, row; and the transaction of the version, which never recurs."""
    digest = hashlib.sha256(b"omnigraph/blob-etag/v1\0")
    for number in (*ids, len(transaction.encode())):
        digest.update(number.to_bytes(8, "big"))
    digest.update(transaction.encode())
    return f'"{digest.digest()[:16].hex()}"'


def _number(name: str) -> int:
    return int(fnv1a64_hex(name), 16)
