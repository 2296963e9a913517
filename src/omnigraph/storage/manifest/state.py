"""Manifest state: what one version of `__manifest` says, folded from its rows. Pure: no I/O, no Lance.

Rows are never deleted and a rewritten row keeps its `object_id`, so folding newer rows over an older state gives the
newer state. Reads, publishes, time travel and tests all use this one fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from omnigraph.model.errors import Corrupt
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.manifest.append_only_map import GrownMap
from omnigraph.storage.manifest.rows import (
    GraphCommit,
    GraphHead,
    ManifestRow,
    TableRegistration,
    TableTombstone,
    TableVersion,
)

BranchIdentifier = tuple[tuple[int, str], ...]
"""What Lance gives a branch when it is made, with those of the branches above it; main's is empty."""


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A branch as it was made once. Deleting it and making it again under its name gives another one."""

    branch: str
    identifier: BranchIdentifier


@dataclass(frozen=True, slots=True, order=True)
class TablePin:
    """A table of a snapshot: the version that the snapshot names, and where it lies."""

    table_key: TableKey
    location: str
    version: int
    lineage: str | None
    row_count: int
    incarnation: Incarnation | None = field(default=None, compare=False)
    """The branch that was read, if the table lies on a lineage: the name of a lineage alone comes again."""

    @property
    def path(self) -> str:
        """The dataset of this lineage, relative to the root."""
        return layout.branch_tree(self.location, self.lineage)


@dataclass(frozen=True, slots=True)
class ManifestState:
    """One version of one branch of `__manifest`, as lookups."""

    locations: Mapping[str, str] = field(default_factory=dict)
    newest: Mapping[str, TableVersion] = field(default_factory=dict)
    published: GrownMap[str, TableVersion] = field(default_factory=GrownMap)
    tombstones: Mapping[str, int] = field(default_factory=dict)
    commits: GrownMap[str, GraphCommit] = field(default_factory=GrownMap)
    heads: Mapping[str, GraphHead] = field(default_factory=dict)
    head: GraphCommit | None = None
    """The effective head: the greatest commit. A fresh branch has its parent's commits and no head row yet."""
    incarnation: Incarnation | None = field(default=None, compare=False)
    """The branch that this was read from; None for main, which is made once with the graph."""
    _pins: list[tuple[TablePin, ...]] = field(default_factory=list, compare=False, repr=False)
    """What `pins` found, once it was asked: a commit asks several times, and a graph may have many types."""

    def fold(self, rows: Iterable[ManifestRow]) -> ManifestState:
        """This state with newer rows on top."""
        locations, newest, tombstones = dict(self.locations), dict(self.newest), dict(self.tombstones)
        heads, head = dict(self.heads), self.head
        published: dict[str, TableVersion] = {}
        commits: dict[str, GraphCommit] = {}
        for row in rows:
            match row:
                case TableRegistration(table_key=key):
                    locations[key] = row.location
                case TableVersion(table_key=key):
                    published[row.object_id] = row
                    if key not in newest or row.table_version >= newest[key].table_version:
                        newest[key] = row
                case TableTombstone(table_key=key):
                    tombstones[key] = max(tombstones.get(key, 0), row.table_version)
                case GraphCommit():
                    commits[row.commit_id] = row
                    head = row if head is None or row.order > head.order else head
                case GraphHead():
                    heads[row.branch] = row
        return ManifestState(
            locations,
            newest,
            self.published.grown(published.items()),
            tombstones,
            self.commits.grown(commits.items()),
            heads,
            head,
            self.incarnation,
        )

    def of(self, incarnation: Incarnation | None) -> ManifestState:
        """The same rows, read from this branch."""
        return self if self.incarnation == incarnation else replace(self, incarnation=incarnation, _pins=[])

    @property
    def genesis(self) -> str | None:
        """The id of the graph's first commit: what one graph has and no other."""
        first = min(self.commits.values(), key=lambda commit: commit.order, default=None)
        return None if first is None else first.commit_id

    def pins(self) -> tuple[TablePin, ...]:
        """The visible tables in order of their keys: for each the newest version that no tombstone hides."""
        if not self._pins:
            self._pins.append(self._visible())
        return self._pins[0]

    def _visible(self) -> tuple[TablePin, ...]:
        visible = []
        for key, row in self.newest.items():
            if key not in self.locations:
                raise Corrupt(layout.MANIFEST, f"there is a version but no table row for {key}")
            if self.tombstones.get(key, -1) < row.table_version:
                pin = TablePin(
                    TableKey.parse(key),
                    self.locations[key],
                    row.table_version,
                    row.table_branch,
                    row.row_count,
                    None if row.table_branch is None else self.incarnation,
                )
                visible.append((key, pin))
        return tuple(pin for _, pin in sorted(visible))

    def latest_version(self, key: str) -> int:
        """What a publisher compares its expectation with: visible version, else greatest tombstone, else 0."""
        tombstone = self.tombstones.get(key, 0)
        row = self.newest.get(key)
        return row.table_version if row is not None and row.table_version > tombstone else tombstone

    def history(self) -> list[GraphCommit]:
        """Every commit that this branch can see, newest first."""
        return sorted(self.commits.values(), key=lambda commit: commit.order, reverse=True)


def fold_rows(rows: Iterable[ManifestRow]) -> ManifestState:
    return ManifestState().fold(rows)
