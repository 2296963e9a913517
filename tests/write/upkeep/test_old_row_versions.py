"""Old row versions are put together once nobody can ask about them: shorter version files, and the same answers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.merge import MergeConflicts
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.compaction import old_row_versions
from omnigraph.storage.failpoints import Point
from omnigraph.storage.tables import read_row_versions, run_count
from omnigraph.write.upkeep import background
from omnigraph.write.upkeep.retention import RetentionPolicy
from support.size import sized

SCHEMA = "node Person { name: String @key  age: I32?  about: String? @index }"
PUT = "query put($n: String, $a: I32, $t: String) { insert Person { name: $n, age: $a, about: $t } }"
DYING = Path(__file__).parents[2] / "support" / "processes" / "dying_upkeep.py"
DROP = "query drop($n: String) { delete Person where name = $n }"


@contextmanager
def put_together(always: bool) -> Iterator[None]:
    """Whether lists are shortened however short they are, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(old_row_versions, "VERSION_BYTES_MIN", 0 if always else 2**60)
        patch.setattr(old_row_versions, "RUNS_MIN", 1)
        yield


def put(graph: Graph, name: str, age: int) -> None:
    graph.mutate(PUT, {"n": name, "a": age, "t": f"about {name} {age}"})


def written_singly(uri: str, rows: int = 40) -> Graph:
    graph = Graph.init(uri, SCHEMA, durability="os")
    for number in range(rows):
        put(graph, f"p{number}", number)
    return graph


def listed_runs(graph: Graph, branch: str = "main") -> int:
    """How many runs the version file of the table lists."""
    [pin] = graph._storage.manifest.load(branch).state.pins()
    found = 0
    for fragment in graph._storage.tables.open(pin).handle.get_fragments():
        known = fragment.metadata.to_json()
        for name in ("created_at_version_meta", "last_updated_at_version_meta"):
            versions = read_row_versions(bytes(known[name]["inline"]))
            assert versions is not None
            found += run_count(versions)
    return found


def rows(graph: Graph) -> dict[str, Any]:
    found = graph.query("query q() { match { $p: Person } return { $p.name, $p.age, $p.about } }")
    return {row["p.name"]: (row["p.age"], row["p.about"]) for row in found}


def test_after_a_cleanup_version_files_do_not_grow_with_every_row_that_was_ever_inserted(
    new_root: Callable[[str], str],
) -> None:
    graph = written_singly(new_root("g"))
    graph.optimize()
    before = rows(graph)
    assert listed_runs(graph) >= 80
    graph.cleanup(keep_versions=1, grace="0s", confirm=True)
    with put_together(True):
        report = graph.optimize()
    assert report.commit is not None
    assert report.commit.py["kind"] == "optimize"
    assert [table.committed for table in report.tables if table.type == "node:Person"] == [True]
    assert listed_runs(graph) <= 4
    assert rows(graph) == before
    assert not [each for each in graph.verify().findings if each.severity != "info"]
    with put_together(True):
        assert graph.optimize().commit is None, "there is nothing more to do"


def test_as_long_as_the_first_version_is_there_every_row_keeps_its_own(tmp_path: Path) -> None:
    graph = written_singly(str(tmp_path / "g"), 10)
    graph.optimize()
    with put_together(True):
        assert graph.optimize().commit is None
    assert listed_runs(graph) >= 20


def test_no_data_is_written_and_indexes_cover_what_they_did(tmp_path: Path) -> None:
    graph = written_singly(str(tmp_path / "g"))
    graph.optimize()
    graph.cleanup(keep_versions=1, grace="0s", confirm=True)
    data = {path: path.stat().st_mtime_ns for path in (tmp_path / "g" / "nodes").rglob("*.lance")}
    indexes = graph.indexes()
    with put_together(True):
        report = graph.optimize()
    assert report.commit is not None
    assert not report.compacted
    assert not report.indexes.built
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "g" / "nodes").rglob("*.lance")} == data
    assert graph.indexes() == indexes


DEATHS = {
    Point.MUTATION_STAGED: False,
    Point.MUTATION_ARMED: False,
    Point.MUTATION_BEFORE_PUBLISH: True,
    Point.PUBLISH_AFTER: True,
}


@pytest.mark.parametrize(("point", "landed"), DEATHS.items(), ids=[point.name for point in DEATHS])
def test_a_run_that_is_killed_is_whole_or_absent_and_the_next_one_does_it(
    tmp_path: Path, point: Point, landed: bool
) -> None:
    graph = written_singly(str(tmp_path / "g"))
    graph.optimize()
    graph.cleanup(keep_versions=1, grace="0s", confirm=True)
    uri, before = graph.uri, rows(graph)
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    assert subprocess.run([sys.executable, str(DYING), uri, "optimize"], env=environment, check=False).returncode == -9
    again = Graph.open(uri, durability="os")
    assert (listed_runs(again) <= 4) == landed
    assert rows(again) == before
    assert again.verify().ok
    put(again, "later", 1)
    with put_together(True):
        again.optimize()
    assert listed_runs(again) <= 6
    assert rows(again) == before | {"later": (1, "about later 1")}


def test_background_upkeep_that_removes_old_versions_does_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "CLEANUP_EVERY_S", 0.0)
    graph = written_singly(str(tmp_path / "g"))
    graph.optimize()
    plan = background.UpkeepPlan("main", retention=RetentionPolicy(keep_versions=1, grace_s=0.0))
    with put_together(True):
        commits, removed = background._look(background._Run(graph._storage, lambda: graph.schema, plan))
    assert commits == 1
    assert removed > 30
    assert listed_runs(graph) <= 4


def test_what_a_branch_compares_with_stays_told_apart(tmp_path: Path) -> None:
    """The branch begins at a version that is gone from main since; a diff reads what changed, and not the table."""
    graph = written_singly(str(tmp_path / "g"), 20)
    draft = graph.create_branch("draft")
    put(draft, "p3", 300)
    for number in range(20, 40):
        put(graph, f"p{number}", number)
    for each in (graph, draft):
        each.optimize()
    graph.cleanup(keep_versions=1, grace="0s", confirm=True)
    with put_together(True):
        assert graph.optimize().commit is not None
        draft.optimize()
    names = {(change.op, change.id) for change in graph.diff("main", "draft")}
    assert names == {("update", "p3"), *(("delete", f"p{number}") for number in range(20, 40))}
    assert listed_runs(graph) > 40, "the rows after the fork"
    graph.merge("draft", into="main")
    assert rows(graph) == {f"p{n}": (300, "about p3 300") if n == 3 else (n, f"about p{n} {n}") for n in range(40)}


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_a_graph_whose_lists_are_short_answers_like_its_twin(tmp_path: Path, seed: int) -> None:
    """The same writes, branches, merges, compactions and cleanups in two graphs; one of them keeps every version."""
    twins = [Twin(tmp_path / name) for name in ("short", "long")]
    draw = random.Random(seed)
    for step in (*(drawn(draw) for _ in range(70)), *END):
        told = []
        for twin, always in zip(twins, (True, False), strict=True):
            with put_together(always):
                told.append(twin.perform(*step))
        assert told[0] == told[1], f"after {step}"
    short, long = (listed_runs(twin.graph) for twin in twins)
    assert short < long


END = [
    ("end", "a", "", 0),
    ("end", "b", "", 0),
    *((kind, "main", "", 0) for kind in ("optimize", "cleanup", "optimize")),
]
"""Nothing is left that the rows of main could be compared with."""


def drawn(draw: random.Random) -> tuple[str, str, str, int]:
    kinds = ["put"] * 8 + ["drop", "merge", "merge", "again", "optimize", "optimize", "cleanup", "diff", "log"]
    branch, name = draw.choice(["main", "main", "a", "b"]), f"p{draw.randint(0, 25)}"
    return draw.choice(kinds), branch, name, draw.randint(0, 99)


class Twin:
    """One of the graphs. Each step tells what can be seen of it."""

    def __init__(self, path: Path) -> None:
        self.graph = written_singly(str(path), 6)
        for branch in ("a", "b"):
            self.graph.create_branch(branch)

    def perform(self, kind: str, branch: str, name: str, number: int) -> object:
        graph = self.graph if branch == "main" else self.graph.branch(branch)
        steps: dict[str, Callable[[], object]] = {
            "put": lambda: put(graph, name, number),
            "drop": lambda: graph.mutate(DROP, {"n": name}).affected_nodes,
            "merge": lambda: self._merge(branch, ("main", "a", "b")[number % 3]),
            "again": lambda: self._again(branch),
            "end": lambda: self.graph.delete_branch(branch),
            "optimize": lambda: graph.optimize() and None,
            "cleanup": lambda: self.graph.cleanup(keep_versions=1 + number % 3, grace="0s", confirm=True) and None,
            "diff": lambda: self._changes(branch, ("main", "a", "b")[number % 3]),
            "log": lambda: [(each.change.op, each.change.after) for each in graph.entity_log("Person", name)],
        }
        try:
            told = steps[kind]()
        except MergeConflicts as error:
            told = error.counted()
        except OmniGraphError as error:
            told = type(error).__name__
        here = "main" if kind == "end" else branch
        return told, rows(self.graph.branch(here)), self._changes("main", here)

    def _merge(self, source: str, into: str) -> object:
        return None if source == into else str(self.graph.merge(source, into=into).outcome)

    def _again(self, branch: str) -> None:
        if branch != "main":
            self.graph.delete_branch(branch)
            self.graph.create_branch(branch)

    def _changes(self, before: str, after: str) -> list[tuple[str, str]]:
        return sorted((change.op, change.id) for change in self.graph.diff(before, after))
