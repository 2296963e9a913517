"""Searchable columns: one column of a table in the form that a search needs, resident and derived.

A column is held in parts, each made of some fragments of the table. Fragments never change, so a newer version costs
the fragments that it added, and a fork starts with what its parent has; deleted rows are masked. A column that is
wider than its budget is not held: its parts are made, used and dropped one after the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import HeldBytes, Parts
from omnigraph.query.search.hits import Mask
from omnigraph.storage.tables import FragmentState, Table, TableIdentity, fragment_states, scan_fragments

BUDGET_BYTES = 768 * 1024 * 1024
"""All searchable columns of the process together; the least recently used go first."""
COLUMN_BYTES_MAX = 512 * 1024 * 1024
"""Of the Arrow values of one column; a wider one is worked through part by part for every question."""
PART_ROWS = 262_144
"""Rows of a part that is made and dropped."""
PIECES_MAX = 8
"""So many parts, then all but the largest are made one."""
VIEWS_MAX = 4
"""Versions of a column that are held; they share their parts."""
ASKED_MAX = 1024

Files = tuple[tuple[str, tuple[int, ...]], ...]
Addresses = npt.NDArray[np.uint64]


class Part(Protocol):
    """Some rows of a column, prepared. Its rows are in the order of the batches that it was made of."""

    @property
    def nbytes(self) -> int: ...


P = TypeVar("P", bound=Part)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Piece(Generic[P]):
    """A part as one version of the table sees it."""

    part: P
    live: Mask | None
    """Which of its rows the version has; None: all."""


@dataclass(frozen=True, slots=True)
class _Held(Generic[P]):
    """A part that is held, with the fragments that it was made of: where they start, and their deletions then."""

    part: P
    addresses: Addresses
    fragments: dict[Files, tuple[int, int, tuple[int, int] | None]]


@dataclass(frozen=True, slots=True)
class _View(Generic[P]):
    identity: TableIdentity
    held: tuple[_Held[P], ...]
    pieces: tuple[Piece[P], ...]


@dataclass(slots=True)
class _Entry(Generic[P]):
    """One column of one lineage: its views by the identity of the version, the most recently asked last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    views: OrderedDict[TableIdentity, _View[P]] = field(default_factory=OrderedDict)
    seed: _View[P] | None = None
    """A view of the lineage that this one was forked from."""
    too_wide: bool = False

    def parts(self) -> Parts:
        """What it holds; its versions, and those of other branches, share parts."""
        for view in self.views.values():
            yield from ((held, held.part.nbytes + int(held.addresses.nbytes)) for held in view.held)

    @property
    def nearest(self) -> _View[P] | None:
        """What another version is derived from. Any would do, since fragments are compared by their files; the newest
        has most in common."""
        return max(self.views.values(), key=lambda view: view.identity.version) if self.views else self.seed

    def keep(self, view: _View[P]) -> None:
        self.views[view.identity] = view
        self.views.move_to_end(view.identity)
        while len(self.views) > VIEWS_MAX:
            self.views.popitem(last=False)


class TooWide(Exception):
    """The column does not fit into its budget."""


class SearchColumns(Generic[P]):
    """The resident columns of one kind. Thread-safe."""

    def __init__(self, make: Callable[[Sequence[pa.RecordBatch], str], P]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry[P]] = OrderedDict()
        self._asked: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._bytes = HeldBytes()

    def is_held(self, table: Table, column: str) -> bool:
        """True when some version of the column is resident, so that this one costs the difference at most."""
        entry = self._entries.get((table.uri, column))
        return entry is not None and bool(entry.views)

    def asked_before(self, table: Table, column: str) -> bool:
        """True from the second question on: a process that asks once is served better by an index."""
        key = (table.uri, column)
        with self._lock:
            known = key in self._asked
            self._asked[key] = None
            if len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)
            return known

    def pieces(self, table: Table, column: str) -> tuple[Piece[P], ...] | Iterator[Piece[P]]:
        """The column of this version: a tuple when it is resident, or made part by part while it is iterated."""
        entry = self._entry(table, column)
        with entry.lock:
            if not entry.too_wide:
                try:
                    view = entry.views.get(table.identity) or self._view(table, column, entry.nearest)
                except TooWide:
                    entry.views, entry.seed, entry.too_wide = OrderedDict(), None, True
                else:
                    entry.keep(view)
                    self._trim((table.uri, column), entry)
                    return view.pieces
        return self._streamed(table, column)

    def forget(self) -> None:
        """Drops everything; for tests and for memory's sake."""
        with self._lock:
            self._entries.clear()
            self._asked.clear()
            self._bytes = HeldBytes()

    # --- parts --------------------------------------------------------------------------------------------

    def _entry(self, table: Table, column: str) -> _Entry[P]:
        key = (table.uri, column)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
                parent = self._entries.get((table.base_uri, column))
                if parent is not None:
                    entry.seed, entry.too_wide = parent.nearest, parent.too_wide
            self._entries.move_to_end(key)
            return entry

    def _trim(self, key: tuple[str, str], entry: _Entry[P]) -> None:
        """Measures what was asked for, and drops what was asked for longest ago."""
        with self._lock:
            if self._entries.get(key) is not entry:
                return  # dropped meanwhile
            self._bytes.measure(key, entry.parts())
            while len(self._entries) > 1 and self._bytes.total > BUDGET_BYTES:
                oldest, _ = self._entries.popitem(last=False)
                self._bytes.release(oldest)

    def _view(self, table: Table, column: str, known: _View[P] | None) -> _View[P]:
        states = {state.files: state for state in fragment_states(table)}
        held: list[_Held[P]] = []
        pieces: list[Piece[P]] = []
        covered: set[Files] = set()
        for each in () if known is None else known.held:
            live, files = _live(table, each, states)
            if files:
                held.append(each)
                pieces.append(Piece(each.part, live))
                covered |= files
        fresh = [state for files, state in states.items() if files not in covered]
        if not fresh and held:
            return _View(table.identity, tuple(held), tuple(pieces))
        kept = _worth_keeping(held, pieces, sum(state.rows for state in fresh))
        again = {files for index, each in enumerate(held) if index not in kept for files in each.fragments}
        fresh = [state for files, state in states.items() if files not in covered or files in again]
        held, pieces = [held[index] for index in kept], [pieces[index] for index in kept]
        made = self._held(table, column, fresh)
        return _View(table.identity, (*held, made), (*pieces, Piece(made.part, None)))

    def _held(self, table: Table, column: str, states: Sequence[FragmentState]) -> _Held[P]:
        batches, size = [], 0
        for batch in scan_fragments(table, [state.number for state in states], [column, "_rowid", "_rowaddr"]):
            size += batch.nbytes
            if size > COLUMN_BYTES_MAX:
                raise TooWide
            batches.append(batch)
        addresses = np.concatenate([np.empty(0, np.uint64), *(batch["_rowaddr"].to_numpy() for batch in batches)])
        fragments, start = {}, 0
        for state in states:
            fragments[state.files] = (start, state.rows, state.deletions)
            start += state.rows
        return _Held(self._make(batches, column), addresses, fragments)

    def _streamed(self, table: Table, column: str) -> Iterator[Piece[P]]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in scan_fragments(table, None, [column, "_rowid"]):
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= PART_ROWS or size >= COLUMN_BYTES_MAX // 8:
                yield Piece(self._make(waiting, column), None)
                waiting, rows, size = [], 0, 0
        if waiting:
            yield Piece(self._make(waiting, column), None)


def _live(table: Table, held: _Held[P], states: dict[Files, FragmentState]) -> tuple[Mask | None, set[Files]]:
    """Which rows of a part this version has, and the fragments that the part stands for.

    A fragment whose rows are not all in the part (they were deleted when it was made) does not count.
    """
    live, covered = np.zeros(len(held.addresses), np.bool_), set()
    for files, (start, length, deletions) in held.fragments.items():
        state = states.get(files)
        if state is None:
            continue
        if state.deletions == deletions:
            live[start : start + length] = True
            covered.add(files)
            continue
        [addresses] = _addresses(table, state)
        offsets = held.addresses[start : start + length] & np.uint64(0xFFFFFFFF)
        found = np.isin(offsets, addresses & np.uint64(0xFFFFFFFF))
        if int(found.sum()) == len(addresses):
            live[start : start + length] = found
            covered.add(files)
    return (None if live.all() else live), covered


def _addresses(table: Table, state: FragmentState) -> list[Addresses]:
    parts = [batch["_rowaddr"].to_numpy() for batch in scan_fragments(table, [state.number], ["_rowaddr"])]
    return [np.concatenate([np.empty(0, np.uint64), *parts])]


def _worth_keeping(held: Sequence[_Held[P]], pieces: Sequence[Piece[P]], fresh_rows: int) -> list[int]:
    """The parts that stay; the others are made again, together with the new fragments."""
    if not held:
        return []
    sizes = [len(each.addresses) for each in held]
    alive = [
        sizes[index] if piece.live is None else int(np.count_nonzero(piece.live)) for index, piece in enumerate(pieces)
    ]
    kept = [index for index in range(len(held)) if alive[index] * 2 >= sizes[index]]
    if len(kept) < PIECES_MAX:
        return kept
    largest = max(kept, key=lambda index: alive[index])
    rest = sum(alive) - alive[largest] + fresh_rows
    return [largest] if alive[largest] >= rest else []
