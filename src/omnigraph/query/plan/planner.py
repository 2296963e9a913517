"""The planner: from the IR to the physical plan. It picks where to start, the order of the walks, and what to merge.

A run of clauses is a graph of variables (nodes of the pattern) and hops (its edges). It starts at the variable with the
fewest expected rows and always takes the next hop that is expected to leave the fewest. Conditions are tested as soon
as their variables are bound. `maybe` ends a run: what follows may speak of variables that it left NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from omnigraph.language.query import (
    Aggregate,
    AntiJoin,
    Condition,
    Expand,
    Filter,
    InList,
    LeftJoin,
    NodeScan,
    NullTest,
    Op,
    OrJoin,
    QueryIR,
    Variable,
)
from omnigraph.query.plan.mentions import variables_of, variables_of_output
from omnigraph.query.plan.statistics import Statistics, share
from omnigraph.query.plan.steps import (
    Absent,
    Close,
    Either,
    Fan,
    Hop,
    Intersect,
    Keep,
    Optionally,
    Plan,
    PlanStep,
    ScanNodes,
    Traverse,
)
from omnigraph.query.plan.subpatterns import with_shared

BLOCK_SHARE = 0.5
"""The share of rows that a block usually keeps."""


def make_plan(query: QueryIR, statistics: Statistics) -> Plan:
    """The steps of a query, with estimates. How edges are followed is decided when it runs (`view`)."""
    types: dict[str, tuple[str, str]] = {}
    block = _Block(statistics, frozenset(), types, {})
    steps, _ = block.plan(query.pipeline, 1.0)
    merges = (query.grouped or query.distinct) and query.rank is None
    live = with_liveness(steps, variables_of_output(query), merges=merges)
    return Plan(query, with_shared(live, types), types, _weighs(query))


def _weighs(query: QueryIR) -> bool:
    if not query.grouped:
        return not query.distinct
    aggregates = [item.expr for item in query.return_exprs if isinstance(item.expr, Aggregate)]
    return any(not each.distinct and each.func in ("count", "sum", "avg") for each in aggregates)


@dataclass
class _Block:
    """One pipeline: the query's own, or the inside of a block."""

    statistics: Statistics
    outside: frozenset[str]
    types: dict[str, tuple[str, str]]
    arrived: dict[str, Hop]
    """The hops that led to the variables that are bound so far; a scanned one has none."""

    def plan(self, ops: tuple[Op, ...], rows: float) -> tuple[list[PlanStep], float]:
        steps: list[PlanStep] = []
        bound = set(self.outside)
        run = _Run(self.statistics, bound, self.types, self.arrived)
        for op in ops:
            if isinstance(op, LeftJoin):
                rows = run.emit(steps, rows)
                inner, made = _Block(self.statistics, frozenset(bound), self.types, self.arrived).plan(op.inner, rows)
                rows = made + rows * _share_of_nothing(inner, self.statistics, self.arrived, 0.0) if made else rows
                rows = max(rows, made)
                steps.append(Optionally(inner=tuple(inner), exports=op.exports, estimate=rows))
                bound |= {export.name for export in op.exports}
                run = _Run(self.statistics, bound, self.types, self.arrived)
            else:
                run.add(op)
        rows = run.emit(steps, rows)
        return steps, rows


@dataclass
class _Run:
    """The clauses between two `maybe` blocks, as a pattern graph."""

    statistics: Statistics
    bound: set[str]
    types: dict[str, tuple[str, str]]
    arrived: dict[str, Hop]
    scans: dict[str, str] = field(default_factory=dict)
    """Node variables of the run with their types, in order of appearance."""
    hops: list[Hop] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    blocks: list[AntiJoin | OrJoin] = field(default_factory=list)
    closing: dict[str, str] = field(default_factory=dict)
    """Hidden variables of cycles, by the variable that they must equal."""

    def add(self, op: Op) -> None:
        match op:
            case NodeScan(variable=variable, type_name=type_name, filters=filters):
                self._node(variable, type_name)
                self.conditions += filters
            case Expand():
                self._add_hop(op)
            case Filter(left=Variable(name=hidden), op="eq", right=Variable(name=target)) if hidden in self.closing:
                self.closing[hidden] = target
            case Filter() | NullTest() | InList():
                self.conditions.append(op)
            case AntiJoin() | OrJoin():
                self.blocks.append(op)

    def _node(self, variable: str, type_name: str) -> None:
        self.types[variable] = ("node", type_name)
        if variable not in self.bound:
            self.scans.setdefault(variable, type_name)

    def _add_hop(self, op: Expand) -> None:
        self._node(op.src_var, op.src_type)
        if op.dst_var.startswith("__closing"):
            self.closing[op.dst_var] = op.dst_var
            self.types[op.dst_var] = ("node", op.dst_type)
        else:
            self._node(op.dst_var, op.dst_type)
        if op.edge_binding is not None:
            self.types[op.edge_binding] = ("edge", op.edge_type)
        self.conditions += op.dst_filters
        self.hops.append(
            Hop(
                src_var=op.src_var,
                dst_var=op.dst_var,
                edge_type=op.edge_type,
                direction=op.direction,
                src_type=op.src_type,
                dst_type=op.dst_type,
                min_hops=op.min_hops,
                max_hops=op.max_hops,
                edge_binding=op.edge_binding,
            )
        )

    # --- ordering -----------------------------------------------------------------------------------------

    def emit(self, steps: list[PlanStep], rows: float) -> float:
        """Appends the steps of this run; says how many rows are expected after it."""
        waiting = [replace(hop, dst_var=self.closing.get(hop.dst_var, hop.dst_var)) for hop in self.hops]
        unbound = dict(self.scans)
        rows = self._test(steps, rows)
        while waiting or unbound:
            closed = next((hop for hop in waiting if hop.src_var in self.bound and hop.dst_var in self.bound), None)
            if closed is not None:
                waiting.remove(closed)
                rows *= self.statistics.closes(closed, self.arrived.get(closed.src_var))
                steps.append(Close(hop=closed, estimate=rows))
                self._bind(closed)
            else:
                reachable = [hop for hop in waiting if hop.src_var in self.bound or hop.dst_var in self.bound]
                chosen = min((self._oriented(hop) for hop in reachable), key=self._cost, default=None)
                if chosen is not None:
                    waiting = [hop for hop in waiting if hop not in (chosen, chosen.reversed())]
                    rows = self._walk(steps, chosen, rows)
                    unbound.pop(chosen.dst_var, None)
                else:
                    rows = self._start(steps, unbound, rows)
            rows = self._test(steps, rows)
        for block in self.blocks:
            steps.append(self._block(block, rows))
            rows = steps[-1].estimate
        return rows

    def _oriented(self, hop: Hop) -> Hop:
        return hop if hop.src_var in self.bound else hop.reversed()

    def _fan(self, hop: Hop) -> Fan:
        return self.statistics.fan_out(hop, self.arrived.get(hop.src_var))

    def _cost(self, hop: Hop) -> float:
        rows = self._fan(hop).expected
        for condition in self._conditions_on(hop.dst_var):
            rows *= share(condition)
        return rows

    def _walk(self, steps: list[PlanStep], hop: Hop, rows: float) -> float:
        rows *= max(self._cost(hop), 1e-9)
        conditions = self._take_conditions(hop.dst_var)
        steps.append(Traverse(hop=hop, conditions=conditions, estimate=rows, fan=self._fan(hop)))
        self._bind(hop)
        self.arrived[hop.dst_var] = hop
        return rows

    def _start(self, steps: list[PlanStep], unbound: dict[str, str], rows: float) -> float:
        """A scan of the variable with the fewest rows; of several, the one that was written first."""
        sizes = {
            name: self.statistics.scan(type_name, name, self._conditions_on(name))
            for name, type_name in unbound.items()
        }
        name = min(sizes, key=lambda each: sizes[each])
        rows *= sizes[name]
        conditions = self._take_conditions(name)
        steps.append(ScanNodes(variable=name, type_name=unbound.pop(name), conditions=conditions, estimate=rows))
        self.bound.add(name)
        return rows

    def _bind(self, hop: Hop) -> None:
        self.bound.add(hop.dst_var)
        if hop.edge_binding is not None:
            self.bound.add(hop.edge_binding)

    def _conditions_on(self, variable: str) -> list[Condition]:
        return [condition for condition in self.conditions if variables_of(condition) == {variable}]

    def _take_conditions(self, variable: str) -> tuple[Condition, ...]:
        taken = tuple(self._conditions_on(variable))
        self.conditions = [condition for condition in self.conditions if condition not in taken]
        return taken

    def _test(self, steps: list[PlanStep], rows: float) -> float:
        """Every condition whose variables are all bound by now."""
        ready = [condition for condition in self.conditions if variables_of(condition) <= self.bound]
        for condition in ready:
            self.conditions.remove(condition)
            rows *= share(condition)
            steps.append(Keep(condition=condition, estimate=rows))
        return rows

    def _block(self, block: AntiJoin | OrJoin, rows: float) -> PlanStep:
        outside = frozenset(self.bound)
        if isinstance(block, AntiJoin):
            inner = self._inside(block.inner, outside)
            left = rows * _share_of_nothing(inner, self.statistics, self.arrived, BLOCK_SHARE)
            return Absent(inner=with_liveness(inner, frozenset()), uses=_uses(inner, outside), estimate=left)
        plans = [self._inside(inner, outside) for inner in block.alternatives]
        return Either(
            alternatives=tuple(with_liveness(inner, frozenset()) for inner in plans),
            uses=tuple(_uses(inner, outside) for inner in plans),
            estimate=rows * BLOCK_SHARE,
        )

    def _inside(self, ops: tuple[Op, ...], outside: frozenset[str]) -> list[PlanStep]:
        return _Block(self.statistics, outside, self.types, dict(self.arrived)).plan(ops, 1.0)[0]


def _share_of_nothing(
    inner: list[PlanStep], statistics: Statistics, arrived: dict[str, Hop], otherwise: float
) -> float:
    """The share of rows of which the inside of a block makes nothing: told by degrees when it is one lone hop."""
    if len(inner) != 1 or not isinstance(inner[0], Traverse):
        return otherwise
    step = inner[0]
    if step.conditions or step.hop.src_var in arrived:
        return otherwise
    known = statistics.without(step.hop)
    return otherwise if known is None else known


# --- liveness ---------------------------------------------------------------------------------------------


def mentioned(step: PlanStep) -> frozenset[str]:
    """The variables that a step needs to find bound."""
    match step:
        case ScanNodes():
            return frozenset()
        case Traverse(hop=hop):
            return frozenset({hop.src_var})
        case Intersect(hops=hops):
            return frozenset(hop.src_var for hop in hops)
        case Close(hop=hop):
            return frozenset({hop.src_var, hop.dst_var})
        case Keep(condition=condition):
            return variables_of(condition)
        case Absent(uses=uses):
            return frozenset(uses)
        case Either(uses=alternatives):
            return frozenset(name for uses in alternatives for name in uses)
        case Optionally(inner=inner):
            return _all_mentioned(inner)


def introduced(step: PlanStep) -> frozenset[str]:
    match step:
        case ScanNodes(variable=variable):
            return frozenset({variable})
        case Traverse(hop=hop):
            return frozenset({hop.dst_var} | ({hop.edge_binding} if hop.edge_binding else set()))
        case Close(hop=hop):
            return frozenset({hop.edge_binding} if hop.edge_binding else ())
        case Intersect(hops=hops):
            return frozenset({hops[0].dst_var})
        case Optionally(exports=exports):
            return frozenset(export.name for export in exports)
        case _:
            return frozenset()


def _all_mentioned(steps: Iterable[PlanStep]) -> frozenset[str]:
    return frozenset(name for step in steps for name in mentioned(step))


def _uses(inner: Iterable[PlanStep], outside: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(_all_mentioned(inner) & outside))


def with_liveness(steps: list[PlanStep], needed: frozenset[str], *, merges: bool = False) -> tuple[PlanStep, ...]:
    """The steps with what is still needed after each of them, worked out from the end."""
    done: list[PlanStep] = []
    live = needed
    for step in reversed(_fused(steps)):
        if isinstance(step, Optionally):
            inner = with_liveness(list(step.inner), live)
            done.append(replace(step, inner=inner, live=live, merges=merges))
        else:
            done.append(replace(step, live=live, merges=merges))
        live = (live - introduced(step)) | mentioned(step)
    return tuple(reversed(done))


def _fused(steps: list[PlanStep]) -> list[PlanStep]:
    """A walk to a new variable and the tests that close it to bound ones, as one step."""
    fused: list[PlanStep] = []
    for step in steps:
        last = fused[-1] if fused else None
        if isinstance(step, Close) and _is_plain(step.hop) and isinstance(last, Traverse | Intersect):
            hops = last.hops if isinstance(last, Intersect) else (last.hop,)
            new = hops[0].dst_var
            hop = step.hop if step.hop.dst_var == new else step.hop.reversed()
            if hop.dst_var == new and hop.src_var != new and all(_is_plain(each) for each in hops):
                fused[-1] = Intersect(
                    hops=(*hops, hop), conditions=last.conditions, estimate=step.estimate, fan=last.fan
                )
                continue
        fused.append(step)
    return fused


def _is_plain(hop: Hop) -> bool:
    return hop.is_single and hop.edge_binding is None
