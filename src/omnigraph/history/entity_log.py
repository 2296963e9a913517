"""The log of one entity: who changed which property when, across merges. Start at `entity_changes`; `blame` sums it up.

A row knows the version of its table that last wrote it. So the log jumps from change to change, with one point read
each, and skips the versions between them. A missing entity is searched for among the versions that removed rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc

from omnigraph.history.commits import snapshot_at
from omnigraph.history.diff import EntityChange, Image, OpName, TableSide, read_images, table_changes, type_id
from omnigraph.history.entity_lookup import pin_of_type
from omnigraph.history.known_commits import KnownCommits
from omnigraph.history.snapshots import Snapshot
from omnigraph.history.table_history import TableHistory
from omnigraph.model.errors import HistoricalVersionReclaimed, Json
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import Compare, GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, TablePin
from omnigraph.storage.tables import fragment_states, rows_given, scan_fragments

WRITTEN_AT = "_row_last_updated_at_version"
SCAN_ROWS_MAX = 16_384
"""Fragments that changed are scanned if they have so few rows; of larger ones the deletions are compared."""


@dataclass(frozen=True, slots=True)
class EntityLogEntry:
    """One change of an entity, and the commit that made it."""

    commit: GraphCommit
    change: EntityChange
    merged_by: str | None = None
    """The merge that brought it to this history, if one did."""

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "commit": self.commit.commit_id,
            "branch": self.commit.branch or MAIN,
            "actor_id": self.commit.actor_id,
            "created_at": self.commit.created_at,
            "message": self.commit.py.get("message"),
            "merged_by": self.merged_by,
            **self.change.to_json(),
            "changed_properties": list(self.change.changed_properties),
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PropertyBlame:
    """The change that gave a property its value of now."""

    property: str
    value: Json
    entry: EntityLogEntry

    def to_json(self) -> dict[str, Json]:
        commit = self.entry.commit
        return {
            "property": self.property,
            "value": self.value,
            "commit": commit.commit_id,
            "actor_id": commit.actor_id,
            "created_at": commit.created_at,
        }


def entity_changes(
    storage: GraphStorage,
    type_name: str,
    entity_id: str,
    head: GraphCommit,
    *,
    first_parents: bool = False,
    all_lives: bool = False,
) -> Iterator[EntityLogEntry]:
    """The changes of an entity that a commit contains, newest first, back to where it was inserted.

    The log of a deleted entity begins with its deletion. A change that came with a merge is shown as the commits on the
    merged branch that made it, as long as that branch exists; with `first_parents` it is shown as the merge. With
    `all_lives` the log goes on with entities of the same id that were deleted before: then every version is compared.
    """
    branch = head.branch or MAIN
    loaded = storage.manifest.load(branch)
    log = _Log(storage, KnownCommits(storage, [loaded]), entity_id, first_parents, all_lives)
    return log.entries(loaded, head, pin_of_type(snapshot_at(storage, head).tables, type_name).table_key)


def blame(storage: GraphStorage, type_name: str, entity_id: str, head: GraphCommit) -> tuple[PropertyBlame, ...]:
    """For each property the change that it has its value from, in byte order of the names. Empty without the entity."""
    found: dict[str, PropertyBlame] = {}
    newest: Image | None = None
    for entry in entity_changes(storage, type_name, entity_id, head):
        if newest is None:
            newest = entry.change.after
            if newest is None:
                return ()  # it was removed
        inserted = entry.change.before is None
        for name in newest.properties if inserted else entry.change.changed_properties:
            if name in newest.properties and name not in found:
                found[name] = PropertyBlame(name, newest.properties[name], entry)
        if len(found) == len(newest.properties):
            break
    return tuple(found[name] for name in sorted(found, key=str.encode))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The entity in one version of its table."""

    image: Image
    written_at: int
    row_id: int


def _spans(pins: Sequence[TablePin], last: int) -> list[tuple[int, int]]:
    """The places up to `last` as spans, cut around every version that has fewer rows than the one before it: that one
    has surely lost some, and the rest mostly none."""
    counts = [pin.row_count for pin in pins[: last + 1]]
    drops = [place for place in range(1, len(counts)) if counts[place] < counts[place - 1]]
    cuts = sorted({0, last, *drops, *(place - 1 for place in drops)})
    return list(pairwise(cuts))


class _RowsGiven:
    """How many rows a table was given up to each of its versions, read when it is asked for."""

    def __init__(self, storage: GraphStorage, history: TableHistory) -> None:
        self._storage = storage
        self._history = history
        self._known: dict[int, int | None] = {}

    def may_have_lost(self, first: int, last: int) -> bool:
        """Whether the versions after one place up to another may have removed a row."""
        before, after = self._at(first), self._at(last)
        pins = self._history.pins
        return before is None or after is None or after - before != pins[last].row_count - pins[first].row_count

    def _at(self, place: int) -> int | None:
        if place not in self._known:
            self._known[place] = rows_given(self._storage.tables.open(self._history.pins[place]))
        return self._known[place]


class _Log:
    """Reads the log of one entity."""

    def __init__(
        self, storage: GraphStorage, known: KnownCommits, entity_id: str, first_parents: bool, all_lives: bool
    ) -> None:
        self._storage = storage
        self._known = known
        self._id = entity_id
        self._first_parents = first_parents
        self._all_lives = all_lives

    def entries(self, loaded: LoadedManifest, head: GraphCommit, key: TableKey) -> Iterator[EntityLogEntry]:
        snapshot = snapshot_at(self._storage, head)
        history = TableHistory(self._storage, loaded.state, key, head)
        for place, before, after in self._changes(history, snapshot):
            change = self._change(key, before, after)
            commit = history.commit_at(place)
            merged = [] if self._first_parents else self._merged(commit, key, after)
            first = next(iter(merged), None)
            if first is None:
                yield EntityLogEntry(commit, change)
            else:
                yield first
                yield from merged

    def _changes(self, history: TableHistory, snapshot: Snapshot) -> Iterator[tuple[int, Image | None, Image | None]]:
        """Places with the images before and after, newest first."""
        place = len(history.pins) - 1
        while place >= 0:
            now = self._look(history, place, snapshot)
            if now is None:
                place = self._last_place(history, place, snapshot)
                now = self._look(history, place, snapshot)
                if now is None:
                    return
                yield place + 1, now.image, None
            while now is not None:
                made = min(place, history.place_of(now.written_at))
                earlier = self._look(history, made - 1, snapshot, now.row_id)
                if earlier is None or earlier.image != now.image:
                    yield made, None if earlier is None else earlier.image, now.image
                place, now = made - 1, earlier
            if not self._all_lives:
                return

    def _look(self, history: TableHistory, place: int, snapshot: Snapshot, row_id: int | None = None) -> _Seen | None:
        """The entity at a place. A row that is written again mostly keeps its row id, and need not be searched for."""
        if place < 0:
            return None
        side = TableSide(self._storage, history.pins[place], snapshot)
        found = None if row_id is None else side.table.take([row_id], ["id", "_rowid", WRITTEN_AT])
        if found is None or found["id"].to_pylist() != [self._id]:
            found = side.table.read(["_rowid", WRITTEN_AT], Compare("id", "=", self._id))
        if not found.num_rows:
            return None
        (image,) = read_images(side, np.asarray(found["_rowid"].to_numpy(), np.uint64)[:1])
        return _Seen(image, int(found[WRITTEN_AT][0].as_py()), int(found["_rowid"][0].as_py()))

    def _last_place(self, history: TableHistory, missing: int, snapshot: Snapshot) -> int:
        """The newest place before `missing` that has the entity; -1 when there is none.

        It went with a version that removed rows. Spans of versions that removed none are passed over whole, so the
        cost follows the removals: of thousands of inserts and updates, two versions are looked at.
        """
        spans, given = _spans(history.pins, missing), _RowsGiven(self._storage, history)
        while spans:
            first, last = spans.pop()
            if not given.may_have_lost(first, last):
                continue
            if last - first > 1:
                middle = (first + last) // 2
                spans += [(first, middle), (middle, last)]  # the newer one is next
            elif self._vanished(*(TableSide(self._storage, history.pins[each], snapshot) for each in (first, last))):
                return first
        return -1

    def _vanished(self, older: TableSide, newer: TableSide) -> bool:
        """Whether the entity is in a version and was removed by the next. What both share is not looked at."""
        kept = {state.files: state.deletions for state in fragment_states(newer.table)}
        changed = [
            state
            for state in fragment_states(older.table)
            if state.files not in kept or kept[state.files] != state.deletions
        ]
        if sum(state.rows for state in changed) > SCAN_ROWS_MAX:  # a few rows of a large fragment
            return any(pc.index(rows.ids, self._id).as_py() >= 0 for rows in table_changes(older, newer))
        batches = scan_fragments(older.table, [state.number for state in changed], ["id"]) if changed else iter(())
        return any(pc.index(batch.column("id"), self._id).as_py() >= 0 for batch in batches)

    def _change(self, key: TableKey, before: Image | None, after: Image | None) -> EntityChange:
        op: OpName = "insert" if before is None else "delete" if after is None else "update"
        opaque = type_id(self._storage.manifest.genesis, key)
        return EntityChange(key.kind, key.type_name, opaque, self._id, op, before, after)

    # --- across merges ------------------------------------------------------------------------------------

    def _merged(self, commit: GraphCommit, key: TableKey, after: Image | None) -> Iterator[EntityLogEntry]:
        """The changes on the merged branch that gave the entity this image; none when they are unknown."""
        if commit.merged_parent_id is None or commit.parent_id is None:
            return
        source = self._known.commit(commit.merged_parent_id)
        if source is None:
            return
        try:
            snapshot = snapshot_at(self._storage, source)
        except HistoricalVersionReclaimed:
            return  # the branch was deleted: the merge is all that is left
        if all(pin.table_key != key for pin in snapshot.tables):
            return
        loaded = self._storage.manifest.load(source.branch or MAIN)
        for number, entry in enumerate(self.entries(loaded, source, key)):
            is_shared = self._known.graph.is_ancestor(entry.commit.commit_id, commit.parent_id)
            if is_shared or (number == 0 and entry.change.after != after):
                return  # older than the branch, or the merge decided otherwise
            yield replace(entry, merged_by=commit.commit_id)
