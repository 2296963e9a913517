"""Search in Lance: text and vector hits through an index, and what is known of the index's exactness.

Everything here only proposes rows. Scores and distances that users see are computed by the caller from the rows
themselves, so that they are the same with and without an index.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.lance_session import LanceFileReader, MatchQuery, serialize_row_addrs
from omnigraph.storage.tables import Table

RowIds = npt.NDArray[np.uint64]

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
PROBES = 32
"""Partitions that an approximate vector search looks into."""
REFINE_FACTOR = 10
"""An approximate vector search reads so many times more candidates and measures them exactly."""


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """An index that a search may use: it opens, it has our settings."""

    name: str
    kind: str
    segments: tuple[tuple[str, frozenset[int]], ...]
    """Each with its identity, which names the folder of its files, and the fragments that it covers."""
    fresh: tuple[int, ...]
    """The fragments of the table that it does not cover."""
    version: int
    """The oldest form that one of its segments has."""


@dataclass(frozen=True, slots=True)
class IndexedDocuments:
    """What a text index counts: rows with a token, and tokens. With and without the entries of rows that are gone."""

    documents: int
    tokens: int
    live_documents: int
    live_tokens: int

    @property
    def stale(self) -> int:
        """Entries of deleted and rewritten rows; they are masked when the index is asked, and still counted."""
        return self.documents - self.live_documents


def text_index(table: Table, column: str) -> SearchIndex | None:
    """The text index of a column, if there is one that can be read, has our analyser and shows no stale rows."""
    found = _index_on(table, column, ("INVERTED", "FTS"))
    if found is None:
        return None
    try:
        with translated(table.uri):
            statistics = table.handle.stats.index_stats(found.name)
    except OmniGraphError:
        return None  # broken: as good as absent
    for segment in statistics.get("segments") or statistics.get("indices") or []:
        settings = segment.get("params", {})
        if any(settings.get(name, value) != value for name, value in _OUR_ANALYSER.items()):
            return None
    return None if shows_stale_rows(table, found) else _opened(table, found, column)


def shows_stale_rows(table: Table, index: SearchIndex) -> bool:
    """True when the index may find a row by a text that it no longer has.

    Lance masks the fragments that no segment covers. A row that was rewritten and indexed again is covered by its new
    segment, and its entry in the old one shows. One segment alone cannot have that.
    """
    if len(index.segments) < 2:
        return False
    everything = _rows_of(table, frozenset().union(*(covered for _, covered in index.segments)))
    for uuid, covered in index.segments:
        lengths = _lengths(table, uuid)
        if lengths is None:
            return True
        entries = lengths["_rowid"].to_numpy()
        elsewhere = entries[~np.isin(entries, _rows_of(table, covered))]
        if bool(np.isin(elsewhere, everything).any()):
            return True
    return False


def vector_index(table: Table, column: str) -> SearchIndex | None:
    """The vector index of a column, if there is one."""
    return _index_on(table, column, ("IVF",))


def _opened(table: Table, found: SearchIndex, column: str) -> SearchIndex | None:
    """An index whose files are missing shows only when it is asked."""
    try:
        text_rows(table, column, "probe", limit=1)
    except OmniGraphError:
        return None
    return found


def _index_on(table: Table, column: str, kinds: Sequence[str]) -> SearchIndex | None:
    try:
        with translated(table.uri):
            present = set(table.handle.fragment_ids())
            for index in table.handle.describe_indices():
                kind = str(index.index_type).upper()
                if list(index.field_names) == [column] and kind.startswith(tuple(kinds)):
                    segments = tuple((str(one.uuid), frozenset(one.fragment_ids)) for one in index.segments)
                    fresh = present.difference(*(covered for _, covered in segments))
                    oldest = min((int(segment.index_version) for segment in index.segments), default=0)
                    return SearchIndex(str(index.name), kind, segments, tuple(sorted(fresh)), oldest)
    except OmniGraphError:
        return None
    return None


# --- text -------------------------------------------------------------------------------------------------


def text_rows(table: Table, column: str, query: str, *, limit: int | None = None, indexed_only: bool = False) -> RowIds:
    """The rows that have any token of the query, those that are not in the index too unless told otherwise."""
    return _ids(_text_scan(table, column, query, ["_rowid"], limit, None, indexed_only=indexed_only))


def text_ranked(
    table: Table, column: str, query: str, limit: int, allowed: RowIds | None
) -> tuple[RowIds, npt.NDArray[np.float64]]:
    """The best rows that are in the index, by its own scores in single precision."""
    found = _text_scan(table, column, query, ["_rowid", "_score"], limit, allowed, indexed_only=True)
    return _ids(found), found["_score"].to_numpy().astype(np.float64)


def _text_scan(
    table: Table,
    column: str,
    query: str,
    columns: list[str],
    limit: int | None,
    allowed: RowIds | None,
    *,
    indexed_only: bool,
) -> pa.Table:
    with translated(table.uri):
        found: pa.Table = table.handle.scanner(
            columns=columns,
            full_text_query=MatchQuery(query, column),
            limit=limit,
            fast_search=indexed_only,
            row_addr_allowlist=None if allowed is None else serialize_row_addrs(allowed.tolist()),
            disable_scoring_autoprojection=True,
        ).to_table()
        return found


def indexed_documents(table: Table, index: SearchIndex) -> IndexedDocuments | None:
    """What the index counts; None when it does not tell: it is of an older form, or its files are not found."""
    if index.version < ANALYSER_INDEX_VERSION:
        return None
    counts = np.zeros(4, np.int64)
    try:
        for uuid, covered in index.segments:
            lengths = _lengths(table, uuid)
            if lengths is None:
                return None
            tokens = lengths["_num_tokens"].to_numpy().astype(np.int64)
            live = np.isin(lengths["_rowid"].to_numpy(), _rows_of(table, covered))
            counts += (len(tokens), tokens.sum(), live.sum(), tokens[live].sum())
    except OmniGraphError:
        return None
    return IndexedDocuments(*counts.tolist())


def _lengths(table: Table, segment: str) -> pa.Table | None:
    """The rows of a segment and their lengths. Its files lie in the lineage that built it: this one, or the table's."""
    options = table.handle.latest_storage_options()
    for base in dict.fromkeys((table.uri, table.base_uri)):
        folder = f"{base}/_indices/{segment}"
        try:
            with translated(table.uri):
                said = LanceFileReader(f"{folder}/metadata.lance", options).metadata().schema.metadata
                files = [f"{folder}/part_{number}_docs.lance" for number in json.loads(said[b"partitions"])]
                parts = [LanceFileReader(path, options).read_all().to_table() for path in files]
        except (OmniGraphError, KeyError):
            continue
        return pa.concat_tables(parts) if parts else None
    return None


def _rows_of(table: Table, fragments: frozenset[int]) -> RowIds:
    """The rows that a segment answers for: a row that was rewritten lies in another fragment now."""
    with translated(table.uri):
        present = [table.handle.get_fragment(number) for number in table.handle.fragment_ids() if number in fragments]
        if not present:
            return np.empty(0, np.uint64)
        return _ids(table.handle.scanner(columns=["_rowid"], fragments=present).to_table())


# --- vectors ----------------------------------------------------------------------------------------------


def vector_ranked(
    table: Table, column: str, vector: npt.NDArray[np.float32], limit: int, allowed: RowIds | None
) -> tuple[RowIds, npt.NDArray[np.float64]]:
    """The nearest rows by squared L2 as Lance measures it, through the index; rows that are not in it are looked at."""
    nearest: dict[str, Any] = {"column": column, "q": vector, "k": limit, "metric": "l2", "nprobes": PROBES}
    index = vector_index(table, column)
    if index is not None and index.kind != "IVF_FLAT":
        nearest["refine_factor"] = REFINE_FACTOR
    with translated(table.uri):
        found = table.handle.scanner(
            columns=["_rowid", "_distance"],
            nearest=nearest,
            row_addr_allowlist=None if allowed is None else serialize_row_addrs(allowed.tolist()),
            disable_scoring_autoprojection=True,
        ).to_table()
    return _ids(found), found["_distance"].to_numpy().astype(np.float64)


def _ids(found: pa.Table) -> RowIds:
    ids: RowIds = found["_rowid"].to_numpy()
    return ids
