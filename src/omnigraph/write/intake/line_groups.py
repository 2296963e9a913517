"""Line groups: the lines of a block by the type that they begin with, so that each type is decoded as one batch.

Nothing is parsed here. A line that does not begin and end as records mostly do is left to the exact way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.decode import Lines, Mask
from omnigraph.write.intake.line_blocks import Block
from omnigraph.write.intake.records import STRUCTURAL_CHARACTERS_MAX

LINES_MIN = 16
"""Fewer lines of a type are read one by one: starting the reader costs more."""
UNKNOWN_HEADS_MAX = 8
"""So many unknown beginnings in a block, then the rest of it is read one by one."""

_HEAD = re.compile(rb'\{"(type|edge)"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"')
_HEAD_BYTES = 256
_NEWLINE, _RETURN, _OPEN, _CLOSE = b"\n\r{}"


@dataclass(frozen=True, slots=True)
class BlockLines:
    """The lines of a block as an array over its bytes, without a copy."""

    texts: pa.BinaryArray
    """With their ends."""
    offsets: Lines
    """Of each line in its file."""
    plain: Mask
    """Lines that begin with `{` and end with `}`. No JSON value can then reach from one of them into the next."""

    def __len__(self) -> int:
        return len(self.texts)


def lines_of(block: Block) -> BlockLines:
    data = np.frombuffer(block.data, np.uint8)
    breaks = np.flatnonzero(data == _NEWLINE)
    ends = breaks + 1
    if not len(ends) or ends[-1] != len(data):
        ends = np.append(ends, len(data))
    starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1]])
    last = ends - 1
    for character in (_NEWLINE, _RETURN):
        last = np.where((data[last] == character) & (last > starts), last - 1, last)
    plain = (data[starts] == _OPEN) & (data[last] == _CLOSE) & (ends - starts <= STRUCTURAL_CHARACTERS_MAX)
    borders = np.concatenate([starts[:1], ends]).astype(np.int32)
    texts = pa.BinaryArray.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(borders), pa.py_buffer(block.data)])
    return BlockLines(texts, starts.astype(np.int64) + block.offset, plain)


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines of a block that begin as records of one type."""

    entity: NodeType | EdgeType
    rows: npt.NDArray[np.int64]
    text: pa.Buffer
    """The lines, one after another."""


def groups_of(block: BlockLines, catalog: Catalog) -> Iterator[LineGroup]:
    """The groups of a block. Lines of no group are the caller's."""
    if not _is_utf8(block.texts):
        return
    left, unknown = block.plain.copy(), 0
    while unknown < UNKNOWN_HEADS_MAX:
        first = int(left.argmax())
        if not left[first]:
            return
        head = _HEAD.match(block.texts[first].as_py()[:_HEAD_BYTES])
        entity = None if head is None else _entity(catalog, head.group(1), head.group(2).decode())
        if head is None or entity is None:
            unknown += 1
            left[first] = False
            continue
        mine = pc.starts_with(block.texts, pattern=head.group(0)).to_numpy(zero_copy_only=False) & left
        left &= ~mine
        rows = np.flatnonzero(mine)
        if len(rows) >= LINES_MIN:
            yield LineGroup(entity, rows, _bytes_of(block.texts, mine, len(rows)))


def _entity(catalog: Catalog, member: bytes, name: str) -> NodeType | EdgeType | None:
    return catalog.node(name) if member == b"type" else catalog.edge_word(name)


def _bytes_of(texts: pa.BinaryArray, mine: Mask, count: int) -> pa.Buffer:
    chosen = texts if count == len(texts) else texts.filter(pa.array(mine))
    borders = np.frombuffer(chosen.buffers()[1], np.int32)
    return chosen.buffers()[2].slice(int(borders[0]), int(borders[len(chosen)]) - int(borders[0]))


def _is_utf8(texts: pa.BinaryArray) -> bool:
    try:
        texts.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True
