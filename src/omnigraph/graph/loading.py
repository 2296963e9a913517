"""Running a load on a graph with the in-process engine: read, decode, check, commit. One input, one commit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omnigraph import history
from omnigraph.graph.mutating import digest
from omnigraph.graph.results import LoadResult
from omnigraph.model.errors import BadRequest, BranchNotFound, OmniGraphError
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.write import (
    ChangeSet,
    CommittedView,
    PreparedLoad,
    Receipt,
    WriteBase,
    WriteRequest,
    prepare_load,
    write,
)

LoadMode = Literal["append", "merge", "overwrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load as a caller asks for it."""

    source: str | Path | Iterable[bytes]
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


def load(storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Load) -> LoadResult:
    """Loads an input as one commit, or raises and changes nothing. A branch that was made for it goes with it."""
    source = _Source.of(request.source)
    created = _ensure_branch(storage, request)
    try:
        return _load(storage, schema, request, source, created=created)
    except BaseException:
        if created:
            with suppress(OmniGraphError):  # the load's own error matters more
                history.delete_branch(storage, request.branch)
        raise


def _load(
    storage: GraphStorage, schema: Callable[[], AcceptedSchema], request: Load, source: _Source, *, created: bool
) -> LoadResult:
    load_id, started_ms = new_ulid(), time.time_ns() // 1_000_000
    prepared: list[PreparedLoad] = []

    def prepare(base: WriteBase) -> ChangeSet:
        outcome = prepare_load(
            source.lines(),
            file=source.name,
            catalog=base.schema.catalog,
            mode=request.mode,
            view=CommittedView(storage, base.pins()),
            load_id=load_id,
            started_ms=started_ms,
            patch=request.patch,
            match_edges=request.match_edges,
            max_errors=request.max_errors,
            on_error=request.on_error,
        )
        _write_rejects(request.reject_file, outcome)
        outcome.refuse()
        prepared.append(outcome)
        return outcome.changes

    if request.dry_run:
        branch = request.branch if _exists(storage, request.branch) else request.base_branch or MAIN
        prepare(WriteBase(branch, storage.manifest.load(branch), schema()))
        return _result(request, prepared[-1], created=False)
    receipt = write(storage, _write_request(request, prepare, source), schema)
    return _result(request, prepared[-1] if prepared else None, created=created, receipt=receipt)


def _write_request(request: Load, prepare: Callable[[WriteBase], ChangeSet], source: _Source) -> WriteRequest:
    return WriteRequest(
        branch=request.branch,
        kind="load",
        writer_kind="Load",
        prepare=prepare,
        actor_id=request.actor_id,
        message=request.message,
        if_commit=request.if_commit,
        idempotency_key=request.idempotency_key,
        request_digest=digest("load", request.branch, request.mode, request.patch, source.digest_of_content())
        if request.idempotency_key is not None
        else None,
        prepares_again=request.mode != "overwrite",
        publishes_empty=True,
    )


def _result(
    request: Load, prepared: PreparedLoad | None, *, created: bool, receipt: Receipt | None = None
) -> LoadResult:
    return LoadResult(
        branch=request.branch,
        mode=request.mode,
        base_branch=request.base_branch,
        branch_created=created,
        nodes=dict(sorted(prepared.nodes.items())) if prepared is not None else {},
        edges=dict(sorted(prepared.edges.items())) if prepared is not None else {},
        commit=receipt.commit if receipt is not None else None,
        rejected=len(prepared.rejected) if prepared is not None else 0,
        violations=tuple(prepared.violations[: request.max_errors]) if prepared is not None else (),
        dry_run=request.dry_run,
        replayed=receipt.replayed if receipt is not None else False,
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


# --- input and rejects ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """Lines that can be read again: work that lost a race is prepared anew."""

    name: str | None
    path: Path | None = None
    content: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, source: str | Path | Iterable[bytes]) -> _Source:
        if not isinstance(source, str | Path):
            return cls(None, content=tuple(source))
        path = Path(source)
        if not path.is_file():
            raise BadRequest(f"cannot read '{path}': there is no such file")
        return cls(str(path), path=path)

    def lines(self) -> Iterator[bytes]:
        if self.path is None:
            yield from self.content
            return
        try:
            with self.path.open("rb") as file:
                yield from file
        except OSError as error:
            raise BadRequest(f"cannot read '{self.path}': {error.strerror}") from error

    def digest_of_content(self) -> str:
        running = hashlib.sha256()
        for line in self.lines():
            running.update(line)
        return running.hexdigest()


def _write_rejects(path: Path | None, prepared: PreparedLoad) -> None:
    """The rejected records as they came, so that they can be mended and loaded again."""
    if path is None or not prepared.rejected:
        return
    try:
        path.write_bytes(b"".join(reject.text.rstrip(b"\r\n") + b"\n" for reject in prepared.rejected))
    except OSError as error:
        raise BadRequest(f"cannot write the reject file '{path}': {error.strerror}") from error
