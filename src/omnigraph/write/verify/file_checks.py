"""Checks of the files: the schema contract, `__manifest`, the chain of commits, pins, drift, leftovers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from omnigraph.language.schema import Catalog
from omnigraph.model.errors import HistoricalVersionReclaimed
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, GraphStorage, fork_pin, layout, manifest_faults, table_faults
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestState, TablePin
from omnigraph.write.recovery import SidecarUnreadable, is_late, read_sidecar
from omnigraph.write.verify.report import Finding

TableLineage = tuple[str, str | None]
"""A table key and a lineage of its table."""


# --- the manifest ---------------------------------------------------------------------------------------------


def check_manifest(loaded: LoadedManifest) -> Iterator[Finding]:
    where = f"branch {loaded.branch}"
    for fault in manifest_faults(loaded):
        yield Finding("error", "manifest_format", where, f"__manifest: {fault}")
    yield from check_chain(loaded.state, loaded.branch)


def check_chain(state: ManifestState, branch: str) -> Iterator[Finding]:
    """One chain by first parents, from the head through every commit; versions grow; the head row names the head."""
    where = f"branch {branch}"
    walked: list[GraphCommit] = []
    current = state.head
    while current is not None and len(walked) <= len(state.commits):
        walked.append(current)
        parent = current.parent_id
        if parent is not None and parent not in state.commits:
            yield Finding(
                "error", "commit_parent_missing", where, f"{current.commit_id} has the unknown parent {parent}"
            )
        current = state.commits.get(parent) if parent is not None else None
    if len(walked) != len(state.commits):
        yield Finding(
            "error", "commit_chain", where, f"{len(state.commits)} commits, {len(walked)} on the chain of the head"
        )
    versions = [commit.version for commit in walked]
    if versions != sorted(set(versions), reverse=True):
        yield Finding("error", "commit_versions", where, "the versions of the commits do not grow along the chain")
    own = next((commit for commit in walked if (commit.branch or MAIN) == branch), None)
    head_row = state.heads.get(branch)
    named = head_row.head_commit_id if head_row is not None else None
    if own is not None and named != own.commit_id:
        yield Finding("error", "head_row", where, f"graph_head names {named or 'nothing'}, the head is {own.commit_id}")


# --- tables ---------------------------------------------------------------------------------------------------


def check_declared(loaded: LoadedManifest, catalog: Catalog) -> Iterator[Finding]:
    """Every declared type has a visible table, and every visible table a declared type."""
    where = f"branch {loaded.branch}"
    declared = {str(entity.table_key) for entity in catalog.entities}
    live = {str(pin.table_key) for pin in loaded.state.pins()}
    for key in sorted(declared - live):
        yield Finding("error", "type_without_table", where, f"{key} is declared and has no table")
    for key in sorted(live - declared):
        yield Finding("error", "table_without_type", where, f"{key} has a table and is not declared")


def check_pin(storage: GraphStorage, pin: TablePin, catalog: Catalog | None) -> Iterator[Finding]:
    """A pin opens, has the rows that it says, and the columns that the schema says."""
    where = describe(pin)
    if pin.lineage is not None and not storage.lineages.exists(pin.location, pin.lineage):
        yield Finding(
            "error", "lineage_missing", where, f"lineage '{pin.lineage}' has no ref; clean-up would remove it"
        )
    table = storage.tables.open(pin)
    if table.count() != pin.row_count:
        yield Finding("error", "row_count", where, f"{table.count()} rows, published were {pin.row_count}")
    entity = catalog.table(pin.table_key) if catalog is not None else None
    if entity is not None:
        for fault in table_faults(table, entity):
            yield Finding("error", "table_format", where, fault)


def check_drift(storage: GraphStorage, loaded: LoadedManifest, covered: Collection[TableLineage]) -> Iterator[Finding]:
    """The newest version of a lineage is the published one, or a sidecar says why not. Only its own branch owns it."""
    own = None if loaded.branch == MAIN else loaded.branch
    for pin in loaded.state.pins():
        if pin.lineage != own:
            continue
        head = storage.tables.head_version(pin)
        if head == pin.version:
            continue
        moved = f"its newest version is {head}, published is {pin.version}"
        if (str(pin.table_key), pin.lineage) in covered:
            yield Finding("info", "covered_drift", describe(pin), f"{moved}; a pending recovery covers it")
        elif is_late(storage, loaded, pin):
            yield Finding("info", "late_version", describe(pin), f"{moved}; the next write to it undoes that")
        else:
            yield Finding("error", "uncovered_drift", describe(pin), f"{moved}, and no recovery sidecar covers it")


def check_history(storage: GraphStorage, loaded: LoadedManifest) -> Iterator[Finding]:
    """Published versions that time travel can no longer reach; clean-up does that on purpose. One list per lineage."""
    published: dict[str, dict[str, set[str]]] = {}
    for row in loaded.state.published.values():
        tree = layout.branch_tree(loaded.state.locations[row.table_key], row.table_branch)
        folder, _, name = layout.manifest_file(tree, row.table_version).rpartition("/")
        published.setdefault(row.table_key, {}).setdefault(folder, set()).add(name)
    for key, folders in sorted(published.items()):
        gone = sum(len(names - set(storage.objects.list_names(folder))) for folder, names in folders.items())
        if gone:
            total = sum(len(names) for names in folders.values())
            where = f"branch {loaded.branch}, {key}"
            yield Finding("info", "history_reclaimed", where, f"{gone} of {total} published versions are gone")


def describe(pin: TablePin) -> str:
    lineage = f" of lineage {pin.lineage}" if pin.lineage is not None else ""
    return f"{pin.table_key}, version {pin.version}{lineage}"


# --- forks that no snapshot names -----------------------------------------------------------------------------


def unnamed_forks(storage: GraphStorage, loaded: Mapping[str, LoadedManifest]) -> list[tuple[TablePin, bool]]:
    """Lineages that no live snapshot reads, at their newest version; True when a live branch will write to it."""
    named = {(pin.location, pin.lineage) for one in loaded.values() for pin in one.state.pins()}
    tables = {pin.location: pin.table_key for one in loaded.values() for pin in one.state.pins()}
    found = []
    for location, key in sorted(tables.items()):
        for lineage in storage.lineages.names(location):
            if (location, lineage) not in named and not storage.lineages.is_husk(location, lineage):
                cut = fork_pin(storage.objects, key, location, lineage)
                head = storage.tables.head_version(cut)
                rows = storage.tables.open(TablePin(key, location, head, lineage, 0)).count()
                found.append((TablePin(key, location, head, lineage, rows), lineage in loaded))
    return found


def check_unmade_forks(storage: GraphStorage, loaded: Mapping[str, LoadedManifest]) -> Iterator[Finding]:
    """Lineages that a power cut left while they were made: nobody was told of them, and nobody reads them."""
    named = {(pin.location, pin.lineage) for one in loaded.values() for pin in one.state.pins()}
    tables = {pin.location: pin.table_key for one in loaded.values() for pin in one.state.pins()}
    for location, key in sorted(tables.items()):
        for lineage in storage.lineages.names(location):
            if (location, lineage) not in named and storage.lineages.is_husk(location, lineage):
                left = "left by a power cut while it was made; a later write removes it"
                yield Finding("info", "unmade_fork", f"{key}, lineage {lineage}", left)


def fork_finding(pin: TablePin, *, reused: bool) -> Finding:
    if reused:
        return Finding(
            "info",
            "unused_fork",
            describe(pin),
            f"branch {pin.lineage} does not read this fork; its next write of the type will use it",
        )
    return Finding("warning", "orphan_fork", describe(pin), "no branch reads this fork; it only takes up space")


# --- sidecars and leftovers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PendingRecoveries:
    """The sidecars of a graph: what they say, and the lineages whose drift they explain."""

    findings: tuple[Finding, ...]
    covered: frozenset[TableLineage]


def pending_recoveries(storage: GraphStorage) -> PendingRecoveries:
    findings: list[Finding] = []
    covered: set[TableLineage] = set()
    for name in storage.objects.list_names(layout.RECOVERY):
        if not name.endswith(".json"):
            continue
        where = f"{layout.RECOVERY}/{name}"
        try:
            sidecar = read_sidecar(storage.objects, name.removesuffix(".json"))
        except SidecarUnreadable as error:
            findings.append(Finding("error", "sidecar_unreadable", where, error.reason))
            continue
        if sidecar is not None:  # else its writer has finished it since it was listed
            covered |= {(pin.table_key, pin.table_branch) for pin in sidecar.tables}
            what = f"an interrupted {sidecar.writer_kind} on branch {sidecar.branch_name}"
            message = f"{what}; the next read-write open resolves it"
            findings.append(Finding("warning", "pending_recovery", where, message))
    return PendingRecoveries(tuple(findings), frozenset(covered))


def check_leftovers(storage: GraphStorage) -> Iterator[Finding]:
    """What an interrupted operation left at the root."""
    objects = storage.objects
    if SCHEMA_APPLY_LOCK in storage.lineages.names(MANIFEST):
        message = "a schema change is running or was interrupted; writes are refused until it is finished"
        yield Finding("warning", "schema_lock", f"branch {SCHEMA_APPLY_LOCK}", message)
    for name in (f"{name}.staging" for name in layout.SCHEMA_FILES):
        if objects.exists(name):
            yield Finding("warning", "schema_staging", name, "a schema change was interrupted")
    if objects.exists(layout.INIT_CLAIM):
        message = "an init was interrupted after the graph was created; the file can be deleted"
        yield Finding("warning", "init_claim", layout.INIT_CLAIM, message)
    if objects.has_any(layout.STAGING):
        yield Finding(
            "warning", "staging_leftover", layout.STAGING, "files of loads that are running or were interrupted"
        )
    for name in objects.list_names(""):
        if name.startswith("__create_if_absent_probe_"):
            yield Finding("warning", "probe_leftover", name, "a probe of the store was interrupted; it can be deleted")


def readable(storage: GraphStorage, pin: TablePin) -> bool:
    """Whether the rows of a pin can be looked at; why not is said by `check_pin`."""
    try:
        storage.tables.open(pin)
    except HistoricalVersionReclaimed:
        return False
    return True
