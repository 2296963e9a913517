"""A writer that works on branches of its own and merges each into main, beside others that do the same.

Every branch adds one person and one edge to itself in one commit; every second one also sets the age of the person that
all share. Prints one line for each branch: `merged BRANCH COMMIT PERSON`, or `conflict BRANCH ENTITY PERSON`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TypeVar

from omnigraph.graph import Graph
from omnigraph.merge import MergeConflicts
from omnigraph.model.errors import LeaseTimeout, ReadSetChanged

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
SHARED = "shared"
T = TypeVar("T")


def record(**members: object) -> bytes:
    return json.dumps(members).encode()


def patiently(work: Callable[[], T]) -> T:
    """A lease that others hold for too long is a typed error that changed nothing."""
    while True:
        try:
            return work()
        except LeaseTimeout:
            continue


def work(graph: Graph, number: int, turn: int) -> str:
    """One branch from its beginning to its merge; says how it ended."""
    name = f"p{number:02}-{turn:02}"
    age = 1000 * number + turn + 1
    lines = [
        record(type="Person", data={"name": name, "age": age}),
        record(edge="Knows", **{"from": name, "to": name}, data={}),
    ]
    if turn % 2:
        lines.append(record(type="Person", data={"name": SHARED, "age": age}))
    branch = f"team/{name}"
    patiently(lambda: graph.create_branch(branch))
    patiently(lambda: graph.load(lines, mode="merge", branch=branch))
    while True:
        try:
            result = patiently(lambda: graph.merge(branch, delete_branch=turn % 3 == 2))
        except ReadSetChanged:
            continue  # somebody else was first: nothing happened, and the next attempt sees their commit
        except MergeConflicts as error:
            (conflict,) = error.conflicts
            return f"conflict {branch} {conflict.entity_id} {name}"
        return f"merged {branch} {result.commit_id} {name}"


def main() -> None:
    uri, number, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    graph = Graph.open(uri, durability="os")
    for turn in range(turns):
        print(work(graph, number, turn), flush=True)


if __name__ == "__main__":
    main()
