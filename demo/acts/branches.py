"""Act 6: a branch. Work on it does not touch main, and nothing is copied."""

from __future__ import annotations

import omnigraph as og
from demo.stage import Stage, say, step

COUNT = "query counts() { match { $p: Paper } return { count($p) as papers, min($p.year) as oldest } }"


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")

    @step("Create a branch from the head of main")
    def review() -> og.Graph:
        return graph.create_branch("review")

    @step("Write on it: old papers go, with their edges")
    def removed() -> og.MutationResult:
        return review.mutate("query old($year: I32) { delete Paper where year < $year }", year=1992)

    say(f"{removed.affected_nodes:,} nodes and {removed.affected_edges:,} edges deleted, commit {removed.commit_id}")

    @step("Compare the two branches")
    def counts() -> dict[str, object]:
        return {branch: graph.query(COUNT, branch=branch)[0] for branch in graph.branches()}

    for branch, row in counts.items():
        say(f"{branch:<8} {row}")
