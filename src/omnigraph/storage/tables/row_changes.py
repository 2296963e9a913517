"""Row changes: which rows of two versions of a table may differ, and those rows, without reading the rest.

First by fragments (see `fragments`). A compaction rewrites fragments without changing rows: there the stable row id and
the version that last updated a row tell it from one that changed, if both versions descend from a common one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import translated
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables.fragments import FragmentState, RowIds, fragment_states
from omnigraph.storage.tables.lineages import Lineages
from omnigraph.storage.tables.table import Table

TAKE_ROWS = 8192
SCAN_IF_ONE_OF = 4
"""Fragments are scanned when at least every fourth of their rows is wanted; otherwise the rows are taken one by one."""

Versions = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class CandidateRows:
    """Rows of one side that may differ from the other side."""

    row_ids: RowIds
    """Sorted."""
    fragments: tuple[int, ...]
    """Where they lie."""
    fragment_rows: int
    """How many rows these fragments have in all."""

    def __len__(self) -> int:
        return len(self.row_ids)


def candidate_rows(before: Table, after: Table, shared_version: int | None) -> tuple[CandidateRows, CandidateRows]:
    """The rows of each side that may differ. Up to `shared_version` both tables are one and the same.

    A row that was rewritten with equal values is among them; compare values to be exact.
    """
    old = {state.files: state for state in fragment_states(before)}
    new = {state.files: state for state in fragment_states(after)}
    left = [state for files, state in old.items() if files not in new or new[files].deletions != state.deletions]
    right = [state for files, state in new.items() if files not in old or old[files].deletions != state.deletions]
    both = bool(left) and bool(right)
    with_versions = both and shared_version is not None
    gone, come = _rows_in(before, left, with_versions), _rows_in(after, right, with_versions)
    if both:
        same = _same_rows(gone, come, old, new, shared_version)
        gone, come = _without(gone, same), _without(come, same)
    return _candidates(left, gone), _candidates(right, come)


def all_rows(table: Table) -> CandidateRows:
    """Every row: the other side does not have the table."""
    states = list(fragment_states(table))
    return _candidates(states, _rows_in(table, states, False))


def read_candidates(table: Table, rows: CandidateRows, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The columns of these rows and their `_rowid`, batch by batch, in no particular order."""
    if len(rows) * SCAN_IF_ONE_OF < rows.fragment_rows:
        for start in range(0, len(rows), TAKE_ROWS):
            yield from take_with_row_ids(table, rows.row_ids[start : start + TAKE_ROWS], columns).to_batches()
        return
    whole = len(rows) == rows.fragment_rows
    with translated(table.uri):
        chosen = [table.handle.get_fragment(number) for number in rows.fragments]
        scanner = table.handle.scanner(columns=[*columns, "_rowid"], fragments=chosen, batch_size=TAKE_ROWS)
        for batch in scanner.to_batches():
            yield batch if whole else batch.filter(pa.array(np.isin(batch.column("_rowid").to_numpy(), rows.row_ids)))


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


# --- parts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    row_ids: RowIds
    fragments: npt.NDArray[np.uint32]
    updated_at: Versions | None


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


def _rows_in(table: Table, states: Sequence[FragmentState], with_versions: bool) -> _Rows:
    if not states:
        return _Rows(np.empty(0, np.uint64), np.empty(0, np.uint32), None)
    columns = ["_rowid", "_rowaddr", *(["_row_last_updated_at_version"] if with_versions else [])]
    with translated(table.uri):
        chosen = [table.handle.get_fragment(state.number) for state in states]
        found = table.handle.scanner(columns=columns, fragments=chosen).to_table()
    row_ids = _numbers(found, "_rowid")
    order = np.argsort(row_ids, kind="stable")
    updated = _numbers(found, "_row_last_updated_at_version")[order] if with_versions else None
    return _Rows(row_ids[order], (_numbers(found, "_rowaddr")[order] >> np.uint64(32)).astype(np.uint32), updated)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.uint64]:
    values: Any = table[name].to_numpy()
    return np.asarray(values, np.uint64)


def _same_rows(
    gone: _Rows, come: _Rows, old: dict[Any, FragmentState], new: dict[Any, FragmentState], shared: int | None
) -> RowIds:
    """The row ids that stand for the same row on both sides: still in the same file, or not updated since."""
    ids, left, right = np.intersect1d(gone.row_ids, come.row_ids, assume_unique=True, return_indices=True)
    kept = _fragment_names(old, gone.fragments[left]) == _fragment_names(new, come.fragments[right], old)
    if shared is not None and gone.updated_at is not None and come.updated_at is not None:
        kept |= (gone.updated_at[left] <= shared) & (come.updated_at[right] <= shared)
    same: RowIds = ids[kept]
    return same


def _fragment_names(
    own: dict[Any, FragmentState], numbers: npt.NDArray[np.uint32], of: dict[Any, FragmentState] | None = None
) -> npt.NDArray[np.int64]:
    """Per row its fragment as a number that means the same files on both sides; -2 for files of one side alone."""
    names = {
        state.number: (state.number if of is None else of[files].number if files in of else -2)
        for files, state in own.items()
    }
    present, place = np.unique(numbers, return_inverse=True)
    return np.array([names[int(number)] for number in present], np.int64)[place]


def _without(rows: _Rows, same: RowIds) -> _Rows:
    keep = ~np.isin(rows.row_ids, same, assume_unique=True)
    return _Rows(rows.row_ids[keep], rows.fragments[keep], None)


def _candidates(states: Sequence[FragmentState], rows: _Rows) -> CandidateRows:
    touched = set(np.unique(rows.fragments).tolist())
    counts = [state.rows for state in states if state.number in touched]
    return CandidateRows(rows.row_ids, tuple(sorted(touched)), sum(counts))
