"""Kept lines: the texts of a load's records, compressed, for the few that a later check rejects."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Sequence

_FASTEST = 1


class KeptLines:
    """Chunks of lines. Adding is cheap; getting some back unpacks the chunks that hold them."""

    def __init__(self) -> None:
        self._chunks: list[tuple[list[int], bytes]] = []

    def add(self, lines: Sequence[int], texts: Sequence[bytes]) -> None:
        """Texts of ascending line numbers."""
        packed = zlib.compress(b"\n".join(text.rstrip(b"\r\n") for text in texts), _FASTEST)
        self._chunks.append((list(lines), packed))

    def texts(self, wanted: Sequence[int]) -> dict[int, bytes]:
        """The texts of these lines, without their line ends."""
        missing = set(wanted)
        found: dict[int, bytes] = {}
        for lines, packed in self._chunks:
            here = [line for line in missing if lines[0] <= line <= lines[-1] and _has(lines, line)]
            if here:
                texts = zlib.decompress(packed).split(b"\n")
                found.update((line, texts[bisect_left(lines, line)]) for line in here)
                missing.difference_update(here)
        return found


def _has(lines: list[int], line: int) -> bool:
    place = bisect_left(lines, line)
    return place < len(lines) and lines[place] == line
