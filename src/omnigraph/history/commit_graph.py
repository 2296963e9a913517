"""The commit graph: how commits descend from each other. Merge bases, and how far two commits are ahead and behind.

A commit's parents never change, so the walks below are exact and may remember what they learn. They go from younger to
older generations and stop as soon as nothing older can change the answer: the cost follows what the two sides do not
share, not the length of the history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from omnigraph.model.late_dataclass import dataclass

Parents = Callable[[str], tuple[str, ...]]
"""The parents of a commit, first parent first. A commit that nobody knows any more has none."""

_SOURCE, _TARGET, _BOTH, _BEHIND_A_BASE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class AheadBehind:
    """How many commits one side has that the other lacks."""

    ahead: int
    behind: int


class CommitGraph:
    """Commits by their parents. Thread-safe as far as `parents` is: what it remembers is only ever added to."""

    def __init__(self, parents: Parents, generations: dict[str, int] | None = None) -> None:
        self.parents = parents
        self._generations: dict[str, int] = {} if generations is None else generations

    def generation(self, commit_id: str) -> int:
        """One more than the greatest generation of the parents; 0 for a commit without any."""
        known = self._generations
        open_ids = [commit_id]
        while open_ids:
            current = open_ids[-1]
            above = self.parents(current)
            unknown = [parent for parent in above if parent not in known]
            if unknown and current not in known:
                open_ids.extend(unknown)
                continue
            open_ids.pop()
            known[current] = 1 + max((known[parent] for parent in above), default=-1)
        return known[commit_id]

    def merge_bases(self, source: str, target: str) -> tuple[str, ...]:
        """The best common ancestors: those that are not ancestors of another one. Youngest generation first.

        One is the rule. Several are the mark of branches that merged each other; none means two separate histories.
        """
        found = []
        for commit_id, marks in self._walk(source, target):
            if marks & _BOTH == _BOTH and not marks & _BEHIND_A_BASE:
                found.append(commit_id)
        return tuple(sorted(found, key=lambda each: (-self.generation(each), each)))

    def ahead_behind(self, source: str, target: str) -> AheadBehind:
        """How many commits the source has that the target lacks, and the other way round."""
        marks = [marks & _BOTH for _, marks in self._walk(source, target)]
        return AheadBehind(ahead=marks.count(_SOURCE), behind=marks.count(_TARGET))

    def is_ancestor(self, older: str, younger: str) -> bool:
        """Whether `younger` contains everything that `older` has. A commit is its own ancestor."""
        return self.merge_bases(older, younger) == (older,)

    def _walk(self, source: str, target: str) -> Iterator[tuple[str, int]]:
        """Commits with the sides that reach them, children before parents, until both sides share all that is left."""
        marks = {source: _SOURCE}
        marks[target] = marks.get(target, 0) | _TARGET
        waiting = [(-self.generation(each), each) for each in marks]
        heapq.heapify(waiting)
        undecided = len(waiting)
        while undecided:
            _, commit_id = heapq.heappop(waiting)
            own = marks[commit_id]
            undecided -= not own & _BEHIND_A_BASE
            yield commit_id, own
            passed_on = own | _BEHIND_A_BASE if own & _BOTH == _BOTH else own
            for parent in self.parents(commit_id):
                before = marks.get(parent)
                after = marks[parent] = (before or 0) | passed_on
                if before is None:
                    heapq.heappush(waiting, (-self.generation(parent), parent))
                    undecided += not after & _BEHIND_A_BASE
                elif not before & _BEHIND_A_BASE and after & _BEHIND_A_BASE:
                    undecided -= 1
