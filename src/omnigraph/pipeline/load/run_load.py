"""Running a load on a graph: the branch, the source, an engine, one commit, and what is reported about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from omnigraph.history import schema_on
from omnigraph.model.errors import BadRequest, BranchNotFound, Json, OmniGraphError
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.load.after_commit import Aftermath
from omnigraph.pipeline.load.branch import ensure_branch, exists, take_back
from omnigraph.pipeline.load.engines import Engine, LoadRun, LocalRun, choose, spark_run, staged_run
from omnigraph.pipeline.load.progress import Committing
from omnigraph.pipeline.load.reject_file import RejectFile
from omnigraph.pipeline.load.sources import Source, SourceFormat, digest_of_content, is_staged, item_source
from omnigraph.pipeline.spark import Stage, report_stage
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import HeadIs
from omnigraph.write import LoadInterrupted, LoadReport, LoadResult
from omnigraph.write.commit import Prepared, Receipt, WriteBase, WriteRequest, settle, write, write_base
from omnigraph.write.intake import ItemSource
from omnigraph.write.load import LoadMode, PreparedLoad
from omnigraph.write.mutation import count_of, digest

__all__ = ["Engine", "Load", "LoadMode", "load"]

INDEX_FROM_ROWS = 100_000
"""A type with at least this many new rows gets its indexes right after the load; others wait for `optimize`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load as a caller asks for it."""

    source: Source
    mode: LoadMode
    branch: str = MAIN
    base_branch: str | None = None
    patch: bool = False
    match_edges: Literal["endpoints"] | None = None
    on_error: Literal["fail", "skip"] = "fail"
    max_errors: int = 100
    reject_file: Path | None = None
    dry_run: bool = False
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    engine: Engine = "auto"
    spark: Any = None
    """A session, a master, or nothing."""
    progress: ProgressListener | None = None
    how: SourceFormat = field(default_factory=SourceFormat)


def load(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Load) -> LoadResult:
    """Loads an input as one commit, or raises and changes nothing. A branch that was made for it goes with it.

    Once the commit is published the load has happened: what fails after that is a warning of the result, and an
    interrupt is raised as `LoadInterrupted`, which has the result.
    """
    accepted = schema_on(storage, request.branch, schema())
    items = item_source(request.source, request.how, accepted.catalog)
    engine = choose(request.engine, request.spark, items)
    rejects = None if request.reject_file is None else RejectFile.of(request.reject_file, request.source, items)
    made = ensure_branch(storage, request.branch, request.base_branch, dry_run=request.dry_run)
    work = _Work(storage, schema, request, items, rejects, made)
    try:
        with _run(storage, schema, request, items, engine) as run:
            work.carry_out(run)
    except BaseException as error:
        if not work.outlasts(error):
            raise
    result = work.result()
    if work.after.interrupted:
        raise LoadInterrupted(result)
    return result


@contextmanager
def _run(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    request: Load,
    items: ItemSource | None,
    engine: Literal["local", "spark"],
) -> Iterator[LoadRun]:
    if is_staged(request.source):
        with staged_run(storage, request, request.source) as run:
            yield run
        return
    load_id, started_ms = _identity()
    if engine == "local":
        assert items is not None, "only Spark reads what has no items"
        yield LocalRun(storage, request, items, load_id, started_ms)
        return
    with spark_run(storage, schema, request, items, load_id, started_ms) as run:
        yield run


def _identity() -> tuple[str, int]:
    """What the generated ids of a load derive from: its own id, and when it began."""
    return new_ulid(), time.time_ns() // 1_000_000


@dataclass(slots=True)
class _Work:
    """One load on its way: what was prepared, the receipt once there is one, and what happened after that."""

    storage: GraphStorage
    schema: Callable[[], AcceptedSchema]
    request: Load
    items: ItemSource | None
    rejects: RejectFile | None
    made: HeadIs | None
    """The branch, if it was made for this load."""
    mark: str = field(default_factory=new_ulid)
    """Is kept with the commit, by which a load that was cut off knows its own."""
    begun: float = 0.0
    engine: Literal["local", "spark"] = "local"
    seconds: dict[str, float] = field(default_factory=dict)
    prepared: PreparedLoad | None = None
    receipt: Receipt | None = None
    after: Aftermath = field(default_factory=Aftermath)

    def carry_out(self, run: LoadRun) -> None:
        self.engine, self.seconds, self.begun = run.name, run.seconds, time.perf_counter()
        committing = Committing(self.request.progress)
        if self.request.dry_run:
            self._try_out(run)
            return
        try:
            self.receipt = write(
                self.storage, self._write_request(partial(self._prepare, run, committing)), self.schema
            )
        except OmniGraphError:
            raise  # the write has settled its own work, and says what became of it
        except BaseException as error:
            self.receipt = self._landed(error)
            if self.receipt is None or not isinstance(error, Exception | KeyboardInterrupt):
                raise
            self.after.note(error, "it is committed, but the steps after the commit failed")
        if self.receipt.replayed or self.prepared is None:
            self._drop_rejects()
            return
        with self.after.survives("progress could not be reported"):
            committing.ended()
        self._put_rejects()
        self._index(run, self.prepared)

    def outlasts(self, error: BaseException) -> bool:
        """True when the load has happened although it ended with an error. Else nothing has, and the error says why."""
        if self.receipt is None:
            self._drop_rejects()
            if self.made is not None:
                take_back(self.storage, self.request.branch, self.made, error)
            return False
        if not isinstance(error, Exception | KeyboardInterrupt):
            error.add_note(f"the load is done, as commit {_id_of(self.receipt)}")
            return False
        self.after.note(
            error, "it was interrupted after the commit", "its staged files are removed when the graph is opened again"
        )
        return True

    # --- until the publish --------------------------------------------------------------------------------

    def _try_out(self, run: LoadRun) -> None:
        """A dry run: everything but the commit."""
        request = self.request
        branch = request.branch if exists(self.storage, request.branch) else request.base_branch or MAIN
        self._prepare(run, None, write_base(self.storage, branch, self.schema))
        if self.rejects is not None:
            self.rejects.without_commit()

    def _prepare(self, run: LoadRun, committing: Committing | None, base: WriteBase) -> Prepared:
        outcome = run.prepare(base)
        if self.rejects is not None:
            self.rejects.hold(outcome.rejected)
            if outcome.refused:
                self.rejects.without_commit()
        outcome.refuse()
        self.prepared = outcome
        if committing is not None:
            committing.begun(outcome)
        return Prepared(outcome.changes, _counts(outcome))

    def _write_request(self, prepare: Callable[[WriteBase], Prepared]) -> WriteRequest:
        request = self.request
        return WriteRequest(
            branch=request.branch,
            kind="load",
            writer_kind="Load",
            prepare=prepare,
            actor_id=request.actor_id,
            message=request.message,
            if_commit=request.if_commit,
            idempotency_key=request.idempotency_key,
            request_digest=self._digest() if request.idempotency_key is not None else None,
            prepares_again=request.mode != "overwrite",
            publishes_empty=True,
            extra={"load_id": self.mark},
        )

    def _digest(self) -> str:
        request = self.request
        if self.items is None:
            raise BadRequest(
                "an idempotency key cannot be used with a DataFrame",
                "write it to files and load them, or remove the key",
            )
        content = digest_of_content(self.items, schema_on(self.storage, request.branch, self.schema()).catalog)
        plain = {"match_edges": None, "on_error": "fail"}
        others: list[Json] = [[name, getattr(request, name)] for name in plain if getattr(request, name) != plain[name]]
        return digest("load", request.branch, request.mode, request.patch, content, *others)

    # --- after the publish --------------------------------------------------------------------------------

    def _landed(self, error: BaseException) -> Receipt | None:
        """The commit of this load although the write was cut off: right after the publish, or before it when everything
        was done but that, which is finished first."""
        if self.prepared is None:
            return None
        try:
            settle(self.storage, self.request.branch)
            commits = self.storage.manifest.load(self.request.branch).state.commits.values()
        except BranchNotFound:
            return None  # and what was on it with it
        except OmniGraphError as failed:
            error.add_note(f"it is unknown whether the load was committed: {failed.sentence()}")
            return None
        counts = _counts(self.prepared)
        return next((Receipt(commit, counts) for commit in commits if commit.py.get("load_id") == self.mark), None)

    def _drop_rejects(self) -> None:
        if self.rejects is not None:
            self.rejects.drop()

    def _put_rejects(self) -> None:
        if self.rejects is not None:
            with self.after.survives(f"the reject file '{self.rejects.path}' was not written"):
                self.rejects.after_commit()

    def _index(self, run: LoadRun, prepared: PreparedLoad) -> None:
        """Indexes of the types that grew much, in a commit of their own. They are derived: the load is done without."""
        counts = {f"node:{name}": count for name, count in prepared.nodes.items()}
        counts |= {f"edge:{name}": count for name, count in prepared.edges.items()}
        grown = {key: count for key, count in counts.items() if count >= INDEX_FROM_ROWS}
        if not grown:
            return
        branch = self.request.branch
        builder = "`omnigraph optimize`" if branch == MAIN else f"`graph.ensure_indices('{branch}')`"
        what, remedy = "its indexes are not built", f"{builder} builds them"
        begun = time.perf_counter()
        if self.after.interrupted:
            self.after.warn(f"{what}; {remedy}")
            return
        with self.after.survives(what, remedy):
            conflict = self._build_indexes(run, grown)
            if conflict is not None:
                self.after.warn(f"{what}: {conflict}; {remedy}")
        self.seconds["index"] = time.perf_counter() - begun

    def _build_indexes(self, run: LoadRun, grown: Mapping[str, int]) -> str | None:
        """What stood against it, if something did."""
        from omnigraph.write.upkeep import ensure_indices

        request = self.request
        with report_stage(Stage(name="index", listener=request.progress, rows_total=sum(grown.values()))) as report:
            return ensure_indices(
                self.storage,
                self.schema,
                request.branch,
                tables=list(grown),
                actor_id=request.actor_id,
                substrings=False,
                build=partial(run.build_indexes, listener=report.add_part),
            ).conflict

    # --- the answer ---------------------------------------------------------------------------------------

    def _done(self) -> Mapping[str, Json]:
        """What this load did, or would do, or what the one did that it repeats."""
        if self.receipt is not None:
            return self.receipt.counts
        return {} if self.prepared is None else _counts(self.prepared)

    def result(self) -> LoadResult:
        request, receipt, prepared = self.request, self.receipt, self.prepared
        replayed = receipt is not None and receipt.replayed
        counts = self._done()
        nodes, edges = _by_type(counts.get("nodes")), _by_type(counts.get("edges"))
        rejected = count_of(counts, "rejected")
        commit = receipt.commit if receipt is not None else None
        shown = prepared.violations[: request.max_errors] if prepared is not None and not replayed else ()
        return LoadResult(
            branch=request.branch,
            mode=request.mode,
            base_branch=request.base_branch,
            branch_created=self.made is not None,
            nodes=nodes,
            edges=edges,
            commit=commit,
            rejected=rejected,
            violations=tuple(shown),
            dry_run=request.dry_run,
            replayed=replayed,
            engine=self.engine,
            report=self._report(nodes, edges, rejected, None if commit is None else commit.commit_id),
            warnings=tuple(self.after.warnings),
        )

    def _report(
        self, nodes: Mapping[str, int], edges: Mapping[str, int], rejected: int, commit_id: str | None
    ) -> LoadReport:
        seconds, items = dict(self.seconds), self.items
        spent = sum(each for stage, each in seconds.items() if stage != "session")
        seconds["commit"] = max(0.0, time.perf_counter() - self.begun - spent)
        return LoadReport(
            engine=self.engine,
            nodes=nodes,
            edges=edges,
            rejected=rejected,
            files=0 if items is None else sum(1 for file in items.files if file is not None),
            bytes=0 if items is None else items.size,
            seconds={stage: round(each, 3) for stage, each in seconds.items()},
            commit_id=commit_id,
        )


def _counts(prepared: PreparedLoad) -> dict[str, Json]:
    """What a load does, as it is kept with an idempotency key."""
    nodes: dict[str, Json] = dict(sorted(prepared.nodes.items()))
    edges: dict[str, Json] = dict(sorted(prepared.edges.items()))
    return {"nodes": nodes, "edges": edges, "rejected": len(prepared.rejected)}


def _id_of(receipt: Receipt) -> str | None:
    return None if receipt.commit is None else receipt.commit.commit_id


def _by_type(kept: Json) -> dict[str, int]:
    return {name: count for name, count in kept.items() if isinstance(count, int)} if isinstance(kept, dict) else {}
