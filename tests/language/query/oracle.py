"""The oracle: runs an IR over the library, row by row, exactly as `ir.py` describes it and as slowly as it likes.

It proves that lowering keeps the meaning of a query, and answers what an engine should answer. Search functions and
ranks are left to the engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import total_ordering
from typing import Any

from language.query.library import CASES, CATALOG
from omnigraph.language import BoundParams, CompiledQuery, QueryIR, bind_params, row_count
from omnigraph.language.query.ir import (
    NOW,
    Aggregate,
    AliasRef,
    AntiJoin,
    Condition,
    Distance,
    EntityObject,
    Expand,
    Expr,
    InList,
    LeftJoin,
    Literal,
    NodeScan,
    NullTest,
    Op,
    OrJoin,
    Param,
    PropAccess,
    Variable,
)
from omnigraph.language.query.literals import DateLit, DateTimeLit, ListLit, LiteralValue, NullLit
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import json_value, parse_date, parse_datetime

Row = dict[str, Any]
PINNED = "2026-01-01T00:00:00Z"


class Unanswerable(Exception):
    """The query needs search, which the oracle does not have."""


# --- the library ------------------------------------------------------------------------------------------


def _stored(value: Any, kind: PropType) -> Any:
    if isinstance(value, str) and kind.scalar is Scalar.DATE:
        return parse_date(value)
    if isinstance(value, str) and kind.scalar is Scalar.DATETIME:
        return parse_datetime(value)
    return value


def _load() -> tuple[dict[str, dict[str, Row]], dict[str, list[Row]]]:
    nodes: dict[str, dict[str, Row]] = {node.name: {} for node in CATALOG.nodes}
    edges: dict[str, list[Row]] = {edge.name: [] for edge in CATALOG.edges}
    for line in (CASES / "library.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        data = record["data"]
        declared = CATALOG.node_types[record["type"]] if "type" in record else CATALOG.edge_types[record["edge"]]
        values = {prop.name: _stored(data.get(prop.name), prop.type) for prop in declared.properties}
        if "type" in record:
            key = data["name"] if "name" in data else data["slug"]
            nodes[declared.name][key] = {"id": key, **values}
        else:
            edges[declared.name].append({"id": data["id"], "from": record["from"], "to": record["to"], **values})
    return nodes, edges


NODES, EDGES = _load()


# --- expressions ------------------------------------------------------------------------------------------


def _plain(value: LiteralValue) -> Any:
    match value:
        case NullLit():
            return None
        case DateLit(text=text):
            return parse_date(text)
        case DateTimeLit(text=text):
            return parse_datetime(text)
        case ListLit(items=items):
            return [_plain(item) for item in items]
        case _:
            return value.value


def _value(expr: Expr, row: Row, bound: BoundParams, output: list[Any]) -> Any:
    match expr:
        case PropAccess(variable=variable, property=name):
            return None if row[variable] is None else row[variable][name]
        case Variable(name=name):
            return None if row[name] is None else row[name]["id"]
        case Param(name=name):
            return _plain(bound[name])
        case Literal(value=value):
            return _plain(value)
        case AliasRef(column=column):
            return output[column]
        case EntityObject(variable=variable):
            return row[variable]
        case Distance(src_var=source, dst_var=target):
            if row[source] is None or row[target] is None:
                return None
            return dict(_reached(expr, row[source]["id"])).get(row[target]["id"])
    raise Unanswerable(type(expr).__name__)


_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "le": lambda a, b: a <= b,
    "contains": lambda a, b: b in a,
    "string_contains": lambda a, b: b in a,
    "starts_with": lambda a, b: a.startswith(b),
}


def _holds(condition: Condition, row: Row, bound: BoundParams) -> bool:
    """Whether the condition is TRUE; UNKNOWN is not."""
    if isinstance(condition, NullTest):
        return (_value(condition.value, row, bound, []) is None) != condition.negated
    if isinstance(condition, InList):
        value, members = _value(condition.value, row, bound, []), _value(condition.members, row, bound, [])
        return value is not None and members is not None and value in members
    left, right = _value(condition.left, row, bound, []), _value(condition.right, row, bound, [])
    if left is None or right is None:
        return False
    return bool(_COMPARE[condition.op](left, right))


# --- pipelines --------------------------------------------------------------------------------------------


def _neighbours(step: Expand | Distance, node: str) -> Iterator[tuple[str, Row]]:
    for edge in EDGES[step.edge_type]:
        if step.direction in ("out", "both") and edge["from"] == node:
            yield edge["to"], edge
        loop_seen = step.direction == "both" and edge["from"] == edge["to"]
        if step.direction in ("in", "both") and edge["to"] == node and not loop_seen:
            yield edge["from"], edge


def _reached(step: Expand | Distance, start: str) -> list[tuple[str, int]]:
    """Every destination with its shortest distance, within the bounds."""
    chains = step.src_type == step.dst_type
    found: dict[str, int] = {}
    frontier, hops = [start], 0
    while frontier and (step.max_hops is None or hops < step.max_hops) and (chains or hops == 0):
        hops += 1
        fresh = []
        for node in frontier:
            for target, _ in _neighbours(step, node):
                if target in found or (chains and target == start and hops > 1):
                    continue
                found[target] = hops
                fresh.append(target)
        frontier = fresh
    return [(node, distance) for node, distance in found.items() if distance >= step.min_hops]


def _expand(op: Expand, row: Row) -> Iterator[Row]:
    source = row[op.src_var]
    if source is None:
        return
    if op.edge_binding is not None:
        for target, edge in _neighbours(op, source["id"]):
            yield {**row, op.dst_var: NODES[op.dst_type][target], op.edge_binding: edge}
        return
    for target, _ in _reached(op, source["id"]):
        yield {**row, op.dst_var: NODES[op.dst_type][target]}


def _run(ops: tuple[Op, ...], rows: list[Row], bound: BoundParams) -> list[Row]:
    for op in ops:
        rows = [made for row in rows for made in _step(op, row, bound)]
    return rows


def _step(op: Op, row: Row, bound: BoundParams) -> list[Row]:
    match op:
        case NodeScan(variable=variable, type_name=type_name, filters=filters):
            scanned = [{**row, variable: node} for node in NODES[type_name].values()]
            return [made for made in scanned if all(_holds(test, made, bound) for test in filters)]
        case Expand(dst_filters=filters):
            return [made for made in _expand(op, row) if all(_holds(test, made, bound) for test in filters)]
        case AntiJoin(inner=inner):
            return [] if _run(inner, [row], bound) else [row]
        case OrJoin(alternatives=alternatives):
            return [row] if any(_run(inner, [row], bound) for inner in alternatives) else []
        case LeftJoin(inner=inner, exports=exports):
            return _run(inner, [row], bound) or [{**row, **{export.name: None for export in exports}}]
        case _:
            return [row] if _holds(op, row, bound) else []


# --- answers ----------------------------------------------------------------------------------------------


def _aggregate(call: Aggregate, rows: list[Row], bound: BoundParams) -> Any:
    values = [v for v in (_value(call.arg, row, bound, []) for row in rows) if v is not None]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.func == "count":
        return len(values)
    if not values:
        return None
    folds: dict[str, Any] = {"sum": lambda v: float(sum(v)), "avg": lambda v: sum(v) / len(v), "min": min, "max": max}
    return folds[call.func](values)


def _outputs(ir: QueryIR, rows: list[Row], bound: BoundParams) -> list[tuple[Row | None, list[Any]]]:
    made: list[tuple[Row | None, list[Any]]] = []
    if not ir.grouped:
        for row in rows:
            output: list[Any] = []
            for item in ir.return_exprs:
                output.append(_value(item.expr, row, bound, output))
            made.append((row, output))
    else:
        keys = [item.expr for item in ir.return_exprs if not isinstance(item.expr, Aggregate)]
        groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(_value(key, row, bound, []) for key in keys), []).append(row)
        for group, members in groups.items():
            rest = iter(group)
            exprs = [item.expr for item in ir.return_exprs]
            made.append(
                (None, [_aggregate(e, members, bound) if isinstance(e, Aggregate) else next(rest) for e in exprs])
            )
    if ir.distinct:
        made = [(None, list(values)) for values in dict.fromkeys(tuple(output) for _, output in made)]
    return made


@total_ordering
class _SortValue:
    """NULL below everything; descending turns the order round."""

    def __init__(self, value: Any, descending: bool) -> None:
        self.key = (value is not None, value)
        self.descending = descending

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SortValue) and self.key == other.key

    def __lt__(self, other: _SortValue) -> bool:
        if self.key[0] != other.key[0] or not self.key[0]:
            below = self.key[0] < other.key[0]
            return below != self.descending if self.key[0] != other.key[0] else False
        return bool(self.key[1] > other.key[1] if self.descending else self.key[1] < other.key[1])


def answer(query: CompiledQuery, params: dict[str, Any] | None = None) -> list[list[Any]]:
    """The rows of a read over the library, as JSON values; Unanswerable when it searches."""
    ir = query.ir
    assert isinstance(ir, QueryIR)
    bound = bind_params(query.params, {**(params or {}), NOW: PINNED})
    made = _outputs(ir, _run(ir.pipeline, [{}], bound), bound)
    if ir.rank is not None:
        raise Unanswerable("rank")

    def sort_key(pair: tuple[Row | None, list[Any]]) -> list[_SortValue]:
        row, output = pair
        keys = [_SortValue(_value(key.expr, row or {}, bound, output), key.descending) for key in ir.order_by]
        ids = [(row[name] or {"id": None})["id"] for name in ir.tie_break] if row is not None else []
        return [*keys, *(_SortValue(value, descending=False) for value in ids)]

    if ir.order_by:
        made.sort(key=sort_key)
    start, count = row_count(ir.offset, bound) or 0, row_count(ir.limit, bound)
    kept = made[start:] if count is None else made[start : start + count]
    types = [column.type for column in query.columns]
    return [
        [value if kind is None else json_value(value, kind) for value, kind in zip(output, types, strict=True)]
        for _, output in kept
    ]
