"""Execution: one checked query on one snapshot, from the plan to the result."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.history import Snapshot
from omnigraph.language.query import AliasRef, BoundParams, CompiledQuery, EntityObject, QueryIR, row_count
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BranchNotFound, BranchReplaced, Corrupt, HistoricalVersionReclaimed, Internal
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.answer import Output
from omnigraph.query.explain import Explanation, explanation
from omnigraph.query.expressions import Evaluation
from omnigraph.query.frames import ONE_ROW
from omnigraph.query.limits import MORSEL_ROWS, Cancellation, Guard, QueryLimits
from omnigraph.query.operators import Run, SharedResults, StepTimes
from omnigraph.query.plan import (
    AccessMode,
    DegreeCache,
    KnownDegrees,
    Mode,
    Plan,
    RecentTables,
    ScanNodes,
    Statistics,
    choose_access_mode,
    make_plan,
)
from omnigraph.query.resident import QueryView, ResidentCache, resident_cache
from omnigraph.query.result import QueryResult
from omnigraph.query.search import Ranking
from omnigraph.query.topology import TopologyFiles
from omnigraph.storage import GraphStorage
from omnigraph.storage.files import cache_folder
from omnigraph.storage.tables import Table

if TYPE_CHECKING:
    from omnigraph.embeddings import Embedder

PLANS_MAX = 512
LIMITED_MORSEL_ROWS = 4096
"""A query that wants any few rows works in small pieces, so that it can stop early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """How a query is run."""

    mode: Mode = "auto"
    limits: QueryLimits = field(default_factory=QueryLimits)
    cancellation: Cancellation | None = None
    use_index: bool = True
    """Whether text and vector indexes are used; without them the same answers come from a scan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """One read: a compiled query, its parameters, and the snapshot that it is asked of."""

    query: CompiledQuery
    bound: BoundParams
    snapshot: Snapshot
    catalog: Catalog
    options: QueryOptions
    asked_commit: str | None = None


_asked = RecentTables()


class QueryEngine:
    """Runs reads on one graph. Thread-safe; what it keeps is shared by all engines of the process."""

    def __init__(
        self, storage: GraphStorage, embedder: Callable[[], Embedder], resident: ResidentCache | None = None
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._resident_cache = resident or resident_cache()
        self._plans = _Plans()
        self._files: TopologyFiles | None = None
        self._degrees = DegreeCache(self._resident_cache, self._topology_files)

    def run(self, request: ReadRequest) -> QueryResult:
        """The answer, or a typed error; nothing is changed."""
        plan, decision = self._planned(request)
        table, _ = self._execute(request, plan, decision, None)
        return self._result(request, table)

    def explain(self, request: ReadRequest, *, analyze: bool = False) -> Explanation:
        """The plan; with `analyze` it is run and says what each step did."""
        plan, decision = self._planned(request)
        if not analyze:
            return explanation(plan, decision, request.query.name)
        times: dict[int, StepTimes] = {}
        started = time.perf_counter()
        table, guard = self._execute(request, plan, decision, times)
        seconds = time.perf_counter() - started
        return explanation(
            plan, decision, request.query.name, times=times, seconds=seconds, rows=table.num_rows, peak=guard.peak
        )

    # --- parts --------------------------------------------------------------------------------------------

    def _planned(self, request: ReadRequest) -> tuple[Plan, AccessMode]:
        ir = request.query.ir
        if not isinstance(ir, QueryIR):
            raise Internal(f"query '{request.query.name}' is a mutation")
        tables = self._tables(request)
        plan = self._plans.plan(ir, request.catalog, request.snapshot, self._degrees.known(tables, request.catalog))
        return plan, choose_access_mode(plan, request.options.mode, tables, self._resident_cache, _asked)

    def _tables(self, request: ReadRequest) -> list[Table]:
        keys = (TableKey(ref.kind, ref.type_name) for ref in request.query.operation.reads)
        return [self._storage.tables.open(request.snapshot.table(key)) for key in keys]

    def _execute(
        self, request: ReadRequest, plan: Plan, decision: AccessMode, times: dict[int, StepTimes] | None
    ) -> tuple[pa.Table, Guard]:
        """What is resident may rest on files of older versions that are gone, such as those of a deleted branch or of
        what a cleanup removed: then it is dropped and made again from the version that was asked about."""
        try:
            return self._attempt(request, plan, decision, times)
        except (BranchNotFound, BranchReplaced, Corrupt, HistoricalVersionReclaimed):
            if decision.mode != "csr" or not self._resident_cache.forget(self._tables(request)):
                raise
        if times is not None:
            times.clear()
        return self._attempt(request, plan, decision, times)

    def _attempt(
        self, request: ReadRequest, plan: Plan, decision: AccessMode, times: dict[int, StepTimes] | None
    ) -> tuple[pa.Table, Guard]:
        guard = Guard(request.options.limits, request.options.cancellation)
        view = QueryView(
            self._storage,
            request.snapshot,
            request.catalog,
            resident=self._resident_cache if decision.mode == "csr" else None,
            files=self._topology_files,
        )
        ranking = Ranking(request.catalog, plan.types, self._embedder, use_index=request.options.use_index)
        evaluation = Evaluation(view, plan.types, request.bound, guard, ranking)
        run = Run(evaluation, SharedResults(guard), _morsel_rows(plan.query, request.bound), times, plan.weighs)
        frames = run.pipeline(plan.steps, iter([ONE_ROW]))
        whole = len(plan.steps) == 1 and isinstance(plan.steps[0], ScanNodes) and not plan.steps[0].conditions
        output = Output(plan.query, request.query.columns, evaluation, request.bound, scans_whole=whole)
        return output.table(frames), guard

    def _topology_files(self) -> TopologyFiles:
        if self._files is None:
            commits = self._storage.manifest.load(MAIN).state.commits.values()
            first = next((commit for commit in commits if commit.parent_id is None), None)
            if first is None:
                raise Corrupt(self._storage.root.uri, "the history has no first commit")
            self._files = TopologyFiles(first.commit_id, cache_folder())
        return self._files

    def _result(self, request: ReadRequest, table: pa.Table) -> QueryResult:
        ir = request.query.ir
        assert isinstance(ir, QueryIR)
        objects = {}
        for place, item in enumerate(ir.return_exprs):
            expr = item.expr
            while isinstance(expr, AliasRef):
                expr = ir.return_exprs[expr.column].expr
            if isinstance(expr, EntityObject):
                objects[place] = expr
        return QueryResult(
            query_name=request.query.name,
            table=table,
            column_types=request.query.columns,
            branch=None if request.asked_commit is not None else request.snapshot.branch,
            snapshot=request.asked_commit,
            commit_id=request.snapshot.commit_id,
            objects=objects,
        )


def _morsel_rows(query: QueryIR, bound: BoundParams) -> int:
    """Small pieces when a few rows are enough, large ones otherwise."""
    limit = row_count(query.limit, bound)
    if limit is None or query.order_by or query.grouped or query.distinct:
        return MORSEL_ROWS
    return min(MORSEL_ROWS, max(LIMITED_MORSEL_ROWS, 4 * (limit + (row_count(query.offset, bound) or 0))))


class _Plans:
    """Plans by query, by the size of the tables, to the next power of two, and by the degrees that were known: a plan
    outlives small commits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[QueryIR, Plan]] = OrderedDict()

    def plan(self, ir: QueryIR, catalog: Catalog, snapshot: Snapshot, degrees: KnownDegrees) -> Plan:
        key = (id(ir), tuple(pin.row_count.bit_length() for pin in snapshot.tables), degrees.edition)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[0] is ir:
                self._kept.move_to_end(key)
                return known[1]
        plan = make_plan(ir, _statistics(catalog, snapshot, degrees))
        with self._lock:
            self._kept[key] = (ir, plan)  # the IR is kept with it, so its identity is not given to another
            if len(self._kept) > PLANS_MAX:
                self._kept.popitem(last=False)
        return plan


def _statistics(catalog: Catalog, snapshot: Snapshot, degrees: KnownDegrees) -> Statistics:
    counts = {pin.table_key: pin.row_count for pin in snapshot.tables}
    return Statistics(
        catalog,
        {node.name: counts.get(node.table_key, 0) for node in catalog.nodes},
        {edge.name: counts.get(edge.table_key, 0) for edge in catalog.edges},
        degrees,
    )
