"""The base of a merge: the state that both sides last shared, found in the commit graph and never by names or versions.

One best common ancestor is the rule, and its snapshot is the base. Branches that merged each other have several. Then
the base is what merging those would give: the first one, with the entities that another one changed later taken from
there. Where two of them disagree about an entity nobody can say what it was, and only equal sides merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal

import pyarrow as pa

from omnigraph.history import KnownCommits, Snapshot, snapshot_at
from omnigraph.history.diff import TableSide, table_side
from omnigraph.merge.table_merge import OtherBase
from omnigraph.model.errors import Conflict, HistoricalVersionReclaimed
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import LoadedManifest

Outcome = Literal["already_up_to_date", "fast_forward", "merged"]


@dataclass(eq=False)
class NoCommonHistory(Conflict):
    """Two branches without a common ancestor that can still be found."""

    source: str
    target: str

    def sentence(self) -> str:
        return f"'{self.source}' and '{self.target}' have no commit in common"

    @property
    def hint(self) -> str | None:
        return "export the source and load it into the target"


@dataclass(frozen=True, slots=True)
class Override:
    """Entities of one type whose base image is that of another snapshot; None when it cannot be known."""

    ids: pa.Array
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class MergeBase:
    """The state that a merge starts from."""

    commit_ids: tuple[str, ...]
    """The best common ancestors."""
    snapshot: Snapshot
    overrides: Mapping[TableKey, tuple[Override, ...]] = field(default_factory=dict)
    note: str | None = None
    """What could not be found out about the history, for the message of a conflict."""

    def others(self, storage: GraphStorage, key: TableKey) -> tuple[OtherBase, ...]:
        """The overrides of one type, ready to be compared."""
        return tuple(_other_base(storage, key, override) for override in self.overrides.get(key, ()))


def _other_base(storage: GraphStorage, key: TableKey, override: Override) -> OtherBase:
    snapshot = override.snapshot
    if snapshot is None:
        return OtherBase(override.ids, None, is_known=False)
    pin = next((pin for pin in snapshot.tables if pin.table_key == key), None)
    side: TableSide | None = table_side(storage, pin, snapshot)
    return OtherBase(override.ids, side)


ChangedIds = Callable[[Snapshot, Snapshot, MergeBase], Iterator[tuple[TableKey, pa.Array, pa.Array]]]
"""Merging the first into the second: per type the ids that it would change, and those in conflict."""


class BaseFinder:
    """Finds the base of two commits. `changed_ids` is the row merge itself, for bases that must be merged first."""

    def __init__(self, storage: GraphStorage, loaded: list[LoadedManifest], changed_ids: ChangedIds) -> None:
        self._storage = storage
        self._commits = KnownCommits(storage, loaded)
        self._changed_ids = changed_ids
        self._snapshots: dict[str, Snapshot | None] = {}

    def outcome(self, source: str, target: str) -> tuple[Outcome, tuple[str, ...]]:
        """What kind of merge it is, and the best common ancestors."""
        bases = self._commits.graph.merge_bases(source, target)
        if source in bases:
            return "already_up_to_date", bases
        return ("fast_forward" if target in bases else "merged"), bases

    def base(self, bases: tuple[str, ...], source: str, target: str) -> MergeBase | None:
        """The base that these ancestors stand for; None when there is none at all."""
        first = self._of_one(bases[0], source, target) if bases else None
        if first is None:
            return None
        overrides = _Overrides(first)
        for other_id in bases[1:]:
            self._add_changes(overrides, first, bases[0], self._of_one(other_id, source, target), other_id)
        for gone in (each for each in bases if self._snapshot(each) is None):
            self._add_later_changes(overrides, gone, head=target, other=source)
            self._add_later_changes(overrides, gone, head=source, other=target)
        return MergeBase(bases, first.snapshot, overrides.by_type(), self.note())

    def _add_changes(
        self, overrides: _Overrides, first: MergeBase, first_id: str, other: MergeBase | None, other_id: str
    ) -> None:
        """What merging another ancestor into the first one would change."""
        below = self.base(self._commits.graph.merge_bases(other_id, first_id), other_id, first_id)
        if other is None or below is None:
            return
        for key, changed, conflicting in self._changed_ids(other.snapshot, first.snapshot, below):
            overrides.add(key, changed, other.snapshot)
            overrides.add(key, conflicting, None)
        for key, found in other.overrides.items():
            for each in found:
                overrides.add(key, each.ids, each.snapshot)

    def _of_one(self, commit_id: str, source: str, target: str) -> MergeBase | None:
        """The base of one ancestor: its snapshot, or what is left of it when its branch is gone."""
        snapshot = self._snapshot(commit_id)
        if snapshot is not None:
            return MergeBase((commit_id,), snapshot, note=self.note())
        return self._rebuilt(commit_id, source, target)

    def _snapshot(self, commit_id: str) -> Snapshot | None:
        if commit_id not in self._snapshots:
            self._snapshots[commit_id] = self._read_snapshot(commit_id)
        return self._snapshots[commit_id]

    def _read_snapshot(self, commit_id: str) -> Snapshot | None:
        commit = self._commits.commit(commit_id)
        if commit is None:
            return None
        try:
            return snapshot_at(self._storage, commit)
        except HistoricalVersionReclaimed:
            return None

    # --- a base whose rows are gone -----------------------------------------------------------------------

    def _rebuilt(self, commit_id: str, source: str, target: str) -> MergeBase | None:
        """The newest readable commit below it, with what the merges that took it in brought along."""
        below: str | None = commit_id
        snapshot = None
        while below is not None and snapshot is None:
            below = next(iter(self._commits.graph.parents(below)), None)
            snapshot = None if below is None else self._snapshot(below)
        if snapshot is None or below is None:
            return None
        overrides = _Overrides(MergeBase((commit_id,), snapshot))
        brought: Snapshot | None = None
        for merge_id in dict.fromkeys(self._merges_of(commit_id, (source, target))):
            brought = self._add_brought(overrides, merge_id, brought)
        return MergeBase((commit_id,), snapshot, overrides.by_type(), self.note())

    def _merges_of(self, commit_id: str, heads: tuple[str, ...]) -> Iterator[str]:
        """The merge commits by which the heads took a commit in: those that name it as their merged parent."""
        graph, seen, waiting = self._commits.graph, set(heads), list(heads)
        oldest = graph.generation(commit_id)
        while waiting:
            current = waiting.pop()
            parents = graph.parents(current)
            if commit_id in parents[1:]:
                yield current
            for parent in parents:
                if parent not in seen and graph.generation(parent) > oldest:
                    seen.add(parent)
                    waiting.append(parent)

    def _add_brought(self, overrides: _Overrides, merge_id: str, other: Snapshot | None) -> Snapshot | None:
        """What a merge changed on its branch. Two merges that brought the same commit must agree about it."""
        commit = self._commits.commit(merge_id)
        after, before = self._snapshot(merge_id), self._snapshot(self._commits.graph.parents(merge_id)[0])
        if commit is None or after is None or before is None:
            return other
        trusted = after if "on_conflict" not in commit.py else None  # else it is what somebody decided
        if other is not None:
            for key, differing, _ in self._changed_ids(after, other, MergeBase((), other)):
                overrides.doubt(key, differing)
        for key, changed, _ in self._changed_ids(after, before, MergeBase((), before)):
            overrides.add(key, changed, trusted, agreed=True)
        return after

    def _add_later_changes(self, overrides: _Overrides, gone: str, *, head: str, other: str) -> None:
        """What a head changed after it took a commit in, and the other side still has as it was then: its base is that.

        Otherwise an entity that came with the vanished commit by other ways than a merge of it would look new, and what
        one side has removed or changed since would be undone.
        """
        entry = self._entry(head, gone)
        then = None if entry is None else self._snapshot(entry)
        now, beside = self._snapshot(head), self._snapshot(other)
        if then is None or now is None or beside is None:
            return
        start = MergeBase((), then)
        differing = {key: set(ids.to_pylist()) for key, ids, _ in self._changed_ids(beside, then, start)}
        for key, changed, _ in self._changed_ids(now, then, start):
            settled = [each for each in changed.to_pylist() if each not in differing.get(key, ())]
            overrides.settle(key, settled, then)

    def _entry(self, head: str, commit_id: str) -> str | None:
        """The first commit of a line of history that contains another commit."""
        graph, current = self._commits.graph, head
        while True:
            parent = next(iter(graph.parents(current)), None)
            if parent is None or not graph.is_ancestor(commit_id, parent):
                return current if current != commit_id else None
            current = parent

    def note(self) -> str | None:
        """What could not be found out, if it may be the reason of a conflict."""
        if not self._commits.unknown:
            return None
        gone = ", ".join(sorted(self._commits.unknown)[:3])
        return (
            f"Commit {gone} is not known any more, because its branch was deleted by another program. If both sides "
            "merged that branch before, these may be its changes"
        )


class _Overrides:
    """Entities whose base image is elsewhere than in the base snapshot: each in one place, or nowhere."""

    def __init__(self, base: MergeBase) -> None:
        self._places: dict[TableKey, dict[str, Snapshot | None]] = {}
        self._doubted: dict[TableKey, set[str]] = {}
        for key, found in base.overrides.items():
            for each in found:
                self.add(key, each.ids, each.snapshot)

    def add(self, key: TableKey, ids: pa.Array, where: Snapshot | None, *, agreed: bool = False) -> None:
        """Names the place of entities. A second place makes an entity unknown, unless both are known to agree."""
        places, doubted = self._places.setdefault(key, {}), self._doubted.get(key, set())
        for entity_id in ids.to_pylist():
            if entity_id not in places:
                places[entity_id] = where
            elif not agreed or entity_id in doubted or where is None:
                places[entity_id] = None

    def settle(self, key: TableKey, ids: Iterable[str], where: Snapshot) -> None:
        """Names the place of entities for certain."""
        self._places.setdefault(key, {}).update(dict.fromkeys(ids, where))

    def doubt(self, key: TableKey, ids: pa.Array) -> None:
        """Says that two places disagree about these entities."""
        self._doubted.setdefault(key, set()).update(ids.to_pylist())

    def by_type(self) -> dict[TableKey, tuple[Override, ...]]:
        return {key: tuple(_grouped(places)) for key, places in self._places.items() if places}


def _grouped(places: Mapping[str, Snapshot | None]) -> Iterator[Override]:
    groups: dict[int, tuple[Snapshot | None, list[str]]] = {}
    for entity_id, where in places.items():
        groups.setdefault(id(where), (where, []))[1].append(entity_id)
    for where, ids in groups.values():
        yield Override(pa.array(sorted(ids), pa.string()), where)
