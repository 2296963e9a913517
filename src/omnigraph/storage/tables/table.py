"""Tables for reading: open at a pin, scan, take, count. No Lance handle or error leaves this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.model.errors import HistoricalVersionReclaimed, OmniGraphError, StorageReadOnly, Unreachable
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import Fault, Handles, SharedHandle, VersionFiles, classify, translate, translated
from omnigraph.storage.manifest import Incarnation, TablePin
from omnigraph.storage.predicates import IsNull, Not, Predicate, columns_of, to_sql
from omnigraph.storage.tables.damaged_indexes import KnownIndex, index_health

SCAN_BATCH_ROWS = 8192
T = TypeVar("T")


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

    def __hash__(self) -> int:
        """By what tells them apart: a query looks things up by identity a dozen times."""
        return hash(self.transaction)

    @property
    def content(self) -> tuple[str, str | None, int, str]:
        """What decides the rows; the same in every copy of a graph that has them."""
        return self.location, self.lineage, self.version, self.transaction


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Whose versions are counted: those of one graph, and of one incarnation of a branch."""

    genesis: str
    incarnation: Incarnation | None
    """None for main, and for a lineage that was reached through another branch than its own."""

    @property
    def of_main(self) -> TableOrigin:
        return TableOrigin(self.genesis, None)

    def may_be(self, other: TableOrigin) -> bool:
        """False for origins of one address that are certainly two."""
        unknown = self.incarnation is None or other.incarnation is None
        return self.genesis == other.genesis and (unknown or self.incarnation == other.incarnation)


class Table:
    """One version of one table. Immutable and safe to share between threads.

    A filter goes through the indexes of its columns. One that is damaged is passed over; one that turns out to be so is
    told and remembered, and the question is asked again without it. `fall_back=False` lets its error through.
    """

    def __init__(
        self,
        pin: TablePin,
        shared: SharedHandle,
        uri: str,
        genesis: Callable[[], str],
        require_there: Callable[[TablePin], None] = lambda _: None,
    ) -> None:
        self.pin = pin
        self.uri = uri
        self._genesis = genesis
        self._require_there = require_there
        self._shared = shared
        self._handle = shared.handle

    @property
    def identity(self) -> TableIdentity:
        """What anything that is remembered of these rows is remembered by."""
        known: TableIdentity | None = self._shared.identity
        if known is None:
            with self.reading():
                transaction = self._shared.transaction()
            known = TableIdentity(self.base_uri, self.pin.location, self.pin.lineage, self.version, transaction)
            self._shared.identity = known
        return known

    @property
    def origin(self) -> TableOrigin:
        """What version numbers of this address are worth comparing within."""
        found = self.pin.incarnation
        is_own = found is not None and found.branch == self.pin.lineage
        return TableOrigin(self._genesis(), found if is_own else None)

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

    def count(self, predicate: Predicate | None = None, *, fall_back: bool = True) -> int:
        """How many rows; without a predicate this costs no request."""
        if predicate is None:
            with self.reading():
                return int(self._handle.count_rows())
        sql = self._sql(predicate)

        def ask(use_index: bool) -> int:
            scanner = self._handle.scanner(columns=[], filter=sql, with_row_id=True, use_scalar_index=use_index)
            return int(scanner.count_rows())

        return self._asked(ask, predicate, use_index=True, fall_back=fall_back)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        batch_rows: int = SCAN_BATCH_ROWS,
        use_index: bool = True,
        limit: int | None = None,
        fall_back: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Streams batches. Without `use_index` every row is looked at."""
        options = {"columns": _listed(columns), "batch_size": batch_rows, "limit": limit}
        return self._streamed(options, predicate, use_index=use_index, fall_back=fall_back)

    def read(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        use_index: bool = True,
    ) -> pa.Table:
        """The rows as one Arrow table; for results that are known to be small."""
        sql = self._sql(predicate)

        def ask(with_index: bool) -> pa.Table:
            scanner = self._handle.scanner(columns=_listed(columns), filter=sql, use_scalar_index=with_index)
            return scanner.to_table()

        return self._asked(ask, predicate, use_index=use_index)

    def scan_whole(
        self, predicate: Predicate | None = None, *, limit: int | None = None, use_index: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Whole rows with the bytes of their managed blobs, as rewriting a row needs them."""
        options = {"limit": limit, "blob_handling": "all_binary", "batch_size": SCAN_BATCH_ROWS}
        return self._streamed(options, predicate, use_index=use_index)

    def take(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Rows by stable row id, in the given order; ids that are gone are left out."""
        with self.reading():
            taken: pa.Table = self._handle._take_rows(list(row_ids), columns=list(columns) if columns else None)
            return taken

    def indexes(self) -> list[IndexInfo]:
        """The indexes of this version, sorted by name."""
        with self.reading():
            found = self._handle.describe_indices()
            return sorted((_index_info(index) for index in found), key=lambda index: index.name)

    def fragment_count(self) -> int:
        return len(self._handle.get_fragments())

    @property
    def handle(self) -> Any:
        """The Lance handle, for the sibling modules of this package alone."""
        return self._handle

    def reading(self) -> translated:
        """What every read of Lance goes through. A file that is missing because its version was removed meanwhile is no
        damage: that is HistoricalVersionReclaimed."""
        return translated(self.uri, self._if_missing)

    def _if_missing(self) -> None:
        self._require_there(self.pin)

    @property
    def shared(self) -> SharedHandle:
        """The same, as it is shared between the tables of one version."""
        return self._shared

    # --- through indexes, or without them -------------------------------------------------------------------

    def known_indexes(self) -> tuple[KnownIndex, ...]:
        """The indexes of this version with their files, for the sibling modules of this package."""
        with self.reading():
            return index_health().indexes(self._shared, self.uri)

    def is_indexed(self, column: str) -> bool:
        """Whether a filter over the column has an index to go through that is not known to be damaged."""
        found = self._filter_indexes(frozenset({column}))
        return bool(found) and not any(map(self.index_fault, found))

    def index_fault(self, index: KnownIndex) -> str | None:
        """Why an index of this version is not to be used, as far as that is known; None otherwise."""
        return index_health().fault(index, self._name)

    def give_up_index(self, index: KnownIndex, why: str) -> None:
        """A read through the index failed; without it it did not."""
        index_health().give_up([index], self._name, why)

    def _streamed(
        self, options: dict[str, Any], predicate: Predicate | None, *, use_index: bool, fall_back: bool = True
    ) -> Iterator[pa.RecordBatch]:
        sql = self._sql(predicate)

        def ask(with_index: bool) -> Iterator[pa.RecordBatch]:
            """Lance has asked its indexes when the first batch is there: a later error is not one of theirs."""
            batches = iter(self._handle.scanner(filter=sql, use_scalar_index=with_index, **options).to_batches())
            return chain(list(islice(batches, 1)), batches)

        found = self._asked(ask, predicate, use_index=use_index, fall_back=fall_back)
        with self.reading():
            yield from found

    def _asked(
        self, ask: Callable[[bool], T], predicate: Predicate | None, *, use_index: bool, fall_back: bool = True
    ) -> T:
        """The answer, by way of the indexes if they can be used."""
        indexes = self._filter_indexes(columns_of(predicate)) if use_index and predicate is not None else ()
        if fall_back and any(map(self.index_fault, indexes)):
            use_index = False
        try:
            with self.reading():
                return ask(use_index)
        except (Unreachable, StorageReadOnly):
            raise
        except OmniGraphError as error:
            if not indexes or not use_index or not fall_back:
                raise
            with self.reading():
                answer = ask(False)  # when the rows are damaged this fails too
            index_health().give_up(self._blamed(indexes), self._name, error.sentence())
            return answer

    def _blamed(self, indexes: Sequence[KnownIndex]) -> Sequence[KnownIndex]:
        """Which of several indexes is it? The one that cannot be asked for everything it has; else all of them."""
        found = [index for index in indexes if len(indexes) > 1 and not self._answers(index)]
        return found or indexes

    def _answers(self, index: KnownIndex) -> bool:
        every = self._sql(Not(IsNull(index.columns[0])))
        try:
            with self.reading():
                self._handle.scanner(columns=[], filter=every, with_row_id=True).count_rows()
        except OmniGraphError:
            return False
        return True

    def _filter_indexes(self, columns: frozenset[str]) -> tuple[KnownIndex, ...]:
        with self.reading():
            return index_health().for_filter(self._shared, self.uri, columns)

    @property
    def _name(self) -> str:
        return f"{self.pin.table_key} ({self.uri})"

    def _sql(self, predicate: Predicate | None) -> str | None:
        return None if predicate is None else to_sql(predicate, self.schema)


class Tables:
    """Opens the tables of one graph."""

    def __init__(
        self,
        handles: Handles,
        root_uri: str,
        versions: VersionFiles,
        require: Callable[[Incarnation], None],
        genesis: Callable[[], str],
    ) -> None:
        self._handles = handles
        self._root_uri = root_uri
        self._versions = versions
        self._require = require
        self._genesis = genesis

    def open(self, pin: TablePin) -> Table:
        """The table at exactly the version that the pin names; never "the newest", nor that of a namesake branch."""
        uri = f"{self._root_uri}/{pin.path}"
        try:
            if pin.lineage is not None and pin.incarnation is None:  # nobody can tell later which one this was
                handle = SharedHandle(self._handles.open_for_change(pin.path, pin.version))
                return Table(pin, handle, uri, self._genesis, self.require_there)
            shared = self._handles.shared(pin.path, pin.version, pin.incarnation, lambda: self._still(pin))
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is Fault.MISSING:
                self._still(pin)
                raise HistoricalVersionReclaimed(uri, pin.version) from error
            raise translate(error, uri) from error
        return Table(pin, shared, uri, self._genesis, self.require_there)

    def require_there(self, pin: TablePin) -> None:
        """Refuses a version that was removed, also if this process still has a handle of it."""
        if self._versions.stamp(pin.path, pin.version) is not None:
            return
        self._still(pin)
        try:  # a file of an older naming scheme has another name
            self._handles.open_for_change(pin.path, pin.version)
        except (OSError, ValueError, RuntimeError) as error:
            uri = f"{self._root_uri}/{pin.path}"
            if classify(error) is Fault.MISSING:
                raise HistoricalVersionReclaimed(uri, pin.version) from error
            raise translate(error, uri) from error

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


def _listed(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)


def _index_info(index: Any) -> IndexInfo:
    return IndexInfo(
        name=str(index.name),
        columns=tuple(str(name) for name in index.field_names),
        kind=str(index.index_type),
        rows_indexed=int(index.num_rows_indexed),
    )
