"""Drivers of real Spark sessions that are killed: the graph is whole, nothing is left, no process lives on."""

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
from omnigraph.storage.failpoints import Point
from support.loads.both_engines import exported
from support.loads.leftovers import nothing_is_left, staging_left
from support.processes.descendants import await_end, family, new_mark
from support.size import sized

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes by their handles"),
]
SCHEMA = "node P { k: String @key  n: I32? }\nedge K: P -> P { w: I32? }"
OLD = [{"type": "P", "data": {"k": f"old{n}", "n": n}} for n in range(5)]
FILES, PEOPLE = 3, 20
END_S_MAX = 60.0

KILLED_AT = [
    Point.LOAD_FRAGMENTS_WRITTEN,
    Point.MUTATION_TABLE_COMMITTED,  # between the commits of two tables
    Point.MUTATION_BEFORE_PUBLISH,
    Point.LOAD_DECODED,
    Point.LOAD_CHECKED,
    Point.LOAD_BEFORE_TABLE_COMMIT,
]
"""The first three in every run: files, half of the tables, all of them. Each starts a Spark session."""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load([json.dumps(record).encode() for record in OLD], mode="append", engine="local")
    return graph


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Several files: several tasks."""
    place = tmp_path / "in"
    place.mkdir()
    for file in range(FILES):
        names = [f"new{file}-{n}" for n in range(PEOPLE)]
        records: list[Any] = [{"type": "P", "data": {"k": name}} for name in names]
        records += [{"edge": "K", "from": name, "to": names[0]} for name in names]
        (place / f"{file}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return place


def driver(
    module: str, *arguments: str, mark: dict[str, str], failpoints: str = ""
) -> subprocess.CompletedProcess[str]:
    tests = str(Path(__file__).parents[1])
    more = {
        "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]),
        "OMNIGRAPH_FAILPOINTS": failpoints,
    }
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=os.environ | more | mark, capture_output=True, text=True, check=False)


def load_command(graph: Graph, folder: Path) -> list[str]:
    return ["load", "--data", str(folder), "--mode", "append", "--engine", "spark", "--spark", "local[2]", graph.uri]


def seen_by_readers(graph: Graph) -> list[Any]:
    """What a process sees that does not write, and so repairs nothing."""
    with Graph.open(graph.uri, read_only=True) as reader:
        return exported(reader)


@pytest.mark.parametrize("point", KILLED_AT[: sized(3, len(KILLED_AT))])
def test_a_driver_that_is_killed_on_spark_leaves_the_old_graph_or_the_whole_new_one(
    graph: Graph, folder: Path, point: Point, request: pytest.FixtureRequest
) -> None:
    before, mark = exported(graph), new_mark()
    done = driver("omnigraph.cli", *load_command(graph, folder), mark=mark, failpoints=f"{point}=kill")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert await_end(mark, END_S_MAX) == []
    assert seen_by_readers(graph) == before
    assert staging_left(graph) != []
    again = Graph.open(graph.uri, durability="os")
    assert nothing_is_left(again)
    if point is Point.MUTATION_BEFORE_PUBLISH:  # every table had moved: whoever opens it finishes the publish
        assert len(exported(again)) == len(before) + 2 * FILES * PEOPLE
    else:
        assert exported(again) == before
        again.load(folder, mode="append", engine="spark", spark=request.getfixturevalue("spark"))
        assert len(exported(again)) == len(before) + 2 * FILES * PEOPLE
    assert nothing_is_left(again)
    assert again.verify().findings == ()


def test_a_driver_that_is_killed_amid_its_tasks_takes_them_along_and_the_command_works_afterwards(
    graph: Graph, folder: Path
) -> None:
    before, mark = exported(graph), new_mark()
    done = driver("support.processes.endless_load", graph.uri, mark=mark)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert await_end(mark, END_S_MAX) == []
    [load_id] = staging_left(graph)
    assert seen_by_readers(graph) == before
    assert graph.cleanup_staging() == [load_id]
    assert nothing_is_left(graph)

    mark = new_mark()
    done = driver("omnigraph.cli", *load_command(graph, folder), mark=mark)
    assert done.returncode == 0, done.stderr
    assert family(mark) == []  # a session that ends takes its processes along before the command returns
    assert len(exported(Graph.open(graph.uri))) == len(before) + 2 * FILES * PEOPLE
    assert nothing_is_left(graph)
