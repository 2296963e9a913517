"""Running a write: prepare it, commit it, and prepare it again when another commit was first. Start at `write`.

A write goes one of two ways to the commit protocol (`protocol`). On a quiet branch it prepares outside of any lock and
then takes the branch. On a busy one it queues first (`branch_queue`), because what is prepared outside would be
overtaken; work that only adds writes its files while it waits (`prestage`).
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.model.errors import (
    Conflict,
    Corrupt,
    HistoricalVersionReclaimed,
    LeaseTimeout,
    ReadSetChanged,
    SchemaApplyInProgress,
)
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK, TableKey
from omnigraph.storage import MANIFEST, AcceptedSchema, GraphStorage, Point, reach
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.commit.branch_queue import is_busy, prestaging, window
from omnigraph.write.commit.leftovers import settle, settle_held
from omnigraph.write.commit.preconditions import check_if_commit, find_repeat, lost_to_upkeep_alone
from omnigraph.write.commit.prestage import Prestaged, move_onto, prestage
from omnigraph.write.commit.protocol import commit, commit_effects
from omnigraph.write.commit.request import Receipt, WriteBase, WriteRequest, write_base
from omnigraph.write.recovery import release_dead_lock
from omnigraph.write.rules import refuse_foreign_ids

PREPARE_AGAIN_MAX = 32
"""How often work that only adds is prepared again when another commit was first."""
PREPARE_IN_WINDOW_AFTER = 4
"""After this many lost races long work holds the branch while it prepares; brief work does so after the first."""

SCHEMA_WAIT_S = 10.0
"""How long a writer waits for a change of the schema before it gives up with SchemaApplyInProgress."""

Schema = Callable[[], AcceptedSchema]


def write(storage: GraphStorage, request: WriteRequest, schema: Schema) -> Receipt:
    """Carries out a write. Work that only adds is prepared again when it lost a race; anything else is a conflict."""
    storage.require_writable()
    try:
        return _attempts(storage, request, schema)
    except LeaseTimeout:
        raise  # no race was lost: somebody else still holds the branch
    except Conflict:
        first = _receipt_of_twin(storage, request)
        if first is None:
            raise
        return first


def _attempts(storage: GraphStorage, request: WriteRequest, schema: Schema) -> Receipt:
    for attempt in range(1 + PREPARE_AGAIN_MAX):
        lost_often = attempt >= (1 if request.brief else PREPARE_IN_WINDOW_AFTER)
        try:
            if lost_often or (request.brief and is_busy(storage, request.branch)):
                return _in_turn(storage, request, schema)
            settle(storage, request.branch)
            return _attempt(storage, request, schema, None)
        except SchemaApplyInProgress:
            if attempt == PREPARE_AGAIN_MAX or not _schema_is_free(storage):
                raise
        except ReadSetChanged as lost:
            again = request.prepares_again and request.if_commit is None
            if attempt == PREPARE_AGAIN_MAX or not (again or _lost_to_upkeep(storage, request.branch, lost)):
                raise
    raise AssertionError("the loop returns or raises")


def _schema_is_free(storage: GraphStorage) -> bool:
    """Waits a while for a schema change that is under way, and removes the lock of one that died.

    Most changes take as long as a write. No lease is held here: the change may wait for this writer's branch.
    """
    try:
        with storage.leases.hold(graph=True, wait_s=SCHEMA_WAIT_S):
            pass
    except LeaseTimeout:
        return False
    release_dead_lock(storage)
    return not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK)


def _attempt(storage: GraphStorage, request: WriteRequest, schema: Schema, held: HeldLeases | None) -> Receipt:
    """Prepares against the newest commit and commits. With `held`, the caller has the branch already."""
    base = _base(storage, request, schema)
    earlier = find_repeat(base.loaded, request)
    if earlier is not None:
        return earlier
    check_if_commit(base.loaded, request)
    try:
        prepared = request.prepare(base)
        refuse_foreign_ids(storage, base.pins(), base.schema.catalog, prepared.changes)
        return commit(storage, base, request, prepared, held)
    except (Corrupt, HistoricalVersionReclaimed):
        storage.manifest.require_still(base.loaded)
        raise


def _in_turn(storage: GraphStorage, request: WriteRequest, schema: Schema) -> Receipt:
    """Queues for the branch. Work that only adds writes its files meanwhile, and has little left to do in its turn."""
    with prestaging(storage, request.branch):
        ahead = _prestaged(storage, request, schema)
    try:
        with window(storage, request.branch) as lease:
            settle_held(storage, request.branch, lease)
            base = _base(storage, request, schema)
            moved = None if ahead is None else _moved_onto(storage, request, base, ahead)
            if ahead is None or moved is None:
                return _attempt(storage, request, schema, lease)
            prepared, ahead = ahead.prepared, None  # from here on the files belong to a commit
            reach(Point.MUTATION_STAGED)
            return commit_effects(storage, base, request, prepared, list(moved.values()), lease)
    finally:
        if ahead is not None:
            ahead.discard(storage)


def _prestaged(storage: GraphStorage, request: WriteRequest, schema: Schema) -> Prestaged | None:
    if request.recheck is None or request.if_commit is not None:
        return None
    base = _base(storage, request, schema)
    if find_repeat(base.loaded, request) is not None:
        return None
    return prestage(storage, request.branch, base.schema.ir_hash, base.pins(), lambda: request.prepare(base))


def _moved_onto(
    storage: GraphStorage, request: WriteRequest, base: WriteBase, ahead: Prestaged
) -> dict[TableKey, StagedEffect] | None:
    """The files of earlier as effects on this commit, checked against it; None when the work must be prepared anew."""
    if request.recheck is None or ahead.schema_ir_hash != base.schema.ir_hash:
        return None
    if find_repeat(base.loaded, request) is not None or storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        return None
    request.recheck(base, ahead.prepared.changes)
    refuse_foreign_ids(storage, base.pins(), base.schema.catalog, ahead.prepared.changes)
    return move_onto(storage, ahead, base.pins())


def _receipt_of_twin(storage: GraphStorage, request: WriteRequest) -> Receipt | None:
    """A race may have been lost to the same request: then its answer is ours, also if its writer died half-way."""
    if request.idempotency_key is None:
        return None
    settle(storage, request.branch)
    return find_repeat(storage.manifest.load(request.branch), request)


def _lost_to_upkeep(storage: GraphStorage, branch: str, lost: ReadSetChanged) -> bool:
    return lost_to_upkeep_alone(storage.manifest.load(branch).state, branch, lost)


def _base(storage: GraphStorage, request: WriteRequest, schema: Schema) -> WriteBase:
    return write_base(storage, request.branch, schema)
