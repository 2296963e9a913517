"""What a user of Spark Connect does with a graph: loads files, reads, joins, loads and saves frames; told as JSON."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import omnigraph.spark as ogs
from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.write import ValidationFailed


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
