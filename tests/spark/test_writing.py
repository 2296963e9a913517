"""Writing and loading DataFrames: one commit with every check, or nothing; the sources that people really have."""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import omnigraph.spark as ogs
from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.pipeline.load.data_source_write import SchemaChanged
from omnigraph.spark.writing import CommitWriter
from omnigraph.storage.bulk.area import cleanup_staging, handed_over_id, staging_folders
from omnigraph.write.rules import ValidationFailed
from support.graphs.people import edges, fx, lines, people, person
from support.loads.leftovers import nothing_is_left


def left_behind(graph: Graph) -> list[str]:
    return staging_folders(graph._storage)


def rows_of(graph: Graph, edge_type: str) -> int:
    return graph.snapshot().table(graph.schema.catalog.edge(edge_type).table_key).row_count


def test_a_frame_is_written_as_one_commit_in_each_mode(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    before = len(graph.commits())
    frame = spark.createDataFrame([("Eve", 40), ("Finn", None)], "name string, age int").repartition(2)
    frame.write.format("omnigraph").mode("append").option("type", "Person").option("actor", "act-spark").save(graph.uri)
    assert people(graph)["Eve"] == 40
    assert len(graph.commits()) == before + 1
    assert graph.snapshot().commit is not None
    assert graph.snapshot().commit.actor_id == "act-spark"  # type: ignore[union-attr]

    older = spark.createDataFrame([("Eve", 41)], "name string, age int")
    older.write.format("omnigraph").mode("append").option("mode", "merge").option("type", "Person").save(graph.uri)
    assert (people(graph)["Eve"], people(graph)["Alice"]) == (41, 30)

    pairs = spark.createDataFrame([("Eve", "Finn")], "src string, dst string")
    pairs.write.format("omnigraph").mode("overwrite").option("type", "Knows").save(graph.uri)
    assert edges(graph, "Knows") == {("Eve", "Finn")}
    assert left_behind(graph) == []


def test_a_write_that_breaks_a_rule_fails_with_it_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    head = graph.snapshot().commit_id
    pairs = spark.createDataFrame([("Alice", "Nobody")], "from string, to string")
    with pytest.raises(Exception, match="Nobody"):
        pairs.write.format("omnigraph").mode("append").option("type", "Knows").save(graph.uri)
    with pytest.raises(Exception, match="columns that Person does not"):
        pairs.write.format("omnigraph").mode("append").option("type", "Person").save(graph.uri)
    assert graph.snapshot().commit_id == head
    assert left_behind(graph) == []


def test_a_row_that_breaks_a_rule_is_named_by_its_partition_and_place(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    frame = spark.createDataFrame([("Ada", 1), (None, 2)], "name string, age int").coalesce(1)
    with pytest.raises(Exception, match=r"dataframe\[0\], line 2: Person"):
        frame.write.format("omnigraph").mode("append").option("type", "Person").save(graph.uri)
    assert left_behind(graph) == []


def test_a_write_of_which_a_task_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    head = graph.snapshot().commit_id

    def broken(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch({"name": [f"p{number}"]})
                if number == 3:
                    raise RuntimeError("the disk of this executor is gone")

    frame = spark.range(0, 4, 1, 4).mapInArrow(broken, "name string")
    with pytest.raises(Exception, match="the disk of this executor is gone"):
        frame.write.format("omnigraph").mode("append").option("type", "Person").save(graph.uri)
    assert graph.snapshot().commit_id == head
    assert nothing_is_left(graph)


def test_rows_without_an_id_get_one_each_and_an_empty_frame_is_an_empty_commit(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = fx(tmp_path / "g.omni")
    before = rows_of(graph, "Knows")
    pairs = spark.createDataFrame([("Alice", "Bob")] * 3, "from string, to string").repartition(3)
    pairs.write.format("omnigraph").mode("append").option("type", "Knows").save(graph.uri)
    assert rows_of(graph, "Knows") == before + 3
    head = graph.snapshot().commit_id
    pairs.limit(0).write.format("omnigraph").mode("append").option("type", "Knows").save(graph.uri)
    assert (rows_of(graph, "Knows"), graph.snapshot().commit_id == head) == (before + 3, False)
    assert nothing_is_left(graph)


WIDE = "node Doc { slug: String @key  body: String }"
WIDE_ROWS, BODY = 20_000, 4_000


def test_a_commit_holds_keys_and_not_rows(tmp_path: Path) -> None:
    """Tasks and commit as Spark calls them; the commit in a process of its own, whose memory is measured."""
    graph = Graph.init(str(tmp_path / "g"), WIDE, durability="os")
    writer = CommitWriter.of({"path": graph.uri, "type": "Doc"}, ["slug", "body"], overwrite=False)
    text = "0123456789" * (BODY // 10)

    def batches(first: int) -> Iterator[pa.RecordBatch]:
        for start in range(first, first + WIDE_ROWS // 2, 500):
            slugs = [f"d{number}" for number in range(start, start + 500)]
            yield pa.record_batch({"slug": slugs, "body": [f"{slug} {text}" for slug in slugs]})

    messages = [writer.write(batches(half * WIDE_ROWS // 2)) for half in range(2)]
    for number, message in enumerate(messages):
        message.receipt = dataclasses.replace(message.receipt, number=number)  # type: ignore[attr-defined]
    (tmp_path / "write").write_bytes(pickle.dumps((writer, messages)))
    code = (
        "import pickle, sys, pyarrow as pa\n"
        "writer, messages = pickle.load(open(sys.argv[1], 'rb'))\n"
        "writer.commit(messages)\n"
        "print(pa.default_memory_pool().max_memory())\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "write")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert graph.snapshot().table(graph.schema.catalog.node("Doc").table_key).row_count == WIDE_ROWS
    assert int(done.stdout) < WIDE_ROWS * BODY / 4
    assert nothing_is_left(graph)


def test_a_write_whose_schema_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), WIDE, durability="os")
    writer = CommitWriter.of({"path": graph.uri, "type": "Doc"}, ["slug", "body"], overwrite=False)
    message = writer.write(iter([pa.record_batch({"slug": ["a"], "body": ["b"]})]))
    load = dataclasses.replace(writer.plan.load, schema_hash="of another schema")
    writer.plan = dataclasses.replace(writer.plan, load=load)
    with pytest.raises(SchemaChanged, match="the schema of the graph changed"):
        writer.commit([message])
    assert nothing_is_left(graph)


def test_a_branch_and_a_mapping_are_options_of_a_write(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    frame = spark.createDataFrame([("Gil", 7, "x")], "who string, years int, note string")
    mapping = json.dumps({"columns": {"who": "name", "years": "age"}, "ignore": ["note"]})
    writer = frame.write.format("omnigraph").mode("append").option("type", "Person").option("mapping", mapping)
    writer.option("branch", "draft").option("base", "main").save(graph.uri)
    assert people(graph, "draft")["Gil"] == 7
    assert "Gil" not in people(graph)


def test_a_staging_area_that_spark_fills_is_spared_for_a_day(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    old = "write-01ARZ3NDEKTSV4RRFFQ69G5FAV"
    young = handed_over_id()
    for name in (old, young):
        (tmp_path / "g.omni" / "__staging" / name / "rows").mkdir(parents=True)
    assert cleanup_staging(graph._storage) == [old]
    assert left_behind(graph) == [young]


# --- loads on Spark ---------------------------------------------------------------------------------------


def test_the_result_of_a_join_is_loaded(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    ogs.create_views(spark, graph.uri, prefix="j_")
    frame = spark.sql("""
        select a.src as from, b.dst as to, date '2026-01-02' as since from j_Knows a join j_Knows b on a.dst = b.src
    """)
    result = ogs.load(frame, graph, mode="append", type="Knows")
    assert (result.engine, dict(result.edges)) == ("spark", {"Knows": 1})
    assert ("Alice", "Diana") in edges(graph, "Knows")


def test_a_frame_that_breaks_a_rule_is_refused_with_its_row(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    frame = spark.createDataFrame([("Ada", 1), (None, 2)], "name string, age int").coalesce(1)
    with pytest.raises(ValidationFailed) as refused:
        ogs.load(frame, graph, mode="append", type="Person", name="people")
    (violation,) = refused.value.violations
    assert (violation.rule, violation.property, violation.line) == ("required", "name", 2)
    assert (violation.file or "").startswith("people")
    assert left_behind(graph) == []


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_the_sources_that_people_have_load_alike_on_both_engines(
    engine: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A wide CSV file, a lake folder with partitions, compressed lines: one graph, three loads."""
    if engine == "spark":
        request.getfixturevalue("spark")
    wide = [f"c{number:03}" for number in range(200)]
    schema = f"""
    node Wide {{ key: String @key  {" ".join(f"{name}: I32?" for name in wide)} }}
    node Visit {{ id_: String @key  day: Date?  country: String?  year: I32? }}
    edge Saw: Wide -> Visit {{ at: DateTime? }}
    """
    graph = Graph.init(str(tmp_path / "g.omni"), schema, durability="os")
    rows = [
        f'"k\n{row}",' + ",".join("" if (row + at) % 7 == 0 else str(row * at) for at in range(200))
        for row in range(50)
    ]
    (tmp_path / "wide.csv").write_text("key," + ",".join(wide) + "\n" + "\n".join(rows) + "\n")
    for country in ("CH", "AT"):
        folder = tmp_path / "lake" / f"country={country}" / "year=2026"
        folder.mkdir(parents=True)
        visits = {"id_": [f"{country}{number}" for number in range(20)], "day": [datetime.date(2026, 1, 2)] * 20}
        pq.write_table(pa.table(visits), folder / "part-0.parquet", row_group_size=7)
    saw = lines(
        *({"edge": "Saw", "from": f"k\n{number}", "to": f"CH{number}", "data": {"at": 5}} for number in range(20))
    )
    (tmp_path / "saw.jsonl.gz").write_bytes(gzip.compress(b"".join(saw)))

    results = [
        graph.load(tmp_path / "wide.csv", mode="append", format="csv", type="Wide", engine=engine),
        graph.load(tmp_path / "lake", mode="append", format="parquet", type="Visit", engine=engine),
        graph.load(tmp_path / "saw.jsonl.gz", mode="append", engine=engine),
    ]
    assert [result.total_entities for result in results] == [50, 40, 20]
    assert {result.engine for result in results} == {engine}
    exported = [json.loads(line) for line in graph.export(types=["Wide", "Visit"])]
    by_id = {record["data"]["id"]: record["data"] for record in exported}
    assert (by_id["k\n3"]["c010"], by_id["k\n3"]["c011"]) == (30, None if (3 + 11) % 7 == 0 else 33)
    assert (by_id["AT7"]["country"], by_id["AT7"]["year"]) == ("AT", 2026)
    assert graph.verify().ok


def test_a_format_of_spark_and_a_table_are_sources(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    spark.createDataFrame([("Orca", 9)], "name string, age int").write.orc(str(tmp_path / "people.orc"))
    result = graph.load(tmp_path / "people.orc", mode="append", format="orc", type="Person")
    assert (result.engine, result.nodes) == ("spark", {"Person": 1})
    spark.createDataFrame([("Tab", 8)], "name string, age int").createOrReplaceTempView("more_people")
    graph.load("more_people", mode="append", format="table", type="Person")
    assert (people(graph)["Orca"], people(graph)["Tab"]) == (9, 8)


def test_an_export_on_spark_is_that_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    graph.load(lines(person("Zoe")), mode="append", engine="local")
    steps: list[Progress] = []
    on_spark = graph.export_to(tmp_path / "a", format="csv", engine="spark", progress=steps.append)
    here = graph.export_to(tmp_path / "b", format="csv", engine="local")
    assert (on_spark.engine, on_spark.files, on_spark.nodes) == ("spark", here.files, here.nodes)
    for name in here.files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (steps[-1].stage, steps[-1].tasks, steps[-1].tasks_total) == ("export", len(here.files), len(here.files))
    assert steps[-1].rows == steps[-1].rows_total == here.total_entities


def test_ctrl_c_cancels_a_load_on_spark_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    head, stop = graph.snapshot().commit_id, str(tmp_path / "stop")

    def endless(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            deadline = time.monotonic() + 120
            while not os.path.exists(stop) and time.monotonic() < deadline:
                time.sleep(0.05)
            yield pa.record_batch({"name": ["late"]})

    def interrupt(_: Progress) -> None:
        is_running = threading.current_thread() is not threading.main_thread()  # the beginning is told before
        if is_running and not Path(stop).exists():
            Path(stop).touch()
            os.kill(os.getpid(), signal.SIGINT)

    frame = spark.range(1).mapInArrow(endless, "name string")
    with pytest.raises(KeyboardInterrupt):
        ogs.load(frame, graph, mode="append", type="Person", progress=interrupt)
    assert graph.snapshot().commit_id == head
    assert left_behind(graph) == []
    assert spark.range(3).count() == 3  # the session goes on
