"""The one way to Lance: a quiet import, one session per process, an LRU of immutable read handles.

A handle at a version never changes, so readers share it. Anything that moves a handle (merge-insert, compaction, index
builds) opens its own with `open_for_change`; Lance would otherwise move a handle under a reader's feet.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")  # must be set before the import: Lance logs to stderr on its own account
os.environ.setdefault("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")

from omnigraph.storage.lance.without_pandas import without_pandas

with without_pandas():
    import lance
    from lance import FragmentMetadata, Index, LanceDataset, LanceOperation, Transaction, tokenize
    from lance.dataset import serialize_row_addrs
    from lance.file import LanceFileReader
    from lance.fragment import write_fragments
    from lance.lance import _Session as Session
    from lance.optimize import Compaction
    from lance.query import MatchQuery
    from lance.schema import LanceSchema

from omnigraph.storage.lance.errors import without_panics
from omnigraph.storage.root import Root

__all__ = [
    "Compaction",
    "Dataset",
    "FragmentMetadata",
    "Handles",
    "Index",
    "LanceDataset",
    "LanceFileReader",
    "LanceOperation",
    "LanceSchema",
    "MatchQuery",
    "Transaction",
    "new_session",
    "serialize_row_addrs",
    "session",
    "tokenize",
    "write_fragments",
]

HANDLES_MAX = 256
VERSIONS_MAX = 16
"""Handles of one table: each holds the list of all its fragments, and in a table that is written often every one is
longer than the one before."""
INDEX_CACHE_BYTES = 512 * 1024 * 1024
METADATA_CACHE_BYTES = 64 * 1024 * 1024

Dataset = Any
"""A Lance dataset. Typed Any on purpose: the library is untyped, and no handle leaves this package."""

_session: Any = None
_session_lock = threading.Lock()


def session() -> Any:
    """The process-wide session: every handle shares its caches of manifests and indexes."""
    global _session
    with _session_lock:
        if _session is None:
            _session = new_session()
        return _session


def new_session() -> Any:
    """A session that knows nothing yet, for whoever must not believe what another one remembers."""
    return Session(index_cache_size_bytes=INDEX_CACHE_BYTES, metadata_cache_size_bytes=METADATA_CACHE_BYTES)


_Key = tuple[str, int, Hashable]
_TRANSACTION_FILE = re.compile(rb"\d+-([0-9a-f-]{36})\.txn")


class SharedHandle:
    """A handle at a version, and the id of the transaction that made the version, once somebody asks for it."""

    def __init__(self, handle: Dataset, transaction: str | None = None) -> None:
        self.handle = handle
        self.identity: Any = None
        """What `Table.identity` found; a query asks for it several times."""
        self._transaction = transaction

    def transaction(self) -> str:
        """Unique for all time, unlike paths and version numbers. Found in the manifest, which is in memory already."""
        if self._transaction is None:
            manifest = bytes(self.handle._ds.serialized_manifest())
            named = _TRANSACTION_FILE.findall(manifest)
            # A version that names no transaction (no release of ours wrote one) is known by its whole manifest.
            self._transaction = named[-1].decode() if named else hashlib.sha256(manifest).hexdigest()
        return self._transaction


class Handles:
    """Read handles of one graph, by path, version and incarnation of the branch. Thread-safe."""

    def __init__(self, root: Root, session: Callable[[], Any] = session) -> None:
        self._root = root
        self._session = session
        self._lock = threading.Lock()
        self._generation = 0
        self._shared: OrderedDict[_Key, SharedHandle] = OrderedDict()
        self._versions: Counter[tuple[str, Hashable]] = Counter()
        """How many handles each table has."""

    def shared(
        self,
        path: str,
        version: int,
        incarnation: Hashable = None,
        still: Callable[[], None] = lambda: None,
    ) -> SharedHandle:
        """The handle of a table at a version; opened once.

        `still` raises when the branch is not the same incarnation any more. It is asked after the table was opened: the
        files that were found are then those of the branch that was meant.
        """
        key = (path, version, incarnation)
        with self._lock:
            generation = self._generation
            if key in self._shared:
                self._shared.move_to_end(key)
                return self._shared[key]
        opened = SharedHandle(self.open_for_change(path, version))
        still()
        with self._lock:
            if generation == self._generation:  # else what was opened may be what has just been forgotten
                self._keep(key, opened)
        return opened

    def keep(self, path: str, handle: Dataset, transaction: str, incarnation: Hashable = None) -> None:
        """Shares a handle that a commit gave back. Nobody may move it any more."""
        with self._lock:
            self._keep((path, int(handle.version), incarnation), SharedHandle(handle, transaction))

    def _keep(self, key: _Key, opened: SharedHandle) -> None:
        path, _, incarnation = key
        if key not in self._shared:
            self._versions[path, incarnation] += 1
        self._shared[key] = opened
        if self._versions[path, incarnation] > VERSIONS_MAX:
            self._drop(next(each for each in self._shared if (each[0], each[2]) == (path, incarnation)))
        if len(self._shared) > HANDLES_MAX:
            self._drop(next(iter(self._shared)))

    def _drop(self, key: _Key) -> None:
        path, _, incarnation = key
        del self._shared[key]
        self._versions[path, incarnation] -= 1
        if not self._versions[path, incarnation]:
            del self._versions[path, incarnation]

    def open_for_change(self, path: str, version: int | None = None, *, block_bytes: int | None = None) -> Dataset:
        """A handle of the caller's own, at a version or the newest one. `block_bytes` is the least that a read asks."""
        with without_panics():
            return lance.dataset(
                self._root.join(path),
                version=version,
                block_size=block_bytes,
                session=self._session(),
                storage_options=self._root.lance_options,
            )

    def forget(self, prefix: str = "") -> None:
        """Drops the handles below a path, for example of a deleted branch; without one, all of them."""
        with self._lock:
            self._generation += 1
            for key in [key for key in self._shared if not prefix or f"{key[0]}/".startswith(f"{prefix}/")]:
                self._drop(key)
