"""Search in Lance: text and vector hits through an index, and what is known of the index's exactness.

Everything here only proposes rows. Scores and distances that users see are computed by the caller from the rows
themselves, so that they are the same with and without an index.
"""

from __future__ import annotations

import os
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
    complete: bool
    """Every fragment of the table is in it."""
    segments: tuple[str, ...]
    """Where its files lie below the table."""
    version: int
    """The oldest form that one of its segments has."""


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """What BM25 needs to know of a whole column."""

    documents: int
    """Rows with at least one token."""
    tokens: int


def text_index(table: Table, column: str) -> SearchIndex | None:
    """The text index of a column, if there is one, it can be read, and it has our analyser."""
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
    return _opened(table, found, column)


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
                    covered = {number for segment in index.segments for number in segment.fragment_ids}
                    uuids = tuple(str(segment.uuid) for segment in index.segments)
                    oldest = min((int(segment.index_version) for segment in index.segments), default=0)
                    return SearchIndex(str(index.name), kind, present <= covered, uuids, oldest)
    except OmniGraphError:
        return None
    return None


# --- text -------------------------------------------------------------------------------------------------


def text_rows(table: Table, column: str, query: str, *, limit: int | None = None) -> RowIds:
    """The rows that have any token of the query, through the index; rows that are not in it yet are looked at too."""
    return _ids(_text_scan(table, column, query, limit=limit))


def text_ranked(
    table: Table, column: str, query: str, limit: int, allowed: RowIds | None
) -> tuple[RowIds, npt.NDArray[np.float64]]:
    """The best rows by the index's own scores, single precision."""
    found = _text_scan(table, column, query, limit=limit, allowed=allowed, scored=True)
    return _ids(found), found["_score"].to_numpy().astype(np.float64)


def _text_scan(
    table: Table,
    column: str,
    query: str,
    *,
    limit: int | None = None,
    allowed: RowIds | None = None,
    scored: bool = False,
) -> pa.Table:
    with translated(table.uri):
        scanner = table.handle.scanner(
            columns=["_rowid", "_score"] if scored else ["_rowid"],
            full_text_query=MatchQuery(query, column),
            limit=limit,
            row_addr_allowlist=None if allowed is None else serialize_row_addrs(allowed.tolist()),
            disable_scoring_autoprojection=True,
        )
        found: pa.Table = scanner.to_table()
        return found


def index_statistics(table: Table, index: SearchIndex) -> TextStatistics | None:
    """Documents and tokens that the index counts; None unless they are exactly the rows of this version.

    An index keeps the entries of deleted and rewritten rows, and counts them. Its ranking is that of the table only
    when it has none.
    """
    if not index.complete or index.version < ANALYSER_INDEX_VERSION:
        return None
    lengths: list[pa.Table] = []
    for segment in index.segments:
        folder = _index_folder(table, segment)
        if folder is None:
            return None
        try:
            with translated(table.uri):
                names = sorted(name for name in os.listdir(folder) if name.endswith("docs.lance"))
                lengths += [LanceFileReader(os.path.join(folder, name)).read_all().to_table() for name in names]
        except OmniGraphError:
            return None
    if not lengths:
        return None
    documents = pa.concat_tables(lengths)
    ids = documents["_rowid"].to_numpy()
    with translated(table.uri):
        present = _ids(table.handle.scanner(columns=["_rowid"]).to_table())
    if len(np.unique(ids)) != len(ids) or not bool(np.isin(ids, present).all()):
        return None
    return TextStatistics(len(ids), int(documents["_num_tokens"].to_numpy().sum(dtype=np.int64)))


def _index_folder(table: Table, segment: str) -> str | None:
    """The files of a segment lie in the lineage that built it. Only a local disk is looked at."""
    for base in dict.fromkeys((table.uri, table.base_uri)):
        folder = os.path.join(base, "_indices", segment)
        if os.path.isdir(folder):
            return folder
    return None


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
