"""Known commits: the commit graph of a stored graph, put together from its branches and from what deleted ones left."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from omnigraph.history.commit_graph import CommitGraph
from omnigraph.history.commits import state_if_there
from omnigraph.history.kept_commits import find_kept_commit
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, ManifestStore

_lock = threading.Lock()


@dataclass
class _Memory:
    """What an open graph has learnt of its history. Parents never change, so walking them again costs no request."""

    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)


_remembered: WeakKeyDictionary[ManifestStore, _Memory] = WeakKeyDictionary()


class KnownCommits:
    """Finds commits: in the given branches first, then among the kept ones, then in every other branch.

    The other branches are only read when a merged commit is found nowhere else.
    """

    def __init__(self, storage: GraphStorage, loaded: Iterable[LoadedManifest]) -> None:
        self._storage = storage
        self._states = {each.branch: each.state for each in loaded}
        self._all_read = False
        with _lock:
            self._memory = _remembered.setdefault(storage.manifest, _Memory())
        self.unknown: set[str] = set()
        """Commits that a merge names and nobody has: their branch was deleted by another implementation."""
        self.graph = CommitGraph(self._parents_of, self._memory.generations)

    def commit(self, commit_id: str) -> GraphCommit | None:
        """The commit as a live branch has it; None when no branch does."""
        for state in tuple(self._states.values()):
            found = state.commits.get(commit_id)
            if found is not None:
                return found
        if self._all_read:
            return None
        self._all_read = True
        for branch in self._storage.manifest.branches():
            if branch not in self._states:
                listed = state_if_there(self._storage, branch)
                if listed is not None:
                    self._states[branch] = listed
        return self.commit(commit_id)

    def _parents_of(self, commit_id: str) -> tuple[str, ...]:
        known = self._memory.parents.get(commit_id)
        if known is None:
            known = self._find_parents(commit_id)
            if commit_id not in self.unknown:
                self._memory.parents[commit_id] = known
        return known

    def _find_parents(self, commit_id: str) -> tuple[str, ...]:
        for state in tuple(self._states.values()):
            found = state.commits.get(commit_id)
            if found is not None:
                return parents_of(found)
        kept = find_kept_commit(self._storage, commit_id)
        elsewhere = self.commit(commit_id) if kept is None else None
        if elsewhere is not None:
            return parents_of(elsewhere)
        kept = kept or find_kept_commit(self._storage, commit_id)  # its branch may have been deleted just now
        if kept is not None:
            return kept.parents
        self.unknown.add(commit_id)
        self._memory.generations = {}  # this walk counts from here; another one may know more
        return ()


def parents_of(commit: GraphCommit) -> tuple[str, ...]:
    """The parents of a commit, the first one first."""
    return tuple(parent for parent in (commit.parent_id, commit.merged_parent_id) if parent is not None)
