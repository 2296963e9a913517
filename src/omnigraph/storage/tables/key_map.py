"""Key maps: resident, derived knowledge of which ids a table has, so that a small write need not search for its keys.

A map holds a hash and the stable row id of every row of every fragment that it has read, also of rows that are deleted
by now. So it only ever knows too much: an id without an entry is certainly absent, and an id with one is looked up by
its row ids in the very version that was asked about. A newer version costs the fragments that it added; what a write of
this process appended is announced by it and is not read at all. Nothing depends on a map for a correct answer: where
there is none, `present` says so and the caller scans.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.storage.lance import Dataset
from omnigraph.storage.tables.table import Table, TableOrigin

BUDGET_BYTES = 256 * 1024 * 1024
"""All maps of the process together; the least recently used go first. 16 bytes per row of a table."""
BYTES_PER_ROW = 16
RECENT_ROWS_MAX = 65_536
"""So many rows beyond the sorted part, then the map is built anew."""
ANNOUNCED_MAX = 4096
"""So many written files whose ids are remembered until their fragment is met."""
UNREADABLE_ROW = np.uint64(2**64 - 1)
"""Stands for the row id of a row that was deleted when its fragment was read: Lance does not tell it."""

Hashes = npt.NDArray[np.int64]
RowIds = npt.NDArray[np.uint64]
FragmentFile = tuple[int, str]
"""A fragment by its number and its first file; the file's name is unique for all time."""


class KeyMap:
    """What is known of one lineage of a table. Not thread-safe: `KeyMaps` holds its lock."""

    def __init__(self, origin: TableOrigin) -> None:
        self.origin = origin
        self.lock = threading.Lock()
        self.version = 0
        self._hashes: Hashes = np.empty(0, np.int64)
        self._row_ids: RowIds = np.empty(0, np.uint64)
        self._recent: dict[str, set[int | FragmentFile]] = {}
        self._files: dict[int, str] = {}
        self._seen: Any = None  # the numbers in `_files` as Lance's own kind of set
        self._newest = -1

    @property
    def nbytes(self) -> int:
        return int(self._hashes.nbytes + self._row_ids.nbytes) + 200 * len(self._recent) + 100 * len(self._files)

    def copy(self, origin: TableOrigin) -> KeyMap:
        """A map for a fork, which starts with the fragments of its parent. The sorted part is shared."""
        twin = KeyMap(origin)
        twin.version, twin._hashes, twin._row_ids = self.version, self._hashes, self._row_ids
        twin._recent = {key: set(places) for key, places in self._recent.items()}
        twin._files, twin._newest = dict(self._files), self._newest
        twin._seen = None if self._seen is None else self._seen.copy()
        return twin

    # --- covering a version -------------------------------------------------------------------------------

    def cover(self, handle: Dataset, announced: Announced) -> bool:
        """Takes in every fragment of a version; False when that is not worth it and the map does not cover it."""
        unseen = self._unseen(handle)
        rows = 0
        for fragment_id in unseen:
            rows += int(handle.get_fragment(fragment_id).physical_rows)
        if self.version == 0 or rows + len(self._recent) > RECENT_ROWS_MAX:
            if int(handle.version) < self.version or handle.count_rows() * BYTES_PER_ROW > BUDGET_BYTES:
                return False
            self._build(handle)
            return True
        for fragment_id in unseen:
            self._take_in(handle, fragment_id, announced)
        self.version = max(self.version, int(handle.version))
        return True

    def _unseen(self, handle: Dataset) -> list[int]:
        """The fragments whose rows are not in the map.

        Numbers grow, and a version that has a fragment has it from the one commit that made it; so when the greatest
        known number still names the file that we read, all smaller ones do. Otherwise (an overwrite, a compaction, a
        restore, another fork, a fork that was made again) every fragment is compared by its file. Numbers that turn out
        to be of another history are forgotten: the rule holds for those of one history only.
        """
        present = handle.fragment_ids()
        if self._seen is None or not len(present):
            return list(present)
        anchor = self._newest if self._newest in present else max(present & self._seen, default=-1)
        if anchor >= 0 and _file_of(handle, anchor) == self._files[anchor]:
            self._forget(range(anchor + 1, self._newest + 1))
            self._newest = anchor
            return list(present - self._seen)
        unseen = [number for number in present if self._files.get(number) != _file_of(handle, number)]
        self._forget([*(self._seen - present), *unseen])
        self._newest = max(self._seen, default=-1)
        return unseen

    def _forget(self, numbers: Iterable[int]) -> None:
        """Their rows stay in the map, which may know too much; met again, they are taken in again."""
        for number in numbers:
            self._seen.discard(number)
            self._files.pop(number, None)

    def _note(self, fragment_id: int, file: str, handle: Dataset) -> None:
        if self._seen is None:
            self._seen = handle.fragment_ids()
            self._seen.clear()
        self._files[fragment_id] = file
        self._seen.add(fragment_id)
        self._newest = max(self._newest, fragment_id)

    def _build(self, handle: Dataset) -> None:
        hashes, row_ids = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        for batch in _scanner(handle, None).to_batches():
            hashes.append(hashes_of(batch.column("id").to_pylist()))
            row_ids.append(_row_ids_of(batch.column("_rowid")))
        joined = np.concatenate(hashes)
        order = np.argsort(joined)
        self._hashes, self._row_ids = joined[order], np.concatenate(row_ids)[order]
        self._recent, self._files, self._seen, self._newest = {}, {}, None, -1
        for fragment in handle.get_fragments():
            self._note(int(fragment.fragment_id), str(fragment.metadata.files[0]._path), handle)
        self.version = int(handle.version)

    def _take_in(self, handle: Dataset, fragment_id: int, announced: Announced) -> None:
        file = _file_of(handle, fragment_id)
        ids = announced.ids_in(file)
        if ids is not None:
            for entity_id in ids:
                self._recent.setdefault(entity_id, set()).add((fragment_id, file))
        else:
            rows = _scanner(handle, [handle.get_fragment(fragment_id)]).to_table()
            for entity_id, row_id in zip(rows["id"].to_pylist(), _row_ids_of(rows["_rowid"]), strict=True):
                self._recent.setdefault(entity_id, set()).add(int(row_id))
        self._note(fragment_id, file, handle)

    # --- asking -------------------------------------------------------------------------------------------

    def present(self, handle: Dataset, ids: Sequence[str]) -> set[str] | None:
        """Which of these ids a covered version has; None when a deleted row stands in the way of knowing."""
        wanted = hashes_of(ids)
        first, last = (np.searchsorted(self._hashes, wanted, side) for side in ("left", "right"))
        candidates: set[int] = set()
        for start, stop in zip(first[first < last], last[first < last], strict=True):
            candidates.update(self._row_ids[start:stop].tolist())
        for entity_id in ids:
            for place in self._recent.get(entity_id, ()):
                candidates.update([place] if isinstance(place, int) else _resolve(handle, place))
        if not candidates:
            return set()
        readable = [row_id for row_id in candidates if row_id != UNREADABLE_ROW]
        taken = handle._take_rows(readable, columns=["id"])["id"].to_pylist() if readable else []
        found = set(taken) & set(ids)
        return None if len(readable) < len(candidates) and len(found) < len(ids) else found


class Announced:
    """The ids of files that this process wrote, by file name, until the fragment of the file is met."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def announce(self, file: str, ids: Sequence[str]) -> None:
        with self._lock:
            self._ids[file] = tuple(ids)
            if len(self._ids) > ANNOUNCED_MAX:
                self._ids.popitem(last=False)

    def ids_in(self, file: str) -> tuple[str, ...] | None:
        with self._lock:
            return self._ids.get(file)


class KeyMaps:
    """The maps of the process, by the address of the table's lineage. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._maps: OrderedDict[str, KeyMap] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._held = 0
        self._asked: OrderedDict[str, None] = OrderedDict()
        self.announced = Announced()

    def present(self, table: Table, ids: Sequence[str]) -> set[str] | None:
        """Which of these ids the table has; None when there is no map of it (yet): then scan.

        The first question about a table never builds a map: a process that asks once is served better by the index. A
        fork takes over what is known of the table that it was cut from.
        """
        known = self._map_of(table)
        if known is None:
            return None
        with known.lock, table.reading():
            found = known.present(table.handle, ids) if known.cover(table.handle, self.announced) else None
            size = known.nbytes
        self._trim(table.uri, known, size)
        return found

    def _map_of(self, table: Table) -> KeyMap | None:
        with self._lock:
            origin = table.origin
            known, base = self._of(origin, table.uri), self._of(origin.of_main, table.base_uri)
            if known is None:
                if base is None and table.uri not in self._asked:
                    self._asked[table.uri] = None
                    if len(self._asked) > ANNOUNCED_MAX:
                        self._asked.popitem(last=False)
                    return None
                known = self._maps[table.uri] = KeyMap(origin) if base is None else _copied(base, origin)
            self._maps.move_to_end(table.uri)
            return known

    def _of(self, origin: TableOrigin, uri: str) -> KeyMap | None:
        """The map of an address, if it is of what is there now; one of something that was there before goes."""
        known = self._maps.get(uri)
        if known is None or known.origin.may_be(origin):
            return known
        del self._maps[uri]
        self._held -= self._sizes.pop(uri, 0)
        return None

    def _trim(self, uri: str, known: KeyMap, size: int) -> None:
        """Counts what one map holds now, and drops those that were asked longest ago."""
        with self._lock:
            if self._maps.get(uri) is known:
                self._held += size - self._sizes.get(uri, 0)
                self._sizes[uri] = size
            while len(self._maps) > 1 and self._held > BUDGET_BYTES:
                oldest, _ = self._maps.popitem(last=False)
                self._held -= self._sizes.pop(oldest, 0)


_maps = KeyMaps()


def key_maps() -> KeyMaps:
    """The maps of this process: one budget for all graphs that it has open."""
    return _maps


# --- parts ------------------------------------------------------------------------------------------------


def hashes_of(ids: Sequence[str]) -> Hashes:
    """Python's own hash: fast, 64 bits, and never written anywhere."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def _copied(known: KeyMap, origin: TableOrigin) -> KeyMap:
    with known.lock:
        return known.copy(origin)


def _file_of(handle: Dataset, fragment_id: int) -> str:
    return str(handle.get_fragment(fragment_id).metadata.files[0]._path)


def _scanner(handle: Dataset, fragments: list[Any] | None) -> Any:
    """Deleted rows as well: an older version, or a restore of one, may still have them."""
    return handle.scanner(columns=["id"], with_row_id=True, include_deleted_rows=True, fragments=fragments)


def _row_ids_of(column: pa.Array | pa.ChunkedArray) -> RowIds:
    filled: RowIds = column.fill_null(pa.scalar(int(UNREADABLE_ROW), pa.uint64())).to_numpy()
    return filled


def _resolve(handle: Dataset, place: FragmentFile) -> list[int]:
    """The row ids of a fragment that was announced, if this version has it; else its rows were met elsewhere."""
    fragment = handle.get_fragment(place[0])
    if fragment is None or str(fragment.metadata.files[0]._path) != place[1]:
        return []
    return list(handle.scanner(columns=[], with_row_id=True, fragments=[fragment]).to_table()["_rowid"].to_pylist())
