"""What a user of Spark Connect does with a graph: loads files, reads, joins, loads and saves frames; told as JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import omnigraph.spark as ogs
from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.write.rules import ValidationFailed

WAIT_S_MAX = 120.0


@dataclass(frozen=True)
class Endless:
    """Work that only ends when a file appears, or after a while."""

    stop: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            deadline = time.monotonic() + WAIT_S_MAX
            while not os.path.exists(self.stop) and time.monotonic() < deadline:
                time.sleep(0.05)
            yield pa.record_batch({"k": ["late"]})


@dataclass
class CtrlC:
    """A person who presses it once, when the work runs: then another thread tells of it."""

    pressed: bool = False

    def __call__(self, _: Progress) -> None:
        if not self.pressed and threading.current_thread() is not threading.main_thread():
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)


def interrupted(spark: SparkSession, graph: Graph, stop: str) -> bool:
    """Whether Ctrl-C ended a load that would not have ended by itself."""
    frame = spark.range(1).mapInArrow(Endless(stop), "k string")
    try:
        ogs.load(frame, graph, mode="append", type="P", progress=CtrlC())
    except KeyboardInterrupt:
        return True
    finally:
        Path(stop).touch()
    return False


def main() -> None:
    address, uri, folder = sys.argv[1:]
    spark = SparkSession.builder.remote(address).getOrCreate()
    graph, steps = Graph.open(uri, durability="os"), list[Progress]()
    loaded = graph.load(folder, mode="append", engine="spark", progress=steps.append)  # on the session that runs
    decoded = [step for step in steps if step.stage == "decode"][-1]

    ogs.register(spark)
    people = spark.read.format("omnigraph").option("type", "P").load(uri)
    read = sorted(row["k"] for row in people.select("k").collect())
    ogs.create_views(spark, uri)
    joined = spark.sql("select count(*) as n from K join P on K.dst = P.id").collect()[0]["n"]

    try:
        refused = str(
            ogs.load(spark.createDataFrame([("a", None)], "src string, dst string"), graph, mode="append", type="K")
        )
    except ValidationFailed as error:
        refused = f"{type(error).__name__}: {len(error.violations)}"
    ogs.load(spark.createDataFrame([("frame", 1)], "k string, n int"), graph, mode="append", type="P")
    frame = spark.createDataFrame([("saved", 2)], "k string, n int")
    frame.write.format("omnigraph").mode("append").option("type", "P").save(uri)
    seen = {
        "interrupted": interrupted(spark, graph, f"{folder}-stop"),
        "goes_on": spark.range(3).count(),
        "session": type(spark).__module__,
        "engine": loaded.engine,
        "decode": {"rows": decoded.rows, "tasks": decoded.tasks, "tasks_total": decoded.tasks_total},
        "read": read,
        "joined": joined,
        "refused": refused,
    }
    print(json.dumps(seen))
    spark.stop()


if __name__ == "__main__":
    main()
