"""Schema apply: one commit that changes the schema and every table it touches, or nothing. Start at `apply_schema`.

  before    the graph and main are ours; what a dead change left is resolved; the lock says that a change is under way
  look      the plan; steps that cannot be done, branches and tags in the way, rows that break a new rule: refused
  stage     the files of every table; nothing refers to them yet
  phase A   the sidecar says what is about to happen
  phase B   new tables are made, every other one is committed once
  files     the new schema: kept by its hash, then its three files beside those in place
  phase C   one publish: now it has happened. Whoever reads takes the schema by the hash that the commit carries
  after     the files are moved into place, what is dropped for good is collected, sidecar and lock go

Until the files are whole a death is taken back, from then on it is finished, by whoever comes next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from omnigraph.history import earlier_names
from omnigraph.language.schema import CompiledSchema
from omnigraph.model.errors import (
    CommitNotDurable,
    Json,
    LeaseTimeout,
    OmniGraphError,
    SchemaApplyInProgress,
    SyncFailed,
    sentence_of,
)
from omnigraph.model.identifiers import MAIN, TableKey, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.storage import (
    SCHEMA_SOURCE,
    GraphStorage,
    InjectedFault,
    Point,
    accept,
    accept_now,
    archive,
    contract_of,
    make_table,
    reach,
    read_files,
    staged_name,
)
from omnigraph.storage.leases import WAIT_MAX_S, HeldLeases
from omnigraph.storage.manifest import (
    Change,
    CommitIdentity,
    GraphCommit,
    PublishPlan,
    TablePin,
    TableRegistration,
    TableTombstone,
    VersionIs,
    publish,
)
from omnigraph.storage.tables import table_schema
from omnigraph.write.commit import (
    Intended,
    WriteBase,
    pending_on,
    require_head_at_pin,
    resolve_own,
    sidecar_pin,
    write_base,
)
from omnigraph.write.evolution.effects import StagedTables, Writing, check_rows, staged_tables
from omnigraph.write.evolution.lock import locked, refuse_foreign, refuse_living
from omnigraph.write.evolution.plan import Consent, SchemaPlan, plan_change
from omnigraph.write.evolution.receipt import SchemaReceipt
from omnigraph.write.evolution.refusals import SchemaBlockedByBranches, SchemaBlockedByTags, SchemaChangeUnsupported
from omnigraph.write.evolution.row_tasks import RunTasks, run_here
from omnigraph.write.recovery import (
    Collected,
    Sidecar,
    SidecarRegistration,
    SidecarTombstone,
    collected_members,
    finish_schema_apply,
    recover_graph,
    resolve,
    write_sidecar,
)

POLL_S = 0.1
"""How often who waits looks again."""
_log = logging.getLogger("omnigraph.write")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """A schema change as a caller asks for it."""

    desired: CompiledSchema
    consent: Consent = Consent()
    actor_id: str | None = None
    message: str | None = None
    wait_s: float = 0.0
    """How long to wait for another change to finish, and for branches in the way to be merged or deleted."""
    progress: ProgressListener | None = None
    run: RunTasks = run_here
    """Where rows are written."""
    past: Mapping[TableKey, TablePin] = field(default_factory=dict)
    """The tables of an earlier commit that what comes back takes its rows or values from."""
    restored: str | None = None
    """The property that comes back, `node:T.p`, if it is one."""


def apply_schema(storage: GraphStorage, change: SchemaChange) -> SchemaReceipt:
    """Carries out a schema change, or raises and changes nothing."""
    storage.require_writable()
    deadline = time.monotonic() + change.wait_s
    while True:
        try:
            refuse_living(storage)
            recover_graph(storage)
            _refuse_early(storage, change)
            wait_s = max(WAIT_MAX_S, deadline - time.monotonic())
            with storage.leases.hold(MAIN, graph=True, wait_s=wait_s) as lease:
                return _Apply(storage, change, lease).run()
        except (SchemaApplyInProgress, SchemaBlockedByBranches, LeaseTimeout):
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_S)


def _refuse_early(storage: GraphStorage, change: SchemaChange) -> None:
    """What cannot be done now is refused before anybody has to wait for it; it is looked at again under the lock."""
    base = write_base(storage, MAIN, lambda: accept_now(storage.objects, read_files(storage.objects)))
    refuse_plan(plan_change(storage, base.pins(), base.schema, change.desired, change.consent, change.restored))


def refuse_plan(plan: SchemaPlan) -> None:
    """Raises for a plan that cannot be carried out as the graph is."""
    if not plan.supported:
        raise SchemaChangeUnsupported(plan.unsupported)
    if plan.blocking_branches:
        raise SchemaBlockedByBranches(plan.blocking_branches)
    if plan.pinning_tags:
        raise SchemaBlockedByTags(plan.pinning_tags)


class _Apply:
    """One attempt, by who holds the graph and main."""

    def __init__(self, storage: GraphStorage, change: SchemaChange, lease: HeldLeases) -> None:
        self._storage = storage
        self._change = change
        self._lease = lease
        self._operation_id = new_ulid()

    def run(self) -> SchemaReceipt:
        storage = self._storage
        for sidecar in pending_on(storage, MAIN):
            if sidecar.is_schema_apply or sidecar.branch_name == MAIN:
                resolve(storage, sidecar, self._lease.check)
        refuse_foreign(storage)
        loaded = storage.manifest.load(MAIN)
        base = WriteBase(MAIN, loaded, accept(read_files(storage.objects)))
        with locked(storage, loaded, self._operation_id, self._lease):
            plan = self._planned(base)
            if not plan.steps and self._change.desired.ir_hash == base.schema.ir_hash:
                return self._text_alone(base, plan)
            return self._carry_out(base, plan)

    def _planned(self, base: WriteBase) -> SchemaPlan:
        change = self._change
        plan = plan_change(
            self._storage, base.pins(), base.schema, change.desired, change.consent, restored=change.restored
        )
        refuse_plan(plan)
        return plan

    def _text_alone(self, base: WriteBase, plan: SchemaPlan) -> SchemaReceipt:
        """Comments and spelling: one file, which is replaced as a whole."""
        source = self._change.desired.source
        differs = source != base.schema.source
        if differs:
            self._lease.check()
            self._storage.objects.write(SCHEMA_SOURCE, source.encode())
        return SchemaReceipt(plan, None, base.loaded.version, differs)

    def _carry_out(self, base: WriteBase, plan: SchemaPlan) -> SchemaReceipt:
        storage, change = self._storage, self._change
        check_rows(storage, plan, base.pins(), change.progress, change.past)
        writing = Writing(run=change.run, listener=change.progress, check=self._lease.check, past=change.past)
        with staged_tables(storage, plan.evolutions, base.loaded.state, writing) as staged:
            reach(Point.SCHEMA_STAGED)
            for effect in staged.effects:
                require_head_at_pin(storage, base, effect.pin, self._lease)
            commit = self._phases(base, staged, self._intent(base, plan, staged))
        version = storage.manifest.load(MAIN).version
        return SchemaReceipt(plan, commit, version, change.desired.source != base.schema.source)

    # --- phases A to D ------------------------------------------------------------------------------------

    def _intent(self, base: WriteBase, plan: SchemaPlan, staged: StagedTables) -> Sidecar:
        py: dict[str, Json] = {
            "kind": "schema_apply",
            "schema_ir_hash": self._change.desired.ir_hash,
            "schema_before": base.schema.ir_hash,
            "message": self._change.message,
        }
        identity = CommitIdentity(
            actor_id=self._change.actor_id, py={name: value for name, value in py.items() if value is not None}
        )
        collected = list(self._collected(base, plan))
        return Sidecar(
            operation_id=self._operation_id,
            started_at=time.time_ns() // 1000,
            branch=None,
            actor_id=self._change.actor_id,
            writer_kind="SchemaApply",
            tables=tuple(sidecar_pin(self._storage, effect) for effect in staged.effects),
            registrations=tuple(
                SidecarRegistration(table_key=str(each.key), table_path=each.key.location) for each in staged.made
            ),
            tombstones=tuple(
                SidecarTombstone(table_key=str(key), tombstone_version=version)
                for key, version in staged.hidden.items()
            ),
            identity=identity,
            head=base.head,
            extra=collected_members(collected),
        )

    def _collected(self, base: WriteBase, plan: SchemaPlan) -> Iterator[Collected]:
        """The tables whose past goes: those of what is dropped for good, also under names that the type had before."""
        pins, hidden = base.pins(), base.loaded.state.tombstones
        for each in plan.evolutions:
            if not each.is_hard or each.was is None:
                continue
            pin = pins[each.was]
            yield Collected(pin.location, pin.version, each.effect != "rewrite")
            for earlier in earlier_names(self._storage, base.schema, each.was):
                if str(earlier) in hidden:
                    yield Collected(earlier.location, hidden[str(earlier)], earlier not in pins)

    def _phases(self, base: WriteBase, staged: StagedTables, sidecar: Sidecar) -> GraphCommit:
        storage = self._storage
        assert sidecar.identity is not None, "our own intents name their commit"
        expected = tuple(VersionIs(pin.table_key, pin.expected_version) for pin in sidecar.tables)
        plan = PublishPlan(branch=MAIN, requirements=(base.head, *expected), identity=sidecar.identity)
        write_sidecar(storage.objects, sidecar)  # phase A
        try:
            reach(Point.SCHEMA_ARMED)
            changes = tuple(self._table_changes(staged, plan.identity.commit_id))  # phase B
            self._stage_schema(base)
            published = publish(storage.manifest, replace(plan, changes=changes), self._lease.check)  # phase C
            reach(Point.SCHEMA_PUBLISHED)
        except (OmniGraphError, InjectedFault) as error:
            return resolve_own(storage, base, Intended(sidecar, plan, tuple(staged.effects)), self._lease, error)
        try:
            finish_schema_apply(storage, sidecar, self._lease.check)  # phase D
        except SyncFailed as error:
            raise CommitNotDurable(plan.identity.commit_id, sentence_of(error)) from error
        except (OmniGraphError, InjectedFault) as error:
            _log.warning("the schema change is done; what is left to tidy up waits for the next writer: %s", error)
        return published.commit

    def _table_changes(self, staged: StagedTables, commit_id: str) -> Iterator[Change]:
        storage, fence = self._storage, self._lease.check
        for each in staged.made:
            fence()
            schema = table_schema(each.entity)
            version = make_table(
                storage, each.key, schema, above=each.above, commit_id=commit_id, rows=each.rows, area=staged.area
            )
            yield TableRegistration(table_key=str(each.key), location=each.key.location)
            yield version
            reach(Point.SCHEMA_TABLE_MADE)
        for effect in staged.effects:
            fence()
            yield storage.table_commits.commit(effect, commit_id)
            reach(Point.SCHEMA_TABLE_COMMITTED)
        for key, number in staged.hidden.items():
            yield TableTombstone(table_key=str(key), table_version=number)

    def _stage_schema(self, base: WriteBase) -> None:
        """First the copies by hash, which readers take from the publish on; then the three files, beside the old."""
        objects = self._storage.objects
        reach(Point.SCHEMA_BEFORE_FILES)
        archive(objects, base.schema)
        archive(objects, self._change.desired)
        for name, data in contract_of(self._change.desired).items():
            self._lease.check()
            objects.write(staged_name(name), data)
            reach(Point.SCHEMA_FILE_STAGED)
        reach(Point.SCHEMA_FILES_STAGED)
