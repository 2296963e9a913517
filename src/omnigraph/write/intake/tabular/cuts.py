"""Cuts: where a large file of rows may be cut so that every part has whole rows, and how many lines lie before.

A line end inside of a quoted cell ends no row. Whether a place is inside follows from the number of quotes before it,
provided that each quote which opens stands at the start of its cell; a file with any other quote is not cut at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnigraph.write.intake.source_files import open_bytes

SPLIT_BYTES = 32 * 1024 * 1024
_LINE_END = 10


class Cut(NamedTuple):
    """The start of a part."""

    offset: int
    lines_before: int


def line_cuts(path: str, split_bytes: int = SPLIT_BYTES) -> list[Cut]:
    """The starts of the parts after the first, where every line end ends a row."""
    cuts: list[Cut] = []
    offset = lines = 0
    with open_bytes(path) as file:
        while block := file.read(split_bytes):
            block += file.readline()
            offset += len(block)
            lines += block.count(b"\n")
            cuts.append(Cut(offset, lines))
    return cuts[:-1]


def quoted_cuts(path: str, quote: str, delimiter: str, split_bytes: int = SPLIT_BYTES) -> list[Cut]:
    """The same for rows whose cells may be quoted; none when a quote stands where no cell starts or ends."""
    mark, cuts, state = ord(quote), [], _State(previous=_LINE_END)
    starts = np.array([ord(delimiter), _LINE_END, mark], np.uint8)
    with open_bytes(path) as file:
        while block := file.read(split_bytes):
            data = np.frombuffer(block, np.uint8)
            quotes = np.flatnonzero(data == mark)
            openings = quotes[1 if state.inside else 0 :: 2]
            before = np.where(openings == 0, np.uint8(state.previous), data[openings - 1])
            if not np.isin(before, starts).all():
                return []
            ends = np.flatnonzero(data == _LINE_END)
            place = _last_row_end(ends, quotes, inside=state.inside)
            if place is not None:
                cuts.append(Cut(state.offset + int(ends[place]) + 1, state.lines + place + 1))
            state = _State(
                offset=state.offset + len(block),
                lines=state.lines + len(ends),
                inside=state.inside != bool(len(quotes) % 2),
                previous=int(data[-1]),
            )
    return [cut for cut in cuts if cut.offset < state.offset]


class _State(NamedTuple):
    """What the blocks so far say about the next one."""

    offset: int = 0
    lines: int = 0
    inside: bool = False
    previous: int = 0
    """The last byte."""


def _last_row_end(ends: npt.NDArray[np.int64], quotes: npt.NDArray[np.int64], *, inside: bool) -> int | None:
    """The last line end of a block that lies outside of quotes, as its number among the line ends."""
    outside = np.flatnonzero(np.searchsorted(quotes, ends) % 2 == (1 if inside else 0))
    return int(outside[-1]) if len(outside) else None
