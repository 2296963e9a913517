"""Sessions elsewhere: a real Connect server, and a real standalone master with two workers. The same graph as here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from support.loads.both_engines import exported
from support.loads.leftovers import nothing_is_left
from support.servers.spark_servers import connect_server, standalone_master
from support.size import sized

pytestmark = pytest.mark.timeout(600)
SCHEMA = "node P { k: String @key  n: I32? }\nedge K: P -> P { w: I32? }"
FILES, PEOPLE = 4, 50


@pytest.fixture(scope="module")
def connect() -> Iterator[str]:
    pytest.importorskip("grpc", reason="the extra `connect` is not installed")
    with connect_server() as address:
        yield address


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_master(tmp_path_factory.mktemp("workers"), workers=2) as address:
        yield address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    for file in range(FILES):
        names = [f"p{file}-{n}" for n in range(PEOPLE)]
        records: list[Any] = [{"type": "P", "data": {"k": name, "n": len(name)}} for name in names]
        records += [{"edge": "K", "from": name, "to": names[0], "data": {"id": f"e-{name}"}} for name in names]
        (place / f"{file}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return place


@pytest.fixture
def here(tmp_path: Path, folder: Path) -> list[Any]:
    """What the local engine makes of the input."""
    graph = Graph.init(str(tmp_path / "here"), SCHEMA, durability="os")
    graph.load(folder, mode="append", engine="local")
    return exported(graph)


def program(module: str, *arguments: str) -> str:
    """Runs a driver of its own; what it printed."""
    tests = str(Path(__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("server", ["connect", "standalone"][: sized(1, 2)])  # test_cluster has a master too
def test_the_command_line_loads_through_a_server_what_it_loads_here(
    server: str, request: pytest.FixtureRequest, tmp_path: Path, folder: Path, here: list[Any]
) -> None:
    master = request.getfixturevalue(server)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    words = ["load", "--data", str(folder), "--mode", "append", "--spark", master, graph.uri, "--json"]
    loaded = json.loads(program("omnigraph.cli", *words))
    assert (loaded["engine"], loaded["total_entities"]) == ("spark", 2 * FILES * PEOPLE)
    assert exported(graph) == here
    assert nothing_is_left(graph)


def test_the_command_line_exports_through_a_connect_server(connect: str, tmp_path: Path, here: list[Any]) -> None:
    graph, target = str(tmp_path / "here"), str(tmp_path / "out")
    out = json.loads(program("omnigraph.cli", "export", graph, "--output", target, "--spark", connect, "--json"))
    assert (out["engine"], out["total_entities"]) == ("spark", len(here))
    lines = [line for file in Path(target).rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(map(json.loads, lines), key=str) == here


def test_an_attached_connect_session_loads_reads_and_writes_as_a_classic_one_does(
    connect: str, tmp_path: Path, folder: Path, here: list[Any]
) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    seen = json.loads(program("support.processes.connect_session", connect, graph.uri, str(folder)))
    assert seen["session"] == "pyspark.sql.connect.session"
    assert seen["engine"] == "spark"
    assert seen["decode"] == {"rows": len(here), "tasks": FILES, "tasks_total": FILES}
    assert seen["read"] == sorted(f"p{file}-{n}" for file in range(FILES) for n in range(PEOPLE))
    assert seen["joined"] == FILES * PEOPLE
    assert (seen["interrupted"], seen["goes_on"]) == (True, 3)
    assert seen["refused"] == "ValidationFailed: 1"
    added = [{"type": "P", "data": {"id": k, "k": k, "n": n}} for k, n in (("frame", 1), ("saved", 2))]
    assert exported(graph) == sorted([*here, *added], key=str)
    assert nothing_is_left(graph)
