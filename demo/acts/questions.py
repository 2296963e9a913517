"""Act 4: questions. Traversal, counting, and full-text search inside a traversal."""

from __future__ import annotations

import omnigraph as og
from demo.acts.lake import doi
from demo.stage import Stage, say, step


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")
    newest = doi(stage.rows * 3 // 10 - 1)

    @step("Which papers are cited most, and by how many others?")
    def most_cited() -> og.QueryResult:
        return graph.query("""
            query most_cited() {
                match { $p: Paper  $p cites $q }
                return { $q.doi as paper, $q.title as title, count($p) as citations }
                order { citations desc, paper }
                limit 3
            }""")

    show(most_cited)

    @step("What does a new paper build on, up to four citations away?")
    def builds_on() -> og.QueryResult:
        return graph.query(
            """
            query builds_on($doi: String) {
                match { $p: Paper { doi: $doi }  $p cites{1,4} $q }
                return { $q.doi as paper, $q.year as year, distance($p cites{1,4} $q) as hops }
                order { hops, paper }
            }""",
            doi=newest,
        )

    show(builds_on)

    @step("Search: the best titles for some words, among papers by authors from Kenya")
    def found() -> og.QueryResult:
        return graph.query(
            """
            query found($words: String) {
                match { $a: Author { country: "KE" }  $a wrote $p  search($p.title, $words) }
                return { $p.title as title, $a.name as author, $p.year as year }
                order { bm25($p.title, $words), $p.doi }
                limit 3
            }""",
            words="protein clustering",
        )

    show(found)


def show(result: og.QueryResult) -> None:
    say(result.to_pandas().to_string(index=False))
