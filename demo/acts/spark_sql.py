"""Act 5: the graph as a Spark data source. Needs Java; without it the act is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import omnigraph.spark as ogs
from demo.stage import Stage, say, step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


def play(stage: Stage) -> None:
    if stage.engine == "local":
        print("\n== Read the graph with Spark: left out, there is no Java")
        return
    from pyspark.sql import SparkSession

    uri = stage.uri
    spark = SparkSession.builder.getOrCreate()  # the session that the first load started

    @step("Read a type as a DataFrame")
    def papers() -> DataFrame:
        return spark.read.format("omnigraph").option("type", "Paper").load(uri)

    @step("Use it like any other")
    def per_decade() -> list[Row]:
        decades = papers.selectExpr("floor(year / 10) * 10 as decade")
        return decades.groupBy("decade").count().orderBy("decade").collect()

    for row in per_decade:
        say(row)

    @step("Ask in SQL: a view for each type, all of one commit")
    def per_country() -> list[Row]:
        ogs.create_views(spark, uri)
        return spark.sql("""
            select a.country, count(*) as papers, round(avg(p.year), 1) as mean_year
            from Wrote w join Author a on w.src = a.id join Paper p on w.dst = p.id
            group by a.country order by papers desc limit 3""").collect()

    for row in per_country:
        say(row)
