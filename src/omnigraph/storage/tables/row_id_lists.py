"""Row id lists: where rows lie whose row ids are known, read from what a version's manifest lists of its fragments.

Taking rows by their row ids makes Lance build a map of the whole table first. But each fragment lists the ids of its
rows in a few runs, deleted rows included; so a handful of rows is found without one. What is not known here is left to
the caller: a list that is kept in a file of its own, or a form that is new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import numpy.typing as npt

from omnigraph.storage.lance import translated
from omnigraph.storage.tables.fragment_messages import (
    NotAManifest,
    fragment_messages,
    fragment_number,
    message_fields,
    message_in,
)
from omnigraph.storage.tables.table import Table

Numbers = npt.NDArray[np.uint64]
_INLINE_IDS = 5 << 3 | 2
"""The tag of `inline_row_ids` in a fragment."""
_SEGMENT = 1 << 3 | 2
_RANGE, _WITH_HOLES, _WITH_BITMAP, _SORTED, _ARRAY = (number << 3 | 2 for number in range(1, 6))
_START, _END, _REST = 1 << 3, 2 << 3, 3 << 3 | 2
_BASE, _VALUES = 1 << 3, 2 << 3 | 2
_WIDTHS = {1 << 3 | 2: "<u2", 2 << 3 | 2: "<u4", 3 << 3 | 2: "<u8"}


def listed_addresses(
    table: Table, row_ids: Numbers, fragments: Collection[int]
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The address of each row in these fragments, and whether one of them lists it.

    A row that was written again is still listed where it was: the greatest fragment that lists it has it now.
    """
    found, known = np.zeros(len(row_ids), np.uint64), np.zeros(len(row_ids), np.bool_)
    with translated(table.uri):
        manifest = bytes(table.handle._ds.serialized_manifest())
    try:
        messages = {fragment_number(message): message for message in fragment_messages(manifest)}
        for number in sorted(set(fragments) & messages.keys()):
            offsets, listed = _offsets(messages[number], row_ids)
            found[listed] = (np.uint64(number) << np.uint64(32)) | offsets[listed]
            known |= listed
    except (NotAManifest, KeyError, ValueError):
        known[:] = False
    return found, known


def _offsets(fragment: bytes, row_ids: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Where in a fragment each row is, and whether it is listed there."""
    found, known = np.zeros(len(row_ids), np.uint64), np.zeros(len(row_ids), np.bool_)
    before = 0
    for segment in _segments(fragment):
        places, listed, length = _in_segment(segment, row_ids)
        found[listed] = places[listed] + np.uint64(before)
        known |= listed
        before += length
    return found, known


def _segments(fragment: bytes) -> Iterator[tuple[int, bytes]]:
    for tag, ids in message_fields(fragment):
        if tag == _INLINE_IDS:
            for inner, segment in message_fields(message_in(ids)):
                if inner == _SEGMENT:
                    yield from ((kind, message_in(body)) for kind, body in message_fields(message_in(segment)))


def _in_segment(segment: tuple[int, bytes], row_ids: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_], int]:
    """The places of rows in one run of ids, which of them are in it, and how long it is."""
    kind, body = segment
    if kind in (_SORTED, _ARRAY):
        return _among(_values(body), row_ids)
    members = dict(message_fields(body))
    start, end = int(members.get(_START, 0)), int(members.get(_END, 0))
    inside = (row_ids >= np.uint64(start)) & (row_ids < np.uint64(end))
    places = np.where(inside, row_ids - np.uint64(start), np.uint64(0))
    if kind == _RANGE:
        return places, inside, end - start
    if kind == _WITH_HOLES:
        holes = np.sort(_values(message_in(members.get(_REST, b""))))
        at = np.searchsorted(holes, row_ids)
        is_hole = np.isin(row_ids, holes)
        return places - np.where(inside, at, 0).astype(np.uint64), inside & ~is_hole, end - start - len(holes)
    if kind == _WITH_BITMAP:
        bits = np.unpackbits(np.frombuffer(message_in(members[_REST]), np.uint8), bitorder="little")[: end - start]
        rank = np.cumsum(bits, dtype=np.uint64)
        there = inside & (bits[places.astype(np.int64)] == 1)
        return np.where(there, rank[places.astype(np.int64)] - np.uint64(1), np.uint64(0)), there, int(bits.sum())
    raise NotAManifest(f"a list of row ids of kind {kind >> 3}")


def segment_length(segment: bytes) -> int:
    """How many rows a segment lists."""
    [(kind, body)] = message_fields(segment)
    return _in_segment((kind, message_in(body)), np.empty(0, np.uint64))[2]


def _among(values: Numbers, row_ids: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_], int]:
    if not len(values):
        return np.zeros(len(row_ids), np.uint64), np.zeros(len(row_ids), np.bool_), 0
    order = np.argsort(values, kind="stable")
    at = np.minimum(np.searchsorted(values, row_ids, sorter=order), len(values) - 1)
    places = order[at]
    return places.astype(np.uint64), values[places] == row_ids, len(values)


def _values(encoded: bytes) -> Numbers:
    """An array of ids: a base and offsets of two or four bytes, or whole numbers."""
    for tag, body in message_fields(encoded):
        members = dict(message_fields(message_in(body)))
        values = np.frombuffer(message_in(members.get(_VALUES, b"")), _WIDTHS[tag]).astype(np.uint64)
        return values + np.uint64(int(members.get(_BASE, 0)))
    return np.empty(0, np.uint64)
