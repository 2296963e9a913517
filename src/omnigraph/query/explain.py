"""Explanations: a plan as people read it, and as JSON; with what each step did when it was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from omnigraph.language.query import (
    Condition,
    Direction,
    Expr,
    Filter,
    InList,
    Literal,
    NullTest,
    Param,
    PropAccess,
    QueryIR,
    Variable,
)
from omnigraph.language.query.parse import literal_text
from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.operators import StepTimes
from omnigraph.query.plan import (
    QUANTILES,
    Absent,
    AccessMode,
    Close,
    Degrees,
    Either,
    Fan,
    Hop,
    Intersect,
    Keep,
    Optionally,
    Plan,
    PlanStep,
    ScanNodes,
    Shared,
    Traverse,
)

_OPS = {"eq": "=", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "string_contains": "contains"}
_ARROWS: dict[Direction, tuple[str, str]] = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}


@dataclass(frozen=True, slots=True)
class Line:
    """One step, as it is shown."""

    depth: int
    operator: str
    detail: str
    estimate: float
    rows: int | None = None
    seconds: float | None = None
    merges: bool = False
    fan: Fan | None = None
    shared_with: int | None = None
    """The number of the step, counted from 1 as they are listed, whose findings this one takes."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a query: `print(explanation)` for people, `to_json()` for programs.

    >>> plan = graph.explain("query all() { match { $p: Person } return { $p.name } }")
    >>> plan.query_name, plan.mode
    ('all', 'csr')
    """

    query_name: str
    mode: str
    reason: str
    lines: tuple[Line, ...]
    output: str
    seconds: float | None = None
    rows: int | None = None
    peak_bytes: int | None = None

    @property
    def text(self) -> str:
        """One line for the query, one for each step, and one for what is returned.

        >>> len(graph.explain("query all() { match { $p: Person } return { $p.name } }").text.splitlines())
        3
        """
        head = f"{self.query_name}: {self.mode} ({self.reason})"
        rows = [_shown(line) for line in self.lines]
        tail = [self.output]
        if self.seconds is not None:
            held = (self.peak_bytes or 0) / 1e6
            tail.append(f"{self.rows} rows in {self.seconds * 1e3:.2f} ms, {held:.1f} MB held at most")
        return "\n".join([head, *rows, *tail])

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Json]:
        """The plan as one document.

        >>> plan = graph.explain("query all() { match { $p: Person } return { $p.name } }", analyze=True)
        >>> plan.to_json()["rows"]
        2
        """
        document: dict[str, Json] = {
            "query_name": self.query_name,
            "mode": self.mode,
            "reason": self.reason,
            "steps": [_document(line) for line in self.lines],
            "output": self.output,
        }
        if self.seconds is not None:
            document |= {"seconds": self.seconds, "rows": self.rows, "peak_bytes": self.peak_bytes}
        return document


def explanation(
    plan: Plan,
    decision: AccessMode,
    name: str,
    *,
    times: Mapping[int, StepTimes] | None = None,
    seconds: float | None = None,
    rows: int | None = None,
    peak: int | None = None,
) -> Explanation:
    lines = tuple(_Listing(times).lines(plan.steps, 0))
    return Explanation(name, decision.mode, decision.reason, lines, _output(plan.query), seconds, rows, peak)


@dataclass(slots=True)
class _Listing:
    """Lists steps, and remembers which of them showed a sub-pattern first."""

    times: Mapping[int, StepTimes] | None
    count: int = 0
    first: dict[int, int] = field(default_factory=dict)

    def lines(self, steps: tuple[PlanStep, ...], depth: int, shared: Shared | None = None) -> Iterator[Line]:
        """`shared` is the sub-pattern that these steps are; it is said at the first of them."""
        for place, step in enumerate(steps):
            self.count += 1
            own = step.shared if isinstance(step, Traverse | Absent) else None
            shown = self._first_shown(shared if place == 0 and shared is not None else own)
            yield self._line(step, depth, shown)
            if isinstance(step, Absent | Optionally):
                yield from self.lines(step.inner, depth + 1)
            elif isinstance(step, Either):
                each = step.shared or (None,) * len(step.alternatives)
                for inner, same in zip(step.alternatives, each, strict=True):
                    yield from self.lines(inner, depth + 1, same)

    def _first_shown(self, shared: Shared | None) -> int | None:
        if shared is None:
            return None
        first = self.first.setdefault(shared.number, self.count)
        return None if first == self.count else first

    def _line(self, step: PlanStep, depth: int, shared_with: int | None) -> Line:
        operator, detail = _described(step)
        spent = None if self.times is None else self.times.get(id(step), StepTimes())
        return Line(
            depth,
            operator,
            detail,
            step.estimate,
            None if spent is None else spent.rows,
            None if spent is None else spent.seconds,
            step.merges and len(step.live) < 2,
            step.fan if isinstance(step, Traverse | Intersect) else None,
            shared_with,
        )


def _described(step: PlanStep) -> tuple[str, str]:
    match step:
        case ScanNodes(variable=variable, type_name=type_name, conditions=conditions):
            return "scan", f"${variable}: {type_name}{_tests(conditions)}"
        case Traverse(hop=hop, conditions=conditions):
            return "traverse", f"{_hop(hop)}{_tests(conditions)}"
        case Close(hop=hop):
            return "close", _hop(hop)
        case Intersect(hops=hops, conditions=conditions):
            return "intersect", f"{', '.join(_hop(hop) for hop in hops)}{_tests(conditions)}"
        case Keep(condition=condition):
            return "keep", _condition(condition)
        case Absent(uses=uses):
            return "not", f"by {_variables(uses)}"
        case Either(uses=uses):
            return "or", f"{len(uses)} alternatives"
        case Optionally(exports=exports):
            return "maybe", _variables(tuple(each.name for each in exports))


def _hop(hop: Hop) -> str:
    left, right = _ARROWS[hop.direction]
    bounds = "" if hop.max_hops == 1 else f"{{{hop.min_hops},{'' if hop.max_hops is None else hop.max_hops}}}"
    edge = f"${hop.edge_binding}:{hop.edge_type}" if hop.edge_binding else hop.edge_type
    return f"${hop.src_var} {left}[{edge}{bounds}]{right} ${hop.dst_var}: {hop.dst_type}"


def _tests(conditions: tuple[Condition, ...]) -> str:
    return f" where {' and '.join(_condition(each) for each in conditions)}" if conditions else ""


def _condition(condition: Condition) -> str:
    match condition:
        case Filter(left=left, op=op, right=right):
            return f"{_expr(left)} {_OPS.get(op, op)} {_expr(right)}"
        case NullTest(value=value, negated=negated):
            return f"{_expr(value)} is {'not ' if negated else ''}null"
        case InList(value=value, members=members):
            return f"{_expr(value)} in {_expr(members)}"


def _expr(expr: Expr) -> str:
    match expr:
        case PropAccess(variable=variable, property=name):
            return f"${variable}.{name}"
        case Variable(name=name) | Param(name=name):
            return f"${name}"
        case Literal(value=value):
            return literal_text(value)
        case _:
            return type(expr).__name__.lower() + "(…)"


def _variables(names: tuple[str, ...]) -> str:
    return ", ".join(f"${name}" for name in names) or "nothing"


def _output(query: QueryIR) -> str:
    parts = [f"return {', '.join(item.name for item in query.return_exprs)}"]
    if query.grouped:
        parts.append("grouped")
    if query.distinct:
        parts.append("distinct")
    if query.rank is not None:
        parts.append(f"ranked by {type(query.rank).__name__.lower()}")
    elif query.order_by:
        parts.append(f"ordered by {len(query.order_by)} keys")
    if query.limit is not None:
        parts.append(f"limit {query.limit.name if isinstance(query.limit, Param) else query.limit}")
    return ", ".join(parts)


def _shown(line: Line) -> str:
    text = f"{'  ' * (line.depth + 1)}{line.operator:<9} {line.detail}"
    tail = f"~{line.estimate:.3g} rows" + (", merged" if line.merges else "")
    if line.fan is not None and line.fan.degrees is not None:
        degrees = line.fan.degrees
        tail += f", {line.fan.expected:.3g} from each; degrees {degrees.mean:.3g} on average, {degrees.most} at most"
    if line.shared_with is not None:
        tail += f", shared with step {line.shared_with}"
    if line.rows is not None:
        tail += f"; {line.rows} rows, {(line.seconds or 0) * 1e3:.3f} ms"
    return f"{text}  [{tail}]"


def _document(line: Line) -> dict[str, Json]:
    document: dict[str, Json] = {
        "depth": line.depth,
        "operator": line.operator,
        "detail": line.detail,
        "estimate": round(line.estimate, 3),
        "merges": line.merges,
    }
    if line.shared_with is not None:
        document["shared_with"] = line.shared_with
    if line.fan is not None:
        document["fan_out"] = round(line.fan.expected, 3)
        document["degrees"] = None if line.fan.degrees is None else _degrees(line.fan.degrees)
    if line.rows is not None:
        document |= {"rows": line.rows, "seconds": line.seconds}
    return document


def _degrees(degrees: Degrees) -> dict[str, Json]:
    quantiles: dict[str, Json] = {
        f"p{share * 100:g}": value for share, value in zip(QUANTILES, degrees.quantiles, strict=True)
    }
    return {
        "mean": round(degrees.mean, 3),
        "most": degrees.most,
        "without": round(degrees.share_without, 3),
        **quantiles,
    }
