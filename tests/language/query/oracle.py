"""The oracle: runs an IR over rows in memory, one by one, exactly as `ir.py` describes it and as slowly as it likes.

It proves that lowering keeps the meaning of a query, and answers what an engine should answer. Search functions and
ranks are left to the engine. `answer` is over the library unless other data are given; `whole_answer` also tells what
of the order is specified.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any

from language.query.library import CASES, CATALOG
from omnigraph.language.query import BoundParams, CompiledQuery, QueryIR, bind_params, row_count
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
from omnigraph.language.query.parse.literals import DateLit, DateTimeLit, ListLit, LiteralValue, NullLit
from omnigraph.language.schema import Catalog
from omnigraph.model.types import Scalar
from omnigraph.model.values import (
    canonical_text,
    coerce_json,
    json_value,
    node_id,
    parse_date,
    parse_datetime,
    to_single,
)

Row = dict[str, Any]
PINNED = "2026-01-01T00:00:00Z"
ROWS_MAX = 20_000
"""A bag larger than this is not worth waiting for."""


class Unanswerable(Exception):
    """The query needs search, which the oracle does not have, or makes more rows than it wants to hold."""


# --- data -------------------------------------------------------------------------------------------------


@dataclass
class GraphData:
    """Stored values by type: nodes by id, edges with their ends."""

    nodes: dict[str, dict[str, Row]]
    edges: dict[str, list[Row]]
    around: dict[tuple[str, str, str], list[tuple[str, Row]]] = field(default_factory=lambda: defaultdict(list))
    """(edge type, direction, node id) → the neighbours with their edges; a loop counts once in "both"."""

    def add_edge(self, name: str, edge: Row) -> None:
        self.edges[name].append(edge)
        source, target = edge["from"], edge["to"]
        self.around[name, "out", source].append((target, edge))
        self.around[name, "in", target].append((source, edge))
        self.around[name, "both", source].append((target, edge))
        if source != target:
            self.around[name, "both", target].append((source, edge))


def graph_data(records: Iterable[dict[str, Any]], catalog: Catalog) -> GraphData:
    """The data of records in the grammar of a load, every one of them with an id or a key."""
    data = GraphData({node.name: {} for node in catalog.nodes}, {edge.name: [] for edge in catalog.edges})
    for record in records:
        given = record.get("data", {})
        declared = catalog.node_types[record["type"]] if "type" in record else catalog.edge_types[record["edge"]]
        values = {
            prop.name: coerce_json(given.get(prop.name), prop.type, f"{declared.name}.{prop.name}")
            for prop in declared.properties
        }
        if "type" in record:
            types = {prop.name: prop.type for prop in declared.properties}
            key = catalog.node_types[record["type"]].key
            known = node_id([canonical_text(values[name], types[name]) for name in key]) if key else given["id"]
            data.nodes[declared.name][known] = {"id": known, **values}
        else:
            data.add_edge(declared.name, {"id": given["id"], "from": record["from"], "to": record["to"], **values})
    return data


def _library() -> GraphData:
    lines = (CASES / "library.jsonl").read_text(encoding="utf-8").splitlines()
    return graph_data(map(json.loads, lines), CATALOG)


LIBRARY = _library()


# --- expressions ------------------------------------------------------------------------------------------


def plain(value: LiteralValue) -> Any:
    """A literal as the stored value that it means."""
    match value:
        case NullLit():
            return None
        case DateLit(text=text):
            return parse_date(text)
        case DateTimeLit(text=text):
            return parse_datetime(text)
        case ListLit(items=items):
            return [plain(item) for item in items]
        case _:
            return value.value


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


def _is_single(expr: Expr) -> bool:
    return isinstance(expr, PropAccess) and expr.type.scalar is Scalar.F32


def _rounded(value: Any, beside: Expr, own: Expr) -> Any:
    """Beside an F32 property a literal or parameter is rounded to F32 first."""
    if value is None or not _is_single(beside) or not isinstance(own, Literal | Param):
        return value
    return [to_single(float(one)) for one in value] if isinstance(value, list) else to_single(float(value))


def frozen(value: Any) -> Any:
    """A value that can be a key of a dict."""
    if isinstance(value, list | tuple):
        return tuple(frozen(one) for one in value)
    return tuple((name, frozen(one)) for name, one in value.items()) if isinstance(value, dict) else value


@dataclass(frozen=True)
class _Run:
    """One execution: the data, and the parameters of the query."""

    data: GraphData
    bound: BoundParams

    def value(self, expr: Expr, row: Row, output: list[Any]) -> Any:
        match expr:
            case PropAccess(variable=variable, property=name):
                return None if row[variable] is None else row[variable][name]
            case Variable(name=name):
                return None if row[name] is None else row[name]["id"]
            case Param(name=name):
                return plain(self.bound[name])
            case Literal(value=value):
                return plain(value)
            case AliasRef(column=column):
                return output[column]
            case EntityObject(variable=variable):
                return None if row[variable] is None else _object(expr, row[variable])
            case Distance(src_var=source, dst_var=target):
                if row[source] is None or row[target] is None:
                    return None
                return dict(self.reached(expr, row[source]["id"])).get(row[target]["id"])
        raise Unanswerable(type(expr).__name__)

    def holds(self, condition: Condition, row: Row) -> bool:
        """Whether the condition is TRUE; UNKNOWN is not."""
        if isinstance(condition, NullTest):
            return (self.value(condition.value, row, []) is None) != condition.negated
        one, other = (
            (condition.value, condition.members) if isinstance(condition, InList) else (condition.left, condition.right)
        )
        left, right = self.value(one, row, []), self.value(other, row, [])
        if left is None or right is None:
            return False
        left, right = _rounded(left, other, one), _rounded(right, one, other)
        return left in right if isinstance(condition, InList) else bool(_COMPARE[condition.op](left, right))

    # --- pipelines ---

    def reached(self, step: Expand | Distance, start: str) -> list[tuple[str, int]]:
        """Every destination with its shortest distance, within the bounds."""
        chains = step.src_type == step.dst_type
        found: dict[str, int] = {}
        frontier, hops = [start], 0
        while frontier and (step.max_hops is None or hops < step.max_hops) and (chains or hops == 0):
            hops += 1
            fresh = []
            for node in frontier:
                for target, _ in self.data.around.get((step.edge_type, step.direction, node), ()):
                    if target in found or (chains and target == start and hops > 1):
                        continue
                    found[target] = hops
                    fresh.append(target)
            frontier = fresh
        return [(node, distance) for node, distance in found.items() if distance >= step.min_hops]

    def expand(self, op: Expand, row: Row) -> Iterator[Row]:
        source = row[op.src_var]
        if source is None:
            return
        nodes = self.data.nodes[op.dst_type]
        if op.edge_binding is not None:
            for target, edge in self.data.around.get((op.edge_type, op.direction, source["id"]), ()):
                yield {**row, op.dst_var: nodes[target], op.edge_binding: edge}
            return
        for target, _ in self.reached(op, source["id"]):
            yield {**row, op.dst_var: nodes[target]}

    def pipeline(self, ops: tuple[Op, ...], rows: list[Row]) -> list[Row]:
        for op in ops:
            rows = [made for row in rows for made in self.step(op, row)]
            if len(rows) > ROWS_MAX:
                raise Unanswerable("too many rows")
        return rows

    def step(self, op: Op, row: Row) -> list[Row]:
        match op:
            case NodeScan(variable=variable, type_name=type_name, filters=filters):
                scanned = [{**row, variable: node} for node in self.data.nodes[type_name].values()]
                return [made for made in scanned if all(self.holds(test, made) for test in filters)]
            case Expand(dst_filters=filters):
                return [made for made in self.expand(op, row) if all(self.holds(test, made) for test in filters)]
            case AntiJoin(inner=inner):
                return [] if self.pipeline(inner, [row]) else [row]
            case OrJoin(alternatives=alternatives):
                return [row] if any(self.pipeline(inner, [row]) for inner in alternatives) else []
            case LeftJoin(inner=inner, exports=exports):
                return self.pipeline(inner, [row]) or [{**row, **{export.name: None for export in exports}}]
            case _:
                return [row] if self.holds(op, row) else []

    # --- answers ---

    def aggregate(self, call: Aggregate, rows: list[Row]) -> Any:
        values = [v for v in (self.value(call.arg, row, []) for row in rows) if v is not None]
        if call.distinct:
            values = list({frozen(value): value for value in values}.values())
        if call.func == "count":
            return len(values)
        if not values:
            return None
        folds: dict[str, Any] = {
            "sum": lambda v: float(sum(v)),
            "avg": lambda v: sum(v) / len(v),
            "min": min,
            "max": max,
        }
        return folds[call.func](values)

    def outputs(self, ir: QueryIR, rows: list[Row]) -> list[tuple[Row | None, list[Any]]]:
        made: list[tuple[Row | None, list[Any]]] = []
        exprs = [item.expr for item in ir.return_exprs]
        if not ir.grouped:
            for row in rows:
                output: list[Any] = []
                for expr in exprs:
                    output.append(self.value(expr, row, output))
                made.append((row, output))
        else:
            keys = [expr for expr in exprs if not isinstance(expr, Aggregate)]
            groups: dict[Any, tuple[list[Any], list[Row]]] = {} if keys else {(): ([], [])}
            for row in rows:
                group = [self.value(key, row, []) for key in keys]
                groups.setdefault(frozen(group), (group, []))[1].append(row)
            for group, members in groups.values():
                rest = iter(group)
                made.append(
                    (None, [self.aggregate(e, members) if isinstance(e, Aggregate) else next(rest) for e in exprs])
                )
        if ir.distinct:
            made = [(None, output) for output in {frozen(output): output for _, output in made}.values()]
        return made


def _object(expr: EntityObject, entity: Row) -> Row:
    ends = ("from", "to") if expr.entity == "edge" else ()
    shown = {name: entity[name] for name in ("id", *ends)}
    return shown | {name: json_value(entity[name], kind) for name, kind in expr.properties}


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


@dataclass(frozen=True)
class WholeAnswer:
    """Every row, as JSON values, before offset and limit, with what of their order is promised."""

    rows: list[list[Any]]
    start: int
    count: int | None
    """How many rows remain after offset and limit take theirs; None for all."""
    order: tuple[int, ...] | None
    """None when the order is total; else the columns that order the rows, none of them when nothing does."""

    @property
    def kept(self) -> list[list[Any]]:
        return self.rows[self.start :] if self.count is None else self.rows[self.start : self.start + self.count]


def whole_answer(query: CompiledQuery, params: dict[str, Any] | None = None, data: GraphData = LIBRARY) -> WholeAnswer:
    """The answer of a read; Unanswerable when it searches or makes too many rows."""
    ir = query.ir
    assert isinstance(ir, QueryIR)
    if ir.rank is not None:
        raise Unanswerable("rank")
    run = _Run(data, bind_params(query.params, {**(params or {}), NOW: PINNED}))
    made = run.outputs(ir, run.pipeline(ir.pipeline, [{}]))

    def sort_key(pair: tuple[Row | None, list[Any]]) -> list[_SortValue]:
        row, output = pair
        keys = [_SortValue(run.value(key.expr, row or {}, output), key.descending) for key in ir.order_by]
        ids = [(row[name] or {"id": None})["id"] for name in ir.tie_break] if row is not None else []
        return [*keys, *(_SortValue(value, descending=False) for value in ids)]

    if ir.order_by:
        made.sort(key=sort_key)
    types = [column.type for column in query.columns]
    rows = [
        [value if kind is None else json_value(value, kind) for value, kind in zip(output, types, strict=True)]
        for _, output in made
    ]
    columns = tuple(key.expr.column for key in ir.order_by if isinstance(key.expr, AliasRef))
    total = bool(ir.order_by) and not (ir.grouped or ir.distinct)
    start, count = row_count(ir.offset, run.bound) or 0, row_count(ir.limit, run.bound)
    return WholeAnswer(rows, start, count, None if total else columns)


def answer(query: CompiledQuery, params: dict[str, Any] | None = None, data: GraphData = LIBRARY) -> list[list[Any]]:
    """The rows of a read, as JSON values; Unanswerable when it searches."""
    return whole_answer(query, params, data).kept
