"""Search through Lance's indexes: which index a column has, and the vectors that it puts first.

Everything here only proposes rows. Scores and distances that users see are computed by the caller from the rows
themselves, so that they are the same with and without an index. An index may also propose rows that are gone: Lance
keeps the entries of deleted rows, and forgets that they are deleted when their fragment is compacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError, StorageReadOnly, Unreachable
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.lance import serialize_row_addrs
from omnigraph.storage.tables import Table

RowIds = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.float64]

VECTOR_KINDS, TEXT_KINDS = ("IVF",), ("INVERTED", "FTS")
PROBES = 32
"""Partitions that an approximate vector search looks into."""
REFINE_FACTOR = 10
"""An approximate vector search reads so many times more candidates and measures them exactly."""


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """An index of a column, as the table describes it."""

    name: str
    kind: str
    segments: tuple[tuple[str, frozenset[int]], ...]
    """Each with its identity, which names the folder of its files, and the fragments that it covers."""
    fresh: tuple[int, ...]
    """The fragments of the table that it does not cover."""
    version: int
    """The oldest form that one of its segments has."""


def index_on(table: Table, column: str, kinds: Sequence[str]) -> SearchIndex | None:
    """The first index of one of these kinds on exactly this column; None also when it is damaged."""
    try:
        with table.reading():
            present = set(table.handle.fragment_ids())
            for index in table.handle.describe_indices():
                kind = str(index.index_type).upper()
                if list(index.field_names) == [column] and kind.startswith(tuple(kinds)):
                    segments = tuple((str(one.uuid), frozenset(one.fragment_ids)) for one in index.segments)
                    fresh = present.difference(*(covered for _, covered in segments))
                    oldest = min((int(segment.index_version) for segment in index.segments), default=0)
                    if known_fault(table, str(index.name)) is not None:
                        return None
                    return SearchIndex(str(index.name), kind, segments, tuple(sorted(fresh)), oldest)
    except OmniGraphError:
        return None
    return None


def known_fault(table: Table, name: str) -> str | None:
    """Why the index of this name is not to be used, as far as that is known."""
    found = next((index for index in table.known_indexes() if index.name == name), None)
    return None if found is None else table.index_fault(found)


def give_up(table: Table, column: str, kinds: Sequence[str], error: OmniGraphError) -> None:
    """A search through the index of a column failed: it is told, and not asked again."""
    if isinstance(error, Unreachable | StorageReadOnly):
        return
    for index in table.known_indexes():
        if index.columns == (column,) and index.kind.startswith(tuple(kinds)):
            table.give_up_index(index, error.sentence())


def vector_index(table: Table, column: str) -> SearchIndex | None:
    """The vector index of a column, if there is one."""
    return index_on(table, column, VECTOR_KINDS)


def vector_ranked(
    table: Table, column: str, vector: npt.NDArray[np.float32], limit: int, allowed: RowIds | None
) -> tuple[RowIds, Scores]:
    """The nearest rows by squared L2 as Lance measures it, those that are not in the index too. Some may be gone."""
    nearest: dict[str, Any] = {"column": column, "q": vector, "k": limit, "metric": "l2", "nprobes": PROBES}
    index = vector_index(table, column)
    if index is not None and index.kind != "IVF_FLAT":
        nearest["refine_factor"] = REFINE_FACTOR
    with table.reading():
        found = table.handle.scanner(
            columns=["_rowid", "_distance"],
            nearest=nearest,
            row_addr_allowlist=allow_list(allowed),
            disable_scoring_autoprojection=True,
        ).to_table()
    return row_ids_of(found), found["_distance"].to_numpy().astype(np.float64)


def allow_list(row_ids: RowIds | None) -> bytes | None:
    """Rows in the form in which a search takes them; None: no restriction."""
    return None if row_ids is None else bytes(serialize_row_addrs(row_ids.tolist()))


def row_ids_of(found: pa.Table) -> RowIds:
    ids: RowIds = found["_rowid"].to_numpy()
    return ids
