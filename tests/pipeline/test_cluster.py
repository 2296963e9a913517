"""Real executors in processes of their own: the same result, also when one of them is killed while it writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from omnigraph.graph import Graph
from support.loads.both_engines import exported
from support.loads.leftovers import nothing_is_left

pytestmark = pytest.mark.timeout(900)
PEOPLE = 6_000
SCHEMA = "node P { k: String @key  n: I32? }\nedge K: P -> P { w: I32? }"


@pytest.fixture
def _no_work_folder() -> Iterator[None]:
    """The executors of a local cluster work inside of the installed package."""
    yield
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)


def lines(prefix: str) -> str:
    people = "".join(f'{{"type":"P","data":{{"k":"{prefix}{n}","n":{n}}}}}\n' for n in range(PEOPLE))
    edges = (
        f'{{"edge":"K","from":"{prefix}{n}","to":"{prefix}{n // 2}","data":{{"id":"{prefix}e{n}"}}}}\n'
        for n in range(PEOPLE)
    )
    return people + "".join(edges)


@pytest.mark.usefixtures("_no_work_folder")
def test_a_killed_executor_costs_no_row_and_leaves_no_file(tmp_path: Path) -> None:
    uri, quiet, disturbed = str(tmp_path / "g"), tmp_path / "quiet.jsonl", tmp_path / "disturbed.jsonl"
    Graph.init(uri, SCHEMA, durability="os")
    quiet.write_text(lines("a"))
    disturbed.write_text(lines("b"))
    environment = {
        **os.environ,
        "OMNIGRAPH_TEST_SIGNAL": str(tmp_path / "writing"),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "support.processes.cluster_load", uri, str(quiet), str(disturbed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "engine=spark killed=1\n"
    graph = Graph.open(uri, durability="os")
    reference = Graph.init(str(tmp_path / "local"), SCHEMA, durability="os")
    reference.load([quiet, disturbed], mode="append", engine="local")
    assert exported(graph) == exported(reference)
    assert len(exported(graph)) == 4 * PEOPLE
    assert nothing_is_left(graph)
    assert graph.verify().findings == ()
    assert len(graph.commits()) == 3
