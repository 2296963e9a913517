"""Evaluation: the values of expressions, and the truth of conditions, over the rows of a frame."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from omnigraph.language.query import (
    Bm25,
    BoundParams,
    Condition,
    Distance,
    EntityObject,
    Expr,
    Filter,
    Fuzzy,
    Literal,
    MatchText,
    Nearest,
    NullTest,
    Param,
    PropAccess,
    Rrf,
    Search,
    Variable,
    ranked_variable,
)
from omnigraph.model.errors import Internal
from omnigraph.model.identifiers import EntityKind
from omnigraph.query.constants import constant, scalar
from omnigraph.query.entities import Entities
from omnigraph.query.expressions.comparisons import Operand, repeated
from omnigraph.query.expressions.conditions import holds
from omnigraph.query.frames import Frame, Mask, Rows
from omnigraph.query.limits import Guard
from omnigraph.query.resident import QueryView
from omnigraph.query.search import Ranking
from omnigraph.query.topology import reach
from omnigraph.storage.tables import arrow_type

WHOLE_SHARE = 4
"""A condition is tested on every node of the type when the frame has more than a quarter as many rows."""


class Evaluation:
    """Evaluates for one run of one query."""

    def __init__(
        self,
        view: QueryView,
        types: Mapping[str, tuple[str, str]],
        bound: BoundParams,
        guard: Guard,
        ranking: Ranking,
    ) -> None:
        self.view = view
        self.bound = bound
        self.guard = guard
        self.ranking = ranking
        self._types = types
        self._masks: dict[tuple[Condition, ...], Mask] = {}

    def entities(self, variable: str) -> Entities:
        kind, type_name = self._types[variable]
        entity_kind: EntityKind = "node" if kind == "node" else "edge"
        return self.view.entities(entity_kind, type_name)

    # --- values -------------------------------------------------------------------------------------------

    def values(self, expr: Expr, frame: Frame) -> Operand:
        """One value per row; a scalar where all rows have the same."""
        match expr:
            case PropAccess(variable=variable, property=name, type=declared):
                return self.entities(variable).values(name, frame.columns[variable], arrow_type(declared))
            case Variable(name=name):
                return self.entities(name).ids(frame.columns[name])
            case Literal(type=declared) | Param(type=declared):
                return scalar(constant(expr, self.bound), declared)
            case EntityObject():
                return self._object(expr, frame)
            case Distance():
                return self._distance(expr, frame)
            case Search() | MatchText() | Fuzzy():
                return pa.array(self._text_mask(expr, frame.columns[expr.field.variable]))
            case Nearest() | Bm25() | Rrf():
                return self.ranking.scores(expr, frame, self.entities(ranked_variable(expr)), self.bound)
            case _:
                raise Internal(f"{type(expr).__name__} has no value for each row")

    def array(self, expr: Expr, frame: Frame) -> pa.Array:
        """The same, with the one value of a scalar repeated."""
        value = self.values(expr, frame)
        if isinstance(value, pa.Scalar):
            return repeated(value, frame.length)
        return value

    def _object(self, expr: EntityObject, frame: Frame) -> pa.Array:
        rows = frame.columns[expr.variable]
        entities = self.entities(expr.variable)
        fields = {"id": entities.ids(rows)}
        if expr.entity == "edge":
            fields["from"] = entities.values("src", rows, pa.string())
            fields["to"] = entities.values("dst", rows, pa.string())
        for name, declared in expr.properties:
            fields[name] = entities.values(name, rows, arrow_type(declared))
        gone = pa.array(rows < 0) if (rows < 0).any() else None
        return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=gone)

    def _distance(self, expr: Distance, frame: Frame) -> pa.Array:
        src, dst = frame.columns[expr.src_var], frame.columns[expr.dst_var]
        chains = expr.src_type == expr.dst_type
        maximum = expr.max_hops if chains else 1
        topology = self.view.topology(expr.edge_type)
        present = (src >= 0) & (dst >= 0)
        distances = np.full(frame.length, -1, np.int64)
        sources, places = np.unique(src[present], return_inverse=True)
        target_entities = self.view.entities("node", expr.dst_type)
        wanted = places.astype(np.int64) << 32 | dst[present]
        found = np.full(len(wanted), -1, np.int64)
        parts = reach(
            lambda rows: topology.adjacency(expr.direction, "simple", rows),
            lambda: max(target_entities.size, self.view.entities("node", expr.src_type).size),
            sources.astype(np.int32),
            expr.min_hops,
            maximum,
            self.guard,
        )
        for part in parts:
            keys = part.positions << 32 | part.targets
            order = np.argsort(keys)
            if len(order):
                at = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
                hit = keys[order][at] == wanted
                found[hit] = part.distances[order][at][hit]
        distances[present] = found
        return pa.array(distances, mask=distances < 0)

    # --- conditions ---------------------------------------------------------------------------------------

    def holds(self, condition: Condition, frame: Frame) -> Mask:
        """Where the condition is TRUE."""
        match condition:
            case NullTest(value=Variable(name=name), negated=negated):
                missing: Mask = frame.columns[name] < 0
                return ~missing if negated else missing
            case Filter(left=Variable(name=one), op="eq", right=Variable(name=other)) if self._same_type(one, other):
                left, right = frame.columns[one], frame.columns[other]
                same: Mask = (left == right) & (left >= 0)
                return same
            case _:
                return holds(condition, lambda expr: self.values(expr, frame), self.bound, frame.length)

    def _same_type(self, one: str, other: str) -> bool:
        return self._types[one] == self._types[other]

    def passing(self, conditions: tuple[Condition, ...], variable: str, rows: Rows) -> Mask:
        """Where conditions on one variable alone hold. Tested once per node of the type when there are many rows."""
        entities = self.entities(variable)
        if self.view.is_resident and len(rows) * WHOLE_SHARE > entities.size:
            mask = self._masks.get(conditions)
            if mask is None:
                every = np.arange(entities.size, dtype=np.int32)
                mask = self._masks[conditions] = self._all(conditions, variable, every)
            return mask[rows]
        return self._all(conditions, variable, rows)

    def _all(self, conditions: tuple[Condition, ...], variable: str, rows: Rows) -> Mask:
        frame = Frame(len(rows), {variable: rows})
        mask = np.ones(len(rows), np.bool_)
        for condition in conditions:
            mask &= self.holds(condition, frame)
        return mask

    def _text_mask(self, expr: Search | MatchText | Fuzzy, rows: Rows) -> Mask:
        matched = self.ranking.matching(expr, self.entities(expr.field.variable), self.bound)
        mask: Mask = np.isin(rows, matched)
        return mask & (rows >= 0)
