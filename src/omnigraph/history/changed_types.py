"""Changed types: which commits of a branch changed entities of which types. Upkeep changes none."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.history.table_history import TableHistory
from omnigraph.model.errors import TypeNotFound
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestState


class ChangedTypes:
    """Which commits of one branch changed entities of some types. Asked from newer to older, it reads on as needed."""

    def __init__(self, storage: GraphStorage, loaded: LoadedManifest, types: frozenset[str]) -> None:
        self._storage = storage
        self._state = loaded.state
        self._waiting = [self._commits(key) for key in _keys(loaded.state, types)]
        self._next = [next(commits, None) for commits in self._waiting]
        self._found: set[str] = set()

    def has(self, commit: GraphCommit) -> bool:
        for number, commits in enumerate(self._waiting):
            newest = self._next[number]
            while newest is not None and newest.order >= commit.order:
                self._found.add(newest.commit_id)
                newest = self._next[number] = next(commits, None)
        return commit.commit_id in self._found

    def _commits(self, key: TableKey) -> Iterator[GraphCommit]:
        assert self._state.head is not None, "a branch with commits has a head"
        return TableHistory(self._storage, self._state, key, self._state.head).changing_commits()


def _keys(state: ManifestState, types: frozenset[str]) -> list[TableKey]:
    known = [TableKey.parse(key) for key in state.locations]
    found = [key for key in known if is_named(key, types)]
    for name in sorted(types - {key.type_name for key in found} - {str(key) for key in found}):
        raise TypeNotFound(name)
    return found


def is_named(key: TableKey, types: frozenset[str]) -> bool:
    """A type is named `Person`, or `node:Person` where a node type and an edge type have the same name."""
    return key.type_name in types or str(key) in types


def types_by_commit(storage: GraphStorage, loaded: LoadedManifest) -> dict[str, set[str]]:
    """The keys of the types that each commit of a branch's own changed entities of."""
    found: dict[str, set[str]] = {}
    for pin in loaded.state.pins():
        if loaded.state.head is None or pin.lineage != loaded.branch:
            continue  # the branch never wrote it
        history = TableHistory(storage, loaded.state, pin.table_key, loaded.state.head)
        for commit in history.changing_commits():
            if commit.branch != loaded.branch:
                break
            found.setdefault(commit.commit_id, set()).add(str(pin.table_key))
    return found
