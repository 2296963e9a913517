"""Row changes: which rows of two versions of a table may differ, and those rows, without reading the rest.

Versions that share ancestry share data files. Equal files with equal deletion vectors hold equal rows and are not
looked at. Where only the vectors differ, the rows that one of them names are the difference. A compaction rewrites
files without changing rows: there the stable row id, and the version that last updated the row, tell it from a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables.deletion_vectors import ReadObject, deleted_offsets
from omnigraph.storage.tables.fragments import FragmentState, RowIds, fragment_states
from omnigraph.storage.tables.lineages import Lineages
from omnigraph.storage.tables.table import Table

TAKE_ROWS = 8192
READ_AHEAD = 4
"""Batches that a scan holds beside the one that is looked at."""
SCAN_IF_ONE_OF = 4
"""Fragments are scanned when at least every fourth of their rows is wanted; otherwise the rows are taken one by one."""

Addresses = npt.NDArray[np.uint64]
_OFFSET, _FRAGMENT = np.uint64(0xFFFFFFFF), np.uint64(32)
_NOWHERE: Addresses = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class CandidateRows:
    """Rows of one side that may differ from the other side."""

    fragments: tuple[FragmentState, ...] = ()
    """All rows of these."""
    addresses: Addresses = field(default_factory=lambda: _NOWHERE)
    """And these rows: fragment and offset."""

    def __len__(self) -> int:
        return sum(state.rows for state in self.fragments) + len(self.addresses)


def candidate_rows(
    before: Table, after: Table, shared_version: int | None, read: ReadObject
) -> tuple[CandidateRows, CandidateRows]:
    """The rows of each side that may differ. Up to `shared_version` both tables are one and the same.

    A row that was rewritten with equal values is among them; compare values to be exact.
    """
    old, new = ({(state.number, state.files): state for state in fragment_states(table)} for table in (before, after))
    thinned = [name for name, state in old.items() if name in new and new[name].deletions != state.deletions]
    gone, come = _by_deletions(before, after, [old[name] for name in thinned], read)
    left = tuple(state for name, state in old.items() if name not in new)
    right = tuple(state for name, state in new.items() if name not in old)
    if shared_version is None or not left or not right:
        return CandidateRows(left, gone), CandidateRows(right, come)
    was, now = _not_the_same(before, left, after, right, shared_version)
    return CandidateRows((), np.concatenate([gone, was])), CandidateRows((), np.concatenate([come, now]))


def most_changed_rows(before: Table, after: Table) -> int:
    """How many rows there can be to look at, at most; from what is in memory anyway."""
    old, new = ({(state.number, state.files): state for state in fragment_states(table)} for table in (before, after))
    unshared = [
        state.rows for one, other in ((old, new), (new, old)) for name, state in one.items() if name not in other
    ]
    thinned = [abs(state.rows - new[name].rows) for name, state in old.items() if name in new]
    return sum(unshared) + sum(thinned)


def all_rows(table: Table) -> CandidateRows:
    """Every row: the other side does not have the table."""
    return CandidateRows(fragment_states(table))


def read_candidates(
    table: Table, rows: CandidateRows, columns: Sequence[str], *, batch_rows: int = TAKE_ROWS
) -> Iterator[pa.RecordBatch]:
    """The columns of these rows, `_rowid` and `_rowaddr`, batch by batch, in no particular order."""
    wanted = [*columns, "_rowid", "_rowaddr"]
    if rows.fragments:
        yield from _scan(table, rows.fragments, wanted, batch_rows)
    if not len(rows.addresses):
        return
    touched = set(_distinct(rows.addresses >> _FRAGMENT))
    states = [state for state in fragment_states(table) if state.number in touched]
    if len(rows.addresses) * SCAN_IF_ONE_OF < sum(state.rows for state in states):
        for start in range(0, len(rows.addresses), batch_rows):
            yield from _at(table, rows.addresses[start : start + batch_rows], wanted)
        return
    known = np.sort(rows.addresses)
    for batch in _scan(table, states, wanted, batch_rows):
        own = batch.column("_rowaddr").to_numpy()
        place = np.minimum(np.searchsorted(known, own), len(known) - 1)
        yield batch.filter(pa.array(known[place] == own))


def take_at(table: Table, addresses: Addresses, columns: Sequence[str]) -> pa.Table:
    """Rows by their addresses, in this order; rows that are gone are left out."""
    wanted = [*columns, "_rowaddr"]
    parts = []
    for start in range(0, len(addresses), TAKE_ROWS):
        part = addresses[start : start + TAKE_ROWS]
        batches = list(_at(table, part, wanted))
        if batches:
            found = pa.Table.from_batches(batches)
            places = pc.index_in(pa.array(part, pa.uint64()), value_set=found["_rowaddr"].combine_chunks())
            parts.append(found.take(places.drop_null()).select(list(columns)))
    return pa.concat_tables(parts) if parts else table.take([], columns)


def shared_fragments(one: Table, other: Table) -> set[int]:
    """The fragments that both versions have: a row in one of them lies at the same address in the other."""
    names = {(state.number, state.files) for state in fragment_states(one)}
    return {state.number for state in fragment_states(other) if (state.number, state.files) in names}


def take_with_row_ids(table: Table, row_ids: RowIds, columns: Sequence[str]) -> pa.Table:
    """These rows in this order, with `_rowid`; every one of them must be there."""
    taken = table.take(row_ids.tolist(), columns) if columns else pa.table({})
    return taken.append_column("_rowid", pa.array(row_ids, pa.uint64()))


def shared_version(lineages: Lineages, one: TablePin, other: TablePin) -> int | None:
    """The newest version that both pins descend from; None when they share none, or nobody can tell."""
    if one.location != other.location:
        return None
    known = dict(_descent(lineages, one))
    for lineage, version in _descent(lineages, other):
        if lineage in known:
            return min(version, known[lineage])
    return None


def _descent(lineages: Lineages, pin: TablePin) -> Iterator[tuple[str | None, int]]:
    """The lineages that a pin descends from, nearest first, each with the version up to which it does."""
    lineage, version = pin.lineage, pin.version
    yield lineage, version
    while lineage is not None:
        origin = lineages.origin(pin.location, lineage)
        if origin is None:
            return
        lineage, at = origin
        version = min(version, at)
        yield lineage, version


# --- fragments that both sides have -----------------------------------------------------------------------


def _by_deletions(
    before: Table, after: Table, states: Sequence[FragmentState], read: ReadObject
) -> tuple[Addresses, Addresses]:
    """The rows of fragments that are deleted on one side alone: those that went, and those that came back."""
    gone, come = [_NOWHERE], [_NOWHERE]
    for state in states:
        old, new = deleted_offsets(before, state.number, read), deleted_offsets(after, state.number, read)
        if old is None or new is None:
            one, other = _offsets(before, state), _offsets(after, state)
            gone.append(_addresses(state, np.setdiff1d(one, other)))
            come.append(_addresses(state, np.setdiff1d(other, one)))
        else:
            gone.append(_addresses(state, np.setdiff1d(new, old)))
            come.append(_addresses(state, np.setdiff1d(old, new)))
    return np.concatenate(gone), np.concatenate(come)


def _offsets(table: Table, state: FragmentState) -> npt.NDArray[np.uint32]:
    """The offsets of the rows that are there, from the rows themselves."""
    batches = [batch.column("_rowaddr").to_numpy() for batch in _scan(table, [state], ["_rowaddr"])]
    found = np.concatenate([_NOWHERE, *batches]) & _OFFSET
    return found.astype(np.uint32)


def _addresses(state: FragmentState, offsets: npt.NDArray[np.uint32]) -> Addresses:
    return (np.uint64(state.number) << _FRAGMENT) | offsets.astype(np.uint64)


# --- fragments that were written again --------------------------------------------------------------------


def _not_the_same(
    before: Table, left: Sequence[FragmentState], after: Table, right: Sequence[FragmentState], shared: int
) -> tuple[Addresses, Addresses]:
    """The rows of rewritten fragments without those that are on both sides and older than what both share."""
    columns = ["_rowid", "_rowaddr", "_row_last_updated_at_version"]
    old, new = (
        pa.Table.from_batches(_scan(table, states, columns)) for table, states in ((before, left), (after, right))
    )
    was, now = (_numbers(rows, "_rowid")[_numbers(rows, columns[2]) <= shared] for rows in (old, new))
    same = np.intersect1d(was, now, assume_unique=True)
    gone, come = (
        _numbers(rows, "_rowaddr")[~np.isin(_numbers(rows, "_rowid"), same, assume_unique=True)] for rows in (old, new)
    )
    return gone, come


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.uint64]:
    values: Any = table[name].to_numpy()
    return np.asarray(values, np.uint64)


# --- reading ----------------------------------------------------------------------------------------------


def _scan(
    table: Table, states: Sequence[FragmentState], columns: Sequence[str], batch_rows: int = TAKE_ROWS
) -> Iterator[pa.RecordBatch]:
    with table.reading():
        chosen = [table.handle.get_fragment(state.number) for state in states]
        scanner = table.handle.scanner(
            columns=list(columns), fragments=chosen, batch_size=batch_rows, batch_readahead=READ_AHEAD
        )
        yield from scanner.to_batches()


def _at(table: Table, addresses: Addresses, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows by their addresses: Lance takes them without scanning."""
    listed = ",".join(map(str, addresses.tolist()))
    with table.reading():
        yield from table.handle.scanner(columns=list(columns), filter=f"_rowaddr in ({listed})").to_batches()


def _distinct(numbers: Addresses) -> list[int]:
    """The numbers of a column that has long runs of equal ones."""
    starts = np.concatenate([[0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1])
    return sorted(set(numbers[starts].tolist()))
