"""Id numbers: from ids to row numbers, for a column of ids. Built when the first id is looked up.

Ids are kept as sorted hashes, with a table of where each run of leading bits begins: hashes are spread evenly, so a
search has a handful of neighbours to look at wherever it starts. A hash that is found is compared with the id itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.frames import NO_ROW, Rows
from omnigraph.storage.tables import Hashes, text_hash, text_hashes

FEW_IDS = 8
"""So many ids are looked up one by one; more of them all at once."""
RUN_IDS = 8
"""About so many hashes share their leading bits."""


@dataclass(frozen=True, slots=True)
class _Index:
    hashes: Hashes
    numbers: Rows
    shift: np.uint64
    begins: npt.NDArray[np.int32]
    """Where the hashes with these leading bits begin, one entry more than there are such bits."""

    @classmethod
    def of(cls, column: pa.Array) -> _Index:
        hashes = text_hashes(column)
        order = np.argsort(hashes)
        hashes = hashes[order]
        bits = max(1, (len(hashes) // RUN_IDS).bit_length())
        shift = np.uint64(64 - bits)
        firsts = np.arange(2**bits, dtype=np.uint64) << shift
        begins = np.append(np.searchsorted(hashes, firsts), len(hashes)).astype(np.int32)
        return cls(hashes, order.astype(np.int32), shift, begins)

    @property
    def nbytes(self) -> int:
        return int(self.hashes.nbytes + self.numbers.nbytes + self.begins.nbytes)

    def places(self, wanted: Hashes) -> npt.NDArray[np.int32]:
        """Where each hash is, or would be: a binary search among its neighbours, for all of them at once."""
        runs = wanted >> self.shift
        low: npt.NDArray[np.int32] = self.begins[runs]
        high = self.begins[runs + np.uint64(1)]
        last = len(self.hashes) - 1
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            less = (middle < high) & (self.hashes[np.minimum(middle, last)] < wanted)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low


class IdNumbers:
    """The places of ids in a column that has each of them once."""

    def __init__(self, column: Callable[[], pa.Array], length: int) -> None:
        self.column = column
        self.length = length
        self._lock = threading.Lock()
        self._index: _Index | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self._index is None else self._index.nbytes

    def find(self, ids: Sequence[str]) -> Rows:
        """The number of each id, -1 where it is not there."""
        found = np.full(len(ids), NO_ROW, np.int32)
        if not self.length or not len(ids):
            return found
        index, column = self._made(), self.column()
        if len(ids) <= FEW_IDS:
            for place, entity_id in enumerate(ids):
                wanted_hash = np.uint64(text_hash(entity_id))
                at = int(index.hashes.searchsorted(wanted_hash))
                if at < self.length and index.hashes[at] == wanted_hash:
                    found[place] = _among_equals(entity_id, at, index, column)
            return found
        texts = pa.array(ids, pa.string())
        wanted = text_hashes(texts)
        places = index.places(wanted)
        inside = np.minimum(places, self.length - 1)
        candidates = index.numbers[inside]
        same = pc.equal(column.take(pa.array(candidates)), texts).to_numpy(zero_copy_only=False)
        found[same] = candidates[same]
        for place in np.flatnonzero(~same & (index.hashes[inside] == wanted)).tolist():
            found[place] = _among_equals(ids[place], int(places[place]), index, column)
        return found

    def _made(self) -> _Index:
        with self._lock:
            if self._index is None:
                self._index = _Index.of(self.column())
            return self._index


def _among_equals(wanted: str, place: int, index: _Index, column: pa.Array) -> int:
    """Different ids with one hash: look at each."""
    target = index.hashes[place]
    while place < len(index.hashes) and index.hashes[place] == target:
        if column[int(index.numbers[place])].as_py() == wanted:
            return int(index.numbers[place])
        place += 1
    return NO_ROW
