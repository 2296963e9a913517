"""Ranking: search functions as predicates and as scores, over the rows that a pattern defines.

The population of a rank is what the pattern leaves of the ranked variable; a text predicate is a set of rows, found
once per query and tested row by row. So both work on any variable, wherever the pattern binds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.language.query import Bm25, BoundParams, Fuzzy, MatchText, Nearest, PropAccess, Rank, Rrf, Search
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest, Internal
from omnigraph.query.constants import constant
from omnigraph.query.entities import Entities, RowIds
from omnigraph.query.frames import Frame, Rows, distinct
from omnigraph.query.search.rank_fusion import Arm, Ranked, fused

if TYPE_CHECKING:
    from omnigraph.embeddings import Embedder
    from omnigraph.query.search.hits import Hits

FUZZY_EDITS_DEFAULT = 2
RRF_K_DEFAULT = 60


class Ranking:
    """The search side of one run of one query. What it has found once it keeps until the run ends."""

    def __init__(
        self,
        catalog: Catalog,
        types: dict[str, tuple[str, str]],
        embedder: Callable[[], Embedder],
        *,
        use_index: bool = True,
    ) -> None:
        self._catalog = catalog
        self._types = types
        self._embedder = embedder
        self._use_index = use_index
        self._ranked: dict[Rank, Ranked] = {}
        self._matching: dict[Search | MatchText | Fuzzy, Rows] = {}

    # --- predicates ---------------------------------------------------------------------------------------

    def matching(self, expr: Search | MatchText | Fuzzy, entities: Entities, bound: BoundParams) -> Rows:
        """The rows whose text matches."""
        known = self._matching.get(expr)
        if known is None:
            row_ids = self._matching_ids(expr, entities, bound)
            rows = entities.rows_of(row_ids)
            known = self._matching[expr] = np.sort(rows[rows >= 0])
        return known

    def _matching_ids(self, expr: Search | MatchText | Fuzzy, entities: Entities, bound: BoundParams) -> RowIds:
        from omnigraph.query.search.fuzzy import fuzzy_matches
        from omnigraph.query.search.text import text_matches

        query = constant(expr.query, bound)
        column = expr.field.property
        if isinstance(expr, Fuzzy):
            given = None if expr.max_edits is None else constant(expr.max_edits, bound)
            edits = FUZZY_EDITS_DEFAULT if given is None else int(given)
            return fuzzy_matches(entities.table, column, query, edits, use_index=self._use_index)
        return text_matches(entities.table, column, query, use_index=self._use_index)

    # --- ranks --------------------------------------------------------------------------------------------

    def scores(self, expr: Rank, frame: Frame, entities: Entities, bound: BoundParams) -> pa.Array:
        """The scores of a frame's rows. A rank that orders the query, and a fusion, were found before, by `rank`."""
        rows = frame.columns[_field(expr).variable]
        known = self._ranked.get(expr)
        if known is None:  # not kept: the next frame has other rows
            known = self._found(expr, distinct(rows, entities.size), entities, bound, limit=None, depth=None)
        return known.of(rows)

    def rank(
        self,
        expr: Rank,
        rows: Rows | None,
        entities: Entities,
        bound: BoundParams,
        *,
        limit: int | None,
        depth: int | None = None,
    ) -> Ranked:
        """Ranks these rows (each once; None: the whole table, which an index can rank without a list of its rows).

        With a limit at least the best so many come back, and what ties with the last of them. `depth` is how many of
        the nearest belong to a fusion; None: all.
        """
        ranked = self._ranked[expr] = self._found(expr, rows, entities, bound, limit=limit, depth=depth)
        return ranked

    def _found(
        self,
        expr: Rank,
        rows: Rows | None,
        entities: Entities,
        bound: BoundParams,
        *,
        limit: int | None,
        depth: int | None,
    ) -> Ranked:
        if isinstance(expr, Rrf):
            return self._fused(expr, rows, entities, bound, limit=limit, depth=depth)
        population = None if rows is None else entities.row_ids(rows)
        return _ranked(entities, self._hits(expr, entities, population, bound, limit))

    def _hits(
        self, expr: Nearest | Bm25, entities: Entities, population: RowIds | None, bound: BoundParams, limit: int | None
    ) -> Hits:
        from omnigraph.query.search.hits import Hits
        from omnigraph.query.search.text import bm25
        from omnigraph.query.search.vectors import nearest

        column = expr.field.property
        query = constant(expr.query, bound)
        if isinstance(expr, Bm25):
            return bm25(entities.table, column, query, population, limit=limit, use_index=self._use_index)
        if query is None:
            return Hits(np.empty(0, np.uint64), np.empty(0, np.float64))
        vector = self._vector(expr.field, query)
        return nearest(entities.table, column, vector, population, limit=limit, use_index=self._use_index)

    def _vector(self, field: PropAccess, query: Any) -> npt.NDArray[np.float32]:
        """The query vector: as given, or of a text by the graph's embedding client."""
        dimension = field.type.dimension
        if dimension is None:
            raise Internal(f"'{field.property}' is not a vector")
        if isinstance(query, str):
            node = self._catalog.node(self._types[field.variable][1])
            declared = node.property(field.property) if node is not None else None
            model = declared.embed.model if declared is not None and declared.embed is not None else None
            return self._embedder().embed_query(query, dimension, model)
        vector = np.asarray(query, np.float32)
        if vector.shape != (dimension,):
            raise BadRequest(f"nearest: {dimension} values expected for '{field.property}', got {vector.size}")
        return vector

    def _fused(
        self,
        expr: Rrf,
        rows: Rows | None,
        entities: Entities,
        bound: BoundParams,
        *,
        limit: int | None,
        depth: int | None,
    ) -> Ranked:
        given = None if expr.k is None else constant(expr.k, bound)
        k = RRF_K_DEFAULT if given is None else int(given)
        arms = []
        for each in (expr.primary, expr.secondary):
            # Of the nearest only the best so many are an arm; a text's matches are, all of them.
            cut = depth if isinstance(each, Nearest) else None
            ranked = self._found(each, rows, entities, bound, limit=cut, depth=None)
            arms.append(Arm(ranked, entities, descending=isinstance(each, Bm25), cut=cut))
        return fused(arms, k, limit)


def _ranked(entities: Entities, hits: Hits) -> Ranked:
    rows, scores = entities.rows_of(hits.row_ids), hits.scores
    if len(rows) and int(rows.min()) < 0:
        known = rows >= 0
        rows, scores = rows[known], scores[known]
    if bool(np.all(rows[:-1] < rows[1:])):
        return Ranked(rows, scores)
    order = np.argsort(rows)
    return Ranked(rows[order], scores[order])


def _field(expr: Rank) -> PropAccess:
    return expr.primary.field if isinstance(expr, Rrf) else expr.field
