"""Claims: which table versions the live branches, the tags and later merges need. Reads only.

When a branch stopped showing a version is told by its `__manifest`: the next version of that has a file, and the store
dates files with a clock of its own. So it does not matter how far apart the clocks of writers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from omnigraph.history import commits_that_merges_read, find_commit, resolve, snapshot_at, tag_list
from omnigraph.model.errors import (
    CommitNotFound,
    Conflict,
    Gone,
    Json,
    OmniGraphError,
    SchemaApplyInProgress,
    StorageReadOnly,
    Unreachable,
)
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, GraphStorage, layout
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestState, TablePin
from omnigraph.write.upkeep.retention import Claims

Lineage = tuple[str, str | None]
"""The location of a table, and a lineage of it."""
Names = tuple[tuple[object, ...], ...]


@dataclass(eq=False)
class BranchUnreadable(Conflict):
    """A branch that cannot be read: nobody can say what it needs, so nothing is removed."""

    branch: str
    reason: str

    def sentence(self) -> str:
        return f"nothing was removed: branch '{self.branch}' cannot be read, so what it needs is unknown: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "run `omnigraph verify`; delete the branch if nobody needs it"

    def details(self) -> dict[str, Json]:
        return {"branch": self.branch, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class GraphClaims:
    """What is needed of a whole graph."""

    branches: tuple[LoadedManifest, ...]
    tables: Mapping[str, TableKey]
    """Every table that a live branch has or had, by its location."""
    by_lineage: Mapping[Lineage, Claims]
    names: Names
    """Of the branches and tags that were looked at: while these are the same, so are the claims on old versions."""

    def of(self, location: str, lineage: str | None) -> Claims:
        return self.by_lineage.get((location, lineage), Claims())


def names_now(storage: GraphStorage) -> Names:
    """The branches and tags of this moment, by what never comes again."""
    refs = storage.manifest.branch_refs()
    if any(ref.name == SCHEMA_APPLY_LOCK for ref in refs):
        raise SchemaApplyInProgress("old versions stay while a schema apply is in progress")
    tags = ((tag.name, tag.commit_id) for tag in tag_list(storage))
    return (*((ref.name, ref.identifier) for ref in refs), *tags)


def claims_of(storage: GraphStorage, *, moment: float, since: str | None = None) -> GraphClaims:
    """What has to stay so that every branch can be read as it was at this moment or later, and at `since` or later."""
    names = names_now(storage)  # before anything is read: what is made meanwhile is noticed by comparing
    first = None if since is None else resolve(storage, since).commit
    branches = tuple(_load(storage, branch) for branch in storage.manifest.branches())
    live: dict[Lineage, set[int]] = {}
    held: dict[Lineage, set[int]] = {}
    for loaded in branches:
        for lineage, version in _shown(storage, loaded, moment, first):
            live.setdefault(lineage, set()).add(version)
    for pin in (*_tagged(storage), *_merged(storage, branches)):
        held.setdefault((pin.location, pin.lineage), set()).add(pin.version)
    claims = {
        each: Claims(frozenset(live.get(each, ())), frozenset(held.get(each, ()))) for each in live.keys() | held.keys()
    }
    tables = {where: TableKey.parse(key) for loaded in branches for key, where in loaded.state.locations.items()}
    return GraphClaims(branches, tables, claims, names)


def _load(storage: GraphStorage, branch: str) -> LoadedManifest:
    try:
        loaded = storage.manifest.load(branch)
        loaded.state.pins()
    except (Unreachable, StorageReadOnly):
        raise
    except OmniGraphError as error:
        raise BranchUnreadable(branch, error.sentence()) from error
    return loaded


def _shown(
    storage: GraphStorage, loaded: LoadedManifest, moment: float, since: GraphCommit | None
) -> Iterator[tuple[Lineage, int]]:
    """The table versions that a branch has shown from a moment on, and from a commit on."""
    states = [_state_at(storage, loaded, moment)]
    if since is not None:
        states.append(_state_after(storage, loaded, since))
    for row in loaded.state.published.values():
        if row.table_version >= min(state.latest_version(row.table_key) for state in states):
            yield (loaded.state.locations[row.table_key], row.table_branch), row.table_version


def _state_at(storage: GraphStorage, loaded: LoadedManifest, moment: float) -> ManifestState:
    """What the branch showed at a moment, by the clock of the store."""
    path = layout.branch_tree(MANIFEST, None if loaded.branch == MAIN else loaded.branch)
    versions = [each for each in storage.old_versions.on_disk(path) if each.version <= loaded.version]
    first = next((each.version for each, after in pairwise(versions) if after.written_at > moment), loaded.version)
    return loaded.state if first == loaded.version else storage.manifest.load_at(loaded.branch, first).state


def _state_after(storage: GraphStorage, loaded: LoadedManifest, since: GraphCommit) -> ManifestState:
    """What the branch showed when a commit was made, on whatever branch that was."""
    found = loaded.state.head
    while found is not None and found.order > since.order:
        found = loaded.state.commits.get(found.parent_id or "")
    if found is None:
        return ManifestState()
    snapshot = snapshot_at(storage, found)
    return storage.manifest.load_at(snapshot.branch, snapshot.version).state


def _tagged(storage: GraphStorage) -> Iterator[TablePin]:
    for tag in tag_list(storage):
        try:
            commit = find_commit(storage, tag.commit_id)
        except CommitNotFound:
            continue  # another program deleted its branch: there is nothing left to keep
        yield from _pins_at(storage, [commit])


def _merged(storage: GraphStorage, branches: tuple[LoadedManifest, ...]) -> Iterator[TablePin]:
    yield from _pins_at(storage, commits_that_merges_read(storage, branches))


def _pins_at(storage: GraphStorage, commits: Iterable[GraphCommit]) -> Iterator[TablePin]:
    for commit in commits:
        try:
            yield from snapshot_at(storage, commit).tables
        except Gone:
            continue  # what it showed cannot be told any more, by whom it was removed ever
