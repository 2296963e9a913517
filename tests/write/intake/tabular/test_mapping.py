"""Mappings: what a column becomes, and every way in which a mapping does not fit."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest

from omnigraph.language.schema import compile_schema
from omnigraph.language.schema.catalog import Catalog
from omnigraph.write.intake.tabular import InvalidMapping, bind, read_mappings
from omnigraph.write.rules import check_pattern

SCHEMA = """
node Person { name: String @key  age: I32?  score: F64?  tags: [String]?  born: Date?  seen: DateTime? }
node Place { lat: I32  lon: I32  @key(lat, lon) }
node Note { text: String? }
edge Knows: Person -> Person { since: Date? }
edge LivesIn: Person -> Place
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compile_schema(SCHEMA, check_pattern=check_pattern).catalog


REFUSED: list[tuple[str, object, str]] = [
    ("no object", [1], "a mapping must be one object"),
    ("unknown member", {"type": "Person", "colums": {}}, "unknown member 'colums'"),
    ("no type", {"columns": {}}, "the type is missing"),
    ("unknown type", {"type": "Persn"}, "there is no type 'Persn'"),
    ("unknown edge", {"edge": "Person"}, "there is no type 'Person'"),
    ("both", {"type": "Person", "edge": "Knows"}, "one of 'type' and 'edge'"),
    ("unknown property", {"type": "Person", "columns": {"a": "agee"}}, "Person has no property 'agee'"),
    ("mapped twice", {"type": "Person", "columns": {"a": "age", "b": "age"}}, "'age' is mapped twice"),
    ("column and constant", {"type": "Person", "columns": {"a": "age"}, "constants": {"age": 1}}, "mapped twice"),
    ("bad constant", {"type": "Person", "constants": {"age": "old"}}, "a constant: "),
    ("from of a node", {"type": "Person", "from": ["a"]}, "has no 'from' and 'to'"),
    ("from is a number", {"edge": "Knows", "from": 3}, "'from' names a column or the columns of a key"),
    ("empty", {"type": "Person", "empty": "zero"}, "'empty' must be"),
    ("ignore is text", {"type": "Person", "ignore": "x"}, "'ignore' must be a list"),
    ("sources with more", {"sources": {}, "type": "Person"}, "unknown member 'type'"),
]


@pytest.mark.parametrize(("document", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_mapping_that_does_not_fit_is_refused_with_its_reason(
    catalog: Catalog, document: object, message: str
) -> None:
    with pytest.raises(InvalidMapping, match=message.replace("'", ".")) as refused:
        read_mappings(document, catalog)
    assert refused.value.hint


UNBOUND: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("a stated column is missing", {"type": "Person", "columns": {"nam": "name"}}, ["name"], "no column 'nam'"),
    ("a column is nothing", {"type": "Person"}, ["name", "shoe"], "columns that Person does not: 'shoe'"),
    ("the key is missing", {"type": "Person"}, ["age"], "is the key 'name' of Person"),
    ("an end is missing", {"edge": "Knows"}, ["from"], "is the 'to' of Knows"),
    ("a column twice", {"type": "Person"}, ["name", "name"], "the column 'name' twice"),
    ("key columns", {"edge": "LivesIn", "from": "p", "to": ["a"]}, ["p", "a"], "the key of Place has 2 members"),
]


@pytest.mark.parametrize(
    ("document", "columns", "message"), [row[1:] for row in UNBOUND], ids=[row[0] for row in UNBOUND]
)
def test_columns_are_mapped_or_ignored_or_refused(
    catalog: Catalog, document: dict[str, Any], columns: list[str], message: str
) -> None:
    mapping = read_mappings(document, catalog).only
    assert mapping is not None
    with pytest.raises(InvalidMapping, match=message):
        bind(mapping, columns, catalog, "f.csv")


def test_names_alone_are_a_mapping_and_the_rest_is_ignored_on_request(catalog: Catalog) -> None:
    mapping = read_mappings({"type": "Person", "columns": {"years": "age"}, "ignore": ["*"]}, catalog).only
    assert mapping is not None
    bound = bind(mapping, ["name", "shoe", "years"], catalog, "f.csv")
    assert {prop.name: place for place, prop, _ in bound.properties} == {"name": 0, "age": 2}


@pytest.mark.parametrize(
    ("path", "type_name"),
    [
        ("Person.csv", "Person"),
        ("knows.csv.gz", "Knows"),
        ("out/nodes/Person/part-00000.parquet", "Person"),
        ("out/edges/LivesIn/part-00000.parquet", "LivesIn"),
        ("lake/Note/country=CH/x.parquet", "Note"),
    ],
)
def test_a_file_is_of_the_type_that_it_or_its_folder_is_named_after(
    catalog: Catalog, path: str, type_name: str
) -> None:
    assert read_mappings(None, catalog).of(PurePath(path)).entity.name == type_name


def test_a_file_without_a_type_is_refused_with_the_ways_to_name_it(catalog: Catalog) -> None:
    with pytest.raises(InvalidMapping, match="the type of the rows") as refused:
        read_mappings(None, catalog).of(PurePath("data/x.csv"))
    assert "--type" in (refused.value.hint or "")


def test_patterns_choose_the_mapping_of_a_file(catalog: Catalog) -> None:
    mappings = read_mappings({"sources": {"p*.csv": {"type": "Person"}, "k.csv": {"edge": "Knows"}}}, catalog)
    assert [mappings.of(PurePath(name)).entity.name for name in ("p1.csv", "x/k.csv")] == ["Person", "Knows"]


def test_cells_of_text_become_values_of_the_declared_type_or_stay_text(catalog: Catalog) -> None:
    mapping = read_mappings({"type": "Person", "nulls": ["NA"]}, catalog).only
    assert mapping is not None
    bound = bind(mapping, ["name", "age", "score", "tags", "born", "seen"], catalog, "f")
    given = bound.text_record(["7", "42", "1e3", '["a"]', "2026-01-02", "-5"], 2, 10)
    assert given.data == {"name": "7", "age": 42, "score": 1000.0, "tags": ["a"], "born": "2026-01-02", "seen": -5}
    odd = bound.text_record(["", "4.0", "nan", "a;b", "20260102", "NA"], 3, 20)
    assert odd.data == {"name": "", "age": "4.0", "score": "nan", "tags": "a;b", "born": "20260102", "seen": None}


def test_a_cell_without_a_value_is_null_or_absent_as_the_mapping_says(catalog: Catalog) -> None:
    for word, expected in (("null", {"name": "a", "age": None}), ("absent", {"name": "a"})):
        mapping = read_mappings({"type": "Person", "empty": word}, catalog).only
        assert mapping is not None
        assert bind(mapping, ["name", "age"], catalog, "f").text_record(["a", None], 1, 0).data == expected


def test_an_end_may_be_named_by_the_key_of_its_node(catalog: Catalog) -> None:
    mapping = read_mappings({"edge": "LivesIn", "from": "who", "to": ["lat", "lon"]}, catalog).only
    assert mapping is not None
    bound = bind(mapping, ["who", "lat", "lon"], catalog, "f")
    assert bound.text_record(["Ada", "007", "-8"], 1, 0).dst == '["7","-8"]'
    assert bound.text_record([None, "1", "2"], 5, 0).message == "LivesIn: 'from' has no value"
