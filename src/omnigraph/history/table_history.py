"""The history of one table on one branch: the versions that commits published, and the commit that published each.

The versions are in the manifest, in memory. Which commit made one is written in its transaction; where it is not, as in
versions that another implementation made, it is searched for by halves among the commits of the branch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from omnigraph.history.commits import manifest_at
from omnigraph.model.errors import Corrupt, HistoricalVersionReclaimed
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage, lineage_versions
from omnigraph.storage.manifest import GraphCommit, ManifestState, TablePin, TableVersion

UPKEEP_KINDS = frozenset({"ensure_indices", "optimize"})
"""Commits that change no entity."""
UPKEEP_OPERATIONS = frozenset({"Rewrite", "CreateIndex"})
"""What Lance calls the versions of such commits."""


class TableHistory:
    """The published versions of one table, oldest first, up to what a commit shows. A place is a number in `pins`."""

    def __init__(self, storage: GraphStorage, state: ManifestState, key: TableKey, head: GraphCommit) -> None:
        self._storage = storage
        self._state = state
        self._key = key
        self._head = head
        self._commits: dict[int, GraphCommit] = {}
        self._origins: dict[int, tuple[str, str | None]] = {}
        self._shown: dict[int, int] = {}

    @cached_property
    def pins(self) -> tuple[TablePin, ...]:
        wanted, newest = str(self._key), self._newest()
        rows = [row for row in self._state.published.values() if row.table_key == wanted]
        return tuple(self._pin(row) for row in sorted(rows, key=lambda row: row.table_version) if _fits(row, newest))

    @cached_property
    def versions(self) -> tuple[int, ...]:
        return tuple(pin.version for pin in self.pins)

    def place_of(self, version: int) -> int:
        """The place of the commit that made a version visible: a commit may have made several of a table."""
        return bisect_left(self.versions, version)

    def commit_at(self, place: int) -> GraphCommit:
        """The commit that published the version at this place."""
        found = self._commits.get(place)
        if found is None:
            found = self._commits[place] = self._named(place) or self._searched(place)
        return found

    def changing_commits(self) -> Iterator[GraphCommit]:
        """The commits that may have changed entities, newest first: not upkeep, nor the one that made the table."""
        made_empty = bool(self.pins) and self.pins[0].row_count == 0
        for place in range(len(self.pins) - 1, made_empty - 1, -1):
            commit = self.commit_at(place)
            if commit.py.get("kind") not in UPKEEP_KINDS and self._origin(place)[0] not in UPKEEP_OPERATIONS:
                yield commit

    # --- parts --------------------------------------------------------------------------------------------

    def _newest(self) -> int | None:
        """The version that the head shows; None when nothing came after it."""
        if self._state.head is None or self._state.head.commit_id == self._head.commit_id:
            return None
        return _version_in(manifest_at(self._storage, self._head).state, self._key)

    def _pin(self, row: TableVersion) -> TablePin:
        incarnation = None if row.table_branch is None else self._state.incarnation
        location = self._state.locations[row.table_key]
        return TablePin(self._key, location, row.table_version, row.table_branch, row.row_count, incarnation)

    def _origin(self, place: int) -> tuple[str, str | None]:
        """What made a version: the operation, and the commit that it was made for. A version that was removed does not
        tell; which commit showed it is known all the same."""
        if place not in self._origins:
            pin = self.pins[place]
            try:
                (origin,) = lineage_versions(self._storage, pin.location, pin.lineage, pin.version, pin.version)
                self._origins[place] = origin.operation, origin.commit_id
            except HistoricalVersionReclaimed:
                self._origins[place] = "", None
        return self._origins[place]

    def _named(self, place: int) -> GraphCommit | None:
        commit_id = self._origin(place)[1]
        return None if commit_id is None else self._state.commits.get(commit_id)

    def _searched(self, place: int) -> GraphCommit:
        """The oldest commit that shows this version: along first parents versions only grow."""
        wanted, line = self.pins[place].version, self._first_parents
        low, high = 0, len(line) - 1
        while low < high:
            middle = (low + high) // 2
            if self._version_shown(middle) >= wanted:
                high = middle
            else:
                low = middle + 1
        return line[low]

    def _version_shown(self, number: int) -> int:
        """The version that a commit of the line shows: looked up once, for a log asks about every version."""
        if number not in self._shown:
            state = manifest_at(self._storage, self._first_parents[number]).state
            self._shown[number] = _version_in(state, self._key)
        return self._shown[number]

    @cached_property
    def _first_parents(self) -> tuple[GraphCommit, ...]:
        """The commits of the branch, oldest first."""
        line, commit = [], self._state.commits.get(self._head.commit_id)
        while commit is not None:
            line.append(commit)
            commit = self._state.commits.get(commit.parent_id or "")
        if not line:
            raise Corrupt(self._head.branch or "main", f"commit {self._head.commit_id} is not in its own history")
        return tuple(reversed(line))


def _fits(row: TableVersion, newest: int | None) -> bool:
    return newest is None or row.table_version <= newest


def _version_in(state: ManifestState, key: TableKey) -> int:
    row = state.newest.get(str(key))
    return 0 if row is None else row.table_version
