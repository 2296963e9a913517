"""Commit: how a prepared change becomes one graph commit, whole or not at all. Start at `write`.

The order is the specification's: prepare outside of any lock; then, holding the branch, check that nothing moved, write
the sidecar (Phase A), commit every table once (B), publish (C), remove the sidecar (D). A failure after Phase A is
resolved before it is reported: the writer still holds the branch, so it can finish or take back its own work.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace

from omnigraph.model.errors import (
    BranchNotFound,
    BranchReplaced,
    CommitNotDurable,
    Conflict,
    Corrupt,
    GraphReplaced,
    HistoricalVersionReclaimed,
    Json,
    LeaseLost,
    LeaseTimeout,
    OmniGraphError,
    OutcomeUnknown,
    PreconditionFailed,
    ReadSetChanged,
    RecoveryRequired,
    SchemaApplyInProgress,
    SyncFailed,
    TableDrift,
)
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, TableKey, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, AcceptedSchema, GraphStorage, InjectedFault, Point, reach
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import (
    CommitIdentity,
    GraphCommit,
    HeadIs,
    LoadedManifest,
    PublishPlan,
    StagedRows,
    TablePin,
    TableVersion,
    VersionIs,
    head_of,
    publish,
    rows_of,
)
from omnigraph.storage.tables import StagedEffect, StaleEffect
from omnigraph.write.changes import ChangeSet
from omnigraph.write.commit.branch_queue import Foreseen, foresee, is_busy, staging_ahead, window
from omnigraph.write.commit.effects import stage
from omnigraph.write.commit.prestage import StagedAhead, moved_onto, stage_ahead
from omnigraph.write.commit.publish_ahead import publish_ahead
from omnigraph.write.recovery import (
    Outcome,
    Resolution,
    Sidecar,
    SidecarPin,
    delete_sidecar,
    list_sidecars,
    recover_branch,
    recover_one,
    resolve,
    sidecar_path,
    take_back_late,
    write_sidecar,
)
from omnigraph.write.rules import refuse_foreign_ids

PREPARE_AGAIN_MAX = 32
"""How often work that only adds is prepared again when another commit was first."""
PREPARE_IN_WINDOW_AFTER = 4
"""After this many lost races long work holds the branch while it prepares; brief work does so after the first."""
TRANSPARENT_KINDS = frozenset({"ensure_indices", "optimize"})
"""Commits that change no entity: `if_commit` looks through them."""
_log = logging.getLogger("omnigraph.write")


@dataclass(frozen=True, slots=True)
class WriteBase:
    """What a write was prepared against. Any commit on the branch makes it stale."""

    branch: str
    loaded: LoadedManifest
    schema: AcceptedSchema

    @property
    def head(self) -> HeadIs:
        return head_of(self.loaded)

    def pins(self) -> dict[TableKey, TablePin]:
        return {pin.table_key: pin for pin in self.loaded.state.pins()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """One write, of whatever surface."""

    branch: str
    kind: str  # mutation, load, …: what `py.kind` of the commit says
    writer_kind: str  # the sidecar's name for it
    prepare: Callable[[WriteBase], ChangeSet]
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    prepares_again: bool = False
    brief: bool = False  # small enough to be prepared while others wait for the branch
    recheck: Callable[[WriteBase, ChangeSet], None] | None = None
    """For work that only adds: refuses changes that do not stand against another commit than they were made for."""
    publishes_empty: bool = False
    result: Callable[[], dict[str, Json]] | None = None
    """What the work that was prepared last does, as counts: kept with an idempotency key, for whoever repeats it."""
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write returns: the commit that it published, or None when it changed nothing and had no key to keep."""

    commit: GraphCommit | None
    replayed: bool = False
    """True when an earlier write with the same idempotency key had already done it."""

    @property
    def first_result(self) -> Mapping[str, Json]:
        """What the write that a repeat stands for did; empty for one that happened here."""
        kept = self.commit.py.get("result") if self.replayed and self.commit is not None else None
        return kept if isinstance(kept, Mapping) else {}


def write(storage: GraphStorage, request: WriteRequest, schema: Callable[[], AcceptedSchema]) -> Receipt:
    """Carries out a write. Work that only adds is prepared again when it lost a race; anything else is a conflict.

    Brief work on a busy branch, and work that lost its races, queues first and is prepared while it holds the branch:
    nothing can overtake it, and nothing is prepared in vain.
    """
    storage.require_writable()
    try:
        return _write(storage, request, schema)
    except LeaseTimeout:
        raise  # no race was lost: somebody else still holds the branch
    except Conflict:
        first = _answer_of_twin(storage, request)
        if first is None:
            raise
        return first


def _write(storage: GraphStorage, request: WriteRequest, schema: Callable[[], AcceptedSchema]) -> Receipt:
    for attempt in range(1 + PREPARE_AGAIN_MAX):
        lost_often = attempt >= (1 if request.brief else PREPARE_IN_WINDOW_AFTER)
        try:
            if lost_often or (request.brief and is_busy(storage, request.branch)):
                return _in_turn(storage, request, schema)
            settle(storage, request.branch)
            return _attempt(storage, request, schema, None)
        except ReadSetChanged as lost:
            again = request.prepares_again and request.if_commit is None
            if attempt == PREPARE_AGAIN_MAX or not (again or _only_upkeep(storage, request.branch, lost)):
                raise
    raise AssertionError("the loop returns or raises")


def _in_turn(storage: GraphStorage, request: WriteRequest, schema: Callable[[], AcceptedSchema]) -> Receipt:
    """Queues for the branch. Work that only adds writes its files meanwhile, and has little left to do in its turn."""
    with staging_ahead(storage, request.branch):
        ahead = _staged_ahead(storage, request, schema)
    turn = _Turn(storage, request, schema, ahead)
    try:
        with window(storage, request.branch, arm=turn.arm if turn.may_arm else None) as lease:
            return turn.take(lease)
    finally:
        turn.leave()


@dataclass(frozen=True, slots=True)
class _Armed:
    """Phase A, done against a branch that is foreseen: the sidecar is there, no table has moved."""

    base: WriteBase
    effects: tuple[StagedEffect, ...]
    sidecar: Sidecar

    def stands(self, storage: GraphStorage, now: WriteBase) -> bool:
        """What was foreseen came true, and nobody took the intent for that of a dead writer."""
        is_same = now.head == self.base.head and now.schema.ir_hash == self.base.schema.ir_hash
        return is_same and storage.objects.exists(sidecar_path(self.sidecar.operation_id))


@dataclass(slots=True)
class _Turn:
    """One write on its way through the queue, and what it has on disk already: used in its turn, or removed."""

    storage: GraphStorage
    request: WriteRequest
    schema: Callable[[], AcceptedSchema]
    ahead: StagedAhead | None
    armed: _Armed | None = None

    @property
    def may_arm(self) -> bool:
        """A key that the write before it may have used is only known once that has published."""
        return self.ahead is not None and self.request.idempotency_key is None

    def arm(self, foreseen: Foreseen) -> None:
        """Checks and writes the sidecar for the branch as it will be. What cannot be done now is done in the turn."""
        try:
            base = WriteBase(self.request.branch, foreseen.loaded, self.schema())
            if any(other.operation_id != foreseen.operation_id for other in _pending(self.storage, base.branch)):
                return  # somebody died here: that is resolved first, in the turn
            moved = _moved(self.storage, self.request, base, self.ahead)
            sidecar = None if moved is None else _intent(self.storage, base, self.request, list(moved.values()))
            if moved is None or sidecar is None or sidecar.operation_id <= foreseen.operation_id:
                return  # recovery goes by these ids: ours must come after the one that we follow
            write_sidecar(self.storage.objects, sidecar)
        except (OmniGraphError, InjectedFault):
            return  # the answer is given in the turn, against what is there then
        self.armed = _Armed(base, tuple(moved.values()), sidecar)
        reach(Point.MUTATION_ARMED_AHEAD)

    def take(self, lease: HeldLeases) -> Receipt:
        storage, request = self.storage, self.request
        base = WriteBase(request.branch, storage.manifest.load(request.branch), self.schema())
        armed = self.armed
        if (
            armed is not None
            and armed.stands(storage, base)
            and not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK)
        ):
            for effect in armed.effects:
                _require_head_at_pin(storage, base, effect.pin, lease)
            self.armed = self.ahead = None  # from here on the files and the sidecar belong to a commit
            plan = _plan(base, armed.sidecar)
            staged = publish_ahead(storage, base.loaded, plan, armed.effects)
            return _carry_out(storage, base, _Intended(armed.sidecar, plan, armed.effects, staged), lease)
        self._take_back()
        _recover(storage, request.branch, lease)
        base = WriteBase(request.branch, storage.manifest.load(request.branch), self.schema())
        moved = _moved(storage, request, base, self.ahead)
        if moved is None:
            return _attempt(storage, request, self.schema, lease)
        self.ahead = None
        reach(Point.MUTATION_STAGED)
        return _effects_and_publish(storage, base, request, list(moved.values()), lease)

    def leave(self) -> None:
        self._take_back()
        if self.ahead is not None:
            self.ahead.discard(self.storage)

    def _take_back(self) -> None:
        """What was foreseen did not come: the intent is withdrawn before anything was done about it."""
        if self.armed is not None:
            _disarm(self.storage, self.armed.sidecar)
            self.armed = None


def _staged_ahead(
    storage: GraphStorage, request: WriteRequest, schema: Callable[[], AcceptedSchema]
) -> StagedAhead | None:
    if request.recheck is None or request.if_commit is not None:
        return None
    base = WriteBase(request.branch, storage.manifest.load(request.branch), schema())
    if _replay(base.loaded, request) is not None:
        return None
    return stage_ahead(storage, request.branch, base.schema.ir_hash, base.pins(), lambda: request.prepare(base))


def _moved(
    storage: GraphStorage, request: WriteRequest, base: WriteBase, ahead: StagedAhead | None
) -> dict[TableKey, StagedEffect] | None:
    """The files of earlier as effects on this commit, checked against it; None when the work must be prepared anew."""
    if ahead is None or request.recheck is None or ahead.schema_ir_hash != base.schema.ir_hash:
        return None
    if _replay(base.loaded, request) is not None or storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return None
    request.recheck(base, ahead.changes)
    refuse_foreign_ids(storage, base.pins(), base.schema.catalog, ahead.changes)
    return moved_onto(storage, ahead, base.pins())


def _only_upkeep(storage: GraphStorage, branch: str, lost: ReadSetChanged) -> bool:
    """True when nothing but upkeep was committed since: no entity changed, so the same write means the same again."""
    if lost.member != f"graph_head:{branch}":
        return False
    state = storage.manifest.load(branch).state
    commit = state.head
    while commit is not None and commit.commit_id != lost.expected and _changes_nothing(commit):
        commit = state.commits.get(commit.parent_id or "")
    return commit is not None and commit.commit_id == lost.expected


def _changes_nothing(commit: GraphCommit) -> bool:
    """Upkeep, or a recovery that took something back."""
    recovery = commit.py.get("recovery")
    took_back = isinstance(recovery, dict) and recovery.get("kind") == "RolledBack"
    return took_back or commit.py.get("kind") in TRANSPARENT_KINDS


def _attempt(
    storage: GraphStorage, request: WriteRequest, schema: Callable[[], AcceptedSchema], held: HeldLeases | None
) -> Receipt:
    """Prepares against the newest commit and commits. With `held`, the caller has the branch already."""
    base = WriteBase(request.branch, storage.manifest.load(request.branch), schema())
    earlier = _replay(base.loaded, request)
    if earlier is not None:
        return earlier
    _check_precondition(base.loaded, request)
    try:
        changes = request.prepare(base)
        refuse_foreign_ids(storage, base.pins(), base.schema.catalog, changes)
        return _commit(storage, base, request, changes, held)
    except (Corrupt, HistoricalVersionReclaimed):
        storage.manifest.require_still(base.loaded)
        raise


def settle(storage: GraphStorage, branch: str) -> None:
    """Finishes or takes back what was left half done on a branch, by a dead writer or an interrupted one of ours."""
    if _pending(storage, branch):
        with window(storage, branch) as lease:
            _recover(storage, branch, lease)


def _recover(storage: GraphStorage, branch: str, lease: HeldLeases) -> None:
    """Whoever is about to write a branch first resolves what a dead writer left on it."""
    pending = _pending(storage, branch)
    if pending:
        recover_branch(storage, branch, lease.check, sidecars=pending)


def _pending(storage: GraphStorage, branch: str) -> list[Sidecar]:
    """What a writer of this branch must not step over; on main also the intents of branches that are gone."""
    listed = list_sidecars(storage.objects)
    if not listed:
        return []
    alive = set(storage.manifest.branches()) if branch == MAIN else set()
    return [
        sidecar
        for sidecar in listed
        if sidecar.is_schema_apply
        or sidecar.branch_name == branch
        or (branch == MAIN and sidecar.branch_name not in alive)
    ]


# --- before the first effect ------------------------------------------------------------------------------


def _replay(loaded: LoadedManifest, request: WriteRequest) -> Receipt | None:
    if request.idempotency_key is None:
        return None
    for commit in loaded.state.commits.values():
        if commit.py.get("idempotency_key") == request.idempotency_key:
            if commit.py.get("request_digest") != request.request_digest:
                raise Conflict(
                    f"idempotency key '{request.idempotency_key}' was used for another request in {commit.commit_id}",
                    "use a new key for a new request",
                )
            return Receipt(commit, replayed=True)
    return None


def _answer_of_twin(storage: GraphStorage, request: WriteRequest) -> Receipt | None:
    """A race may have been lost to the same request: then its answer is ours, also if its writer died half-way."""
    if request.idempotency_key is None:
        return None
    settle(storage, request.branch)
    return _replay(storage.manifest.load(request.branch), request)


def _check_precondition(loaded: LoadedManifest, request: WriteRequest) -> None:
    if request.if_commit is None:
        return
    commit = loaded.state.head
    while commit is not None and commit.commit_id != request.if_commit and commit.py.get("kind") in TRANSPARENT_KINDS:
        commit = loaded.state.commits.get(commit.parent_id or "")
    if commit is None or commit.commit_id != request.if_commit:
        head = loaded.state.head
        raise PreconditionFailed(loaded.branch, request.if_commit, head.commit_id if head is not None else None)


def _commit(
    storage: GraphStorage, base: WriteBase, request: WriteRequest, changes: ChangeSet, held: HeldLeases | None
) -> Receipt:
    pins = base.pins()
    moving = changes.changes()
    staged: dict[TableKey, StagedEffect] = {}
    for change in moving:
        if _owns(pins[change.key], base.branch):
            effect = stage(storage, change, pins[change.key])
            if effect is not None:
                staged[change.key] = effect
    nothing = not staged and all(_owns(pins[change.key], base.branch) for change in moving)
    if nothing and not request.publishes_empty and request.idempotency_key is None:  # a key must be remembered
        reach(Point.MUTATION_NOTHING)
        _recheck(storage, request)
        return Receipt(None)
    reach(Point.MUTATION_STAGED)
    with window(storage, base.branch) if held is None else nullcontext(held) as lease:
        _require_unchanged(storage, base, request)
        for change in moving:
            if not _owns(pins[change.key], base.branch):
                pin = _fork(storage, base, pins[change.key])
                effect = stage(storage, change, pin)
                if effect is not None:
                    staged[change.key] = effect
        return _effects_and_publish(storage, base, request, list(staged.values()), lease, changes.guard)


def _recheck(storage: GraphStorage, request: WriteRequest) -> None:
    """A conditional write that changes nothing is acknowledged only if its condition still holds now."""
    if request.if_commit is not None:
        _check_precondition(storage.manifest.load(request.branch), request)


def _owns(pin: TablePin, branch: str) -> bool:
    """True when the branch writes this table where it lies; otherwise the first write forks it."""
    return branch == MAIN or pin.lineage == branch


def _require_unchanged(storage: GraphStorage, base: WriteBase, request: WriteRequest) -> None:
    """Under the branch's lease: no dead writer's work, no schema change, the same head, every table at its pin."""
    pending = _pending(storage, base.branch)
    if pending:
        raise ReadSetChanged(f"graph_head:{base.branch}", base.head.head_commit_id, pending[0].operation_id)
    if storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        raise SchemaApplyInProgress("writing is unavailable while schema apply is in progress")
    now = storage.manifest.load(base.branch)
    _check_precondition(now, request)
    base.head.check(now)


def _fork(storage: GraphStorage, base: WriteBase, pin: TablePin) -> TablePin:
    """The first touch of a table on a branch. A fork of that name that no live snapshot reads is a leftover."""
    branch = base.branch
    if storage.lineages.exists(pin.location, branch):
        if _is_read(storage, pin.location, branch):
            raise Conflict(
                f"table '{pin.table_key}' has a fork '{branch}' that another branch reads",
                "delete the other branch first, or write on a branch of another name",
            )
        _remove_leftover(storage, pin.location, branch, storage.manifest.branches())
    storage.lineages.create(pin.location, branch, pin.lineage, pin.version)
    reach(Point.MUTATION_FORKED)
    return replace(pin, lineage=branch, incarnation=base.loaded.state.incarnation)


def _remove_leftover(storage: GraphStorage, location: str, lineage: str, live: Sequence[str]) -> None:
    """A fork that nobody reads; first those that were cut from it and whose branches are gone: their deletion died."""
    for child in storage.lineages.children(location, lineage):
        if child not in live and not _is_read(storage, location, child):
            _remove_leftover(storage, location, child, live)
    storage.lineages.delete(location, lineage)


def _is_read(storage: GraphStorage, location: str, lineage: str) -> bool:
    return any(
        pin.location == location and pin.lineage == lineage
        for branch in storage.manifest.branches()
        for pin in storage.manifest.load(branch).state.pins()
    )


# --- effects ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Intended:
    """A write whose sidecar is written, if it has effects, and whose publish is being staged."""

    sidecar: Sidecar
    plan: PublishPlan
    effects: Sequence[StagedEffect]
    staged: Callable[[], StagedRows | None]
    guard: Callable[[], None] | None = None
    """Asked with the lease before anything is committed."""

    @property
    def commit_id(self) -> str:
        return self.plan.identity.commit_id


def _effects_and_publish(
    storage: GraphStorage,
    base: WriteBase,
    request: WriteRequest,
    effects: list[StagedEffect],
    lease: HeldLeases,
    guard: Callable[[], None] | None = None,
) -> Receipt:
    for effect in effects:
        _require_head_at_pin(storage, base, effect.pin, lease)
    sidecar = _intent(storage, base, request, effects)
    plan = _plan(base, sidecar)
    staged = publish_ahead(storage, base.loaded, plan, effects)  # while the sidecar is synced and the tables commit
    if effects:
        write_sidecar(storage.objects, sidecar)  # Phase A: from here on a crash is resolved by whoever comes next
    return _carry_out(storage, base, _Intended(sidecar, plan, effects, staged, guard), lease)


def _carry_out(storage: GraphStorage, base: WriteBase, work: _Intended, lease: HeldLeases) -> Receipt:
    def fence() -> None:
        lease.check()
        if work.guard is not None:
            work.guard()

    try:
        reach(Point.MUTATION_ARMED)
        plan = replace(work.plan, changes=_commit_tables(storage, work, fence))  # Phase B
        if work.effects:
            foresee(storage, base.branch, lambda: _foreseen(base, plan, work.sidecar))
        reach(Point.MUTATION_BEFORE_PUBLISH)
        published = publish(storage.manifest, plan, fence, work.staged)  # Phase C: visible
    except (OmniGraphError, InjectedFault) as error:
        return _resolve_own(storage, base, work, lease, error)
    if work.effects:
        _disarm(storage, work.sidecar)  # Phase D
    return Receipt(published.commit)


def _foreseen(base: WriteBase, plan: PublishPlan, sidecar: Sidecar) -> Foreseen:
    """The branch after this plan, by the rules that the publish itself follows."""
    state = base.loaded.state.fold(rows_of(plan, base.loaded)[1])
    loaded = replace(base.loaded, version=base.loaded.version + 1, state=state, head_place=None)
    return Foreseen(loaded, sidecar.operation_id)


def _require_head_at_pin(storage: GraphStorage, base: WriteBase, pin: TablePin, lease: HeldLeases) -> None:
    """Nothing lies above the pin. What a writer that lost its lease left there is taken back, and the work prepared
    again on top of that."""
    newest = storage.tables.head_version(pin)
    if newest == pin.version:
        return
    if not take_back_late(storage, base.loaded, pin, lease.check):
        raise TableDrift(
            f"table '{pin.table_key}' is at version {newest} but the graph shows {pin.version}: another program wrote "
            "to it, and it needs repair"
        )
    raise _moved_on(storage, base)


def _moved_on(storage: GraphStorage, base: WriteBase) -> ReadSetChanged:
    """The head is another one than the work was prepared for; whether that matters to it is decided by who asks."""
    now = storage.manifest.load(base.branch).state.head
    actual = None if now is None else now.commit_id
    return ReadSetChanged(f"graph_head:{base.branch}", base.head.head_commit_id, actual)


def _intent(storage: GraphStorage, base: WriteBase, request: WriteRequest, effects: list[StagedEffect]) -> Sidecar:
    py: dict[str, Json] = {
        "kind": request.kind,
        "schema_ir_hash": base.schema.ir_hash,
        "idempotency_key": request.idempotency_key,
        "request_digest": request.request_digest,
        "result": request.result() if request.idempotency_key is not None and request.result is not None else None,
        "message": request.message,
        **request.extra,
    }
    identity = CommitIdentity(
        actor_id=request.actor_id, py={name: value for name, value in py.items() if value is not None}
    )
    return Sidecar(
        operation_id=new_ulid(),
        started_at=time.time_ns() // 1000,
        branch=None if base.branch == MAIN else base.branch,
        actor_id=request.actor_id,
        writer_kind=request.writer_kind,
        tables=tuple(_pin_of(storage, effect) for effect in effects),
        identity=identity,
        head=base.head,
    )


def _pin_of(storage: GraphStorage, effect: StagedEffect) -> SidecarPin:
    return SidecarPin(
        table_key=str(effect.pin.table_key),
        table_path=storage.root.join(effect.pin.location),
        expected_version=effect.pin.version,
        post_commit_pin=effect.commits_as,
        table_branch=effect.pin.lineage,
        transaction_id=effect.transaction_id,
    )


def _commit_tables(storage: GraphStorage, work: _Intended, fence: Callable[[], None]) -> tuple[TableVersion, ...]:
    versions = []
    for effect in work.effects:
        fence()
        versions.append(storage.table_commits.commit(effect, work.commit_id))
        reach(Point.MUTATION_TABLE_COMMITTED)
    return tuple(versions)


def _plan(base: WriteBase, sidecar: Sidecar) -> PublishPlan:
    """The publish, all but the versions that the tables will have."""
    assert sidecar.identity is not None, "our own intents carry their lineage"
    expected = tuple(VersionIs(pin.table_key, pin.expected_version) for pin in sidecar.tables)
    return PublishPlan(branch=base.branch, requirements=(base.head, *expected), identity=sidecar.identity)


def _disarm(storage: GraphStorage, sidecar: Sidecar) -> None:
    """The write has happened, or nothing of it: a sidecar that cannot be removed now is recognised as either later."""
    try:
        delete_sidecar(storage.objects, sidecar.operation_id, lasting=False)
    except (OmniGraphError, InjectedFault) as error:
        _log.warning("sidecar %s stays behind: %s", sidecar.operation_id, error)


def _resolve_own(
    storage: GraphStorage, base: WriteBase, work: _Intended, lease: HeldLeases, error: Exception
) -> Receipt:
    """Finishes or takes back our own work; then the answer is what became of it.

    Only our own commit id says that it happened. What could not be synced is never confirmed: if it is not visible, it
    is taken back, and if it is, the answer says that it is not durable.
    """
    for effect in work.effects:
        storage.handles.forget(effect.pin.path)  # whatever becomes of these versions, their numbers may come again
    try:
        resolution = _resolution(storage, work, lease, error)
    except (GraphReplaced, BranchReplaced, CommitNotDurable):
        raise
    except LeaseTimeout as failed:
        raise OutcomeUnknown(f"commit {work.commit_id}", f"{error}; {failed}") from error
    except (OmniGraphError, InjectedFault) as failed:
        reason = f"{error}; resolving it failed too: {failed}"
        raise RecoveryRequired(work.sidecar.operation_id, reason) from error
    if resolution.outcome in ("rolled_forward", "already_visible") and resolution.commit is not None:
        return Receipt(resolution.commit)
    if isinstance(error, StaleEffect) or (
        isinstance(error, ReadSetChanged) and error.member.startswith("table_version:")
    ):
        raise _moved_on(storage, base) from error  # a late version of another writer was taken back with ours
    raise error


def _published(storage: GraphStorage, work: _Intended) -> GraphCommit | None:
    try:
        return storage.manifest.load(work.plan.branch).state.commits.get(work.commit_id)
    except BranchNotFound:
        return None


def _resolution(storage: GraphStorage, work: _Intended, lease: HeldLeases, error: Exception) -> Resolution:
    """What became of our own work, brought to its end by us if need be."""
    forward = not isinstance(error, SyncFailed)
    if not forward and _published(storage, work) is not None:
        raise CommitNotDurable(work.commit_id, str(error)) from error
    if work.effects:
        try:
            lease.check()
            return resolve(storage, work.sidecar, lease.check, forward=forward)
        except LeaseLost:  # another writer has the branch, and has resolved our intent or is about to
            resolution = recover_one(storage, work.sidecar, forward=forward)
            if resolution is not None:
                return resolution
    commit = _published(storage, work)
    outcome: Outcome = "effect_free" if commit is None else "already_visible"
    return Resolution(work.sidecar.operation_id, outcome, commit)
