"""Deletion vectors: the offsets of the deleted rows of a fragment, read from its small file instead of from its rows.

Lance writes an Arrow array while they are few and a Roaring bitmap when they are many. Whatever cannot be read here is
None: then the rows themselves tell.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.storage.tables.table import Table

Offsets = npt.NDArray[np.uint32]
ReadObject = Callable[[str], bytes | None]
"""The bytes of an object by its path below the root of the graph."""

_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
_ARRAY_MAX, _BITMAP_BYTES = 4096, 8192
_OFFSETS_FROM = 4


def deleted_offsets(table: Table, number: int, read: ReadObject) -> Offsets | None:
    """The deleted rows of a fragment; None when its file is elsewhere, or of a form that is not known here."""
    vector = table.handle.get_fragment(number).metadata.deletion_file
    if vector is None:
        return np.empty(0, np.uint32)
    places = [table.pin.path] if vector.base_id is None else [table.pin.location]
    for place in places:
        data = read(f"{place}/{vector.path(number)}")
        if data is not None:
            offsets = _decoded(data, vector)
            return offsets if offsets is not None and len(offsets) == int(vector.num_deleted_rows) else None
    return None


def _decoded(data: bytes, vector: Any) -> Offsets | None:
    try:
        if vector.file_type == "array":
            return np.asarray(pa.ipc.open_file(pa.BufferReader(data)).read_all()["row_id"].to_numpy(), np.uint32)
        return roaring_values(data)
    except (pa.ArrowInvalid, struct.error, ValueError, KeyError):
        return None


def roaring_values(data: bytes) -> Offsets:
    """The values of a Roaring bitmap in the portable format."""
    (cookie,) = struct.unpack_from("<I", data, 0)
    place, runs = 4, b""
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        runs = data[place : place + (count + 7) // 8]
        place += len(runs)
    elif cookie == _WITHOUT_RUNS:
        (count,) = struct.unpack_from("<I", data, place)
        place += 4
    else:
        raise ValueError("not a Roaring bitmap")
    keys = np.frombuffer(data, "<u2", 2 * count, place).reshape(count, 2)
    place += 4 * count + (4 * count if not runs or count >= _OFFSETS_FROM else 0)
    found = []
    for number in range(count):
        has_runs = bool(runs and runs[number // 8] & (1 << number % 8))
        low, size = _container(data, place, int(keys[number, 1]) + 1, has_runs)
        found.append(low.astype(np.uint32) | (np.uint32(keys[number, 0]) << np.uint32(16)))
        place += size
    return np.concatenate(found) if found else np.empty(0, np.uint32)


def _container(data: bytes, place: int, count: int, has_runs: bool) -> tuple[npt.NDArray[Any], int]:
    """The low halves of the values of one container, and its size."""
    if has_runs:
        (number,) = struct.unpack_from("<H", data, place)
        pairs = np.frombuffer(data, "<u2", 2 * number, place + 2).reshape(number, 2).astype(np.int64)
        values = [np.arange(start, start + more + 1) for start, more in pairs.tolist()]
        return np.concatenate(values), 2 + 4 * number
    if count <= _ARRAY_MAX:
        return np.frombuffer(data, "<u2", count, place), 2 * count
    bits = np.unpackbits(np.frombuffer(data, np.uint8, _BITMAP_BYTES, place), bitorder="little")
    return np.flatnonzero(bits), _BITMAP_BYTES
