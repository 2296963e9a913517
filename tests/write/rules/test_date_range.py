"""Dates lie in the years 1 to 9999 on every surface; what another program stored beyond is read as a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.language.query import ParameterError
from omnigraph.model.identifiers import TableKey
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write import ChangeSet, TableChange
from omnigraph.write.commit import Prepared, WriteRequest, write
from omnigraph.write.rules import ValidationFailed

SCHEMA = """
node Event {
    name: String @key
    day: Date? @index
    at: DateTime?
    days: [Date]?
}
"""
COMPACT = 20210403  # a date without dashes, taken for days: a day in the year 57304
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
FIRST_MS, LAST_MS = FIRST_DAY * 86_400_000, (LAST_DAY + 1) * 86_400_000 - 1
BEYOND_DAYS = (COMPACT, FIRST_DAY - 1, LAST_DAY + 1, 2**31 - 1, -(2**31))
BEYOND_MS = (FIRST_MS - 1, LAST_MS + 1, 2**63 - 1, -(2**63))
BEYOND_TEXTS = ("0000-12-31", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")


def load_lines(graph: Graph, name: str, value: Any) -> None:
    record = {"type": "Event", "data": {"name": "x", name: value}}
    graph.load([json.dumps(record).encode() + b"\n"], mode="append")


def load_csv(graph: Graph, path: Path, name: str, value: str) -> None:
    path.write_text(f"name,{name}\nx,{value}\n")
    graph.load(path, mode="append", format="csv", type="Event")


# --- refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", BEYOND_DAYS)
def test_a_day_beyond_the_calendar_is_no_date_in_json(graph: Graph, value: int) -> None:
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_lines(graph, "day", value)
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_lines(graph, "days", [0, value])


def test_digits_that_look_like_a_date_come_with_the_spelling_that_is_one(graph: Graph) -> None:
    with pytest.raises(ValidationFailed, match='"2021-04-03"'):
        load_lines(graph, "day", COMPACT)


@pytest.mark.parametrize("value", BEYOND_MS)
def test_a_moment_beyond_the_calendar_is_no_datetime_in_json(graph: Graph, value: int) -> None:
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_lines(graph, "at", value)


@pytest.mark.parametrize("text", BEYOND_TEXTS)
@pytest.mark.parametrize("name", ["day", "at"])
def test_a_text_beyond_the_calendar_is_refused_by_lines_and_csv(
    graph: Graph, tmp_path: Path, name: str, text: str
) -> None:
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_lines(graph, name, text)
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_csv(graph, tmp_path / "x.csv", name, text)


def test_the_fast_decoder_leaves_what_lies_beyond_to_the_one_that_knows_reasons(graph: Graph) -> None:
    lines = [b'{"type": "Event", "data": {"name": "n%d", "day": "2021-04-03"}}\n' % number for number in range(50)]
    lines.append(b'{"type": "Event", "data": {"name": "x", "day": "0000-04-03"}}\n')
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31") as refused:
        graph.load(lines, mode="append")
    assert [violation.line for violation in refused.value.violations] == [51]


@pytest.mark.parametrize(
    ("name", "value"), [("day", "2932897"), ("at", "253402300800000"), ("at", "-99999999999999999")]
)
def test_a_number_beyond_the_calendar_is_refused_in_csv(graph: Graph, tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        load_csv(graph, tmp_path / "x.csv", name, value)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("day", pa.array([COMPACT], pa.int32())),
        ("day", pa.array([COMPACT], pa.int32()).view(pa.date32())),
        ("day", pa.array([LAST_MS + 1], pa.timestamp("ms"))),
        ("at", pa.array([COMPACT], pa.int32()).view(pa.date32())),
        ("at", pa.array([FIRST_MS - 1], pa.timestamp("ms", "UTC"))),
        ("at", pa.array([2**62], pa.int64()).view(pa.timestamp("us"))),
        ("at", pa.array([LAST_MS + 1], pa.int64())),
        ("days", pa.array([[0, COMPACT]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))),
    ],
)
def test_a_column_beyond_the_calendar_is_refused_in_parquet(
    graph: Graph, tmp_path: Path, name: str, column: pa.Array
) -> None:
    pq.write_table(pa.table({"name": ["x"], name: column}), tmp_path / "x.parquet")
    with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
        graph.load(tmp_path / "x.parquet", mode="append", format="parquet", type="Event")


def test_seconds_that_no_millisecond_counts_are_refused_and_do_not_wrap() -> None:
    from omnigraph.model.types import PropType, Scalar
    from omnigraph.write.intake.tabular.arrow_values import json_values

    column = pa.array([2**62, None, -(2**62)], pa.int64()).view(pa.timestamp("s"))
    assert json_values(column, PropType(Scalar.DATETIME)) == [2**62 * 1000, None, -(2**62) * 1000]


@pytest.mark.parametrize("text", BEYOND_TEXTS)
def test_literals_and_parameters_beyond_the_calendar_are_refused(graph: Graph, text: str) -> None:
    for kind, name in (("date", "day"), ("datetime", "at")):
        literal = f'{kind}("{text}")'
        for query in (
            f"query q() {{ match {{ $e: Event\n $e.{name} = {literal} }} return {{ $e.name }} }}",
            f'query q() {{ insert Event {{ name: "x", {name}: {literal} }} }}',
            f"query q() {{ delete Event where {name} in [{literal}] }}",
        ):
            with pytest.raises(CompileError):
                graph.mutate(query) if "match" not in query else graph.query(query)
        declared = "Date" if kind == "date" else "DateTime"
        with pytest.raises(ParameterError, match=r"param 'd'.*0001-01-01 to 9999-12-31"):
            graph.query(
                f"query q($d: {declared}) {{ match {{ $e: Event\n $e.{name} = $d }} return {{ $e.name }} }}", d=text
            )
        with pytest.raises(ParameterError, match=r"param 'd'.*0001-01-01 to 9999-12-31"):
            graph.mutate(f'query q($d: {declared}) {{ insert Event {{ name: "x", {name}: $d }} }}', d=text)
        with pytest.raises(ParameterError, match=r"param 'd'.*0001-01-01 to 9999-12-31"):
            graph.mutate(f"query q($d: [{declared}]) {{ delete Event where {name} in $d }}", d=[text])


@pytest.mark.parametrize("text", BEYOND_TEXTS)
def test_a_default_beyond_the_calendar_is_no_schema(tmp_path: Path, text: str) -> None:
    schema = f'node Event {{ name: String @key  day: Date @default("{text}") }}'
    with pytest.raises(CompileError):
        Graph.init(str(tmp_path / "d"), schema)


# --- accepted ----------------------------------------------------------------------------------------------


def test_the_first_and_the_last_moment_survive_every_round_trip(graph: Graph, tmp_path: Path) -> None:
    for number, (day, moment) in enumerate([(FIRST_DAY, FIRST_MS), (LAST_DAY, LAST_MS), (0, COMPACT), (-1, -COMPACT)]):
        data = {"name": f"e{number}", "day": day, "at": moment, "days": [day]}
        graph.load([json.dumps({"type": "Event", "data": data}).encode()], mode="append")
    lines = list(graph.export())
    for form in ("jsonl", "csv", "parquet"):
        for dates in ("raw", "iso") if form != "parquet" else (None,):
            folder = tmp_path / f"{form}-{dates}"
            graph.export_to(folder, format=form, dates=dates, engine="local")  # type: ignore[arg-type]
            again = Graph.init(str(tmp_path / f"again-{form}-{dates}"), SCHEMA, durability="os")
            again.load(folder, mode="append", format=form, engine="local")
            assert list(again.export()) == lines, (form, dates)


# --- stored by others --------------------------------------------------------------------------------------


@pytest.fixture
def beyond(graph: Graph) -> Graph:
    """A graph whose dates were stored by a program that checks nothing."""
    key = TableKey("node", "Event")
    rows = [
        {"id": "far", "name": "far", "day": COMPACT, "at": 2**62, "days": [0, COMPACT]},
        {"id": "near", "name": "near", "day": 0, "at": 0, "days": [0]},
        {"id": "before", "name": "before", "day": FIRST_DAY - 1, "at": FIRST_MS - 1, "days": []},
    ]
    table = pa.Table.from_pylist(rows, schema=table_schema(graph.schema.catalog.node_types["Event"]))
    prepared = ChangeSet({key: TableChange(key, "upsert", table)})
    request = WriteRequest(
        branch="main", kind="mutation", writer_kind="Mutation", prepare=lambda base: Prepared(prepared)
    )
    write(graph._storage, request, lambda: graph.schema)
    return graph


QUERIES: dict[str, tuple[str, list[Any]]] = {
    "values": (
        "return { $e.day as d, $e.at as a, $e.days as l } order { $e.day }",
        [
            {"d": FIRST_DAY - 1, "a": FIRST_MS - 1, "l": []},
            {"d": "1970-01-01", "a": "1970-01-01T00:00:00.000Z", "l": ["1970-01-01"]},
            {"d": COMPACT, "a": 2**62, "l": ["1970-01-01", COMPACT]},
        ],
    ),
    "extremes": ("return { max($e.day) as d, min($e.at) as a }", [{"d": COMPACT, "a": FIRST_MS - 1}]),
    "groups": (
        "return { $e.day as d, count(distinct $e.at) as n } order { d desc } limit 2",
        [{"d": COMPACT, "n": 1}, {"d": "1970-01-01", "n": 1}],
    ),
    "distinct": ("return distinct { $e.day as d } order { d } limit 1", [{"d": FIRST_DAY - 1}]),
}


@pytest.mark.parametrize("case", QUERIES)
def test_stored_values_beyond_the_calendar_are_read_as_numbers(beyond: Graph, case: str) -> None:
    tail, expected = QUERIES[case]
    for mode in ("csr", "indexed"):
        result = beyond.query(f"query q() {{ match {{ $e: Event }} {tail} }}", mode=mode)  # type: ignore[arg-type]
        assert list(result) == expected
        assert result.to_json()["rows"] == expected
        assert result.to_arrow().num_rows == len(result.to_pandas()) == len(expected)
        assert str(expected[0][next(iter(expected[0]))]) in result._repr_html_()


def test_whole_entities_and_conditions_beyond_the_calendar_work(beyond: Graph) -> None:
    text = 'query q() { match { $e: Event\n $e.day > date("9999-12-31") } return { $e.* as e } }'
    assert [row["e"]["day"] for row in beyond.query(text)] == [COMPACT]
    beyond.mutate('query u() { update Event set { at: datetime("2026-01-02") } where name = "far" }')
    assert [row["e"]["day"] for row in beyond.query(text)] == [COMPACT]


def test_exports_of_stored_values_beyond_the_calendar_end_and_cannot_be_taken_for_others(
    beyond: Graph, tmp_path: Path
) -> None:
    for dates in ("raw", "iso"):
        days = [json.loads(line)["data"]["day"] for line in beyond.export(dates=dates)]  # type: ignore[arg-type]
        assert days == [FIRST_DAY - 1, COMPACT, "1970-01-01" if dates == "iso" else 0]
    for form in ("jsonl", "csv", "parquet"):
        folder = tmp_path / form
        beyond.export_to(folder, format=form, engine="local")  # type: ignore[arg-type]
        again = Graph.init(str(tmp_path / f"again-{form}"), SCHEMA, durability="os")
        with pytest.raises(ValidationFailed, match="0001-01-01 to 9999-12-31"):
            again.load(folder, mode="append", format=form, engine="local")


def test_verify_reports_dates_beyond_the_calendar(beyond: Graph, graph: Graph) -> None:
    found = [finding for finding in beyond.verify().findings if finding.code == "date_out_of_range"]
    assert [finding.severity for finding in found] == ["warning"] * 3
    assert f"{COMPACT} of 'far'" in " ".join(finding.message for finding in found if "day:" in finding.message)


def test_verify_says_nothing_of_dates_within(graph: Graph) -> None:
    load_lines(graph, "day", LAST_DAY)
    assert graph.verify().findings == ()
