"""Result formats: the rows of a read, in every format, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.cli.formats import ResultFormat, TableStyle, chosen_format, result_lines, table_lines, view_of
from omnigraph.cli.formats.delimited import csv_lines
from omnigraph.cli.formats.json_lines import json_lines
from omnigraph.cli.formats.key_values import key_value_lines

BOOKS: dict[str, Any] = {
    "query_name": "books_by",
    "target": {"branch": "main", "snapshot": None},
    "row_count": 2,
    "columns": ["b.isbn", "b.title"],
    "rows": [
        {"b.isbn": "b-left", "b.title": "The Left Hand of Darkness"},
        {"b.isbn": "b-disp", "b.title": "The Dispossessed"},
    ],
    "graph_commit_id": "01J9Z8Q5W3V7C2B4N6M8K0H1G3",
}
NOBODY = BOOKS | {"row_count": 0, "rows": []}

WHOLE = {
    ("table", "books"): "\n".join(
        [
            "2 rows from branch main via books_by",
            "b.isbn | b.title                  ",
            "-------+--------------------------",
            "b-left | The Left Hand of Darkness",
            "b-disp | The Dispossessed         ",
        ]
    ),
    ("table", "nobody"): """\
0 rows from branch main via books_by
b.isbn | b.title
-------+--------""",
    ("kv", "books"): """\
2 rows from branch main via books_by
row 1
b.isbn: b-left
b.title: The Left Hand of Darkness

row 2
b.isbn: b-disp
b.title: The Dispossessed""",
    ("kv", "nobody"): """\
0 rows from branch main via books_by
(no rows)""",
    ("csv", "books"): """\
b.isbn,b.title
b-left,The Left Hand of Darkness
b-disp,The Dispossessed""",
    ("csv", "nobody"): "b.isbn,b.title",
    ("jsonl", "books"): """\
{"kind":"metadata","query_name":"books_by","target":{"branch":"main","snapshot":null},"row_count":2}
{"b.isbn":"b-left","b.title":"The Left Hand of Darkness"}
{"b.isbn":"b-disp","b.title":"The Dispossessed"}""",
    ("jsonl", "nobody"): (
        '{"kind":"metadata","query_name":"books_by","target":{"branch":"main","snapshot":null},"row_count":0}'
    ),
}


@pytest.mark.parametrize(("form", "name"), WHOLE)
def test_format_prints_exactly_these_lines(form: str, name: str) -> None:
    view = view_of(BOOKS if name == "books" else NOBODY)
    assert "\n".join(result_lines(view, ResultFormat(form), TableStyle())) == WHOLE[form, name]


def test_json_is_the_response_itself_in_its_order() -> None:
    [text] = result_lines(view_of(BOOKS), ResultFormat.JSON, TableStyle())
    assert text.splitlines()[:3] == ["{", '  "query_name": "books_by",', '  "target": {']
    assert text.splitlines()[-2] == '  "graph_commit_id": "01J9Z8Q5W3V7C2B4N6M8K0H1G3"'


def test_header_names_the_snapshot_that_was_asked_for() -> None:
    view = view_of(BOOKS | {"target": {"branch": None, "snapshot": "01X"}})
    assert next(result_lines(view, ResultFormat.TABLE, TableStyle())) == "2 rows from snapshot 01X via books_by"


def test_columns_that_a_response_leaves_out_are_those_of_its_rows() -> None:
    without = {name: value for name, value in BOOKS.items() if name != "columns"} | {"rows": [{"b": 1}, {"a": 2}]}
    assert list(view_of(without).columns) == ["a", "b"]


VALUES: list[tuple[Any, str, str]] = [
    (None, "null", "null"),
    (True, "true", "true"),
    (42, "42", "42"),
    (9007199254740993, "9007199254740993", "9007199254740993"),
    (126.0, "126.0", "126.0"),
    ("plain", "plain", "plain"),
    ("", "", ""),
    ("null", "null", "null"),
    ("a,b", "a,b", '"a,b"'),
    ('say "hi"', 'say "hi"', '"say ""hi"""'),
    ("two\nlines", "two\\nlines", '"two\nlines"'),
    ("two\r\nlines", "two\\r\\nlines", '"two\r\nlines"'),
    (["rust", "db"], '["rust","db"]', '"[""rust"",""db""]"'),
    ([], "[]", "[]"),
    ({"id": "a", "n": None}, '{"id":"a","n":null}', '"{""id"":""a"",""n"":null}"'),
    ("grün", "grün", "grün"),
    ("NaN", "NaN", "NaN"),
]


@pytest.mark.parametrize(("value", "cell", "quoted"), VALUES, ids=repr)
def test_value_has_one_text_in_tables_and_one_in_csv(value: Any, cell: str, quoted: str) -> None:
    assert list(table_lines(["c"], [{"c": value}]))[2].rstrip() == cell.rstrip()
    assert list(csv_lines(["c"], [{"c": value}])) == ["c", quoted]


def test_column_names_are_quoted_like_values() -> None:
    assert next(csv_lines(['a"b', "c,d"], [])) == '"a""b","c,d"'


def test_key_values_keep_line_ends() -> None:
    assert list(key_value_lines(["c"], [{"c": "a\nb"}])) == ["row 1", "c: a\nb"]


def test_json_lines_keep_the_order_of_the_projection() -> None:
    assert list(json_lines({}, [{"z": 1, "a": [None]}])) == ['{"kind":"metadata"}', '{"z":1,"a":[null]}']


WIDTHS = [
    # max width, layout, name, cell, lines under the rule
    (80, "truncate", "c", "x" * 80, ["x" * 80]),
    (80, "truncate", "c", "x" * 81, ["x" * 79 + "…"]),
    (10, "truncate", "c", "abcdefghijk", ["abcdefghi…"]),
    (10, "wrap", "c", "abcdefghijklmnopqrstuvw", ["abcdefghij", "klmnopqrst", "uvw       "]),
    (3, "truncate", "c", "abcdef", ["ab…"]),
    (3, "truncate", "column", "abcdefghij", ["abcde…"]),
    (3, "truncate", "a long column", "abcdefghij", ["abcdefg…"]),
    (10, "truncate", "c", "日本語日本語", ["日本語日… "]),
    (10, "wrap", "c", "日本語日本語", ["日本語日本", "語        "]),
]


@pytest.mark.parametrize(("max_width", "layout", "name", "cell", "lines"), WIDTHS)
def test_long_cell_is_cut_or_wrapped_at_the_width(
    max_width: int, layout: Any, name: str, cell: str, lines: list[str]
) -> None:
    assert list(table_lines([name], [{name: cell}], max_width=max_width, layout=layout))[2:] == lines


def test_wrapped_cell_leaves_its_neighbours_blank_below() -> None:
    rows = [{"a": "1", "b": "abcdefghij"}]
    assert list(table_lines(["a", "b"], rows, max_width=8, layout="wrap"))[2:] == [
        "1 | abcdefgh",
        "  | ij      ",
    ]


def test_wide_characters_keep_the_columns_in_line() -> None:
    rows = [{"a": "日本", "b": 1}, {"a": "abcde", "b": 2}]
    assert list(table_lines(["a", "b"], rows)) == ["a     | b", "------+--", "日本  | 1", "abcde | 2"]


def test_table_without_columns_says_that_there_are_no_rows() -> None:
    assert list(table_lines([], [])) == ["(no rows)"]


@pytest.mark.parametrize(
    ("json", "given", "configured", "chosen"),
    [
        (False, None, "table", "table"),
        (False, None, "csv", "csv"),
        (False, "jsonl", "csv", "jsonl"),
        (True, None, "csv", "json"),
        (True, "kv", "csv", "json"),
    ],
)
def test_command_line_wins_over_the_configuration(json: bool, given: str | None, configured: str, chosen: str) -> None:
    assert chosen_format(json=json, given=given, configured=configured) == chosen
