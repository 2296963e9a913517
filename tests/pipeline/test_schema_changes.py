"""Schema changes whose rows are written on Spark: the same tables as in one process, or the graph as it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, Corrupt, LeaseLost
from omnigraph.model.progress import Progress
from omnigraph.pipeline.spark import SparkJobFailed
from omnigraph.storage.bulk import WrittenFragment
from omnigraph.storage.failpoints import Point
from omnigraph.storage.tables import fragment_states
from omnigraph.write.evolution.row_tasks import RowTask, write_piece
from support.loads.leftovers import nothing_is_left, staging_left
from support.processes.descendants import await_end, new_mark
from support.size import sized

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.timeout(300)

SCHEMA = """
node P { k: String @key  a: I32?  s: enum(x, y)  gone: String?  b: Blob? }
edge Knows: P -> P { w: I32? }
"""
PIECE_ROWS = 20
LOADS, ROWS = 5, 10
LARGE = "base64:" + "QUJD" * 60_000
"""So large that it lies in a file of its own."""


def record(n: int) -> dict[str, Any]:
    blob = None if n % 3 else LARGE if n % 10 == 0 else "base64:QUJD"
    return {"type": "P", "data": {"k": f"p{n:03}", "a": n, "s": "xy"[n % 2], "gone": f"g{n}", "b": blob}}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several fragments, some of them with deleted rows."""
    path = tmp_path_factory.mktemp("template") / "g"
    graph = Graph.init(str(path), SCHEMA, durability="os")
    for start in range(0, LOADS * ROWS, ROWS):
        graph.load([json.dumps(record(n)).encode() for n in range(start, start + ROWS)], mode="append", engine="local")
    edges = [{"edge": "Knows", "from": f"p{n:03}", "to": "p001", "data": {"w": n}} for n in range(8)]
    graph.load([json.dumps(edge).encode() for edge in edges], mode="append", engine="local")
    for n in (4, 11, 12, 33):
        graph.mutate(f'query m() {{ delete P where k = "p{n:03}" }}')
    return path


@pytest.fixture
def copy_of(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Graph]:
    """Graphs whose tables are cut into several tasks."""
    monkeypatch.setattr("omnigraph.write.evolution.row_tasks.FRAGMENT_ROWS", PIECE_ROWS)

    def make(name: str) -> Graph:
        shutil.copytree(template, tmp_path / name / "g")
        return Graph.open(str(tmp_path / name / "g"), durability="os")

    return make


def stored(graph: Graph) -> dict[str, Any]:
    """Everything that is stored: the export with its blobs, and of each table the rows as they lie there."""
    found: dict[str, Any] = {"export": [json.loads(line) for line in graph.export()]}
    for pin in graph.snapshot().tables:
        table = graph._storage.tables.open(pin)
        names = [name for name in table.schema.names if name != "b"]
        lineage = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
        rows = pa.Table.from_batches(table.scan([*names, *lineage]))
        found[str(pin.table_key)] = (rows.schema.names, rows.to_pylist(), [s.rows for s in fragment_states(table)])
    return found


def with_property(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "backfill": (with_property(SCHEMA, "a: I32?", "a: I32?  n: I64 @default(7)"), {}),
    "widening": (with_property(SCHEMA, "a: I32?", "a: I64?"), {}),
    "enum": (with_property(SCHEMA, "enum(x, y)", "enum(u, y)"), {"enum_values": {"node:P.s": {"x": "u"}}}),
    "rename": (
        with_property(SCHEMA, "node P ", 'node Q @rename_from("P") ').replace("P -> P", "Q -> Q"),
        {},
    ),
    "hard drop": (with_property(SCHEMA, "gone: String?", ""), {"allow_drop": ["node:P.gone"]}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_both_engines_make_the_same_tables(copy_of: Callable[[str], Graph], name: str, spark: Any) -> None:
    text, consent = CHANGES[name]
    here, there = copy_of("here"), copy_of("there")
    told: list[Progress] = []
    here.apply_schema(text, engine="local", **consent)
    there.apply_schema(text, engine="spark", spark=spark, progress=told.append, **consent)
    assert stored(there) == stored(here)
    assert len(stored(there)["export"]) == LOADS * ROWS - 4 + 7
    last = [step for step in told if step.stage == "write"][-1]
    assert (last.rows, last.rows_total) == (LOADS * ROWS - 4, LOADS * ROWS - 4)
    assert last.is_done
    assert last.tasks_total > 2
    for graph in (here, there):
        assert nothing_is_left(graph)
        assert [each for each in graph.verify().findings if each.severity != "info"] == []


def test_both_engines_bring_back_the_same_values_and_rows(copy_of: Callable[[str], Graph], spark: Any) -> None:
    found = []
    for name, options in (("here", {"engine": "local"}), ("there", {"spark": spark})):
        graph = copy_of(name)
        before = str(graph.snapshot().commit_id)
        graph.apply_schema("node P { k: String @key  a: I32?  s: enum(x, y)  gone: String? }\n")
        graph.mutate('query m() { insert P { k: "new", s: "x" } }')
        graph.restore_schema("node:P.b", at=before, **options)
        graph.restore_schema("edge:Knows", at=before, **options)
        found.append(stored(graph))
        blobs = {each["data"]["k"]: each["data"]["b"] for each in found[-1]["export"] if each.get("type") == "P"}
        assert (blobs["p030"], blobs["p003"], blobs["new"]) == (LARGE, "base64:QUJD", None)
        assert nothing_is_left(graph)
    assert found[1] == found[0]


# --- tasks that fail ----------------------------------------------------------------------------------------------

WIDER = with_property(SCHEMA, "a: I32?", "a: I64?  n: I64 @default(7)")
RENAMED = CHANGES["rename"][0]


def marks(task: RowTask) -> Path:
    return Path(task.files.root.uri).parent


def failing(task: RowTask) -> list[WrittenFragment]:
    written = write_piece(task)
    if task.fragments[0] != 0:
        raise Corrupt("a file", "it is not what it was")
    return written


def dying(task: RowTask) -> list[WrittenFragment]:
    write_piece(task)
    os._exit(9)


def dying_once(task: RowTask) -> list[WrittenFragment]:
    """Every piece is written by a process that dies, and written again."""
    written = write_piece(task)
    mark = marks(task) / f"tried-{task.fragments[0]}"
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return written


def waiting(task: RowTask) -> list[WrittenFragment]:
    """At work until its process is ended."""
    with task.files.at_work():
        write_piece(task)
        (marks(task) / "waiting").touch()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            time.sleep(0.02)
    return []


def run_on_spark(monkeypatch: pytest.MonkeyPatch, kernel: Callable[[RowTask], list[WrittenFragment]]) -> None:
    monkeypatch.setattr("omnigraph.pipeline.evolution.row_runner.write_piece", kernel)


@pytest.mark.parametrize(
    ("text", "kernel", "error"),
    [(WIDER, failing, Corrupt), (RENAMED, dying, SparkJobFailed)],
    ids=["columns", "rows"],
)
def test_a_task_that_fails_leaves_the_graph_as_it_was_and_no_file(
    copy_of: Callable[[str], Graph], spark: Any, monkeypatch: pytest.MonkeyPatch, text: str, kernel: Any, error: Any
) -> None:
    graph = copy_of("g")
    before, snapshot = stored(graph), graph.snapshot()
    with monkeypatch.context() as patched:
        run_on_spark(patched, kernel)
        with pytest.raises(error):
            graph.apply_schema(text, spark=spark)
    assert (stored(graph), graph.snapshot()) == (before, snapshot)
    assert nothing_is_left(graph)
    assert not graph._storage.lineages.names("__manifest"), "the lock is gone"
    graph.mutate('query m() { insert P { k: "more", s: "x" } }')


def test_what_a_lost_task_wrote_is_not_in_the_table(
    copy_of: Callable[[str], Graph], spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = copy_of("here"), copy_of("there")
    here.apply_schema(RENAMED, engine="local")
    run_on_spark(monkeypatch, dying_once)
    there.apply_schema(RENAMED, spark=spark)
    assert len(list(Path(there.uri).parent.glob("tried-*"))) > 2
    assert stored(there) == stored(here)
    assert nothing_is_left(there)


# --- changes that are ended ---------------------------------------------------------------------------------------


class GiveUp(Exception):
    pass


def give_up(graph: Graph) -> None:
    raise GiveUp


def lose_the_lease(graph: Graph) -> None:
    for mark in Path(graph.uri).glob("__staging/*/alive"):
        mark.unlink()


def interrupt(graph: Graph) -> None:
    signal.raise_signal(signal.SIGINT)


ENDS = [(lose_the_lease, LeaseLost), (give_up, GiveUp), (interrupt, KeyboardInterrupt)]


@pytest.mark.parametrize(("end", "error"), ENDS[: sized(2, 3)])
def test_a_change_that_is_ended_while_its_tasks_work_ends_them_and_leaves_nothing(
    copy_of: Callable[[str], Graph], spark: Any, monkeypatch: pytest.MonkeyPatch, end: Any, error: Any
) -> None:
    monkeypatch.setattr("omnigraph.write.evolution.stages.LOOK_EVERY_S", 0.0)
    graph, snapshot = (made := copy_of("g")), made.snapshot()

    def listen(step: Progress) -> None:
        if threading.current_thread() is not threading.main_thread() and (Path(graph.uri).parent / "waiting").exists():
            end(graph)

    with monkeypatch.context() as patched:
        run_on_spark(patched, waiting)
        with pytest.raises(error):
            graph.apply_schema(WIDER, spark=spark, progress=listen)
    assert graph.snapshot() == snapshot
    assert nothing_is_left(graph)
    assert graph.apply_schema(WIDER, spark=spark).applied, "the session is of use"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes by their handles")
def test_a_driver_that_is_killed_amid_a_rewrite_leaves_the_graph_to_whoever_comes_next(
    copy_of: Callable[[str], Graph], tmp_path: Path
) -> None:
    graph, mark = copy_of("g"), new_mark()
    before = stored(graph)
    (tmp_path / "next.pg").write_text(RENAMED)
    command = [sys.executable, "-m", "omnigraph.cli", "schema", "apply", "--schema", str(tmp_path / "next.pg")]
    environment = os.environ | mark | {"OMNIGRAPH_FAILPOINTS": f"{Point.ROWS_COPIED}=kill"}
    done = subprocess.run(
        [*command, "--spark", "local[2]", graph.uri], env=environment, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert await_end(mark, 60.0) == []
    assert staging_left(graph) != []
    again = Graph.open(graph.uri, durability="os")
    assert stored(again) == before
    assert nothing_is_left(again)
    assert again.apply_schema(RENAMED).applied


# --- which engine -------------------------------------------------------------------------------------------------


def tasks_of(graph: Graph, text: str, **options: Any) -> int:
    told: list[Progress] = []
    graph.apply_schema(text, progress=told.append, **options)
    return max(step.tasks_total for step in told if step.stage == "write")


def test_the_size_decides_unless_the_caller_does(
    copy_of: Callable[[str], Graph], spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tasks_of(copy_of("small"), WIDER) == 1, "in this process, although a session runs"
    monkeypatch.setenv("OMNIGRAPH_LOCAL_REWRITE_MAX", "500")
    assert tasks_of(copy_of("large"), WIDER) > 2
    assert tasks_of(copy_of("told"), WIDER, engine="local") == 1
    assert tasks_of(copy_of("none"), with_property(SCHEMA, "a: I32?", "c: I32?"), engine="spark") == 1, "nothing to do"
    monkeypatch.setenv("OMNIGRAPH_LOCAL_REWRITE_MAX", "much")
    with pytest.raises(BadRequest, match="OMNIGRAPH_LOCAL_REWRITE_MAX must be a number of bytes"):
        copy_of("wrong").apply_schema(WIDER)
