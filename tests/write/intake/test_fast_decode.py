"""The fast way of decoding lines gives what the exact way gives, or leaves the lines to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.language.schema import compile_schema
from omnigraph.write.intake import line_groups
from omnigraph.write.intake import read_item as intake
from omnigraph.write.intake.line_files import LineItem
from omnigraph.write.intake.read_item import ReadPlan

CATALOG = compile_schema(
    """
node P {
  k: String @key
  i: I32?  l: I64?  u: U32?  v: U64?  f: F32?  g: F64?  b: Bool?  d: Date?  t: DateTime?
  e: enum(red, blue)?  ls: [String]?  li: [I32]?  lf: [F32]?  ld: [Date]?  vec: Vector(2)?
  q: I32 @default(5)
}
node C { a: I32  z: String  @key(a, z) }
node Q { s: String?  r: I32 }
node B { x: Blob? }
edge K: P -> P { w: F64?  n: I32 }
"""
).catalog


def read(lines: list[bytes], *, patch: bool = False, fast: bool) -> tuple[Any, ...]:
    plan = ReadPlan(CATALOG, "load", 1_700_000_000_000, patch, True, 1000)
    reading = plan.read(LineItem("in.jsonl", content=tuple(lines)))
    ways: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(line_groups, "LINES_MIN", 1)
        if not fast:
            patched.setattr(intake, "groups_of", lambda block, catalog: iter(()))
        else:
            real = intake.fast_decode

            def noted(batch: Any, *rest: Any, **options: Any) -> Any:
                decoded = real(batch, *rest, **options)
                ways.append("exact" if decoded is None else "fast")
                return decoded

            patched.setattr(intake, "fast_decode", noted)
        parts = {}
        for part in reading.parts():
            decoded = part.decoded
            texts = part.texts.to_pylist() if part.texts is not None else None
            absent = {name: mask.tolist() for name, mask in decoded.absent.items()}
            facts = (decoded.rows.combine_chunks(), decoded.lines.tolist(), decoded.generated.tolist(), absent, texts)
            if decoded.rows.num_rows:
                parts[str(part.plan.entity.table_key)] = facts
    return parts, reading.refused, reading.violations.first(), reading.violations.total, reading.span, ways


def agree(lines: list[bytes], *, patch: bool = False) -> list[str]:
    """Both ways give the same; returns which way the groups of the fast run went."""
    *fast, ways = read(lines, patch=patch, fast=True)
    *exact, _ = read(lines, patch=patch, fast=False)
    assert fast == exact
    return ways


def node(name: str, **data: Any) -> bytes:
    return json.dumps({"type": name, "data": data}).encode() + b"\n"


def edge(**data: Any) -> bytes:
    return json.dumps({"edge": "K", "from": "a", "to": "b", "data": data}, separators=(",", ":")).encode() + b"\n"


ALL = {
    "i": -1, "l": 2**63 - 1, "u": 7, "v": 2**64 - 1, "f": 0.1, "g": 1e300, "b": True, "d": "2024-02-29",
    "t": "2024-02-29T10:00:00.123Z", "e": "red", "ls": ["x", "ü"], "li": [], "lf": [0.1, 2], "ld": ["1999-12-31"],
    "vec": [0.1, 2],
}  # fmt: skip

FAST = {
    "every type": [node("P", k="a", q=1, **ALL), node("P", k="b", q=2, **dict.fromkeys(ALL))],
    "absent and null": [node("P", k="a", q=1), node("P", k="b", q=1, i=None)],
    "a composite key": [node("C", a=1, z="x"), node("C", a=2, z='"q"')],
    "generated and given ids": [node("Q", r=1), node("Q", r=2, id="given"), edge(n=1), edge(n=2, id="e")],
    "the id that the key makes": [node("P", k="a", q=1, id="a")],
    "another case of an edge's name": [edge(n=1).replace(b"K", b"k"), edge(n=2)],
    "escapes": [rb'{"type":"Q","data":{"r":1,"s":"\u00e9\ud83d\ude00\n\u0000"}}' + b"\n"],
    "blanks and line ends": [
        b"\n",
        b"  \r\n",
        node("Q", r=1).replace(b"\n", b"\r\n"),
        b'{"type" :  "Q","data":{"r":1}}',
    ],
    "numbers": [b'{"edge":"K","from":"a","to":"b","data":{"w":12345678901234567890123,"n":-0}}\n', edge(n=1, w=5)],
}

EXACT = {
    "a wrong type": [node("Q", r="7"), node("Q", r=1)],
    "a bool as a number": [node("Q", r=True)],
    "a float as an integer": [node("Q", r=1.0)],
    "out of range": [node("P", k="a", q=2**31)],
    "too large a float": [b'{"type":"P","data":{"k":"a","q":1,"f":1e39}}\n'],
    "no number": [b'{"type":"P","data":{"k":"a","q":1,"g":NaN}}\n'],
    "infinity": [b'{"type":"P","data":{"k":"a","q":1,"lf":[Infinity]}}\n'],
    "an unknown member": [node("Q", r=1, zz=1)],
    "a repeated member": [b'{"type":"Q","data":{"r":1,"r":2}}\n'],
    "a repeated type": [b'{"type":"Q","type":"Q","data":{"r":1}}\n'],
    "a missing required value": [node("Q", s="x"), node("Q", r=1)],
    "null for a required value": [node("Q", r=None)],
    "a default": [node("P", k="a")],
    "null where there is a default": [node("P", k="a", q=None)],
    "null in a list": [node("P", k="a", q=1, ls=["x", None])],
    "another dimension": [node("P", k="a", q=1, vec=[1])],
    "an unknown enum value": [node("P", k="a", q=1, e="green")],
    "a date of its own spelling": [node("P", k="a", q=1, d=19000), node("P", k="b", q=1, d="2024-02-29")],
    "a moment with an offset": [node("P", k="a", q=1, t="2024-02-29T10:00:00+02:00")],
    "no such day": [node("P", k="a", q=1, d="2023-02-29")],
    "an id that is not the key's": [node("P", k="a", q=1, id="b")],
    "an id that is no text": [node("Q", r=1, id=5)],
    "a blob": [node("B", x="base64:eHl6"), node("B", x="nope")],
    "no data": [b'{"type":"Q"}\n'],
    "null data": [b'{"type":"Q","data":null}\n'],
    "two values on a line": [node("Q", r=1).strip() + node("Q", r=2)],
    "two values and half a line": [node("Q", r=1).strip() + node("Q", r=2), b'{"type":"Q",\n', b'"data":{"r":1}}\n'],
    "a lone surrogate": [rb'{"type":"Q","data":{"r":1,"s":"\ud83d"}}' + b"\n"],
    "no endpoint": [b'{"edge":"K","from":"a","data":{"n":1}}\n', b'{"edge":"K","from":"a","to":null,"data":{"n":1}}\n'],
    "more after the object": [b'{"type":"Q","data":{"r":1}}}\n', node("Q", r=1)],
}  # fmt: skip

LEFT_ALONE = {
    "members in another order": [b'{"data":{"r":1},"type":"Q"}\n', node("Q", r=2), b'{"data":{"r":3},"type":"Q"}\n'],
    "bytes that are no text": [b'{"type":"Q","data":{"r":1,"s":"\xff"}}\n', node("Q", r=1)],
    "a byte order mark": [b"\xef\xbb\xbf" + node("Q", r=1), node("Q", r=2)],
    "an unknown type": [node("Zz", r=1)],
    "no record": [b"[1]\n", b"7\n", b"{}\n"],
    "a comma between lines": [b'{"type":"Q","data":{"r":1}},\n', node("Q", r=1)],
    "an unfinished line": [b'{"type":"Q","data":{"r":1}\n'],
}  # fmt: skip


@pytest.mark.parametrize("lines", FAST.values(), ids=FAST.keys())
def test_usual_lines_are_decoded_fast_to_the_same_rows(lines: list[bytes]) -> None:
    assert set(agree(lines)) == {"fast"}


@pytest.mark.parametrize("lines", EXACT.values(), ids=EXACT.keys())
def test_unusual_lines_take_the_exact_way(lines: list[bytes]) -> None:
    assert "exact" in agree(lines)


@pytest.mark.parametrize("lines", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_lines_that_do_not_begin_as_records_do_keep_their_place(lines: list[bytes]) -> None:
    agree(lines)


def test_a_patch_is_fast_only_when_everything_is_stated() -> None:
    assert agree([node("Q", r=1, s="x")], patch=True) == ["fast"]
    assert agree([node("Q", r=1)], patch=True) == ["exact"]


def test_many_types_in_one_block_do_not_mix() -> None:
    lines = [each for number in range(60) for each in (node("Q", r=number), edge(n=number), node("C", a=number, z="z"))]
    assert agree(lines) == ["fast"] * 3


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
members = st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in ALL.items()})


def maybe(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return usual | anything


short = st.text(max_size=4)
records = st.one_of(
    st.builds(
        lambda data, key, q: {"type": "P", "data": {"k": key, "q": q, **data}}, members, short, maybe(st.just(1))
    ),
    st.builds(lambda r, s: {"type": "Q", "data": {"r": r, "s": s}}, maybe(st.integers(-5, 5)), maybe(short)),
    st.builds(
        lambda n, w, to: {"edge": "K", "from": "a", "to": to, "data": {"n": n, "w": w}},
        st.integers(0, 9),
        maybe(st.floats()),
        maybe(short),
    ),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(records, st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=8))
def test_random_lines_whole_and_damaged_are_decoded_alike(drawn: list[tuple[Any, int, int]]) -> None:
    lines = []
    for record, cut, damage in drawn:
        line = json.dumps(record).encode()
        lines.append((line[:cut] + line[cut + 1 :] if damage == 0 else line) + b"\n")
    agree(lines)
