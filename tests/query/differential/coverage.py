"""Coverage of a set of queries: which ops, conditions, expressions and shapes occur in their IR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from omnigraph.language.query import QueryIR
from omnigraph.language.query.ir import Aggregate, Expand, Filter, Literal, Op, Param, PropAccess
from omnigraph.language.schema.catalog import Catalog
from omnigraph.query.plan.planner import make_plan
from omnigraph.query.plan.statistics import Statistics
from omnigraph.query.plan.steps import Absent, Either, Optionally, PlanStep, Traverse

EXPECTED = frozenset(
    {
        *("NodeScan", "Expand", "Filter", "NullTest", "InList", "AntiJoin", "OrJoin", "LeftJoin"),
        *("PropAccess", "Variable", "Param", "Literal", "Aggregate", "AliasRef", "Distance", "EntityObject"),
        *(f"direction {word}" for word in ("out", "in", "both")),
        *(f"compare {word}" for word in ("eq", "ne", "gt", "lt", "ge", "le", "contains", "string_contains")),
        *("compare starts_with", "across types", "two properties", "filter on arrival", "nested block"),
        *("one hop", "bounded", "two hops at least", "unbounded", "edge variable", "types differ"),
        *(f"aggregate {word}" for word in ("count", "sum", "avg", "min", "max")),
        *("count distinct", "grouped", "not grouped", "distinct", "order", "several keys", "limit", "offset"),
        *("limit by parameter", "null parameter", "shared not", "shared or", "shared traversal"),
    }
)
"""What a generated test set must contain, or it does not test the language."""


def count_features(ir: QueryIR, catalog: Catalog, params: dict[str, Any], counts: Counter[str]) -> None:
    """Adds what occurs in one query."""
    counts.update(_features(ir))
    counts.update(set(_shared(make_plan(ir, Statistics(catalog, {}, {})).steps)))
    counts["null parameter"] += any(value is None for value in params.values())


def _shared(steps: tuple[PlanStep, ...]) -> Iterator[str]:
    """Which kinds of step are worked out once for several."""
    for step in steps:
        if isinstance(step, Traverse) and step.shared is not None:
            yield "shared traversal"
        if isinstance(step, Absent) and step.shared is not None:
            yield "shared not"
        if isinstance(step, Either) and any(step.shared):
            yield "shared or"
        if isinstance(step, Absent | Optionally):
            yield from _shared(step.inner)
        for inner in step.alternatives if isinstance(step, Either) else ():
            yield from _shared(inner)


def _features(ir: QueryIR) -> Iterator[str]:
    for op in ir.pipeline:
        yield from _of_op(op, depth=0)
    for item in ir.return_exprs:
        yield from _of_expr(item.expr)
    for key in ir.order_by:
        yield from _of_expr(key.expr)
    yield "grouped" if ir.grouped else "not grouped"
    for word, present in (
        ("distinct", ir.distinct),
        ("order", ir.order_by),
        ("several keys", len(ir.order_by) > 1),
        ("limit", ir.limit is not None),
        ("offset", ir.offset is not None),
        ("limit by parameter", isinstance(ir.limit, Param)),
    ):
        if present:
            yield word


def _of_op(op: Op, depth: int) -> Iterator[str]:
    yield type(op).__name__
    if isinstance(op, Expand):
        yield from _of_expand(op)
    for name in ("filters", "dst_filters", "inner"):
        for member in getattr(op, name, ()):
            yield from _of_op(member, depth + 1)
    for block in getattr(op, "alternatives", ()):
        for member in block:
            yield from _of_op(member, depth + 1)
    if depth > 0 and (hasattr(op, "inner") or hasattr(op, "alternatives")):
        yield "nested block"
    for side in ("left", "right", "value", "members"):
        if hasattr(op, side):
            yield from _of_expr(getattr(op, side))
    if isinstance(op, Filter):
        yield f"compare {op.op}"
        if isinstance(op.left, PropAccess) and isinstance(op.right, PropAccess):
            yield "two properties"
        kinds = [side.type.scalar for side in (op.left, op.right) if isinstance(side, PropAccess | Literal | Param)]
        if len(set(kinds)) == 2:
            yield "across types"


def _of_expand(op: Expand) -> Iterator[str]:
    yield f"direction {op.direction}"
    yield "one hop" if op.max_hops == 1 else "unbounded" if op.max_hops is None else "bounded"
    if op.min_hops > 1:
        yield "two hops at least"
    if op.edge_binding is not None:
        yield "edge variable"
    if op.src_type != op.dst_type:
        yield "types differ"
    if op.dst_filters:
        yield "filter on arrival"


def _of_expr(expr: Any) -> Iterator[str]:
    yield type(expr).__name__
    if isinstance(expr, Aggregate):
        yield f"aggregate {expr.func}"
        yield from _of_expr(expr.arg)
        if expr.distinct:
            yield "count distinct"
