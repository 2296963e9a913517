"""Running a load on a graph: the branch, the source, an engine, one commit, and what is reported about it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from omnigraph import history
from omnigraph.graph.load_engines import Engine, LoadRun, LocalRun, choose, spark_run, staged_run
from omnigraph.graph.load_progress import Committing
from omnigraph.graph.load_sources import Source, SourceFormat, digest_of_content, is_staged, item_source
from omnigraph.graph.mutating import digest
from omnigraph.graph.results import LoadReport, LoadResult
from omnigraph.model.errors import BadRequest, BranchNotFound, OmniGraphError
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.watch import Stage, told
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.write import ChangeSet, ItemSource, PreparedLoad, Receipt, WriteBase, WriteRequest, write
from omnigraph.write.load import LoadMode

__all__ = ["Engine", "Load", "LoadMode", "load"]

INDEX_FROM_ROWS = 100_000
"""A type that a load brings so many rows of gets its indexes right away; smaller loads leave them to `optimize`."""
_log = logging.getLogger("omnigraph.graph")


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
    """Loads an input as one commit, or raises and changes nothing. A branch that was made for it goes with it."""
    items = item_source(request.source, request.how, schema().catalog)
    engine = choose(request.engine, request.spark, items)
    created = _ensure_branch(storage, request)
    try:
        with _run(storage, schema, request, items, engine) as run:
            return _load(storage, schema, request, items, run, created=created)
    except BaseException:
        if created:
            with suppress(OmniGraphError):  # the load's own error matters more
                history.delete_branch(storage, request.branch)
        raise


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


def _load(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    request: Load,
    items: ItemSource | None,
    run: LoadRun,
    *,
    created: bool,
) -> LoadResult:
    prepared: list[PreparedLoad] = []
    begun, committing = time.perf_counter(), Committing(request.progress)

    def prepare(base: WriteBase) -> ChangeSet:
        outcome = run.prepare(base)
        _write_rejects(request.reject_file, outcome)
        outcome.refuse()
        prepared.append(outcome)
        if not request.dry_run:
            committing.begun(outcome)
        return outcome.changes

    receipt = None
    if request.dry_run:
        branch = request.branch if _exists(storage, request.branch) else request.base_branch or MAIN
        prepare(WriteBase(branch, storage.manifest.load(branch), schema()))
    else:
        receipt = write(storage, _write_request(request, prepare, items, schema), schema)
        committing.ended()
    seconds = dict(run.seconds)
    if receipt is not None and not receipt.replayed:
        seconds |= _indexes(storage, schema, request, run, prepared[-1])
    seconds["commit"] = max(0.0, time.perf_counter() - begun - sum(seconds.values()) + seconds.get("session", 0.0))
    return _result(request, prepared[-1] if prepared else None, items, run, seconds, created=created, receipt=receipt)


def _indexes(
    storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Load, run: LoadRun, prepared: PreparedLoad
) -> dict[str, float]:
    """Indexes of the types that grew much, in a commit of their own. They are derived: the load is done without."""
    counts = {f"node:{name}": count for name, count in prepared.nodes.items()}
    counts |= {f"edge:{name}": count for name, count in prepared.edges.items()}
    grown = {key: count for key, count in counts.items() if count >= INDEX_FROM_ROWS}
    if not grown:
        return {}
    from omnigraph.write.indexing import ensure_indices

    begun = time.perf_counter()
    try:
        with told(Stage(name="index", listener=request.progress, rows_total=sum(grown.values()))) as watch:
            ensure_indices(
                storage,
                schema,
                request.branch,
                tables=list(grown),
                actor_id=request.actor_id,
                substrings=False,
                build=partial(run.build_indexes, listener=watch.hear),
            )
    except OmniGraphError as error:
        _log.warning("the load is done, its indexes are not: %s", error)
    return {"index": time.perf_counter() - begun}


def _write_request(
    request: Load,
    prepare: Callable[[WriteBase], ChangeSet],
    items: ItemSource | None,
    schema: Callable[[], AcceptedSchema],
) -> WriteRequest:
    return WriteRequest(
        branch=request.branch,
        kind="load",
        writer_kind="Load",
        prepare=prepare,
        actor_id=request.actor_id,
        message=request.message,
        if_commit=request.if_commit,
        idempotency_key=request.idempotency_key,
        request_digest=_digest(request, items, schema) if request.idempotency_key is not None else None,
        prepares_again=request.mode != "overwrite",
        publishes_empty=True,
    )


def _digest(request: Load, items: ItemSource | None, schema: Callable[[], AcceptedSchema]) -> str:
    if items is None:
        raise BadRequest(
            "a DataFrame has no content that an idempotency key could be bound to",
            "write it to files and load them, or leave the key out",
        )
    content = digest_of_content(items, schema().catalog)
    return digest("load", request.branch, request.mode, request.patch, content)


def _result(
    request: Load,
    prepared: PreparedLoad | None,
    items: ItemSource | None,
    run: LoadRun,
    seconds: dict[str, float],
    *,
    created: bool,
    receipt: Receipt | None,
) -> LoadResult:
    nodes = dict(sorted(prepared.nodes.items())) if prepared is not None else {}
    edges = dict(sorted(prepared.edges.items())) if prepared is not None else {}
    rejected = len(prepared.rejected) if prepared is not None else 0
    commit = receipt.commit if receipt is not None else None
    report = LoadReport(
        engine=run.name,
        nodes=nodes,
        edges=edges,
        rejected=rejected,
        files=0 if items is None else sum(1 for file in items.files if file is not None),
        bytes=0 if items is None else items.size,
        seconds={stage: round(each, 3) for stage, each in seconds.items()},
        commit_id=None if commit is None else commit.commit_id,
    )
    return LoadResult(
        branch=request.branch,
        mode=request.mode,
        base_branch=request.base_branch,
        branch_created=created,
        nodes=nodes,
        edges=edges,
        commit=commit,
        rejected=rejected,
        violations=tuple(prepared.violations[: request.max_errors]) if prepared is not None else (),
        dry_run=request.dry_run,
        replayed=receipt.replayed if receipt is not None else False,
        engine=run.name,
        report=report,
    )


# --- the branch -------------------------------------------------------------------------------------------


def _exists(storage: GraphStorage, branch: str) -> bool:
    return branch in storage.manifest.branches()


def _ensure_branch(storage: GraphStorage, request: Load) -> bool:
    """Makes the branch from its base if it is missing and a base is given; True when it was made here."""
    if request.branch == MAIN or _exists(storage, request.branch):
        return False
    if request.base_branch is None:
        raise BranchNotFound(request.branch, "name a base branch (--from) to create it with the load")
    if request.dry_run:
        storage.manifest.load(request.base_branch)
        return False
    history.create_branch(storage, request.branch, source=request.base_branch)
    return True


# --- rejects ----------------------------------------------------------------------------------------------


def _write_rejects(path: Path | None, prepared: PreparedLoad) -> None:
    """The rejected records as they came, so that they can be mended and loaded again."""
    if path is None or not prepared.rejected:
        return
    try:
        path.write_bytes(b"".join(reject.text.rstrip(b"\r\n") + b"\n" for reject in prepared.rejected))
    except OSError as error:
        raise BadRequest(f"cannot write the reject file '{path}': {error.strerror}") from error
