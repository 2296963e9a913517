"""Text search through Lance's index: the rows that it finds, its own ranking, and what it counts.

An index is looked at once per version of a table. One that cannot be read, has another analyser, or would find rows by
texts that they no longer have counts as absent.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.indexes.vector_search import (
    TEXT_KINDS,
    RowIds,
    Scores,
    SearchIndex,
    allow_list,
    give_up,
    index_on,
    row_ids_of,
)
from omnigraph.storage.lance import LanceFileReader, MatchQuery
from omnigraph.storage.tables import Table

_OUR_ANALYSER = {
    "base_tokenizer": "simple",
    "language": "English",
    "max_token_length": 40,
    "lower_case": True,
    "stem": True,
    "remove_stop_words": True,
    "custom_stop_words": None,
    "ascii_folding": True,
}
ANALYSER_INDEX_VERSION = 2
"""Text indexes of earlier versions have fewer stop words: they find the same rows but count other lengths."""


_NO_LENGTHS = pa.table({"_rowid": pa.array([], pa.uint64()), "_num_tokens": pa.array([], pa.uint32())})


@dataclass(frozen=True, slots=True)
class IndexedDocuments:
    """What a text index counts: rows with a token, and tokens. With and without the entries of rows that are gone."""

    documents: int
    tokens: int
    live_documents: int
    live_tokens: int

    @property
    def stale(self) -> int:
        """Entries of deleted and rewritten rows, which are counted all the same."""
        return self.documents - self.live_documents


@dataclass(frozen=True, slots=True, eq=False)
class TextIndex:
    """The text index of one version of a table."""

    table: Table
    column: str
    index: SearchIndex
    counted: IndexedDocuments
    ghosts: RowIds
    """Rows that the index has and the table has not. Lance hides them only while their deletion is on record."""

    @property
    def ranks(self) -> bool:
        """True when it scores by the lengths that our analyser counts."""
        return self.index.version >= ANALYSER_INDEX_VERSION

    def rows(self, query: str, *, indexed_only: bool = False) -> RowIds:
        """The rows that have any token of the query, those that are not in the index too unless told otherwise."""
        found = row_ids_of(_scan(self.table, self.column, query, ["_rowid"], indexed_only=indexed_only))
        return found[self._exist(found)] if len(self.ghosts) else found

    def ranked(self, query: str, limit: int, allowed: RowIds | None) -> tuple[RowIds, Scores, bool]:
        """The best rows that are in the index, by its own scores in single precision; and whether these are all."""
        columns = ["_rowid", "_score"]
        found = _scan(self.table, self.column, query, columns, limit=limit, allowed=allowed, indexed_only=True)
        row_ids, scores = row_ids_of(found), found["_score"].to_numpy().astype(np.float64)
        exist = self._exist(row_ids)
        return row_ids[exist], scores[exist], len(row_ids) < limit

    def _exist(self, row_ids: RowIds) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return ~np.isin(row_ids, self.ghosts)


def text_index(table: Table, column: str) -> TextIndex | None:
    """The text index of a column, if there is one to be used."""
    found = index_on(table, column, TEXT_KINDS)
    try:
        if found is None or not _has_our_analyser(table, found):
            return None
        _scan(table, column, "probe", ["_rowid"], limit=1)  # missing files show only when an index is asked
        return _counted(table, column, found)
    except OmniGraphError as error:
        give_up(table, column, TEXT_KINDS, error)
        return None


def _has_our_analyser(table: Table, index: SearchIndex) -> bool:
    with table.reading():
        statistics = table.handle.stats.index_stats(index.name)
    settings = [segment.get("params", {}) for segment in statistics.get("segments") or statistics.get("indices") or []]
    return all(given.get(name, value) == value for given in settings for name, value in _OUR_ANALYSER.items())


def _counted(table: Table, column: str, index: SearchIndex) -> TextIndex | None:
    """Compares the entries of the index with the rows of the table.

    Lance hides the rows of fragments that no segment covers. A row that was rewritten and indexed again is covered by
    its new segment, and its old entry shows: such an index is not to be used.
    """
    present = _rows_of(table, None)
    covered_rows = _rows_of(table, frozenset().union(*(covered for _, covered in index.segments)))
    counts, gone = np.zeros(4, np.int64), [np.empty(0, np.uint64)]
    for uuid, covered in index.segments:
        lengths = _lengths(table, uuid)
        if lengths is None:
            return None
        entries, tokens = lengths["_rowid"].to_numpy(), lengths["_num_tokens"].to_numpy().astype(np.int64)
        live = np.isin(entries, _rows_of(table, covered))
        if bool(np.isin(entries[~live], covered_rows).any()):
            return None
        gone.append(entries[~live])
        counts += (len(tokens), tokens.sum(), live.sum(), tokens[live].sum())
    stale = np.concatenate(gone)
    return TextIndex(table, column, index, IndexedDocuments(*counts.tolist()), stale[~np.isin(stale, present)])


def _lengths(table: Table, segment: str) -> pa.Table | None:
    """The rows of a segment and their lengths. Its files lie in the lineage that built it: this one, or the table's."""
    options = table.handle.latest_storage_options()
    for base in dict.fromkeys((table.uri, table.base_uri)):
        folder = f"{base}/_indices/{segment}"
        try:
            with table.reading():
                said = LanceFileReader(f"{folder}/metadata.lance", options).metadata().schema.metadata
                files = [f"{folder}/part_{number}_docs.lance" for number in json.loads(said[b"partitions"])]
                parts = [LanceFileReader(path, options).read_all().to_table() for path in files]
        except (OmniGraphError, KeyError):
            continue
        return pa.concat_tables(parts) if parts else _NO_LENGTHS
    return None


def rows_covered(table: Table, name: str) -> set[int]:
    """The rows of the fragments that a text index covers, by its name; for `verify`."""
    found = _named(table, name)
    return set() if found is None else set(_rows_of(table, _covered(found)).tolist())


def lengths_of(table: Table, name: str) -> dict[int, int] | None:
    """How many words a text index counts of each row, where it has our analyser; for `verify`."""
    found = _named(table, name)
    if found is None or found.version < ANALYSER_INDEX_VERSION or not _has_our_analyser(table, found):
        return None
    counted: dict[int, int] = {}
    for uuid, covered in found.segments:
        lengths = _lengths(table, uuid)
        if lengths is None:
            return None
        live = set(_rows_of(table, covered).tolist())
        rows = zip(lengths["_rowid"].to_pylist(), lengths["_num_tokens"].to_pylist(), strict=True)
        counted.update((row, count) for row, count in rows if row in live)
    return counted


def _named(table: Table, name: str) -> SearchIndex | None:
    [column] = next(index.columns for index in table.indexes() if index.name == name)
    found = index_on(table, column, TEXT_KINDS)
    return found if found is not None and found.name == name else None


def _covered(index: SearchIndex) -> frozenset[int]:
    return frozenset().union(*(covered for _, covered in index.segments))


def _rows_of(table: Table, fragments: frozenset[int] | None) -> RowIds:
    """The rows of these fragments as far as the table has them; None: of all."""
    with table.reading():
        chosen = None
        if fragments is not None:
            numbers = [number for number in table.handle.fragment_ids() if number in fragments]
            chosen = [table.handle.get_fragment(number) for number in numbers]
            if not chosen:
                return np.empty(0, np.uint64)
        return row_ids_of(table.handle.scanner(columns=["_rowid"], fragments=chosen).to_table())


def _scan(
    table: Table,
    column: str,
    query: str,
    columns: list[str],
    *,
    limit: int | None = None,
    allowed: RowIds | None = None,
    indexed_only: bool = False,
) -> pa.Table:
    with table.reading():
        found: pa.Table = table.handle.scanner(
            columns=columns,
            full_text_query=MatchQuery(query, column),
            limit=limit,
            fast_search=indexed_only,
            row_addr_allowlist=allow_list(allowed),
            disable_scoring_autoprojection=True,
        ).to_table()
        return found
