"""Fragment messages: a table's list of fragments cut into bytes, one piece for each, without reading what is in them.

Lance turns a fragment into Python objects in some 20 µs, and every small commit leaves one behind; what is known of an
older version is known by the same bytes here, in a tenth of that. Equal bytes are an equal fragment.
"""

from __future__ import annotations

from collections.abc import Iterator

_FRAGMENT = 2 << 3 | 2
"""The tag of `fragments` in Lance's manifest: field 2, with a length."""
_NUMBER = 1 << 3
"""The tag of `id` in a fragment: field 1, a number; left out when it is 0."""
_ROWS_EVER = 14 << 3
"""The tag of `next_row_id` in a manifest: field 14, a number; left out when it is 0."""
_FIXED = {1: 8, 5: 4}


class NotAManifest(Exception):
    """The bytes are not what this module knows: the caller asks Lance."""


def fragment_messages(manifest: bytes) -> list[bytes]:
    """The fragments of a serialized manifest in their order."""
    return _cut(manifest)[0]


def rows_ever(manifest: bytes) -> int:
    """How many rows the table was given since it was made: row ids are counted up and never given twice."""
    return _cut(manifest)[1]


def _cut(manifest: bytes) -> tuple[list[bytes], int]:
    """What this module knows of a manifest, in one pass: it may list ten thousand fragments."""
    found: list[bytes] = []
    place, end, rows = 0, len(manifest), 0
    try:
        while place < end:
            tag, place = _varint(manifest, place)
            kind = tag & 7
            if kind == 2:
                length, place = _varint(manifest, place)
                if tag == _FRAGMENT:
                    found.append(manifest[place : place + length])
                place += length
            elif kind == 0:
                number, place = _varint(manifest, place)
                if tag == _ROWS_EVER:
                    rows = number
            else:
                place += _FIXED[kind]
    except (IndexError, KeyError) as error:
        raise NotAManifest(f"byte {place}") from error
    if place != end:
        raise NotAManifest(f"it ends at byte {end}, a field at {place}")
    return found, rows


def fragment_number(message: bytes) -> int:
    return _varint(message, 1)[0] if message[:1] == bytes([_NUMBER]) else 0


def message_fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a small message with their tags: numbers, and bytes that may be messages themselves."""
    place, end = 0, len(message)
    try:
        while place < end:
            tag, place = _varint(message, place)
            kind = tag & 7
            length, place = _varint(message, place) if kind in (0, 2) else (_FIXED[kind], place)
            if kind == 0:
                yield tag, length
                continue
            yield tag, message[place : place + length]
            place += length
    except (IndexError, KeyError) as error:
        raise NotAManifest(f"byte {place}") from error
    if place != end:
        raise NotAManifest(f"it ends at byte {end}, a field at {place}")


def message_in(value: bytes | int) -> bytes:
    """A field that must be a message itself."""
    if isinstance(value, int):
        raise NotAManifest("a number where a message is expected")
    return value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = data[place]
    place += 1
    if value < 0x80:
        return value, place
    value, shift = value & 0x7F, 7
    while True:
        part = data[place]
        place += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            return value, place
        shift += 7
