"""Resident entities: a whole table under dense row numbers, its columns in memory as far as they are asked for.

The first numbering follows the table's own order. A newer version of the table is derived from an older one: rows that
went are marked, rows that came get new numbers, a row that was written again keeps its number. So a small commit costs
what it changed, and a topology over these numbers stays valid.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities.entity_rows import RowIds
from omnigraph.query.entities.held_bytes import Parts
from omnigraph.query.entities.id_numbers import IdNumbers
from omnigraph.query.entities.row_numbers import RowNumbers
from omnigraph.query.entities.segments import Segment, merged_segment
from omnigraph.query.frames import NO_ROW, Mask, Rows
from omnigraph.storage import Predicate
from omnigraph.storage.tables import FragmentState, Table, field_numbers, fragment_states, scan_fragments

DERIVE_SHARE = 0.2
"""When more than this share of the rows is new, numbering afresh is cheaper than deriving."""
SEGMENTS_MAX = 64
"""When there are more, all but the first are put together."""
TAIL_ROWS_MAX = 100_000
"""When more rows came by then, gone ones too, or a larger share than `DERIVE_SHARE`, all are numbered afresh."""
ANCESTORS_MAX = 256
"""So many generations of numberings are remembered; a topology over an older one is built anew."""
COLUMN_BYTES_MAX = 512 * 1024 * 1024
"""A wider column is never kept whole; its values are taken row by row."""
TAKE_SHARE = 64
"""A column is read whole when more than one in so many rows is asked for, or when it is asked for again."""

BYTES_PER_FRESH_ID = 100
BYTES_PER_PLACE = 400
"""A fragment, as it is remembered: the names of its files and where its rows lie."""

WRITTEN_BYTES_MIN = 4096
"""The numbers of rows that a commit wrote are counted from here on: most commits write few."""

_tokens = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a fragment lie: slots from `start` on."""

    start: int
    length: int
    deletions: tuple[int, int] | None


class ResidentEntities:
    """One version of one table. Immutable but for what it reads on demand; safe to share."""

    def __init__(
        self,
        table: Table,
        segments: tuple[Segment, ...],
        places: dict[tuple[tuple[str, tuple[int, ...]], ...], Place],
        *,
        slots: Rows | None = None,
        live: Mask | None = None,
        size: int | None = None,
        parent: ResidentEntities | None = None,
        fresh_ids: dict[str, int] | None = None,
        written: Rows | None = None,
    ) -> None:
        self.table = table
        self.size = segments[0].length if size is None else size
        self.segments = segments
        self.places = places
        self.slots = slots
        self.live = live
        self.token = next(_tokens)
        self.ancestors: tuple[int, ...] = (self.token, *(parent.ancestors if parent else ()))[:ANCESTORS_MAX]
        own = () if written is None else (written,)
        self._written: tuple[Rows, ...] = (*own, *(parent._written if parent else ()))[: ANCESTORS_MAX - 1]
        self._fresh_ids = fresh_ids or {}
        self._ids: IdNumbers = _id_numbers(segments[0]) if parent is None else parent._ids
        self._asked: dict[str, int] = dict(parent._asked) if parent else {}
        self._names = frozenset(table.schema.names)
        self._columns: dict[str, int] = field_numbers(table) if parent is None else parent._columns
        self._lock = threading.Lock()
        self._by_row_id: RowNumbers | None = None
        self._tail_ids: pa.Array | None = None

    # --- making -------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, table: Table) -> ResidentEntities:
        """Numbers a table from scratch, in its own order."""
        places, start = {}, 0
        for state in fragment_states(table):
            places[state.files] = Place(start, state.rows, state.deletions)
            start += state.rows
        return cls(table, (Segment(table, None, start),), places)

    def derived(self, table: Table) -> ResidentEntities | None:
        """The same numbering for another version, or None when numbering it afresh is simpler.

        A version with other columns is: a name may stand for another column, or for one that older rows do not have.
        """
        if field_numbers(table) != self._columns:
            return None
        states = fragment_states(table)
        by_files = {state.files: state for state in states}
        fresh = [state for state in states if state.files not in self.places]
        added = sum(state.rows for state in fresh)
        if added > self._derived_rows_max:
            return None
        dead = self._dead_slots(table, by_files)
        if dead is None:
            return None
        made = self._extended(table, by_files, fresh, dead)
        return made if len(made.segments) <= SEGMENTS_MAX else made._with_one_tail(by_files)

    @property
    def _derived_rows_max(self) -> float:
        return max(10_000, DERIVE_SHARE * self.size)

    def _dead_slots(
        self, table: Table, states: dict[tuple[tuple[str, tuple[int, ...]], ...], FragmentState]
    ) -> npt.NDArray[np.int64] | None:
        """The slots whose rows the other version has not; None when it has rows back that were gone here."""
        dead: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        row_ids, in_use = None, None
        for files, place in self.places.items():
            state = states.get(files)
            if state is None:
                dead.append(np.arange(place.start, place.start + place.length))
            elif state.deletions != place.deletions:
                if row_ids is None or in_use is None:
                    row_ids, in_use = self._slot_row_ids(), self._slots_in_use()
                run = slice(place.start, place.start + place.length)
                gone = ~np.isin(row_ids[run], _row_ids_in(table, [state.number]))
                if int(gone.sum()) != place.length - state.rows or not in_use[run][~gone].all():
                    return None
                dead.append(np.flatnonzero(gone) + place.start)
        return np.concatenate(dead)

    def _extended(
        self,
        table: Table,
        states: dict[tuple[tuple[str, tuple[int, ...]], ...], FragmentState],
        fresh: list[FragmentState],
        dead: npt.NDArray[np.int64],
    ) -> ResidentEntities:
        slots = np.arange(self.size, dtype=np.int32) if self.slots is None else self.slots.copy()
        live = np.ones(self.size, np.bool_) if self.live is None else self.live.copy()
        slot_count = sum(segment.length for segment in self.segments)
        if len(dead):
            is_dead = np.zeros(slot_count, np.bool_)
            is_dead[dead] = True
            live &= ~is_dead[slots]
        # A fragment with other deletions keeps its run of slots; what is dead in it stays where it was.
        places = {
            files: place if place.deletions == state.deletions else replace(place, deletions=state.deletions)
            for files, place in self.places.items()
            if (state := states.get(files)) is not None
        }
        segments, fresh_ids, size = self.segments, dict(self._fresh_ids), self.size
        numbers = np.empty(0, np.int32)
        if fresh:
            segment = Segment(table, tuple(state.number for state in fresh), sum(state.rows for state in fresh))
            segment.fill(["id", *(name for name in self.segments[-1].names() if name != "id")])
            numbers, size = self._numbers_for(segment.column("id").to_pylist(), fresh_ids, size)
            slots, live = _grown(slots, size), _grown_mask(live, size)
            slots[numbers] = slot_count + np.arange(segment.length, dtype=np.int32)
            live[numbers] = True
            for state in fresh:
                places[state.files] = Place(slot_count, state.rows, state.deletions)
                slot_count += state.rows
            segments = (*segments, segment)
        return ResidentEntities(
            table, segments, places, slots=slots, live=None if live.all() else live, size=size, parent=self,
            fresh_ids=fresh_ids, written=numbers,
        )  # fmt: skip

    def _with_one_tail(
        self, states: dict[tuple[tuple[str, tuple[int, ...]], ...], FragmentState]
    ) -> ResidentEntities | None:
        """The same numbering with two segments: the first one, and one of all rows that came later.

        Changes this object, which nobody else has yet. None when so many came that numbering afresh pays, or when they
        are not what the table has.
        """
        base, in_use = self.segments[0].length, self._slots_in_use()
        tail = {files: place for files, place in self.places.items() if place.start >= base}
        runs = [
            place.start + np.flatnonzero(in_use[place.start : place.start + place.length]) for place in tail.values()
        ]
        chosen = np.concatenate([np.empty(0, np.int64), *runs])
        if max(len(chosen), self.size - base) > min(TAIL_ROWS_MAX, self._derived_rows_max):
            return None
        if any(len(run) != states[files].rows for files, run in zip(tail, runs, strict=True)):
            return None
        fragments = tuple(states[files].number for files in tail)
        self.segments = (
            self.segments[0],
            merged_segment(self.segments[1:], chosen - base, self.table, fragments),
        )
        start = base
        for (files, place), run in zip(tail.items(), runs, strict=True):
            self.places[files] = Place(start, len(run), place.deletions)
            start += len(run)
        if self.slots is not None:
            moved = np.zeros(len(in_use), np.int32)  # a row that is gone has no slot: 0 stands for it
            moved[:base] = np.arange(base)
            moved[chosen] = base + np.arange(len(chosen))
            self.slots = moved[self.slots]
        return self

    def _numbers_for(self, ids: list[str], fresh_ids: dict[str, int], size: int) -> tuple[Rows, int]:
        """A known id keeps its number, also when it was gone; the others get the next ones."""
        known = self._ids.find(ids)
        numbers = np.empty(len(ids), np.int32)
        for place, entity_id in enumerate(ids):
            number = int(known[place])
            if number < 0:
                number = fresh_ids.get(entity_id, NO_ROW)
            if number < 0:
                number = fresh_ids[entity_id] = size
                size += 1
            numbers[place] = number
        return numbers, size

    # --- asking -------------------------------------------------------------------------------------------

    def written_since(self, ancestor: ResidentEntities) -> npt.NDArray[np.int64]:
        """The live rows that were written since a version that this one descends from."""
        written = self._written[: self.ancestors.index(ancestor.token)]
        numbers = np.unique(np.concatenate([np.empty(0, np.int64), *written]))
        return numbers if self.live is None else numbers[self.live[numbers]]

    def parts(self) -> Parts:
        """What it holds. Versions that were derived from each other share their segments and the index of their ids."""
        yield from ((segment, segment.nbytes) for segment in self.segments)
        yield self._ids, self._ids.nbytes
        yield self._fresh_ids, BYTES_PER_FRESH_ID * len(self._fresh_ids)
        yield self.places, BYTES_PER_PLACE * len(self.places)
        yield from ((each, int(each.nbytes)) for each in self._written if each.nbytes >= WRITTEN_BYTES_MIN)
        for own in (self.slots, self.live, self._by_row_id, self._tail_ids):
            if own is not None:
                yield own, int(own.nbytes)

    def is_akin(self, table: Table) -> bool:
        """Whether the table is a version of the same history: it has a fragment in common, or one of them is empty."""
        states = fragment_states(table)
        return not states or not self.places or any(state.files in self.places for state in states)

    def every(self) -> Rows:
        if self.live is None:
            return np.arange(self.size, dtype=np.int32)
        return np.flatnonzero(self.live).astype(np.int32)

    def where(self, predicate: Predicate) -> Rows:
        """Through the table's own indexes; for predicates that name few rows."""
        found = [batch.column("_rowid").to_numpy() for batch in self.table.scan(("_rowid",), predicate)]
        return self.rows_of(np.concatenate(found) if found else np.empty(0, np.uint64))

    def find(self, ids: Sequence[str]) -> Rows:
        rows = self._ids.find(ids)
        if self._fresh_ids:
            for place in np.flatnonzero(rows < 0).tolist():
                rows[place] = self._fresh_ids.get(ids[place], NO_ROW)
        if self.live is not None:
            known = rows >= 0
            rows[known] = np.where(self.live[rows[known]], rows[known], NO_ROW)
        return rows

    def numbers_of(self, ids: pa.ChunkedArray) -> Rows:
        """The rows of a whole column of ids, -1 where there is none."""
        places = pc.index_in(ids, value_set=self.all_ids()).combine_chunks().fill_null(NO_ROW)
        numbers: Rows = places.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        if self.live is not None:
            numbers = np.where((numbers >= 0) & self.live[numbers], numbers, np.int32(NO_ROW))
        return numbers

    def all_ids(self) -> pa.Array:
        """The ids by number, those of dead rows included."""
        base = self._ids.column()
        if not self._fresh_ids:
            return base
        if self._tail_ids is None:
            tail = pa.array(sorted(self._fresh_ids, key=self._fresh_ids.__getitem__), pa.string())
            self._tail_ids = pa.concat_arrays([base, tail])
        return self._tail_ids

    def ids(self, rows: Rows) -> pa.Array:
        return _gathered(self.all_ids(), rows)

    def values(self, column: str, rows: Rows, kind: pa.DataType) -> pa.Array:
        if column == "id":
            return self.ids(rows)
        if column not in self._names:
            return pa.nulls(len(rows), kind)
        slots = rows if self.slots is None else np.where(rows < 0, rows, self.slots[rows])
        if self._came_lately(slots):
            late = [segment.column(column) for segment in self.segments[1:]]
            return _gathered(pa.chunked_array(late), slots - self.segments[0].length)
        if not self._reads_whole(column, len(rows)):
            return self._taken(column, rows)
        if len(self.segments) == 1:
            return _gathered(self.segments[0].column(column), slots)
        columns = pa.chunked_array([segment.column(column) for segment in self.segments])
        return _gathered(columns, slots)

    def whole(self, column: str) -> pa.Array | None:
        """The column by row number, when it is in memory in that order; it then costs nothing."""
        plain = len(self.segments) == 1 and self.slots is None
        return self.segments[0].column(column) if plain and self.segments[0].has(column) else None

    def row_ids(self, rows: Rows) -> RowIds:
        slots = rows if self.slots is None else self.slots[rows]
        return self._slot_row_ids()[slots]

    def rows_of(self, row_ids: RowIds) -> Rows:
        with self._lock:
            if self._by_row_id is None:
                every = self.every()
                self._by_row_id = RowNumbers(self.row_ids(every), every)
        return self._by_row_id.of(row_ids)

    # --- parts --------------------------------------------------------------------------------------------

    def _slot_row_ids(self) -> RowIds:
        if len(self.segments) == 1:
            return self.segments[0].row_ids()
        return np.concatenate([segment.row_ids() for segment in self.segments])

    def _slots_in_use(self) -> Mask:
        in_use = np.zeros(sum(segment.length for segment in self.segments), np.bool_)
        every = self.every()
        in_use[every if self.slots is None else self.slots[every]] = True
        return in_use

    def _came_lately(self, slots: npt.NDArray[np.integer]) -> bool:
        """Whether all of them are in later segments, which have few rows: the first one need not be read."""
        if len(self.segments) == 1 or not len(slots) or int(slots.min()) < self.segments[0].length:
            return False
        return sum(segment.length for segment in self.segments[1:]) <= TAIL_ROWS_MAX

    def _reads_whole(self, column: str, rows: int) -> bool:
        """Whether to bring the whole column in: it is there already, but for what came lately, much of it is wanted, or
        it is wanted again."""
        if self.segments[0].has(column):
            return True
        asked = self._asked[column] = self._asked.get(column, 0) + 1
        if asked < 2 and rows * TAKE_SHARE < self.size:
            return False
        return self._width(column) * self.size <= COLUMN_BYTES_MAX

    def _width(self, column: str) -> int:
        kind = self.table.schema.field(column).type
        if pa.types.is_fixed_size_list(kind):
            return int(kind.list_size) * 4
        if pa.types.is_primitive(kind):
            return 8
        sample = next(iter(self.table.scan([column], batch_rows=1024, limit=1024)), None)
        return 64 if sample is None or not sample.num_rows else max(8, sample.nbytes // sample.num_rows)

    def _taken(self, column: str, rows: Rows) -> pa.Array:
        distinct, places = np.unique(rows, return_inverse=True)
        present = distinct[distinct >= 0]
        places = places - (len(distinct) - len(present))
        taken = self.table.take(self.row_ids(present).tolist(), [column])[column].combine_chunks()
        return taken.take(pa.array(places, mask=places < 0))


def _id_numbers(segment: Segment) -> IdNumbers:
    return IdNumbers(lambda: segment.column("id"), segment.length)


def _gathered(column: pa.Array | pa.ChunkedArray, rows: npt.NDArray[np.integer]) -> pa.Array:
    if len(rows) == 1 and rows[0] >= 0 and isinstance(column, pa.Array):
        return column.slice(int(rows[0]), 1)
    mask = rows < 0
    taken = column.take(pa.array(rows, mask=mask) if mask.any() else pa.array(rows))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _grown(slots: Rows, size: int) -> Rows:
    return np.concatenate([slots, np.zeros(size - len(slots), np.int32)])


def _grown_mask(live: Mask, size: int) -> Mask:
    return np.concatenate([live, np.zeros(size - len(live), np.bool_)])


def _row_ids_in(table: Table, numbers: list[int]) -> RowIds:
    parts = [batch.column("_rowid").to_numpy() for batch in scan_fragments(table, numbers, ["_rowid"])]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)
