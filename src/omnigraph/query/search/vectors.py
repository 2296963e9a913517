"""Vector search: the nearest rows by squared L2, exactly.

Distances are measured on the stored single-precision numbers, summed in double precision and rounded to single. A fast
estimate, or an index, only proposes rows; how far the estimate can be off is known, so nothing that belongs among the
nearest is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.query.search.columns import Piece, SearchColumns
from omnigraph.query.search.hits import NO_HITS, Hits, Places, RowIds, best, joined
from omnigraph.query.search.kth_smallest import kth_smallest
from omnigraph.query.search.row_positions import RowPlaces
from omnigraph.storage.indexes import VECTOR_KINDS, give_up, vector_index, vector_ranked
from omnigraph.storage.tables import Table

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

EXACT_ROWS = 2048
"""Up to so many rows are measured at once; beyond it an estimate comes first."""
CHUNK_ROWS = 8192
PROPOSED_MAX = 16_384
RESIDENT_BYTES_MAX = 512 * 1024 * 1024
"""A wider column that has an index is searched through it."""


@dataclass(frozen=True, eq=False)
class VectorPart:
    """Some rows of a vector column; NULL rows are zeros and `valid` says so."""

    row_ids: RowIds
    vectors: Matrix
    valid: npt.NDArray[np.bool_] | None

    @property
    def nbytes(self) -> int:
        return int(self.row_ids.nbytes * 3 + self.vectors.nbytes + 4 * len(self.row_ids))

    @cached_property
    def squares(self) -> npt.NDArray[np.float32]:
        """The squared length of each vector."""
        squares: npt.NDArray[np.float32] = np.einsum("ij,ij->i", self.vectors, self.vectors)
        return squares

    @cached_property
    def longest(self) -> float:
        return float(np.sqrt(self.squares.max(initial=0.0)))

    @cached_property
    def places(self) -> RowPlaces:
        return RowPlaces(self.row_ids)


def make_vector_part(batches: Sequence[pa.RecordBatch], column: str) -> VectorPart:
    ids = [batch["_rowid"].to_numpy() for batch in batches]
    row_ids = np.concatenate([np.empty(0, np.uint64), *ids])
    kind = batches[0].schema.field(column).type if batches else pa.list_(pa.float32(), 1)
    vectors = np.zeros((len(row_ids), kind.list_size), np.float32)
    valid = np.ones(len(row_ids), np.bool_)
    start = 0
    for batch in batches:
        values = batch[column]
        stop = start + len(values)
        given = values.is_valid().to_numpy(zero_copy_only=False)
        flat = values.drop_null() if values.null_count else values
        vectors[start:stop][given] = flat.flatten().to_numpy().reshape(len(flat), kind.list_size)
        valid[start:stop] = given
        start = stop
    return VectorPart(row_ids, vectors, None if valid.all() else valid)


vector_columns: SearchColumns[VectorPart] = SearchColumns(make_vector_part)


def nearest(
    table: Table,
    column: str,
    vector: Vector,
    population: RowIds | None,
    *,
    limit: int | None,
    use_index: bool = True,
) -> Hits:
    """The rows of the population by their distance to the vector; with `limit` the nearest, ties with the last kept."""
    if limit == 0 or (population is not None and len(population) == 0):
        return NO_HITS
    query, failed = np.ascontiguousarray(vector, np.float32), None
    if use_index and limit is not None and _prefers_index(table, column, len(query)):
        try:
            hits = _by_index(table, column, query, population, limit)
        except OmniGraphError as error:
            hits, failed = None, error  # a damaged index counts as absent
        if hits is not None:
            return best(hits, limit, smallest=True)
    found = [_near(piece, query, population, limit) for piece in vector_columns.pieces(table, column)]
    if failed is not None:
        give_up(table, column, VECTOR_KINDS, failed)
    return best(joined(found), limit, smallest=True)


def _near(piece: Piece[VectorPart], query: Vector, population: RowIds | None, limit: int | None) -> Hits:
    part = piece.part
    places = _places(piece, population)
    count = len(part.row_ids) if places is None else len(places)
    if limit is not None and count > max(limit, EXACT_ROWS):
        places = _proposed(part, query, places, limit)
    elif places is None:
        places = np.arange(count)
    return Hits(part.row_ids[places], measured(part.vectors, places, query))


def _places(piece: Piece[VectorPart], population: RowIds | None) -> Places | None:
    """The rows to look at; None: all rows of the part."""
    part = piece.part
    places = None if population is None else part.places.of(population)
    for mask in (piece.live, part.valid):
        if mask is not None:
            places = np.flatnonzero(mask) if places is None else places[mask[places]]
    return places


def _proposed(part: VectorPart, query: Vector, places: Places | None, limit: int) -> Places:
    """Every row that may be among the nearest `limit`.

    |v - q|² is estimated as |v|² - 2 v·q + |q|². Single precision keeps each estimate within `error` of the truth, so a
    row beyond the last estimate by twice that much cannot be one of them.
    """
    narrow = places is not None and len(places) * 3 < len(part.row_ids)
    rows = part.vectors[places] if narrow else part.vectors
    products = rows @ query
    squares = part.squares
    if narrow:
        squares = squares[places]
    elif places is not None:
        products, squares = products[places], squares[places]
    estimates = squares - np.float32(2.0) * products
    scale = (part.longest + float(np.linalg.norm(query))) ** 2
    error = 4.0 * (len(query) + 8) * float(np.finfo(np.float32).eps) * scale
    last = kth_smallest(estimates, limit)
    near = np.flatnonzero(~(estimates > last + 2.0 * error))  # NaN, from numbers too large to square, stays in
    return near if places is None else places[near]


def measured(vectors: Matrix, places: Places, query: Vector) -> Distances:
    """The distances of some rows, a chunk at a time."""
    result = np.empty(len(places), np.float64)
    wide = query.astype(np.float64)
    for start in range(0, len(places), CHUNK_ROWS):
        difference = vectors[places[start : start + CHUNK_ROWS]].astype(np.float64) - wide
        sums = np.square(difference).sum(axis=1)
        result[start : start + CHUNK_ROWS] = sums.astype(np.float32).astype(np.float64)
    return result


# --- through an index -------------------------------------------------------------------------------------


def _prefers_index(table: Table, column: str, dimension: int) -> bool:
    if vector_columns.is_held(table, column):
        return False
    again = vector_columns.asked_before(table, column)
    if again and table.pin.row_count * dimension * 4 <= RESIDENT_BYTES_MAX:
        return False
    return vector_index(table, column) is not None


def _by_index(table: Table, column: str, query: Vector, population: RowIds | None, limit: int) -> Hits | None:
    """The rows that Lance puts first, measured anew; None when too many are too close to tell, or are gone."""
    proposed = limit + 16
    while proposed <= PROPOSED_MAX:
        row_ids, distances = vector_ranked(table, column, query, proposed, population)
        taken = table.take(row_ids.tolist(), [column, "_rowid"]).combine_chunks()
        part = make_vector_part(taken.to_batches(), column)
        found = _near(Piece(part, None), query, None, None)
        if len(row_ids) < proposed:
            return found
        estimates = distances[np.isin(row_ids, part.row_ids)]
        if len(estimates) > limit:
            last = float(np.partition(estimates, limit - 1)[limit - 1])
            scale = last + float(np.square(query, dtype=np.float64).sum())
            if float(distances.max()) > last + 4.0 * (len(query) + 8) * float(np.finfo(np.float32).eps) * scale:
                return found
        proposed *= 8
    return None
