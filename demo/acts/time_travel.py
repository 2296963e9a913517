"""Act 7: time travel. Every commit can still be read, by its id or by a time."""

from __future__ import annotations

import omnigraph as og
from demo.acts.branches import COUNT
from demo.stage import Stage, say, step


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")

    @step("The history of main, newest first")
    def commits() -> list[og.GraphCommit]:
        return graph.commits()

    for commit in commits:
        kind, message = commit.py.get("kind", ""), commit.py.get("message", "")
        say(f"{commit.commit_id}  {commit.actor_id or '-':<6} {kind:<14} {message}")
    first_load = commits[-2].commit_id  # the oldest commit is that of `og.init`

    @step("Read the graph as it was right after the first load, before the rejected papers came in")
    def before() -> og.QueryResult:
        return graph.query(COUNT, commit=first_load)

    say(before[0])

    @step("And as it is now")
    def now() -> og.QueryResult:
        return graph.query(COUNT)

    say(now[0])
