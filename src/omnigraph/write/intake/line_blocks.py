"""Blocks: lines as they are read, many at a time."""

from __future__ import annotations

from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, one after another; the last one may lack its end."""

    data: bytes
    offset: int
    """Of the first byte, in the file after decompression."""
