"""Act 2: the lake becomes a graph. Every load is one commit, and keeps the records that break a rule in a file."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from demo.progress_bar import ProgressBar
from demo.stage import Stage, say, step

SCHEMA = Path(__file__).parent.parent / "papers.pg"


def play(stage: Stage) -> None:
    lake, engine = stage.lake, stage.engine

    @step("Create a graph from a schema")
    def graph() -> og.Graph:
        return og.init(stage.uri, schema=SCHEMA, actor="demo")

    @step(f"Load a folder of JSON lines (engine = {engine!r}; the first load on Spark starts a session)")
    def papers() -> og.LoadResult:
        return graph.load(
            lake / "papers",
            mode="append",
            on_error="skip",
            reject_file=lake / "rejected-papers.jsonl",
            message="papers from the lake",
            engine=engine,
            progress=ProgressBar(),
        )

    say(papers.report)

    @step("Load CSV; a mapping says what differs from the schema")
    def authors() -> og.LoadResult:
        mapping = {"type": "Author", "columns": {"full_name": "name"}}
        return graph.load(
            lake / "authors.csv",
            mode="append",
            format="csv",
            mapping=mapping,
            message="authors from the lake",
            engine=engine,
        )

    say(authors.report)

    @step("Load two Parquet files of edges as one commit")
    def edges() -> og.LoadResult:
        mapping = {
            "sources": {
                "wrote.parquet": {"edge": "Wrote", "from": "author", "to": "paper"},
                "cites.parquet": {"edge": "Cites", "from": "citing", "to": "cited"},
            }
        }
        return graph.load(
            [lake / "wrote.parquet", lake / "cites.parquet"],
            mode="append",
            format="parquet",
            mapping=mapping,
            on_error="skip",
            reject_file=lake / "rejected-edges.jsonl",
            message="edges from the lake",
            engine=engine,
            progress=ProgressBar(),
        )

    say(edges.report)
    one_of_each = {violation.rule: violation for violation in (*papers.violations, *edges.violations)}
    for violation in one_of_each.values():
        say(f"rejected, for example: {violation}")
