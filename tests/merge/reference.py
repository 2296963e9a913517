"""A reference model of branches: every commit with its parents and its whole content, merged in the plainest way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omnigraph.merge.truth_table import Decision, decide

Content = dict[str, Any]
UNKNOWN = "unknown"
"""The base image of an entity about which several bases disagree."""


@dataclass
class Commit:
    parents: tuple[str, ...]
    content: Content


@dataclass
class Model:
    """Commits by their real ids, and the heads of branches."""

    commits: dict[str, Commit] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)

    def add(self, branch: str, commit_id: str, content: Content, merged: str | None = None) -> None:
        first = self.heads.get(branch)
        self.commits[commit_id] = Commit(tuple(each for each in (first, merged) if each is not None), content)
        self.heads[branch] = commit_id

    def content(self, branch: str) -> Content:
        return self.commits[self.heads[branch]].content

    def ancestors(self, commit_id: str) -> set[str]:
        seen, waiting = {commit_id}, [commit_id]
        while waiting:
            for parent in self.commits[waiting.pop()].parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return seen

    def generation(self, commit_id: str) -> int:
        return 1 + max((self.generation(parent) for parent in self.commits[commit_id].parents), default=-1)

    def bases(self, one: str, other: str) -> list[str]:
        common = self.ancestors(one) & self.ancestors(other)
        best = [each for each in common if not any(each != far and each in self.ancestors(far) for far in common)]
        return sorted(best, key=lambda each: (-self.generation(each), each))

    def base_content(self, bases: list[str]) -> Content:
        """One base, or what merging several of them gives."""
        first = dict(self.commits[bases[0]].content)
        named: Content = {}
        for other_id in bases[1:]:
            below = self.base_content(self.bases(other_id, bases[0]))
            other = self.commits[other_id].content
            for name in {*below, *other, *first}:
                decision = decision_of(below.get(name), other.get(name), first.get(name))
                if decision is not Decision.KEEP:
                    named[name] = UNKNOWN if decision.is_conflict or name in named else other.get(name)
        return {name: image for name, image in {**first, **named}.items() if image is not None}

    def merged(self, source: str, target: str) -> tuple[Content, dict[str, Decision]]:
        """The content of the target after the merge, without the conflicts, and these by name."""
        one, other = self.heads[source], self.heads[target]
        base = self.base_content(self.bases(one, other))
        theirs, ours = self.content(source), dict(self.content(target))
        conflicts = {}
        for name in {*base, *theirs, *ours}:
            decision = decision_of(base.get(name), theirs.get(name), ours.get(name))
            if decision.is_conflict:
                conflicts[name] = decision
            elif decision is Decision.TAKE:
                ours[name] = theirs[name]
            elif decision is Decision.REMOVE:
                del ours[name]
        return ours, conflicts


def decision_of(base: Any, source: Any, target: Any) -> Decision:
    known = base != UNKNOWN
    return decide(
        base=base is not None,
        source=source is not None,
        target=target is not None,
        source_is_base=known and source == base,
        target_is_base=known and target == base,
        source_is_target=source == target,
    )
