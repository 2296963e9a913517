"""The strict record grammar: what is a record, and what is said of a line that is none."""

from __future__ import annotations

import pickle

import pytest

from omnigraph.language.schema import compile_schema
from omnigraph.write.intake.records import (
    LINE_BYTES_MAX,
    RESERVED_NAMES,
    STRUCTURAL_CHARACTERS_MAX,
    Record,
    RecordReader,
    structural_characters,
)
from omnigraph.write.rules.violations import Violation

CATALOG = compile_schema("node P { k: String @key }\nnode Q { t: String? }\nedge K: P -> P { w: I32? }\n").catalog
READER = RecordReader(CATALOG, "in.jsonl")

GOOD = [
    ('{"type":"P","data":{"k":"a"}}', Record(7, 0, "node", "P", None, None, None, {"k": "a"})),
    ('{"data":{"k":"a","id":"a"},"type":"P"}', Record(7, 0, "node", "P", "a", None, None, {"k": "a"})),
    ('{"type":"Q"}', Record(7, 0, "node", "Q", None, None, None, {})),
    ('{"edge":"K","from":"a","to":"b"}', Record(7, 0, "edge", "K", None, "a", "b", {})),
    ('{"edge":"k","from":"a","to":"b","data":{"id":"e","w":1}}', Record(7, 0, "edge", "K", "e", "a", "b", {"w": 1})),
    (' \t{"type":"Q"} \r\n', Record(7, 0, "node", "Q", None, None, None, {})),
]

BAD = [
    ("[1]", "a record is one JSON object, got an array"),
    ("7", "a record is one JSON object, got a number"),
    ('{"type":"Q"} {"type":"Q"}', "more than one JSON value on the line"),
    ('{"type":"Q","type":"Q"}', "duplicate member 'type'"),
    ('{"type":"Q","data":{"t":{"x":1,"x":2}}}', "duplicate member 'x'"),
    ('{"type":"Q","data":{"t":[{"x":1,"x":2}]}}', "duplicate member 'x'"),
    ('{"type":"Q","more":1}', "unknown member 'more'"),
    ('{"type":"Q","from":"a"}', "unknown member 'from'"),
    ('{"type":"Q","edge":"K"}', "exactly one of 'type' (a node) and 'edge' (an edge)"),
    ('{"data":{}}', "exactly one of 'type' (a node) and 'edge' (an edge)"),
    ('{"type":"q"}', "unknown node type 'q'"),
    ('{"type":7}', "'type' must be a string, got a number"),
    ('{"edge":"Z","from":"a","to":"b"}', "unknown edge type 'Z'"),
    ('{"edge":"K","to":"b"}', "'from' must be a string, got nothing"),
    ('{"edge":"K","from":"a","to":null}', "'to' must be a string, got null"),
    ('{"type":"Q","data":[]}', "'data' must be an object, got an array"),
    ('{"type":"Q","data":null}', "'data' must be an object, got null"),
    ('{"type":"Q","data":{"id":4}}', "'id' must be a string, got a number"),
    ('{"type":"Q","data":{"id":null}}', "'id' must be a string, got null"),
    ('{"type":"Q","data":{"t":NaN}}', "NaN is not a JSON value"),
    ('{"type":"Q","data":{"t":-Infinity}}', "-Infinity is not a JSON value"),
    ('{"type":"Q"', "not valid JSON"),
    ("{'type':'Q'}", "not valid JSON"),
    ('{"type":"Q","data":{"t":"a\tb"}}', "not valid JSON"),
    ('{"type":"Q","data":{"t":', "not valid JSON"),
    ('{"type":"Q","data":{"t":' + "[" * 100_000, "nested too deeply"),
    ('{"type":"Q","data":{"t":' + "1" * 5_000 + "}}", "too many digits"),
    ("\ufeff" + '{"type":"Q"}', "not valid JSON"),
]


@pytest.mark.parametrize(("text", "record"), GOOD, ids=[text.strip()[:40] for text, _ in GOOD])
def test_a_record_is_read_with_the_names_of_the_schema(text: str, record: Record) -> None:
    assert READER.parse_line(text, 7) == record


@pytest.mark.parametrize(("text", "fragment"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_a_line_that_is_no_record_is_refused_with_its_line_and_file(text: str, fragment: str) -> None:
    refused = READER.parse_line(text, 7)
    assert isinstance(refused, Violation)
    assert fragment in refused.message
    assert (refused.line, refused.file) == (7, "in.jsonl")
    assert str(refused).startswith("line 7: ")


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_names_of_the_storage_engine_are_refused_at_the_top(name: str) -> None:
    refused = READER.parse_line(f'{{"type":"Q","{name}":1}}', 1)
    assert isinstance(refused, Violation)
    assert f"reserved member '{name}'" in refused.message


@pytest.mark.parametrize("raw", [b"", b"\n", b"\r\n", b" \t \r\n"])
def test_blank_lines_are_skipped(raw: bytes) -> None:
    assert READER.parse_bytes(raw, 3) is None


def test_a_byte_order_mark_is_skipped_at_the_start_of_the_input_and_nowhere_else() -> None:
    marked = b'\xef\xbb\xbf{"type":"Q"}\n'
    assert isinstance(READER.parse_bytes(marked, 1, 0), Record)
    assert isinstance(READER.parse_bytes(marked, 2, 40), Violation)


def test_invalid_utf_8_is_a_violation_of_its_line() -> None:
    refused = READER.parse_bytes(b'{"type":"Q","data":{"t":"\xff"}}\n', 9)
    assert isinstance(refused, Violation)
    assert refused.line == 9
    assert "UTF-8" in refused.message


def test_a_line_may_be_as_long_as_the_limit_and_no_longer() -> None:
    frame = b'{"type":"Q","data":{"t":""}}'
    full = frame[:-3] + b"x" * (LINE_BYTES_MAX - len(frame)) + frame[-3:]
    assert isinstance(READER.parse_bytes(full + b"\r\n", 1), Record)
    refused = READER.parse_bytes(full + b" ", 1)
    assert isinstance(refused, Violation)
    assert f"graph_batch_line_bytes limit is {LINE_BYTES_MAX}, actual {LINE_BYTES_MAX + 1}" in refused.message


def test_a_line_may_have_as_many_structural_characters_as_the_limit_and_no_more() -> None:
    frame = '{"type":"Q","data":{"t":[]}}'
    commas = STRUCTURAL_CHARACTERS_MAX - structural_characters(frame)
    full = frame.replace("[]", f"[{','.join(['1'] * (commas + 1))}]")
    assert structural_characters(full) == STRUCTURAL_CHARACTERS_MAX
    assert isinstance(READER.parse_line(full, 1), Record)
    refused = READER.parse_line(full.replace("[1", "[1,1"), 1)
    assert isinstance(refused, Violation)
    assert refused.rule == "graph_batch_json_structural_slots"


def test_structural_characters_inside_strings_do_not_count() -> None:
    assert structural_characters(r'{"a\"{[":"},:"}') == 3


def test_a_reader_and_its_records_travel_to_other_processes() -> None:
    reader = pickle.loads(pickle.dumps(READER))
    record = reader.parse_line(GOOD[4][0], 7)
    assert pickle.loads(pickle.dumps(record)) == GOOD[4][1]
