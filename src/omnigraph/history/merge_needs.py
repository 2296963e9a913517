"""What merges need: the commits whose rows a merge of two live branches would read, besides the heads.

These are the best common ancestors of two heads, and those of several such ancestors. When the branch of an ancestor is
gone, a merge reads what is left of it: the newest commit below it, and the merges that took it in, with the states
right before them. Whoever removes old versions leaves these alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from omnigraph.history.known_commits import KnownCommits
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest


def commits_that_merges_read(storage: GraphStorage, branches: Sequence[LoadedManifest]) -> list[GraphCommit]:
    """Of any two of these branches, in order of their ids."""
    known = KnownCommits(storage, branches)
    heads = sorted({branch.state.head.commit_id for branch in branches if branch.state.head is not None})
    found: set[str] = set()
    waiting = list(combinations(heads, 2))
    seen = set(waiting)
    while waiting:
        source, target = waiting.pop()
        bases = known.graph.merge_bases(source, target)
        for base in bases:
            found.update([base] if known.commit(base) is not None else _instead_of(known, base, (source, target)))
        for pair in combinations(sorted(bases), 2):
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    commits = (known.commit(each) for each in sorted(found))
    return [commit for commit in commits if commit is not None]


def _instead_of(known: KnownCommits, gone: str, heads: tuple[str, str]) -> Iterator[str]:
    """The commits that tell of one whose rows are gone with its branch."""
    below: str | None = gone
    while below is not None and known.commit(below) is None:
        below = next(iter(known.graph.parents(below)), None)
    if below is not None:
        yield below
    for head in heads:
        yield from _merges_of(known, gone, head)
        yield from _entry(known, gone, head)


def _merges_of(known: KnownCommits, gone: str, head: str) -> Iterator[str]:
    """The merges by which a head took a commit in, each with the state right before it."""
    oldest = known.graph.generation(gone)
    seen, waiting = {head}, [head]
    while waiting:
        current = waiting.pop()
        parents = known.graph.parents(current)
        if gone in parents[1:]:
            yield current
            yield parents[0]
        for parent in parents:
            if parent not in seen and known.graph.generation(parent) > oldest:
                seen.add(parent)
                waiting.append(parent)


def _entry(known: KnownCommits, gone: str, head: str) -> Iterator[str]:
    """The first commit of a line of history that contains another commit."""
    current = head
    while True:
        parent = next(iter(known.graph.parents(current)), None)
        if parent is None or not known.graph.is_ancestor(gone, parent):
            if current != gone:
                yield current
            return
        current = parent
