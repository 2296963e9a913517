"""How rows get into `__manifest`: three ways that all lose when another publish was first, and never land twice.

`merge_rows` is Lance's merge-insert, the only call that compares and swaps single rows by their key. It plans a join of
the whole table: 6 to 9 ms, growing with the rows and with 0.3 ms per fragment.

`swap_head` is for what almost every publish is: new rows, and the one head row of the branch replaced. The fragment
with the old head row loses that row, and all new rows come as one fragment, in one transaction. Every publish on a
branch changes exactly that fragment, and Lance refuses the second of two transactions that do: so the head row is
compared and swapped, in 2 to 3 ms whatever the length of history. A fragment that this process wrote, and that is still
small, is not marked but replaced: the new one takes its rows along. That saves the file with the mark, and fragments
stay few. Rows that are written again have new row ids: to keep the old ones, Lance would look them up among all rows,
and nothing names rows of `__manifest` by their ids.

`stage_first` is for the first publish of a branch, which has no head row to swap: Lance is given the list of all
fragments, the new one at its end, and refuses it after any other commit whatever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import Dataset, LanceDataset, LanceOperation, Transaction, without_panics, write_fragments
from omnigraph.storage.manifest.rows import (
    HEAD_PREFIX,
    GraphCommit,
    GraphHead,
    ManifestRow,
    TableRegistration,
    TableTombstone,
    TableVersion,
    encode,
)
from omnigraph.storage.manifest.state import ManifestState
from omnigraph.storage.predicates import Compare, to_sql

GROWN_ROWS_MAX = 64
"""A fragment grows to so many rows, some thirty commits of one table each, before the next one is begun."""


@dataclass(frozen=True, slots=True)
class HeadPlace:
    """Where the head row of a branch lies in one version."""

    fragment_id: int
    offset: int
    rows: pa.Table | None = field(default=None, compare=False, repr=False)
    """All rows of that fragment, when they are known."""


@dataclass(frozen=True, slots=True)
class StagedSwap:
    """A new fragment on disk that nothing refers to yet."""

    operation: Any
    created: Any
    """An operation that names the files that were written, and no others."""
    removed: frozenset[int]
    rows: pa.Table
    head_offset: int


@dataclass(frozen=True, slots=True)
class HeadSwapped:
    """The version that a swap made, and where the head row lies now."""

    handle: Any
    place: HeadPlace


def merge_rows(handle: Dataset, rows: Sequence[ManifestRow]) -> None:
    """Inserts and replaces rows by their `object_id`. Moves the handle."""
    (
        handle.merge_insert("object_id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .conflict_retries(0)
        .use_index(False)
        .execute(encode(rows))
    )


def only_moves_head(branch: str, rows: Sequence[ManifestRow], state: ManifestState) -> bool:
    """True when all rows are new, but for the head row of this branch: then `swap_head` may write them."""
    heads = [row for row in rows if isinstance(row, GraphHead)]
    if [row.branch for row in heads] != [branch]:
        return False
    others = {row.object_id for row in rows if not isinstance(row, GraphHead)}
    return len(others) == len(rows) - 1 and not any(_is_known(row, state) for row in rows if row is not heads[0])


def _is_known(row: ManifestRow, state: ManifestState) -> bool:
    match row:
        case TableRegistration():
            return row.table_key in state.locations
        case TableVersion():
            return row.object_id in state.published
        case TableTombstone():
            return row.table_key in state.tombstones
        case GraphCommit():
            return row.commit_id in state.commits
        case GraphHead():
            return True


def find_head(handle: Dataset, branch: str) -> HeadPlace | None:
    """The place of a branch's head row, by a scan of the keys; None when there is not exactly one."""
    predicate = to_sql(Compare("object_id", "=", HEAD_PREFIX + branch), handle.schema)
    found = handle.scanner(columns=["_rowaddr"], filter=predicate).to_table()
    if found.num_rows != 1:
        return None
    address = int(found["_rowaddr"][0].as_py())
    return HeadPlace(address >> 32, address & 0xFFFFFFFF)


def stage_swap(
    handle: Dataset, place: HeadPlace, rows: Sequence[ManifestRow], storage_options: dict[str, str] | None = None
) -> StagedSwap:
    """Writes the files of rows of which only the head is there already, at `place`."""
    kept = _rows_beside_head(place)
    grows = kept is not None and kept.num_rows + len(rows) <= GROWN_ROWS_MAX
    content = pa.concat_tables([kept, encode(rows)]).combine_chunks() if grows else encode(rows)
    written: Any = write_fragments(
        content, handle, mode="append", return_transaction=True, storage_options=storage_options
    )
    rest = None if grows else handle.get_fragment(place.fragment_id).delete_rows([place.offset])
    operation = LanceOperation.Update(
        removed_fragment_ids=[place.fragment_id] if rest is None else [],
        updated_fragments=[] if rest is None else [rest],
        new_fragments=written.operation.fragments,
        update_mode="rewrite_rows",
    )
    removed = frozenset(operation.removed_fragment_ids)
    return StagedSwap(operation, operation, removed, content, content.num_rows - len(rows) + _head_offset(rows))


def stage_first(
    handle: Dataset, rows: Sequence[ManifestRow], storage_options: dict[str, str] | None = None
) -> StagedSwap:
    """Writes the file of rows that are all new, the head row too."""
    content = encode(rows)
    written: Any = write_fragments(
        content, handle, mode="append", return_transaction=True, storage_options=storage_options
    )
    known = [fragment.metadata for fragment in handle.get_fragments()]
    (fragment,) = written.operation.fragments
    fragment.id = 1 + max(each.id for each in known)  # the newest fragment is always there: its number was never used
    operation = LanceOperation.Merge([*known, fragment], handle.lance_schema)
    return StagedSwap(operation, written.operation, frozenset(), content, _head_offset(rows))


def _head_offset(rows: Sequence[ManifestRow]) -> int:
    return next(at for at, row in enumerate(rows) if isinstance(row, GraphHead))


def _rows_beside_head(place: HeadPlace) -> pa.Table | None:
    if place.rows is None:
        return None
    return pa.concat_tables([place.rows.slice(0, place.offset), place.rows.slice(place.offset + 1)])


def swap_head(handle: Dataset, staged: StagedSwap, storage_options: dict[str, str] | None = None) -> HeadSwapped:
    """Commits a swap that was staged on this handle. Leaves the handle where it is."""
    transaction = Transaction(int(handle.version), staged.operation)
    with without_panics():
        new = LanceDataset.commit(handle, transaction, max_retries=0, storage_options=storage_options)
    (fragment_id,) = new.fragment_ids() - handle.fragment_ids()
    return HeadSwapped(new, HeadPlace(int(fragment_id), staged.head_offset, staged.rows))
