"""Grown maps: each sees its own entries for ever, whatever grows out of it, in whatever order, in whatever thread."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.manifest.append_only_map import GrownMap

ENTRIES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=5)


@given(st.lists(st.tuples(st.integers(0, 30), ENTRIES), max_size=25))
def test_a_tree_of_maps_is_like_a_tree_of_dictionaries(growths: list[tuple[int, list[tuple[int, int]]]]) -> None:
    """Each growth starts from any earlier map: its newest state, a sibling's base, or an old one."""
    maps: list[GrownMap[int, int]] = [GrownMap()]
    expected: list[dict[int, int]] = [{}]
    for origin, entries in growths:
        maps.append(maps[origin % len(maps)].grown(entries))
        expected.append(expected[origin % len(expected)] | dict(entries))
    for grown, plain in zip(maps, expected, strict=True):
        assert dict(grown) == plain
        assert len(grown) == len(plain)
        assert [key in grown for key in range(14)] == [key in plain for key in range(14)]
        assert [grown.get(key) for key in range(14)] == [plain.get(key) for key in range(14)]


def test_growing_copies_nothing_also_when_two_work_out_the_same() -> None:
    base: GrownMap[int, str] = GrownMap[int, str]().grown((number, "x") for number in range(100))
    foreseen, made = base.grown([(100, "y"), (101, "z")]), base.grown([(100, "y"), (101, "z")])
    assert foreseen._log is made._log is base._log
    assert base.grown([(100, "other")])._log is not base._log
    assert made.grown([(102, "w")])._log is base._log
    assert base.grown([(100, "y")])._log is base._log


def test_many_threads_grow_one_map_and_each_gets_its_own() -> None:
    base: GrownMap[int, int] = GrownMap[int, int]().grown([(-1, -1)])
    found: dict[int, GrownMap[int, int]] = {}
    start = threading.Barrier(8)

    def grow(number: int) -> None:
        start.wait()
        mine = base
        for step in range(200):
            mine = mine.grown([(number * 1000 + step, step)])
        found[number] = mine

    threads = [threading.Thread(target=grow, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, mine in found.items():
        assert dict(mine) == {-1: -1} | {number * 1000 + step: step for step in range(200)}
    assert dict(base) == {-1: -1}
