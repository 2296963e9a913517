"""Rows of CSV: real lines, exact cells, and nothing that is not CSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.write.intake.tabular.csv_rows import BadRow, Dialect, Row, csv_rows


def rows_of(text: bytes, dialect: Dialect | None = None) -> list[Row | BadRow]:
    return list(csv_rows(io.BytesIO(text), dialect or Dialect()))


CASES = [
    ("plain", b"a,b\n1,2\n", [(1, ["a", "b"]), (2, ["1", "2"])]),
    ("crlf and no last line end", b"a,b\r\n1,2", [(1, ["a", "b"]), (2, ["1", "2"])]),
    ("byte order mark", b"\xef\xbb\xbfa,b\n", [(1, ["a", "b"])]),
    ("quoted delimiter", b'"x,y",z\n', [(1, ["x,y", "z"])]),
    ("quoted quote", b'"x ""y""",z\n', [(1, ['x "y"', "z"])]),
    ("quoted line ends count as lines", b'a,"x\ny\nz"\nb,c\n', [(1, ["a", "x\ny\nz"]), (4, ["b", "c"])]),
    ("blank lines count and are skipped", b"a,b\n\n \nc,d\n", [(1, ["a", "b"]), (4, ["c", "d"])]),
    ("nothing is no value", b"a,,c\n", [(1, ["a", None, "c"])]),
    ("quoted nothing is the empty text", b'"",,""\n', [(1, ["", None, ""])]),
    ("quoted nothing beside quotes in quotes", b'"a""",,"","x,"""\n', [(1, ['a"', None, "", 'x,"'])]),
    ("blanks are kept", b" a , b\n", [(1, [" a ", " b"])]),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_rows_and_their_lines(text: bytes, expected: list[tuple[int, list[str | None]]]) -> None:
    assert [(row.line, row.cells) for row in rows_of(text) if isinstance(row, Row)] == expected


def test_what_is_not_a_row_is_told_with_its_line_and_text_and_the_rest_is_read() -> None:
    found = rows_of(b'a,b\n"x"y,2\n\xff,3\n4,5\n')
    bad = [row for row in found if isinstance(row, BadRow)]
    assert [(row.line, row.text) for row in bad] == [(2, b'"x"y,2\n'), (3, b"\xff,3\n")]
    assert "not valid UTF-8 at byte 1" in bad[1].reason
    assert found[-1] == Row(4, 15, b"4,5\n", ["4", "5"])


def test_offsets_are_the_bytes_before_a_row() -> None:
    text = 'ä,"x\ny"\n1,2\n'.encode()
    assert [row.offset for row in rows_of(text) if isinstance(row, Row)] == [0, text.index(b"1,2")]


@given(st.lists(st.lists(st.text(st.sampled_from('ab,"\n\r;é'), max_size=4), min_size=2, max_size=4), max_size=6))
def test_what_the_writer_of_the_language_wrote_is_read_back(cells: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(cells)
    assert [row.cells for row in rows_of(text.getvalue().encode()) if isinstance(row, Row)] == cells
