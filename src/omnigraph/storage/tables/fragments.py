"""Fragment diff: which rows two versions of a table do not share, read from metadata before any row is read.

Two versions that share ancestry share data files. Equal files with equal deletion vectors hold equal rows, so only the
rest is looked at: the cost follows the change, not the table.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import translated
from omnigraph.storage.tables.fragment_messages import NotAManifest, fragment_messages, fragment_number, rows_ever
from omnigraph.storage.tables.table import Table

RowIds = npt.NDArray[np.uint64]

KEY_BYTES_MAX = 512
MET_MAX = 65_536
"""So many fragments are remembered by the process, some 500 bytes each; those met longest ago go first."""


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
    """The fragments in the order in which a scan reads them. Costs no request, and little for those met before."""
    with table.reading():
        try:
            messages = fragment_messages(bytes(table.handle._ds.serialized_manifest()))
        except NotAManifest:
            return tuple(map(_state, table.handle.get_fragments()))
        keys = [message if len(message) <= KEY_BYTES_MAX else _digest(message) for message in messages]
        found = _met.known(keys)
        missing = [place for place, state in enumerate(found) if state is None]
        for place in missing:
            fragment = table.handle.get_fragment(fragment_number(messages[place]))
            found[place] = _met.meet(keys[place], _state(fragment))
    return tuple(state for state in found if state is not None)


def rows_given(table: Table) -> int | None:
    """How many rows this table, or the one that it was forked from, was given since it was made; None: nobody knows.

    A row that is written again keeps its row id. So between two versions of one line of history as many rows went as
    were given and did not make the table larger.
    """
    with table.reading():
        try:
            return rows_ever(bytes(table.handle._ds.serialized_manifest()))
        except NotAManifest:
            return None


def _state(fragment: Any) -> FragmentState:
    metadata = fragment.metadata
    return FragmentState(int(metadata.id), _files_in(metadata), _deletions_in(metadata), int(metadata.num_rows))


def _digest(message: bytes) -> bytes:
    """For a fragment whose row ids are not in a row: they are listed with it."""
    return hashlib.blake2b(message, digest_size=32).digest()


class _Met:
    """The fragments that this process has met, by the bytes that describe them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: OrderedDict[bytes, FragmentState] = OrderedDict()

    def known(self, keys: Sequence[bytes]) -> list[FragmentState | None]:
        with self._lock:
            return [self._states.get(key) for key in keys]

    def meet(self, key: bytes, state: FragmentState) -> FragmentState:
        with self._lock:
            self._states[key] = state
            if len(self._states) > MET_MAX:
                self._states.popitem(last=False)
        return state


_met = _Met()


def scan_fragments(table: Table, numbers: Sequence[int] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These fragments in this order (None: all of them), row by row as they lie there, `_rowid` among the columns if
    it is asked for."""
    with table.reading():
        chosen = None if numbers is None else [table.handle.get_fragment(number) for number in numbers]
        yield from table.handle.scanner(
            columns=list(columns), fragments=chosen, scan_in_order=True, batch_size=65_536
        ).to_batches()


def _data_files(fragment: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Files and the columns in them. Not the base they lie at: it differs between a table and its fork."""
    return _files_in(fragment.metadata)


def _files_in(metadata: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((str(file._path), tuple(file.fields)) for file in metadata.files)  # `path` makes a class at every call


def _deletions(fragment: Any) -> tuple[int, int] | None:
    return _deletions_in(fragment.metadata)


def _deletions_in(metadata: Any) -> tuple[int, int] | None:
    vector = metadata.deletion_file
    return None if vector is None else (int(vector.read_version), int(vector.id))


def _row_ids(table: Table, fragments: list[Any]) -> RowIds:
    if not fragments:
        return np.empty(0, np.uint64)
    ids: RowIds = table.handle.scanner(columns=["_rowid"], fragments=fragments).to_table()["_rowid"].to_numpy()
    return ids
