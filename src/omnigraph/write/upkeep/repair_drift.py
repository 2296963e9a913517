"""Repair: tables that another program moved on without telling the graph are shown, and published as they are.

Every table's newest version is the one that the graph shows, or an interrupted write explains it. What is left is
*drift*: another program compacted a table, or wrote to it. Compaction changes no row and is safe to publish; anything
else is published only by force, for nobody has checked it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from omnigraph.model.errors import BadRequest, Corrupt, Internal, RecoveryRequired, SchemaApplyInProgress
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import (
    MANIFEST,
    AcceptedSchema,
    GraphStorage,
    lineage_head,
    lineage_versions,
    settle_versions,
    version_row,
)
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import (
    CommitIdentity,
    GraphCommit,
    LoadedManifest,
    PublishPlan,
    TablePin,
    VersionIs,
    head_of,
    publish,
)
from omnigraph.write.commit import owns, pending_on, window
from omnigraph.write.recovery import is_late

Classification = Literal["no_drift", "verified_maintenance", "suspicious", "unverifiable"]
RepairAction = Literal["no_op", "preview", "healed", "forced", "refused"]
REPAIR_ACTOR, FORCE_ACTOR = "omnigraph:repair", "omnigraph:repair:force"
UNKNOWN = "unreadable"
"""In place of an operation that nobody can tell."""
_MAINTENANCE = frozenset({"Rewrite", "ReserveFragments"})
_PUBLISHED: frozenset[RepairAction] = frozenset({"healed", "forced"})


@dataclass(frozen=True, slots=True)
class RepairedTable:
    """One table, and what was done about it."""

    type: str
    """`node:Person`"""
    published_version: int
    """What the graph shows."""
    head_version: int
    """What the table has."""
    classification: Classification
    action: RepairAction
    operations: tuple[str, ...] = ()
    """What made the versions in between, oldest first, in the words of Lance."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What `repair` found, and did.

    >>> report = graph.repair()
    >>> report.commit, {table.action for table in report.tables}
    (None, {'no_op'})
    """

    confirm: bool
    force: bool
    commit: GraphCommit | None
    tables: tuple[RepairedTable, ...]

    @property
    def refused(self) -> tuple[RepairedTable, ...]:
        """The tables that were left as they are although they have moved.

        >>> graph.repair(confirm=True).refused
        ()
        """
        return tuple(table for table in self.tables if table.action == "refused")


def classify(operations: Sequence[str]) -> Classification:
    """What the versions above the published one are."""
    if not operations:
        return "no_drift"
    if UNKNOWN in operations:
        return "unverifiable"
    return "verified_maintenance" if _MAINTENANCE.issuperset(operations) else "suspicious"


def action_for(classification: Classification, *, confirm: bool, force: bool) -> RepairAction:
    if classification == "no_drift":
        return "no_op"
    if not confirm:
        return "preview"
    if classification == "verified_maintenance":
        return "healed"
    return "forced" if force else "refused"


def repair(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str = MAIN,
    *,
    confirm: bool = False,
    force: bool = False,
) -> RepairReport:
    """Shows drift; with `confirm` publishes what is only compaction, with `force` as well everything else."""
    if force and not confirm:
        raise BadRequest("force needs confirm", "look at the preview first, then pass confirm=True (--confirm) too")
    if not confirm:
        loaded = storage.manifest.load(branch)
        return RepairReport(confirm, force, None, _looked_at(storage, loaded, confirm, force))
    storage.require_writable()
    with window(storage, branch) as lease:
        _refuse_unfinished(storage, branch)
        loaded = storage.manifest.load(branch)
        tables = _looked_at(storage, loaded, confirm, force)
        moving = {table.type: table for table in tables if table.action in _PUBLISHED}
        commit = _publish(storage, loaded, schema(), moving.values(), lease) if moving else None
    return RepairReport(confirm, force, commit, tables)


def _refuse_unfinished(storage: GraphStorage, branch: str) -> None:
    pending = pending_on(storage, branch)
    if pending:
        raise RecoveryRequired(pending[0].operation_id, "a repair would publish what it left half done")
    if storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK):
        raise SchemaApplyInProgress("repair is unavailable while schema apply is in progress")


def _looked_at(storage: GraphStorage, loaded: LoadedManifest, confirm: bool, force: bool) -> tuple[RepairedTable, ...]:
    own = (pin for pin in loaded.state.pins() if owns(pin, loaded.branch))
    return tuple(_look(storage, loaded, pin, confirm, force) for pin in own)


def _look(storage: GraphStorage, loaded: LoadedManifest, pin: TablePin, confirm: bool, force: bool) -> RepairedTable:
    head = lineage_head(storage, pin.location, pin.lineage) or 0
    if head < pin.version:
        raise Corrupt(storage.root.join(pin.path), f"its newest version is {head}, and the graph shows {pin.version}")
    moved = head > pin.version and not is_late(storage, loaded, pin)
    operations, error = _operations(storage, pin, head) if moved else ((), None)
    found = classify(operations)
    action = action_for(found, confirm=confirm, force=force)
    return RepairedTable(str(pin.table_key), pin.version, head, found, action, operations, error)


def _operations(storage: GraphStorage, pin: TablePin, head: int) -> tuple[tuple[str, ...], str | None]:
    """What made the versions above the pin. What is damaged cannot tell; a store that does not answer is no damage."""
    try:
        above = lineage_versions(storage, pin.location, pin.lineage, pin.version + 1, head)
    except Internal as error:
        return (UNKNOWN,), error.sentence()
    return tuple(each.operation if each.is_readable else UNKNOWN for each in above), None


def _publish(
    storage: GraphStorage,
    loaded: LoadedManifest,
    schema: AcceptedSchema,
    tables: Collection[RepairedTable],
    lease: HeldLeases,
) -> GraphCommit:
    """One publish of the versions that are there."""
    pins = {str(pin.table_key): pin for pin in loaded.state.pins()}
    rows = []
    for table in tables:
        pin = pins[table.type]
        settle_versions(storage, pin.location, pin.lineage, pin.version, table.head_version)
        rows.append(version_row(storage, table.type, pin.location, pin.lineage, table.head_version))
    forced = any(table.action == "forced" for table in tables)
    identity = CommitIdentity(
        actor_id=FORCE_ACTOR if forced else REPAIR_ACTOR,
        py={"kind": "repair", "schema_ir_hash": schema.ir_hash},
    )
    plan = PublishPlan(
        branch=loaded.branch,
        requirements=(head_of(loaded), *(VersionIs(table.type, table.published_version) for table in tables)),
        identity=identity,
        changes=tuple(rows),
    )
    return publish(storage.manifest, plan, lease.check).commit
