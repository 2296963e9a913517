"""Loads that die, fail or are stopped leave the graph as it was and nothing on disk; run again, they succeed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import KeyConflict
from omnigraph.storage.bulk.area import staging_area
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.intake.line_files import line_source
from omnigraph.write.rules import ValidationFailed
from support.loads.both_engines import exported
from support.loads.inline_run import STAND_IN, run_inline
from support.loads.leftovers import nothing_is_left, staging_left, untracked_files

SCHEMA = "node P { k: String @key  n: I32?  b: Blob? }\nedge K: P -> P { w: I32? }"
OLD = [{"type": "P", "data": {"k": f"old{n}", "n": n}} for n in range(5)]
NEW = [{"type": "P", "data": {"k": f"new{n}", "n": n}} for n in range(40)] + [
    {"edge": "K", "from": f"new{n}", "to": "new0", "data": {"w": n}} for n in range(40)
]
MERGED = [*NEW, {"type": "P", "data": {"k": "old1", "n": 77}}]
OVERWRITTEN = NEW

OWN_POINTS = [Point.LOAD_DECODED, Point.LOAD_CHECKED, Point.LOAD_FRAGMENTS_WRITTEN, Point.LOAD_BEFORE_TABLE_COMMIT]
PROTOCOL_POINTS = [Point.MUTATION_STAGED, Point.MUTATION_ARMED, Point.MUTATION_TABLE_COMMITTED]
VISIBLE_AFTER = [Point.MUTATION_BEFORE_PUBLISH, Point.PUBLISH_AFTER]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load([json.dumps(record).encode() for record in OLD], mode="append", engine="local")
    return graph


def written(tmp_path: Path, records: list[dict[str, Any]], name: str = "in.jsonl") -> str:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def load(graph: Graph, file: str, mode: Any = "append", **options: Any) -> Any:
    source = line_source(file, split_bytes=500)
    return graph.load(source, mode=mode, engine="spark", spark=STAND_IN, **options)


def killed_at(point: Point, graph: Graph, file: str, mode: str, branch: str) -> None:
    command = [sys.executable, "-m", "support.processes.dying_bulk_load", graph.uri, file, mode, branch]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMNIGRAPH_FAILPOINTS": f"{point}=kill", "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


KILLS = [
    *((point, "append", MERGED[:-1], "main") for point in [*OWN_POINTS, *PROTOCOL_POINTS, *VISIBLE_AFTER]),
    (Point.LOAD_BEFORE_TABLE_COMMIT, "merge", MERGED, "main"),
    (Point.LOAD_UPSERT_WRITTEN, "merge", MERGED, "main"),
    (Point.LOAD_UPSERT_WRITTEN, "merge", MERGED, "draft"),
    (Point.LOAD_BEFORE_TABLE_COMMIT, "overwrite", OVERWRITTEN, "main"),
    (Point.LOAD_BEFORE_TABLE_COMMIT, "append", NEW, "draft"),
]


@pytest.mark.parametrize(
    ("point", "mode", "records", "branch"), KILLS, ids=[f"{point}-{mode}-{branch}" for point, mode, _, branch in KILLS]
)
def test_a_load_that_is_killed_is_whole_or_never_was_and_leaves_nothing(
    graph: Graph, tmp_path: Path, point: Point, mode: Any, records: Any, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    if branch != "main":
        graph.create_branch(branch)
    before = exported(graph, branch)
    file = written(tmp_path, records)
    killed_at(point, graph, file, mode, branch)
    if point is not Point.PUBLISH_AFTER:
        assert staging_left(graph) != []
    again = Graph.open(graph.uri, durability="os")
    assert nothing_is_left(again)
    if point in VISIBLE_AFTER:
        assert len(exported(again, branch)) == len(before) + len(records)
    else:
        assert exported(again, branch) == before
        load(again, file, mode, branch=branch)
        assert nothing_is_left(again)
    assert again.verify().findings == ()


@pytest.mark.parametrize("point", [*OWN_POINTS, Point.MUTATION_ARMED, Point.MUTATION_TABLE_COMMITTED])
def test_a_load_that_fails_cleans_up_after_itself(
    graph: Graph, tmp_path: Path, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    before, file = exported(graph), written(tmp_path, MERGED)
    with armed(point, "raise"), pytest.raises(InjectedFault):
        load(graph, file, "merge")
    assert nothing_is_left(graph)
    assert exported(graph) == before
    load(graph, file, "merge")
    assert nothing_is_left(graph)


def test_a_load_that_is_refused_or_interrupted_leaves_nothing(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    with pytest.raises(ValidationFailed):
        load(graph, written(tmp_path, [*NEW, {"edge": "K", "from": "x", "to": "y"}]))
    with pytest.raises(KeyConflict):
        load(graph, written(tmp_path, [*NEW, OLD[0]]))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with armed(Point.LOAD_BEFORE_TABLE_COMMIT, interrupt), pytest.raises(KeyboardInterrupt):
        load(graph, written(tmp_path, NEW))
    assert nothing_is_left(graph)
    assert len(exported(graph)) == len(OLD)


def test_a_branch_made_for_a_failing_load_goes_with_it(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    with armed(Point.LOAD_BEFORE_TABLE_COMMIT, "raise"), pytest.raises(InjectedFault):
        load(graph, written(tmp_path, NEW), branch="draft", base="main")
    assert graph.branches() == ["main"]
    assert nothing_is_left(graph)


def test_the_staging_of_a_living_load_is_left_alone(graph: Graph) -> None:
    with staging_area(graph._storage, "01LIVING") as area:
        (Path(graph.uri) / area.files.path("decode")).mkdir()
        assert graph.cleanup_staging() == []
        Graph.open(graph.uri).close()
        assert staging_left(graph) == ["01LIVING"]
    assert graph.cleanup_staging() == ["01LIVING"]
    assert nothing_is_left(graph)


def test_files_that_another_writer_put_into_a_table_are_not_touched(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    table = next(
        pin.path for pin in graph._storage.manifest.load("main").state.pins() if pin.table_key.type_name == "P"
    )
    foreign = Path(graph.uri) / table / "data" / "0123staged-by-another.lance"
    foreign.write_bytes(b"not yet committed")
    with armed(Point.LOAD_BEFORE_TABLE_COMMIT, "raise"), pytest.raises(InjectedFault):
        load(graph, written(tmp_path, NEW))
    load(graph, written(tmp_path, NEW))
    assert untracked_files(graph) == {f"{table}/data/{foreign.name}"}


def test_a_load_that_lost_a_race_is_checked_again_and_writes_its_files_once(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    other = Graph.open(graph.uri, durability="os")

    def overtake() -> None:
        other.mutate('query q() { insert P { k: "overtaker" } }')

    with armed(Point.LOAD_FRAGMENTS_WRITTEN, overtake):
        load(graph, written(tmp_path, NEW))
    assert len(exported(graph)) == len(OLD) + len(NEW) + 1
    assert nothing_is_left(graph)


def test_a_load_that_a_race_made_wrong_is_refused(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    other = Graph.open(graph.uri, durability="os")

    def overtake() -> None:
        other.mutate('query q() { insert P { k: "new3" } }')

    with armed(Point.LOAD_FRAGMENTS_WRITTEN, overtake), pytest.raises(KeyConflict):
        load(graph, written(tmp_path, NEW))
    assert len(exported(graph)) == len(OLD) + 1
    assert nothing_is_left(graph)


def test_blobs_travel_with_their_files(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_inline(monkeypatch)
    import base64

    large = base64.b64encode(os.urandom(300_000)).decode()
    records = [{"type": "P", "data": {"k": "blob", "b": f"base64:{large}"}}, *NEW]
    for mode in ("append", "overwrite", "merge"):
        load(graph, written(tmp_path, records), mode)
        stored = {each["data"]["k"]: each["data"]["b"] for each in exported(graph) if each.get("type") == "P"}
        assert stored["blob"] == f"base64:{large}"
        assert nothing_is_left(graph)
