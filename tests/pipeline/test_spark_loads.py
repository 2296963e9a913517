"""Loads on a real session: DataFrames, several writers at once, compressed files, cancelling, which engine runs."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, Conflict, OmniGraphError
from omnigraph.pipeline.load.engines import choose
from omnigraph.pipeline.load.spark_sources import DataFrameSource, ItemSource
from omnigraph.write.intake.line_files import LineItem, line_source
from omnigraph.write.intake.records import Record
from support.loads.both_engines import exported
from support.loads.leftovers import nothing_is_left

cloudpickle.register_pickle_by_value(sys.modules[__name__])
SCHEMA = "node P { k: String @key  n: I32? }\nnode Q { t: String? }\nedge K: P -> P { w: I32? }"


def people(prefix: str, count: int) -> list[bytes]:
    lines = [json.dumps({"type": "P", "data": {"k": f"{prefix}{n}", "n": n}}).encode() for n in range(count)]
    return lines + [
        json.dumps({"edge": "K", "from": f"{prefix}{n}", "to": f"{prefix}0"}).encode() for n in range(count)
    ]


def to_people(batch: pa.RecordBatch, first_line: int) -> Iterator[Record]:
    for number, row in enumerate(batch.to_pylist(), first_line):
        yield Record(number, number, "node", "P", None, None, None, {"k": row["name"], "n": row["n"]})


def test_a_dataframe_is_loaded_by_the_executors_that_hold_it(graph: Graph, spark: Any) -> None:
    frame = spark.range(0, 1000, 1, 3).selectExpr("concat('p', id) as name", "cast(id as int) as n")
    result = graph.load(DataFrameSource(frame, to_people, "people"), mode="append")
    assert (result.engine, result.nodes) == ("spark", {"P": 1000})
    assert sorted(each["data"]["n"] for each in exported(graph)) == list(range(1000))
    assert nothing_is_left(graph)


def test_a_bad_row_of_a_dataframe_is_named_by_partition_and_row(graph: Graph, spark: Any) -> None:
    frame = spark.range(0, 4, 1, 2).selectExpr("concat('p', id div 2) as name", "cast(id as int) as n")
    with pytest.raises(OmniGraphError, match="held by 'p0' and 'p0'") as refused:
        graph.load(DataFrameSource(frame, to_people, "people"), mode="append")
    places = [(each["file"], each["line"]) for each in refused.value.details()["violations"]]
    assert places == [("people[0]", 2), ("people[1]", 2)]


def test_several_files_compressed_or_not_are_one_commit(graph: Graph, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_bytes(b"\n".join(people("a", 300)))
    (tmp_path / "in/b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(people("b", 300))))
    with pa.output_stream(str(tmp_path / "in/c.jsonl.zst"), compression="zstd") as out:
        out.write(b"\n".join(people("c", 300)))
    result = graph.load(tmp_path / "in", mode="append")
    assert (result.engine, result.total_entities, len(graph.commits())) == ("spark", 1800, 2)
    assert result.report is not None
    assert result.report.files == 3
    assert set(result.report.seconds) == {"session", "decode", "check", "write", "commit"}
    assert "1,800 rows of 2 types" in str(result.report)
    assert result.report.to_json()["commit_id"] == result.commit_id


def test_two_loads_and_a_mutation_at_once_each_land_whole_or_conflict(graph: Graph, spark: Any, tmp_path: Path) -> None:
    outcomes: dict[str, Any] = {}

    def attempt(name: str, work: Any) -> None:
        try:
            outcomes[name] = work()
        except Conflict as error:
            outcomes[name] = error

    def load(prefix: str, mode: Any) -> Any:
        file = tmp_path / f"{prefix}.jsonl"
        file.write_bytes(b"\n".join(people(prefix, 200)))
        return Graph.open(graph.uri, durability="os").load(file, mode=mode, spark=spark)

    threads = [
        threading.Thread(target=attempt, args=("a", lambda: load("a", "append"))),
        threading.Thread(target=attempt, args=("b", lambda: load("b", "merge"))),
        threading.Thread(target=attempt, args=("m", lambda: graph.mutate('query q() { insert P { k: "m0" } }'))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = exported(graph)
    landed = {name for name, outcome in outcomes.items() if not isinstance(outcome, Conflict)}
    assert set(outcomes) == {"a", "b", "m"}
    assert "m" in landed
    counts = {name: sum(each.get("type") == "P" and each["data"]["k"][0] == name for each in shown) for name in "abm"}
    assert counts == {"a": 200 * ("a" in landed), "b": 200 * ("b" in landed), "m": 1}
    assert nothing_is_left(Graph.open(graph.uri))
    assert graph.verify().findings == ()


@dataclass(frozen=True)
class Waiting(LineItem):
    """An item that says that it is read, and is then read forever."""

    signal: str = ""

    def blocks(self, block_bytes: int | None = None) -> Iterator[Any]:
        Path(self.signal).touch()
        time.sleep(300)
        yield from ()


@pytest.mark.timeout(90)
def test_an_interrupt_cancels_the_job_and_leaves_nothing(graph: Graph, spark: Any, tmp_path: Path) -> None:
    reading = tmp_path / "reading"

    def interrupt() -> None:
        while not reading.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        graph.load(ItemSource((Waiting("x", signal=str(reading)),)), mode="append", spark=spark)
    assert nothing_is_left(graph)
    assert spark.range(3).count() == 3, "the session is still usable"
    graph.load(people("a", 3), mode="append", spark=spark)


def test_a_worker_that_dies_is_replaced_and_no_row_is_twice(graph: Graph, spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\n".join(people("a", 500)))
    dying = DyingOnce("x", str(file), marker=str(tmp_path / "died"), bytes_on_disk=1)
    result = graph.load(ItemSource((dying,)), mode="append", spark=spark)
    assert (tmp_path / "died").exists()
    assert result.total_entities == len(exported(graph)) == 1000
    assert nothing_is_left(graph)


@dataclass(frozen=True)
class DyingOnce(LineItem):
    """An item whose first reader is killed."""

    marker: str = ""

    def blocks(self, block_bytes: int | None = None) -> Iterator[Any]:
        yield from LineItem.blocks(self, 2_000)
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), 9)


# --- the choice -------------------------------------------------------------------------------------------

SMALL, LARGE = line_source([b"x"]), ItemSource((LineItem("f", "/f", bytes_on_disk=2**27),))


@pytest.mark.parametrize(
    ("asked", "spark", "items", "engine"),
    [
        ("auto", None, SMALL, "local"),
        ("auto", None, LARGE, "spark"),
        ("auto", "local[2]", SMALL, "spark"),
        ("local", "local[2]", LARGE, "local"),
        ("spark", None, SMALL, "spark"),
        ("auto", None, None, "spark"),
    ],
)
def test_the_engine_follows_size_master_and_wish(asked: Any, spark: Any, items: Any, engine: str) -> None:
    assert choose(asked, spark, items) == engine


def test_the_limit_of_the_local_engine_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_LOCAL_LOAD_MAX", str(2**30))
    assert choose("auto", None, LARGE) == "local"
    monkeypatch.setenv("OMNIGRAPH_LOCAL_LOAD_MAX", "much")
    with pytest.raises(BadRequest, match="a number of bytes"):
        choose("auto", None, LARGE)


def test_a_running_session_is_used_for_small_loads_too(graph: Graph, spark: Any) -> None:
    assert graph.load(people("a", 3), mode="append").engine == "spark"
    assert graph.load(people("b", 3), mode="append", engine="local").engine == "local"


def test_what_only_spark_reads_cannot_run_locally(graph: Graph, spark: Any) -> None:
    with pytest.raises(BadRequest, match="only be read by Spark"):
        graph.load(spark.range(3), mode="append", engine="local", type="P")
