"""Tables for reading: open at a pin, scan, take, count. No Lance handle or error leaves this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.model.errors import HistoricalVersionReclaimed
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance_errors import Fault, classify, translate, translated
from omnigraph.storage.lance_session import Handles, SharedHandle
from omnigraph.storage.manifest_state import Incarnation, TablePin
from omnigraph.storage.predicates import Predicate, to_sql
from omnigraph.storage.version_files import VersionFiles

SCAN_BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One index of a table, as it stands."""

    name: str
    columns: tuple[str, ...]
    kind: str
    rows_indexed: int


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Which rows, in terms that never come again.

    Names, paths and version numbers do: a branch is deleted and made again, a graph is copied and both go on, a folder
    is removed and a new graph is made in its place. The transaction that made a version is unique for all time.
    """

    uri: str
    """The address of the table, whatever lineage: two copies of a graph are kept apart, for one of them may go."""
    location: str
    lineage: str | None
    version: int
    transaction: str

    @property
    def content(self) -> tuple[str, str | None, int, str]:
        """What decides the rows; the same in every copy of a graph that has them."""
        return self.location, self.lineage, self.version, self.transaction


class Table:
    """One version of one table. Immutable and safe to share between threads."""

    def __init__(self, pin: TablePin, shared: SharedHandle, uri: str) -> None:
        self.pin = pin
        self.uri = uri
        self._shared = shared
        self._handle = shared.handle

    @property
    def identity(self) -> TableIdentity:
        """What anything that is remembered of these rows is remembered by."""
        with translated(self.uri):
            transaction = self._shared.transaction()
        return TableIdentity(self.base_uri, self.pin.location, self.pin.lineage, self.version, transaction)

    @property
    def base_uri(self) -> str:
        """The address of the table itself, whatever lineage this is."""
        return self.uri.removesuffix(self.pin.path) + self.pin.location

    @property
    def schema(self) -> pa.Schema:
        schema: pa.Schema = self._handle.schema
        return schema

    @property
    def version(self) -> int:
        return int(self._handle.version)

    def count(self, predicate: Predicate | None = None) -> int:
        """How many rows; without a predicate this costs no request."""
        with translated(self.uri):
            return int(self._handle.count_rows(self._sql(predicate)))

    def scan(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        batch_rows: int = SCAN_BATCH_ROWS,
        use_index: bool = True,
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Streams batches. Without `use_index` every row is looked at, also when an index is broken."""
        with translated(self.uri):
            scanner = self._handle.scanner(
                columns=list(columns) if columns is not None else None,
                filter=self._sql(predicate),
                batch_size=batch_rows,
                use_scalar_index=use_index,
                limit=limit,
            )
            yield from scanner.to_batches()

    def read(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        use_index: bool = True,
    ) -> pa.Table:
        """The rows as one Arrow table; for results that are known to be small."""
        with translated(self.uri):
            table: pa.Table = self._handle.scanner(
                columns=list(columns) if columns is not None else None,
                filter=self._sql(predicate),
                use_scalar_index=use_index,
            ).to_table()
            return table

    def scan_whole(
        self, predicate: Predicate | None = None, *, limit: int | None = None, use_index: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Whole rows with the bytes of their managed blobs, as rewriting a row needs them."""
        with translated(self.uri):
            scanner = self._handle.scanner(
                filter=self._sql(predicate),
                limit=limit,
                use_scalar_index=use_index,
                blob_handling="all_binary",
                batch_size=SCAN_BATCH_ROWS,
            )
            yield from scanner.to_batches()

    def take(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Rows by stable row id, in the given order; ids that are gone are left out."""
        with translated(self.uri):
            taken: pa.Table = self._handle._take_rows(list(row_ids), columns=list(columns) if columns else None)
            return taken

    def indexes(self) -> list[IndexInfo]:
        """The indexes of this version, sorted by name."""
        with translated(self.uri):
            found = self._handle.describe_indices()
            return sorted((_index_info(index) for index in found), key=lambda index: index.name)

    def fragment_count(self) -> int:
        return len(self._handle.get_fragments())

    @property
    def handle(self) -> Any:
        """The Lance handle, for the sibling modules of this package alone."""
        return self._handle

    def _sql(self, predicate: Predicate | None) -> str | None:
        return None if predicate is None else to_sql(predicate, self.schema)


class Tables:
    """Opens the tables of one graph."""

    def __init__(
        self, handles: Handles, root_uri: str, versions: VersionFiles, require: Callable[[Incarnation], None]
    ) -> None:
        self._handles = handles
        self._root_uri = root_uri
        self._versions = versions
        self._require = require

    def open(self, pin: TablePin) -> Table:
        """The table at exactly the version that the pin names; never "the newest", nor that of a namesake branch."""
        uri = f"{self._root_uri}/{pin.path}"
        try:
            if pin.lineage is not None and pin.incarnation is None:  # nobody can tell later which one this was
                return Table(pin, SharedHandle(self._handles.open_for_change(pin.path, pin.version)), uri)
            shared = self._handles.shared(pin.path, pin.version, pin.incarnation, lambda: self._still(pin))
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is Fault.MISSING:
                self._still(pin)
                raise HistoricalVersionReclaimed(uri, pin.version) from error
            raise translate(error, uri) from error
        return Table(pin, shared, uri)

    def _still(self, pin: TablePin) -> None:
        if pin.incarnation is not None:
            self._require(pin.incarnation)

    def head_version(self, pin: TablePin) -> int:
        """The newest version of the pin's lineage, published or not."""
        newest = self._versions.newest(pin.path, pin.version, None)
        if newest is not None:
            return newest
        with translated(f"{self._root_uri}/{pin.path}"):
            return int(self._handles.open_for_change(pin.path).version)


def _index_info(index: Any) -> IndexInfo:
    return IndexInfo(
        name=str(index.name),
        columns=tuple(str(name) for name in index.field_names),
        kind=str(index.index_type),
        rows_indexed=int(index.num_rows_indexed),
    )
