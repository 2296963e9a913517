"""Paging: how many changes fit on a page. Pure: it counts changes and the bytes of their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from omnigraph.history.diff import EntityChange
from omnigraph.history.feed.limits import PageLimits
from omnigraph.history.feed.tokens import BlockPosition, entity_position
from omnigraph.model.late_dataclass import dataclass

_RANKS = {"insert": 0, "update": 1, "delete": 2}


@dataclass(frozen=True, slots=True)
class Piece:
    """What a page takes of a block."""

    changes: tuple[EntityChange, ...]
    stopped_at: BlockPosition | None
    """The last change that was taken, if more are to come; None: the block is complete."""
    rest: Iterator[EntityChange]
    """Those that are to come."""


class Page:
    """The room of one page, which fills up block by block."""

    def __init__(self, limits: PageLimits) -> None:
        self._limits = limits
        self._changes = 0
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._changes >= self._limits.max_changes or self._bytes >= self._limits.max_bytes

    def take(self, changes: Iterator[EntityChange], resume: BlockPosition | None = None) -> Piece | None:
        """As much of a block as fits; None when not even its first change does. An empty page takes any change."""
        first_index = 0 if resume is None else resume.change_index + 1
        taken: list[EntityChange] = []
        for change in changes:
            if not self._takes(change):
                if not taken:
                    return None
                stopped_at = _position(taken[-1], first_index + len(taken) - 1)
                return Piece(tuple(taken), stopped_at, chain([change], changes))
            taken.append(change)
        return Piece(tuple(taken), None, iter(()))

    def _takes(self, change: EntityChange) -> bool:
        size = len(json.dumps(change.to_json(), ensure_ascii=False, separators=(",", ":")).encode())
        if self._changes and (self.is_full or self._bytes + size > self._limits.max_bytes):
            return False
        self._changes += 1
        self._bytes += size
        return True


def _position(change: EntityChange, index: int) -> BlockPosition:
    return BlockPosition(change.type_id, entity_position(change.id), _RANKS[change.op], index)
