"""Fragment diff: which rows two versions of a table do not share, read from metadata before any row is read.

Two versions that share ancestry share data files. Equal files with equal deletion vectors hold equal rows, so only the
rest is looked at: the cost follows the change, not the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.tables import Table

RowIds = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Stable row ids whose images may differ: `before` to read from the older table, `after` from the newer one."""

    before: RowIds
    after: RowIds

    @property
    def is_empty(self) -> bool:
        return len(self.before) == 0 and len(self.after) == 0


def changed_rows(before: Table, after: Table) -> ChangedRows:
    """The candidates of a diff. A row rewritten with equal values is among them; compare images to be exact."""
    with translated(after.uri):
        old = {_data_files(fragment): fragment for fragment in before.handle.get_fragments()}
        new = {_data_files(fragment): fragment for fragment in after.handle.get_fragments()}
        gone = [_row_ids(before, [fragment for files, fragment in old.items() if files not in new])]
        come = [_row_ids(after, [fragment for files, fragment in new.items() if files not in old])]
        for files in old.keys() & new.keys():
            if _deletions(old[files]) != _deletions(new[files]):
                left, right = _row_ids(before, [old[files]]), _row_ids(after, [new[files]])
                gone.append(np.setdiff1d(left, right))
                come.append(np.setdiff1d(right, left))
    return ChangedRows(np.concatenate(gone), np.concatenate(come))


@dataclass(frozen=True, slots=True)
class FragmentState:
    """One fragment of a version: what tells whether another version has the same rows in it."""

    number: int
    files: tuple[tuple[str, tuple[int, ...]], ...]
    deletions: tuple[int, int] | None
    rows: int
    """Without the deleted ones."""


def fragment_states(table: Table) -> tuple[FragmentState, ...]:
    """The fragments in the order in which a scan reads them. Costs no request."""
    with translated(table.uri):
        return tuple(
            FragmentState(
                int(fragment.fragment_id),
                _data_files(fragment),
                _deletions(fragment),
                int(fragment.physical_rows) - int(fragment.num_deletions),
            )
            for fragment in table.handle.get_fragments()
        )


def scan_fragments(table: Table, numbers: Sequence[int] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These fragments in this order (None: all of them), row by row as they lie there, `_rowid` among the columns if
    it is asked for."""
    with translated(table.uri):
        chosen = None if numbers is None else [table.handle.get_fragment(number) for number in numbers]
        yield from table.handle.scanner(
            columns=list(columns), fragments=chosen, scan_in_order=True, batch_size=65_536
        ).to_batches()


def _data_files(fragment: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Files and the columns in them. Not the base they lie at: it differs between a table and its fork."""
    return tuple((str(file.path), tuple(file.fields)) for file in fragment.metadata.files)


def _deletions(fragment: Any) -> tuple[int, int] | None:
    vector = fragment.metadata.deletion_file
    return None if vector is None else (int(vector.read_version), int(vector.id))


def _row_ids(table: Table, fragments: list[Any]) -> RowIds:
    if not fragments:
        return np.empty(0, np.uint64)
    ids: RowIds = table.handle.scanner(columns=["_rowid"], fragments=fragments).to_table()["_rowid"].to_numpy()
    return ids
