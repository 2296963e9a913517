"""The graph of commits in characters, as people know it from Git: a star for a commit, a lane for each line of work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Commit = tuple[str, Sequence[str], str]
"""The id, the parents with the first one first, and the text to show. Children come before their parents."""


def commit_graph_lines(commits: Iterable[Commit]) -> Iterator[str]:
    """The text of every commit behind its place in the graph, and lines that part and join the lanes."""
    lanes: list[str] = []
    """The commit that each lane leads to."""
    for commit_id, parents, text in commits:
        if commit_id not in lanes:
            lanes.append(commit_id)
        here = lanes.index(commit_id)
        while lanes.count(commit_id) > 1:
            joining = len(lanes) - 1 - lanes[::-1].index(commit_id)
            yield _joined(len(lanes), here, joining)
            del lanes[joining]
        yield f"{_row(len(lanes), here)} {text}"
        if parents:
            lanes[here] = parents[0]
            for parent in parents[1:]:
                yield _parted(len(lanes), here)
                lanes.insert(here + 1, parent)
        else:
            del lanes[here]


def _row(lanes: int, here: int) -> str:
    return " ".join("*" if lane == here else "|" for lane in range(lanes))


def _joined(lanes: int, here: int, joining: int) -> str:
    """Lane `joining` ends in lane `here`; the lanes to the right of it move to the left."""
    cells = [" "] * (2 * lanes - 1)
    for lane in range(lanes):
        if lane < joining:
            cells[2 * lane] = "|"
        else:
            cells[2 * lane - 1] = "/"
    for lane in range(here, joining - 1):
        cells[2 * lane + 1] = "_"
    return "".join(cells).rstrip()


def _parted(lanes: int, here: int) -> str:
    """A new lane begins to the right of lane `here`; the lanes beyond move to the right."""
    cells = [" "] * (2 * lanes + 1)
    for lane in range(lanes):
        if lane <= here:
            cells[2 * lane] = "|"
        if lane >= here:
            cells[2 * lane + 1] = "\\"
    return "".join(cells).rstrip()
