"""`make demo`: the main job end to end on the embedded default, with what each step did and how long it took."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import omnigraph as og
from demo.records import package_records
from omnigraph.cli.formats import table_lines
from omnigraph.model.errors import OmniGraphError

SCHEMA = Path(__file__).parent / "packages.pg"


@contextmanager
def step(title: str) -> Iterator[None]:
    """Prints what is done, and how long it took."""
    print(f"\n== {title}")
    started = time.perf_counter()
    yield
    print(f"   {(time.perf_counter() - started) * 1000:.0f} ms")


def say(text: str) -> None:
    print(f"   {text}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as folder:
        run(Path(folder))
    print("\nThe demonstration is over; its folder is gone. Next: docs/, or `.venv/bin/omnigraph --help`.")


def run(folder: Path) -> None:
    uri = str(folder / "packages.omni")
    with step("create a graph from a schema"):
        graph = og.init(uri, schema=str(SCHEMA), actor="demo")
        say(f"{len(graph.schema.catalog.nodes)} node types, {len(graph.schema.catalog.edges)} edge types in {uri}")
    source = folder / "packages.jsonl"
    with step("collect real data: the Python packages of this environment"):
        source.write_bytes(b"".join(package_records()))
        say(f"{sum(1 for _ in source.open('rb'))} records in {source.name}")
    with step("load it: every record checked, one commit"):
        loaded = graph.load(source, mode="merge", message="the packages of this environment")
        say(", ".join(f"{count} {name}" for name, count in {**loaded.nodes, **loaded.edges}.items()))
        say(f"commit {loaded.commit_id}")
    show_checks(graph, folder)
    show_questions(graph)
    show_branch(graph)
    show_history(graph)
    with step("check the whole graph, read-only"):
        report = graph.verify()
        say("clean" if report.ok else report.render())


def show_checks(graph: og.Graph, folder: Path) -> None:
    with step("a broken load changes nothing and says what is wrong"):
        bad = folder / "bad.jsonl"
        record = {"edge": "DependsOn", "from": "omnigraph", "to": "no-such-package"}
        bad.write_text(json.dumps(record) + "\n" + '{"type": "Package", "data": {"name": "x", "version": 3}}\n')
        before = graph.snapshot().commit_id
        try:
            graph.load(bad, mode="merge")
        except OmniGraphError as error:
            say(str(error))
        say(f"head unchanged: {graph.snapshot().commit_id == before}")


QUESTIONS = {
    "what does pytest need, directly or not?": (
        """query needs($n: String) {
            match { $p: Package { name: $n }  $p dependsOn{1,} $q }
            return { $q.name as package, distance($p dependsOn{1,} $q) as hops }
            order { hops, package }
            limit 6
        }""",
        {"n": "pytest"},
    ),
    "which packages are needed by most others?": (
        """query popular() {
            match { $p: Package  $p dependsOn $q }
            return { $q.name as package, count($p) as needed_by }
            order { needed_by desc, package }
            limit 5
        }""",
        {},
    ),
    "how large is what nobody else needs, by licence?": (
        """query leaves() {
            match { $p: Package  $p licensedAs $l  not { $other dependsOn $p } }
            return { $l.name as licence, count($p) as packages, sum($p.size) as bytes }
            order { bytes desc }
            limit 5
        }""",
        {},
    ),
}


def show_questions(graph: og.Graph) -> None:
    for question, (text, params) in QUESTIONS.items():
        with step(f"ask: {question}"):
            result = graph.query(text, params)
            for line in table_lines(result.columns, result.rows(), max_width=40):
                say(line.rstrip())
    with step("ask again: the topology is resident now"):
        text, params = QUESTIONS["what does pytest need, directly or not?"]
        say(f"{len(graph.query(text, params))} rows")
    with step("explain: what was done, and what it took"):
        for line in graph.explain(text, params, analyze=True).text.splitlines():
            say(line)


def show_branch(graph: og.Graph) -> None:
    with step("branch, edit, compare"):
        draft = graph.branch("draft")
        draft.mutate(
            'query tag($n: String) { update Package set { summary: "reviewed" } where name = $n }', n="omnigraph"
        )
        draft.mutate("query add($n: String) { insert Author { name: $n } }", n="A. Reviewer")
        say(f"branches: {', '.join(graph.branches())}")
        for branch in ("main", "draft"):
            counts = {pin.table_key.type_name: pin.row_count for pin in graph.snapshot(branch).tables}
            say(f"{branch}: {counts}")
        authors = "query authors() { match { $a: Author } return { $a.name } }"
        found = {branch: {row["a.name"] for row in graph.query(authors, branch=branch)} for branch in ("main", "draft")}
        say(f"only on draft: {sorted(found['draft'] - found['main'])}")


def show_history(graph: og.Graph) -> None:
    with step("history: every fact has a commit and an actor"):
        for commit in graph.commits("draft"):
            say(f"{commit.commit_id}  {commit.branch or 'main':8} {commit.actor_id or '-':6} {commit.py.get('kind')}")
    with step("export: the graph as lines"):
        kinds = Counter(
            record.get("type") or record.get("edge") for record in (json.loads(line) for line in graph.export())
        )
        say(", ".join(f"{count} {name}" for name, count in sorted(kinds.items())))


if __name__ == "__main__":
    main()
