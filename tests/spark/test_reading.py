"""Reading through `format("omnigraph")`: any type at a branch, a commit or a time, pinned, with equal answers."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph.spark as ogs
from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest
from support.graphs.people import fx, lines, person

SCHEMA = """
node Doc {
  slug: String @key
  n: U32?
  big: U64?
  day: Date?
  at: DateTime?
  moments: [DateTime]?
  counts: [U64]?
  emb: Vector(2)?
  score: F64?
  file: Blob?
}
"""


def read(spark: SparkSession, uri: str, type_name: str = "Person", **options: str) -> DataFrame:
    return spark.read.format("omnigraph").option("type", type_name).options(**options).load(uri)


def names(frame: DataFrame) -> list[str]:
    return sorted(row["name"] for row in frame.select("name").collect())


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with fx(tmp_path_factory.mktemp("graph") / "g.omni") as graph:
        yield graph


def test_a_branch_a_commit_and_a_time_are_read_and_a_frame_keeps_what_it_saw(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = fx(tmp_path / "g.omni")
    before = ogs.pin(graph.uri)
    frame = read(spark, graph.uri)
    graph.create_branch("draft")
    graph.load(lines(person("Eve", 40)), mode="append", branch="draft", engine="local")
    moment = datetime.datetime.now(datetime.UTC).isoformat()
    later = graph.load(lines(person("Zoe", 50)), mode="append", engine="local")
    assert names(frame) == ["Alice", "Bob", "Charlie", "Diana"]
    assert "Eve" in names(read(spark, graph.uri, branch="draft"))
    assert names(read(spark, graph.uri, commit=before)) == names(frame)
    assert later.commit_id == ogs.pin(graph.uri) != before
    assert names(read(spark, graph.uri, timestamp=moment)) == names(frame)


FILTERS = [
    "age > 26",
    "age >= 25 and age <= 30",
    "age = 35 or name = 'Bob'",
    "age is null",
    "age is not null",
    "name in ('Alice', 'Eve', \"O'Hara\")",
    "name not in ('Alice', 'Bob')",
    "name != 'Alice'",
    "not (name <=> 'Alice')",
    "name like 'A%'",
    "name like '%a%'",
    'name = "O\'Hara"',
    "age % 2 = 0",
]


def test_pushed_filters_give_the_same_rows_and_reach_the_storage(spark: SparkSession, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    graph.load(lines(person("O'Hara"), person("Ämil", 7)), mode="append", engine="local")
    plain = read(spark, graph.uri)
    for text in FILTERS:
        assert names(read(spark, graph.uri, pushdown="true").where(text)) == names(plain.where(text)), text
    plan = read(spark, graph.uri, pushdown="true").where("age > 26")._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan


def test_canary_spark_keeps_the_pushed_filters_of_a_frame(spark: SparkSession, graph: Graph) -> None:
    """Why the pushing reader is not the default, and why the manual asks for a fresh frame per filter.

    Spark plans the read once per frame. When this fails, Spark has mended it: let the pushing reader be the default.
    """
    frame = read(spark, graph.uri, pushdown="true")
    assert frame.where("age > 26").count() == 3
    assert frame.count() == 3  # there are four
    assert read(spark, graph.uri, pushdown="true").count() == 4


def test_a_filter_given_as_an_option_belongs_to_its_frame(spark: SparkSession, graph: Graph) -> None:
    frame = read(spark, graph.uri, filter='[["age", ">", 26], ["name", "in", ["Alice", "Bob", "Diana"]]]')
    assert names(frame) == ["Alice", "Diana"]
    assert names(frame.where("age > 29")) == ["Alice"]
    assert frame.count() == 2


def test_columns_are_pruned_by_option_and_a_count_reads_none_of_the_others(spark: SparkSession, graph: Graph) -> None:
    ogs.register(spark)  # once more does no harm
    frame = read(spark, graph.uri, columns="age, id")
    assert frame.columns == ["age", "id"]
    assert sorted(row["age"] for row in frame.collect()) == [25, 28, 30, 35]
    assert frame.count() == 4


def test_types_cross_the_border_exactly_and_moments_can_be_filtered(spark: SparkSession, tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g.omni"), SCHEMA, durability="os")
    record = {
        "slug": "a",
        "n": 2**32 - 1,
        "big": 2**64 - 1,
        "day": "2026-01-02",
        "at": "2026-01-02T03:04:05.678Z",
        "moments": [0],
        "counts": [2**64 - 1],
        "emb": [1.5, 2.0],
        "score": 0.25,
        "file": "base64:aGk=",
    }
    graph.load(
        lines({"type": "Doc", "data": record}, {"type": "Doc", "data": {"slug": "b"}}), mode="append", engine="local"
    )
    frame = read(spark, graph.uri, "Doc")
    assert "file" not in frame.columns
    found = {row["id"]: row.asDict() for row in frame.collect()}
    day = datetime.date(2026, 1, 2)
    assert found["a"]["n"] == 2**32 - 1
    assert found["a"]["big"] == Decimal(2**64 - 1)
    assert found["a"]["counts"] == [Decimal(2**64 - 1)]
    assert (found["a"]["day"], found["a"]["emb"], found["a"]["score"]) == (day, [1.5, 2.0], 0.25)
    assert set(found["b"].values()) == {None, "b"}
    for text, ids in (
        ("at >= timestamp '2026-01-02 03:04:05.678'", ["a"]),
        ("at > timestamp '2026-01-02 03:04:05.678'", []),
        ("at < timestamp '2026-01-02 03:04:05.6781'", ["a"]),
        ("day = date '2026-01-02'", ["a"]),
        ("big = 18446744073709551615", ["a"]),
        ("n > 5", ["a"]),
        ("score < 1", ["a"]),
        ("score is null", ["b"]),
    ):
        fresh = read(spark, graph.uri, "Doc", pushdown="true", columns="id,at,day,big,n,score")
        assert [row["id"] for row in fresh.where(text).collect()] == ids, text


def test_views_answer_sql_over_several_types_of_one_commit(spark: SparkSession, graph: Graph) -> None:
    views = ogs.create_views(spark, graph.uri, prefix="fx_")
    assert views["fx_Knows"] == "edge:Knows"
    rows = spark.sql("""
        select p.name, count(*) as n from fx_Person p join fx_Knows k on k.src = p.id group by p.name order by p.name
    """).collect()
    assert [(row["name"], row["n"]) for row in rows] == [("Alice", 2), ("Bob", 1)]


REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("unknown type", {"type": "Persn"}, "did you mean 'Person'"),
    ("misspelt option", {"type": "Person", "brnch": "x"}, "did you mean 'branch'"),
    ("unknown column", {"type": "Person", "columns": "agee"}, "there is no column 'agee'"),
    ("commit and branch", {"type": "Person", "commit": "x", "branch": "main"}, "'commit' cannot be combined with"),
    ("filter is no JSON", {"type": "Person", "filter": "age > 3"}, "'filter' must be JSON"),
    ("filter of no column", {"type": "Person", "filter": '[["agee", "=", 3]]'}, "no column 'agee'"),
    ("filter of no operator", {"type": "Person", "filter": '[["age", "~", 3]]'}, "'~' is not a comparison"),
    ("filter of no value", {"type": "Person", "filter": '[["age", "=", "x"]]'}, "an integer"),
    ("no time", {"type": "Person", "timestamp": "yesterday"}, "'timestamp' is not a valid time"),
]


@pytest.mark.parametrize(("options", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_read_that_makes_no_sense_is_refused_when_it_is_planned(
    graph: Graph, options: dict[str, str], message: str
) -> None:
    from omnigraph.spark.source import OmniGraphSource

    with pytest.raises(BadRequest) as refused:
        OmniGraphSource({"uri": graph.uri, **options}).schema()
    assert message in str(refused.value)


def test_an_error_keeps_its_hint_on_the_way_through_spark(spark: SparkSession, graph: Graph) -> None:
    with pytest.raises(Exception, match="hint: did you mean 'Person'") as read_error:
        read(spark, graph.uri, "Persn")
    assert "there is no type 'Persn'" in str(read_error.value)
    frame = spark.createDataFrame([("Ada",)], "name string")
    with pytest.raises(Exception, match="hint: did you mean 'branch'"):
        frame.write.format("omnigraph").mode("append").option("brnch", "x").save(graph.uri)
