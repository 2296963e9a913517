"""Tabular sources, file to records: CSV, JSON and Parquet give the same records, whole or in parts."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.language.schema import compile_schema
from omnigraph.language.schema.catalog import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.types import PropType, Scalar
from omnigraph.write.intake.records import Record
from omnigraph.write.intake.source_files import SourceFile
from omnigraph.write.intake.sources import ItemSource, Unreadable
from omnigraph.write.intake.tabular import read_mappings, source_items, suggest_for
from omnigraph.write.intake.tabular.arrow_values import json_values
from omnigraph.write.intake.tabular.csv_items import csv_items
from omnigraph.write.intake.tabular.csv_rows import Dialect
from omnigraph.write.intake.tabular.json_items import json_items
from omnigraph.write.rules import check_pattern

SCHEMA = """
node Person { name: String @key  age: I32?  country: String? }
edge Knows: Person -> Person { since: Date? }
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compile_schema(SCHEMA, check_pattern=check_pattern).catalog


def read(source: ItemSource, catalog: Catalog) -> list[Record | Unreadable]:
    assert pickle.loads(pickle.dumps(source)) == source
    return [each for item in source.items for each in item.records(catalog)]


def data_of(source: ItemSource, catalog: Catalog) -> list[dict[str, Any]]:
    return [each.data for each in read(source, catalog) if isinstance(each, Record)]


PEOPLE = [{"name": "Ada", "age": 36}, {"name": "Bela", "age": None}]


def write_csv(path: Path) -> None:
    path.write_text("name,age\nAda,36\nBela,\n")


def write_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(b"name,age\nAda,36\nBela,\n"))


def write_json(path: Path) -> None:
    path.write_text("\n".join(map(json.dumps, PEOPLE)) + "\n")


def write_array(path: Path) -> None:
    path.write_text(json.dumps(PEOPLE, indent=1))


def write_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(PEOPLE), path, row_group_size=1)


@pytest.mark.parametrize(
    ("name", "file_format", "write", "lines"),
    [
        ("Person.csv", "csv", write_csv, [2, 3]),
        ("Person.csv.gz", "csv", write_gzip, [2, 3]),
        ("Person.json", "json", write_json, [1, 2]),
        ("Person.json", "json", write_array, [2, 6]),
        ("Person.parquet", "parquet", write_parquet, [1, 2]),
    ],
    ids=["csv", "csv.gz", "json lines", "json array", "parquet"],
)
def test_every_format_gives_the_same_records(
    tmp_path: Path, catalog: Catalog, name: str, file_format: str, write: Any, lines: list[int]
) -> None:
    write(tmp_path / name)
    found = read(source_items([tmp_path / name], file_format, read_mappings(None, catalog)), catalog)
    assert [each.data for each in found if isinstance(each, Record)] == PEOPLE
    assert [each.line for each in found] == lines


def test_a_csv_file_in_parts_is_the_whole_file(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "Person.csv"
    path.write_text("name,age\n" + "".join(f"p{number},{number}\n" for number in range(200)))
    mapping = read_mappings(None, catalog).of(SourceFile.below(str(tmp_path), str(path)).inner)
    file = SourceFile.below(str(tmp_path), str(path))
    whole = [each for item in csv_items(file, mapping, Dialect()) for each in item.records(catalog)]
    for size in (1, 7, 100, 1000):
        parts = csv_items(file, mapping, Dialect(), split_bytes=size)
        assert len(parts) > 1
        assert [each for item in parts for each in item.records(catalog)] == whole


CELLS = st.lists(
    st.tuples(st.text(st.sampled_from('ab,"\n\ré'), min_size=1, max_size=5), st.integers(0, 99)), max_size=12
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=CELLS, stray=st.booleans(), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_cells_that_span_lines_stay_whole_wherever_the_file_is_cut(
    tmp_path: Path, catalog: Catalog, cells: list[tuple[str, int]], stray: bool, quoting: Any
) -> None:
    path = tmp_path / "Person.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting, lineterminator="\n")
        writer.writerow(["name", "age"])
        writer.writerows(cells)
        if stray:
            file.write('5" pipe,1\nx,2\n')
    mapping = read_mappings(None, catalog, type_name="Person").only
    assert mapping is not None
    source = SourceFile.below(str(tmp_path), str(path))
    (whole,) = csv_items(source, mapping, Dialect())
    for size in (1, 3, 8, 20):
        parts = csv_items(source, mapping, Dialect(), split_bytes=size)
        assert [each for item in parts for each in item.records(catalog)] == list(whole.records(catalog))


def test_a_csv_file_with_quoted_cells_has_several_parts(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "Person.csv"
    path.write_text("name,age\n" + '"a\nb",1\n' * 20)
    mapping = read_mappings(None, catalog, type_name="Person").only
    assert mapping is not None
    parts = csv_items(SourceFile.below(str(tmp_path), str(path)), mapping, Dialect(), split_bytes=40)
    assert len(parts) > 3
    assert [each.line for each in parts[-1].records(catalog)][-1] == 40


def test_json_lines_in_parts_are_the_whole_file_and_an_array_is_one_part(tmp_path: Path, catalog: Catalog) -> None:
    mapping = read_mappings(None, catalog, type_name="Person").only
    assert mapping is not None
    path = tmp_path / "people.json"
    path.write_text("".join(f'{{"name": "p{number}"}}\n\n' for number in range(50)))
    (whole,) = json_items(str(path), mapping)
    for size in (1, 30, 500):
        parts = json_items(str(path), mapping, split_bytes=size)
        assert [each for item in parts for each in item.records(catalog)] == list(whole.records(catalog))
        assert len(parts) > 1
    write_array(path)
    assert len(json_items(str(path), mapping, split_bytes=5)) == 1


JSON = [
    ("array among lines", '{"name": "a"}\n[1]\n{"name": "b"}\n', ["a", (2, "a row is one JSON object"), "b"]),
    ("no end", '[{"name": "a"},\n{"name": "b"}\n', ["a", "b", (3, "the array has no end")]),
    ("more after it", '[{"name": "a"}]\n{"name": "b"}', ["a", (1, "there is more after the end of the array")]),
    ("no comma", '[{"name": "a"}\n{"name": "b"}]', ["a", (2, "a comma is missing between two elements")]),
    ("broken element", '[{"name": "a"},\n{"name": }]', ["a", (2, "not valid JSON: Expecting value")]),
    ("twice", '{"name": "a", "name": "b"}', [(1, "duplicate member 'name'")]),
    ("no number", '{"name": "a", "age": NaN}', [(1, "NaN is not a JSON value")]),
    ("empty array", "[]", []),
    ("comma at the end", '[{"name": "a"},]', ["a", (1, "not valid JSON")]),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in JSON], ids=[row[0] for row in JSON])
def test_json_is_read_strictly_and_nothing_of_it_is_passed_over(
    tmp_path: Path, catalog: Catalog, text: str, expected: list[Any]
) -> None:
    (tmp_path / "Person.json").write_text(text)
    found = read(source_items([tmp_path / "Person.json"], "json", read_mappings(None, catalog)), catalog)
    assert len(found) == len(expected)
    for each, wanted in zip(found, expected, strict=True):
        if isinstance(each, Record):
            assert each.data["name"] == wanted
        else:
            assert (each.line, wanted[1] in each.violation.message) == (wanted[0], True), each


def test_a_member_that_the_mapping_fills_otherwise_is_not_lost_in_silence(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "x.json").write_text(
        '{"who": "a", "from": "b", "to": "c"}\n{"who": "a", "to": "c", "since": "2026-01-01"}\n'
    )
    document = {"edge": "Knows", "from": "who", "constants": {"since": "2025-01-01"}}
    first, second = read(source_items([tmp_path / "x.json"], "json", read_mappings(document, catalog)), catalog)
    assert isinstance(first, Unreadable)
    assert isinstance(second, Unreadable)
    assert first.violation.message == "member 'from' is neither mapped nor ignored"
    ignoring = read_mappings(document | {"ignore": ["*"]}, catalog)
    kept = read(source_items([tmp_path / "x.json"], "json", ignoring), catalog)
    assert [(each.src, each.data) for each in kept if isinstance(each, Record)] == [("a", {"since": "2025-01-01"})] * 2


def test_rows_that_do_not_fit_are_told_with_their_line(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "Knows.csv").write_text('from,to\na,b\na\n"x\ny",\n')
    found = read(source_items([tmp_path], "csv", read_mappings(None, catalog)), catalog)
    bad = [each.violation for each in found if isinstance(each, Unreadable)]
    assert [(each.line, each.rule) for each in bad] == [(3, "csv"), (4, "record")]
    assert bad[0].message == "the row has 1 cells, the header has 2"
    assert bad[1].message == "Knows: 'to' has no value"


def test_the_folders_of_a_lake_are_columns(tmp_path: Path, catalog: Catalog) -> None:
    for country, name in (("CH", "Ada"), ("A%20B", "Bela"), ("__HIVE_DEFAULT_PARTITION__", "Chen")):
        folder = tmp_path / "lake" / f"country={country}" / "age=7"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"name": [name]}), folder / "part-0.parquet")
    (tmp_path / "lake" / "_SUCCESS").touch()
    source = source_items([tmp_path / "lake"], "parquet", read_mappings(None, catalog, type_name="Person"))
    found = {each["name"]: (each["country"], each["age"]) for each in data_of(source, catalog)}
    assert found == {"Ada": ("CH", 7), "Bela": ("A B", 7), "Chen": (None, 7)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "one ASCII character"),
        ({"header": "no"}, "true or false"),
        ({"header": "false"}, "needs the names"),
        ({"sep": ";"}, "has no option 'sep'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(
    tmp_path: Path, catalog: Catalog, options: dict[str, str], message: str
) -> None:
    write_csv(tmp_path / "Person.csv")
    with pytest.raises(BadRequest, match=message):
        source_items([tmp_path / "Person.csv"], "csv", read_mappings(None, catalog), options)


def test_a_file_without_a_header_is_read_by_given_names(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "Person.csv").write_text("Ada;36\n")
    options = {"header": "false", "names": "name,age", "delimiter": ";"}
    source = source_items([tmp_path / "Person.csv"], "csv", read_mappings(None, catalog), options)
    assert data_of(source, catalog) == PEOPLE[:1]


@pytest.mark.parametrize("path", ["nothing.csv", "nothing-*.csv"])
def test_a_path_that_names_nothing_is_refused(tmp_path: Path, catalog: Catalog, path: str) -> None:
    with pytest.raises(BadRequest):
        source_items([tmp_path / path], "csv", read_mappings(None, catalog))


DAY = datetime.date(2026, 1, 2)
DAYS = (DAY - datetime.date(1970, 1, 1)).days
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_900, tzinfo=datetime.UTC)
ARROW: list[tuple[str, pa.Array, PropType | None, list[Any]]] = [
    ("uint64", pa.array([2**64 - 1, None], pa.uint64()), PropType(Scalar.U64), [2**64 - 1, None]),
    ("date", pa.array([DAY]), PropType(Scalar.DATE), [DAYS]),
    ("date for a moment", pa.array([DAY]), PropType(Scalar.DATETIME), [DAYS * 86_400_000]),
    ("microseconds", pa.array([MOMENT], pa.timestamp("us", "UTC")), PropType(Scalar.DATETIME), [-1]),
    ("moment for a date", pa.array([MOMENT], pa.timestamp("ns")), PropType(Scalar.DATE), [-1]),
    ("seconds", pa.array([2], pa.timestamp("s")), PropType(Scalar.DATETIME), [2000]),
    ("decimal", pa.array([Decimal("2.00"), Decimal("2.50")]), PropType(Scalar.F64), [2, 2.5]),
    ("dictionary", pa.array(["a", "a"]).dictionary_encode(), PropType(Scalar.STRING), ["a", "a"]),
    ("bytes", pa.array([b"hi"]), PropType(Scalar.BLOB), ["base64:aGk="]),
    (
        "lists",
        pa.array([[DAY], None, []], pa.list_(pa.date32())),
        PropType(Scalar.DATE, is_list=True),
        [[DAYS], None, []],
    ),
    (
        "vectors",
        pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
        PropType(Scalar.VECTOR, dimension=2),
        [[1.0, 2.0], None],
    ),
]


@pytest.mark.parametrize(("column", "declared", "expected"), [row[1:] for row in ARROW], ids=[row[0] for row in ARROW])
def test_arrow_values_become_json_values(column: pa.Array, declared: PropType | None, expected: list[Any]) -> None:
    assert json_values(column, declared) == expected


def test_a_mapping_is_suggested_from_names_and_rows(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "contacts.csv").write_text("Name,Age,country,shoe\nAda,old,CH,43\n")
    (tmp_path / "links.csv").write_text("source_id,target,since\na,b,2026-01-01\n")
    people = suggest_for([tmp_path / "contacts.csv"], "csv", catalog)
    assert people.mapping == {"type": "Person", "columns": {"Name": "name", "Age": "age"}, "ignore": ["shoe"]}
    assert any("'Age' does not read as I32?" in note for note in people.notes)
    links = suggest_for([tmp_path / "links.csv"], "csv", catalog)
    assert links.mapping == {"edge": "Knows", "from": "source_id", "to": "target"}
    both = suggest_for([tmp_path], "csv", catalog)
    assert both.mapping == {"sources": {"contacts.csv": people.mapping, "links.csv": links.mapping}}
    assert read_mappings(both.mapping, catalog)
