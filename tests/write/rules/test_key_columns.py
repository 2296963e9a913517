"""Key columns in parts: the same sets, the same equal keys and the same findings as in one piece."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest
from omnigraph.write.intake.decode import Decoded
from omnigraph.write.load.spool import Spool
from omnigraph.write.rules import key_columns
from omnigraph.write.rules.canonical_text import tuple_codes
from omnigraph.write.rules.key_columns import PART_BYTES_VARIABLE, hash_parts, members, part_numbers, pieces, take_rows
from omnigraph.write.rules.violations import ValidationFailed

ALPHABET = "ab\0ßé漢😀"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PART_BYTES_VARIABLE, "40")
    monkeypatch.setattr(key_columns, "SLICE_ROWS", 7)


def texts(chance: random.Random, count: int, nulls: bool = False) -> pa.ChunkedArray:
    """Short texts that repeat, in chunks that are slices of longer arrays."""
    values: list[Any] = ["".join(chance.choices(ALPHABET, k=chance.randrange(4))) for _ in range(count + 6)]
    if nulls:
        values = [None if chance.random() < 0.2 else value for value in values]
    array, cut = pa.array(values, pa.string()), chance.randrange(count)
    return pa.chunked_array([array.slice(2, cut), array.slice(2 + cut, 0), array.slice(2 + cut, count - cut)])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("small_parts")
def test_sets_and_equal_keys_are_those_of_one_piece(seed: int) -> None:
    chance = random.Random(seed)
    column, values = texts(chance, 120), texts(chance, 60)
    together = values.combine_chunks()
    assert len(list(pieces(column))) > 3
    assert pa.concat_arrays(list(pieces(column))).to_pylist() == column.to_pylist()
    assert members(column, values).tolist() == pc.is_in(column, value_set=together).to_pylist()
    parts = [set(part.to_pylist()) for part in hash_parts(column)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(set(column.to_pylist())), "nothing in common"
    second = texts(chance, 120, nulls=True)
    rows = list(zip(column.to_pylist(), second.to_pylist(), strict=True))
    codes = tuple_codes([column, second]).tolist()
    assert [code < 0 for code in codes] == [other is None for _, other in rows]
    stated = [(code, row) for code, row in zip(codes, rows, strict=True) if code >= 0]
    assert len({code for code, _ in stated}) == len({row for _, row in stated}) == len(set(stated))


def test_rows_are_gathered_from_any_chunk_in_any_order() -> None:
    chance = random.Random(3)
    column = texts(chance, 50)
    rows = np.array([chance.randrange(50) for _ in range(200)])
    assert take_rows(column, rows).to_pylist() == [column[row].as_py() for row in rows.tolist()]
    assert take_rows(column, rows[:0]).to_pylist() == []
    assert take_rows(pa.chunked_array([], pa.string()), rows[:0]).to_pylist() == []


def test_keys_fall_evenly_into_parts() -> None:
    ids = pa.array([f"person-{number:09d}" for number in range(20_000)])
    counts = np.bincount(part_numbers([ids], 16), minlength=16)
    assert counts.min() > 20_000 / 16 * 0.8
    assert counts.max() < 20_000 / 16 * 1.2


def test_many_rows_go_to_a_file_without_a_name_and_few_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"id": [f"i{n}" for n in range(500)], "v": [[float(n), 1.0] for n in range(500)]})
    decoded = Decoded(rows, np.arange(500), np.zeros(500, np.bool_), {"v": np.arange(500) % 3 == 0}, ())
    keep = np.arange(500) % 7 != 0
    held = Spool(str(tmp_path)).where(decoded, keep)
    monkeypatch.setenv(PART_BYTES_VARIABLE, "1000")
    before = pa.total_allocated_bytes()
    spooled = Spool(str(tmp_path)).where(decoded, keep)
    assert pa.total_allocated_bytes() - before < 5000, "Arrow holds none of the rows itself"
    assert spooled.rows.equals(held.rows)
    assert spooled.rows.equals(rows.filter(pa.array(keep)))
    assert spooled.lines.tolist() == held.lines.tolist()
    assert spooled.absent["v"].tolist() == decoded.absent["v"][keep].tolist()
    assert list(tmp_path.iterdir()) == []


def test_sources_that_break_a_cardinality_come_in_the_order_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = "node P { k: String @key }\nedge M: P -> P @card(1..1)"
    graph = Graph.init(str(tmp_path / "g"), schema, durability="os")
    names = [f"p{n}" for n in range(30)]
    base: list[dict[str, Any]] = [{"type": "P", "data": {"k": name}} for name in names]
    base += [{"edge": "M", "from": name, "to": "p0", "data": {"id": f"e{name}"}} for name in names]
    graph.load([json.dumps(record).encode() for record in base], mode="append")
    random.Random(5).shuffle(names)
    moved = [{"edge": "M", "from": name, "to": "p1", "data": {"id": f"n{name}"}} for name in names[:12]]
    moved += [{"edge": "M", "from": names[0], "to": "p1", "data": {"id": f"e{name}"}} for name in names[12:24]]
    found = []
    for part_bytes in ("1000000", "30"):
        monkeypatch.setenv(PART_BYTES_VARIABLE, part_bytes)
        with pytest.raises(ValidationFailed) as refused:
            graph.load([json.dumps(record).encode() for record in moved], mode="merge")
        found.append([(each.value, each.line, each.message) for each in refused.value.violations])
    assert found[0] == found[1]
    assert [value for value, _, _ in found[0]] == [*names[:12], *sorted(names[12:24])]


def test_a_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("much", "0", "-4"):
        monkeypatch.setenv(PART_BYTES_VARIABLE, text)
        with pytest.raises(BadRequest, match=PART_BYTES_VARIABLE):
            list(pieces(pa.array(["a"])))
