"""Index health: which indexes can be relied on. An index is derived: a damaged one costs speed, never an answer.

The files of an index are compared with what its table says of them (are they there, are they as large) when it is first
used in a process. What that does not show, such as other bytes of the same length, shows when it is read: whoever reads
through an index asks again without it. Both are told once in the log and remembered as long as the process lives, by
the segments of the index, whose ids are never given again; an index that is built anew has others.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import SharedHandle

REMEMBERED_MAX = 65_536
SCALAR_KINDS = ("BTREE", "BITMAP", "LABELLIST", "NGRAM", "ZONEMAP", "BLOOMFILTER")
"""What Lance may use for a filter of a scan."""
_log = logging.getLogger("omnigraph.storage")


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of an index: its folder, and how many bytes its files have in all, if the table says so."""

    folder: str
    size: int | None


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """One index of a version of a table."""

    name: str
    columns: tuple[str, ...]
    kind: str
    """In capitals: BTREE, INVERTED, IVF_FLAT …"""
    segments: tuple[Segment, ...]


class IndexHealth:
    """What this process knows of the indexes that it has used. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._described: weakref.WeakKeyDictionary[SharedHandle, tuple[KnownIndex, ...]] = weakref.WeakKeyDictionary()
        self._faults: OrderedDict[str, str | None] = OrderedDict()
        """By the folder of a segment; None: its files are as they should be."""

    def indexes(self, shared: SharedHandle, uri: str) -> tuple[KnownIndex, ...]:
        """The indexes of a version, looked up once for each handle."""
        with self._lock:
            known = self._described.get(shared)
        if known is None:
            bases = {number: str(base.path) for number, base in shared.handle.base_paths().items()}
            known = tuple(_known(index, uri, bases) for index in shared.handle.describe_indices())
            with self._lock:
                self._described[shared] = known
        return known

    def for_filter(self, shared: SharedHandle, uri: str, columns: frozenset[str]) -> tuple[KnownIndex, ...]:
        """The indexes that a filter over these columns may go through."""
        scalar = (index for index in self.indexes(shared, uri) if index.kind in SCALAR_KINDS)
        return tuple(index for index in scalar if not columns.isdisjoint(index.columns))

    def fault(self, index: KnownIndex, of: str) -> str | None:
        """Why the index is not to be used, or None. `of` names its table in what is told."""
        for segment in index.segments:
            with self._lock:
                is_new, known = segment.folder not in self._faults, self._faults.get(segment.folder)
            if is_new:
                known = _fault_of_files(segment)
                self._remember([segment], known)
                if known is not None:
                    _tell(index, of, known)
            if known is not None:
                return known
        return None

    def give_up(self, indexes: Iterable[KnownIndex], of: str, why: str) -> None:
        """These were read, and the read failed; without them it did not."""
        for index in indexes:
            with self._lock:
                told = any(self._faults.get(segment.folder) is not None for segment in index.segments)
            self._remember(index.segments, why)
            if not told:
                _tell(index, of, why)

    def _remember(self, segments: Iterable[Segment], fault: str | None) -> None:
        with self._lock:
            for segment in segments:
                self._faults[segment.folder] = fault
                if len(self._faults) > REMEMBERED_MAX:
                    self._faults.popitem(last=False)


_health = IndexHealth()


def index_health() -> IndexHealth:
    """What this process knows."""
    return _health


def _known(index: Any, uri: str, bases: dict[int, str]) -> KnownIndex:
    segments = tuple(
        Segment(
            f"{uri if each.base_id is None else bases.get(each.base_id, uri)}/_indices/{each.uuid}",
            None if each.size_bytes is None else int(each.size_bytes),
        )
        for each in index.segments
    )
    columns = tuple(str(name) for name in index.field_names)
    return KnownIndex(str(index.name), columns, str(index.index_type).upper(), segments)


def _fault_of_files(segment: Segment) -> str | None:
    """On a local disk. An object store has an object as a whole or not at all, and asking would cost a request."""
    if segment.size is None or "://" in segment.folder:
        return None
    try:
        with os.scandir(segment.folder) as entries:
            size = sum(entry.stat().st_size for entry in entries if entry.is_file())
    except FileNotFoundError:
        return "its files are not there"
    except OSError:
        return None  # the read will tell
    return None if size == segment.size else f"its files have {size} bytes, and should have {segment.size}"


def _tell(index: KnownIndex, of: str, why: str) -> None:
    _log.warning(
        "the index %s of %s is damaged and not used: %s; `omnigraph optimize` builds it again", index.name, of, why
    )
