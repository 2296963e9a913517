"""Messages: the few forms of Lance's protobuf messages that are read and written here without a schema of them."""

from __future__ import annotations

from collections.abc import Iterator

_U64 = (1 << 64) - 1


def pieces(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The members of a protobuf message, each with its tag, as they are written."""
    place = 0
    while place < len(message):
        start = place
        key, place = decoded(message, place)
        match key & 7:
            case 0:
                _, place = decoded(message, place)
            case 1:
                place += 8
            case 2:
                length, place = decoded(message, place)
                place += length
            case _:
                place += 4
        yield key >> 3, message[start:place]


def decoded(message: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        value, place, shift = value | (byte & 0x7F) << shift, place + 1, shift + 7
        if byte < 0x80:
            return value, place


def encoded(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def whole_number(tag: int, value: int) -> bytes:
    return encoded(tag << 3) + encoded(value & _U64)


def member(tag: int, message: bytes) -> bytes:
    return encoded(tag << 3 | 2) + encoded(len(message)) + message
