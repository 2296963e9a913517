"""From ids to row numbers: every id is found, an unknown one is not, also when ids have the same hash."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.query.entities import id_numbers
from omnigraph.query.entities.id_numbers import IdNumbers
from omnigraph.storage.tables.hashing import text_hash, text_hashes


def numbers_of(ids: list[str]) -> IdNumbers:
    return IdNumbers(lambda: pa.array(ids, pa.string()), len(ids))


@pytest.mark.parametrize("count", [0, 1, 2, 9, 1_000, 70_000])
def test_ids_are_found_one_by_one_and_many_at_once(count: int) -> None:
    ids = [f"ä{number}" for number in range(count)]
    numbers = numbers_of(ids)
    wanted = [*ids[::7], "", "nobody", *(f"none{number}" for number in range(20))]
    expected = [*range(0, count, 7), *([-1] * 22)]
    assert numbers.find(wanted).tolist() == expected
    assert [int(numbers.find([each])[0]) for each in wanted[:30]] == expected[:30]


def test_ids_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_numbers, "text_hash", lambda text: text_hash(text) % 3)
    monkeypatch.setattr(id_numbers, "text_hashes", lambda texts: text_hashes(texts) % np.uint64(3))
    ids = [f"n{number}" for number in range(100)]
    numbers = numbers_of(ids)
    assert numbers.find([*ids, "other"]).tolist() == [*range(100), -1]
    assert numbers.find(["n57"]).tolist() == [57]
    assert numbers.find(["other"]).tolist() == [-1]
