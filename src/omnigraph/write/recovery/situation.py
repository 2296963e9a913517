"""The situation of an interrupted write: everything that recovery looks at before it decides. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.model.errors import BranchNotFound, RecoveryRequired
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, LineageVersion, RecoveryKind, TableOutcome, lineage_head, lineage_versions
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestState, TablePin, head_of
from omnigraph.write.recovery import schema_apply as recovery_schema
from omnigraph.write.recovery.rules import Observed, PinState, Verdicts, classify
from omnigraph.write.recovery.sidecars import Sidecar, SidecarPin


@dataclass(frozen=True, slots=True)
class RecoveryMark:
    """What a recovery commit says about itself, so that a later pass finishes what this one began."""

    kind: RecoveryKind
    outcomes: tuple[TableOutcome, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    """An interrupted write whose branch exists."""

    sidecar: Sidecar
    loaded: LoadedManifest
    seen: tuple[Observed, ...]
    states: tuple[PinState, ...]
    verdicts: Verdicts

    @property
    def state(self) -> ManifestState:
        return self.loaded.state


def is_orphan(storage: GraphStorage, sidecar: Sidecar) -> bool:
    """True when the branch that the write was for is gone, also when a new one has taken its name."""
    if sidecar.branch_name == MAIN:
        return False
    try:
        identifier = storage.manifest.identifier(sidecar.branch_name)
    except BranchNotFound:
        return True
    return sidecar.head is not None and sidecar.head.identifier != identifier


def look(storage: GraphStorage, sidecar: Sidecar) -> Situation:
    """The situation right now, from a fresh look at the branch and at every table's newest version."""
    loaded = storage.manifest.load(sidecar.branch_name)
    pins = {str(pin.table_key): pin for pin in loaded.state.pins()}
    seen = tuple(_observe(storage, sidecar, pin, pins.get(pin.table_key), loaded.state) for pin in sidecar.tables)
    states = tuple(classify(one, sidecar.writer_kind, sidecar.schema_version) for one in seen)
    return Situation(sidecar, loaded, seen, states, _verdicts(storage, sidecar, loaded, seen))


def lineages_of(storage: GraphStorage, sidecar: Sidecar) -> list[tuple[str, str | None]]:
    """Where the tables lie that the write is about: their locations and lineages."""
    state = storage.manifest.load(sidecar.branch_name).state
    return [(_location(storage, sidecar, pin, state), pin.table_branch) for pin in sidecar.tables]


def _observe(
    storage: GraphStorage, sidecar: Sidecar, pin: SidecarPin, shown: TablePin | None, state: ManifestState
) -> Observed:
    location = _location(storage, sidecar, pin, state)
    manifest = shown.version if shown is not None else 0
    head = lineage_head(storage, location, pin.table_branch)
    if head is None and shown is not None and shown.lineage == pin.table_branch:
        raise RecoveryRequired(sidecar.operation_id, f"table '{pin.table_key}' has no files at '{location}'")
    if head is None:  # the fork was removed by an earlier pass: it had no effect
        return Observed(pin, location, manifest, manifest)
    above = lineage_versions(storage, location, pin.table_branch, manifest + 1, head) if head > manifest else ()
    return Observed(pin, location, head, manifest, above, abandoned_among(above, state))


def abandoned_among(versions: Iterable[LineageVersion], state: ManifestState) -> frozenset[int]:
    """The versions that were made for a graph commit that the branch does not have."""
    return frozenset(
        each.version for each in versions if each.commit_id is not None and each.commit_id not in state.commits
    )


def _location(storage: GraphStorage, sidecar: Sidecar, pin: SidecarPin, state: ManifestState) -> str:
    """Where the table lies in this graph. The file's absolute address may be that of the place it was copied from."""
    location = state.locations.get(pin.table_key)
    if location is None:
        location = pin.table_path.removeprefix(f"{storage.root.uri}/")
    if not pin.table_path.endswith(f"/{location}"):
        reason = f"it names '{pin.table_path}' for table '{pin.table_key}', which lies at '{location}'"
        raise RecoveryRequired(sidecar.operation_id, reason)
    return location


def _verdicts(storage: GraphStorage, sidecar: Sidecar, loaded: LoadedManifest, seen: tuple[Observed, ...]) -> Verdicts:
    visible = sidecar.identity is not None and sidecar.identity.commit_id in loaded.state.commits
    ready = True
    if sidecar.is_schema_apply:
        visible = visible or recovery_schema.is_published(sidecar, loaded.state, seen)
        ready = visible or recovery_schema.is_ready(storage, sidecar, loaded.state, seen)
    return Verdicts(
        visible=visible,
        names_commit=sidecar.identity is not None,
        head_holds=_head_holds(sidecar, loaded),
        schema_ready=ready,
    )


def _head_holds(sidecar: Sidecar, loaded: LoadedManifest) -> bool:
    if sidecar.head is not None:
        return head_of(loaded) == sidecar.head
    if sidecar.writer_kind == "BranchMerge":  # a merge was made for one head; a later one has not been merged
        return loaded.state.head is None or loaded.state.head.created_at <= sidecar.started_at
    return True


# --- what an earlier pass left ----------------------------------------------------------------------------


def mark_members(operation_id: str, mark: RecoveryMark) -> dict[str, Any]:
    """A mark as it is kept in a commit's `py`."""
    tables = [
        {"table_key": one.table_key, "from_version": one.from_version, "to_version": one.to_version}
        for one in mark.outcomes
    ]
    return {"operation_id": operation_id, "kind": mark.kind, "tables": tables}


def earlier_pass(state: ManifestState, operation_id: str) -> tuple[GraphCommit, RecoveryMark] | None:
    """The commit of a recovery of this operation that died before it was done, and what that pass did."""
    for commit in state.commits.values():
        members = commit.py.get("recovery")
        if isinstance(members, Mapping) and members.get("operation_id") == operation_id:
            return commit, _mark_of(members)
    return None


def _mark_of(members: Mapping[str, Any]) -> RecoveryMark:
    outcomes = tuple(
        TableOutcome(str(one["table_key"]), int(one["from_version"]), int(one["to_version"]))
        for one in members["tables"]
    )
    return RecoveryMark(members["kind"], outcomes)


def publishing_commit(storage: GraphStorage, situation: Situation) -> GraphCommit | None:
    """The commit that made the work visible: the minted one, or the first that shows every table past its pin."""
    sidecar, state = situation.sidecar, situation.state
    if sidecar.identity is not None and sidecar.identity.commit_id in state.commits:
        return state.commits[sidecar.identity.commit_id]
    found = state.head
    while found is not None:
        parent = state.commits.get(found.parent_id or "")
        if parent is None or (parent.branch or MAIN) != sidecar.branch_name:
            return found
        before = storage.manifest.load_at(sidecar.branch_name, parent.version).state
        if not all(before.latest_version(pin.table_key) > pin.expected_version for pin in sidecar.tables):
            return found
        found = parent
    return found
