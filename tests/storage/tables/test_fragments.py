"""Fragment diff: the candidates that metadata gives lead to exactly the difference that reading everything gives."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, OneOf, open_storage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    IndexSpec,
    StagedEffect,
    Table,
    changed_rows,
    fragment_states,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_overwrite,
    stage_upsert,
)
from omnigraph.storage.tables.fragment_messages import NotAManifest, fragment_messages
from omnigraph.storage.tables.fragments import rows_given
from omnigraph.storage.tables.row_id_lists import listed_addresses
from support.processes.writers import PERSON, SCHEMA

Image = tuple[int | None, str]
Difference = tuple[dict[str, Image], dict[str, Image]]


def people(table: Table, ages: dict[str, int]) -> pa.Table:
    records = [{"id": name, "age": age, "name": name} for name, age in ages.items()]
    return pa.Table.from_pylist(records, schema=table.schema)


def _images(rows: pa.Table) -> dict[str, Image]:
    return {row["id"]: (row["age"], row["name"]) for row in rows.to_pylist()}


def by_reading_everything(before: Table, after: Table) -> Difference:
    """The images that one side has and the other has not."""
    old, new = _images(before.read()), _images(after.read())
    return _unshared(old, new)


def by_candidates(before: Table, after: Table) -> Difference:
    found = changed_rows(before, after)
    old, new = _images(before.take(found.before.tolist())), _images(after.take(found.after.tolist()))
    assert len(old) == len(found.before), "every candidate is a live row, once"
    assert len(new) == len(found.after), "every candidate is a live row, once"
    return _unshared(old, new)


def _unshared(old: dict[str, Image], new: dict[str, Image]) -> Difference:
    gone = {key: image for key, image in old.items() if new.get(key) != image}
    come = {key: image for key, image in new.items() if old.get(key) != image}
    return gone, come


# --- random histories -------------------------------------------------------------------------------------

KEYS = [f"k{number}" for number in range(8)]
SOME_KEYS = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True)
VALUES = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 2), min_size=1, max_size=4)
STEPS = st.one_of(
    st.tuples(st.just("upsert"), VALUES),
    st.tuples(st.just("upsert"), VALUES),
    st.tuples(st.just("append"), VALUES),
    st.tuples(st.just("delete"), SOME_KEYS),
    st.tuples(st.just("delete"), SOME_KEYS),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("overwrite"), VALUES),
    st.tuples(st.just("index"), st.none()),
)
Step = tuple[str, object]


@dataclass
class History:
    """One lineage of a table: every version that its steps made."""

    storage: GraphStorage
    states: list[Table] = field(default_factory=list)

    @property
    def newest(self) -> Table:
        return self.states[-1]

    def take(self, step: Step) -> None:
        match step:
            case ("upsert", dict(ages)):
                self._commit(stage_upsert(self.newest, people(self.newest, ages)))
            case ("append", dict(ages)):
                known = set(self.newest.read(["id"])["id"].to_pylist())
                new = {key: age for key, age in ages.items() if key not in known}
                if new:
                    self._commit(stage_append(self.newest, people(self.newest, new)))
            case ("delete", list(keys)):
                effect, _ = stage_delete(self.newest, OneOf("id", tuple(keys)))
                if effect is not None:
                    self._commit(effect)
            case ("overwrite", dict(ages)):
                self._commit(stage_overwrite(self.newest, people(self.newest, ages)))
            case ("index", _):
                self._commit(stage_indexes(self.newest, [IndexSpec("id", "BTREE", "id_idx")]))
            case _:
                self._compact()

    def fork(self, name: str) -> History:
        pin = self.newest.pin
        self.storage.lineages.create(pin.location, name, pin.lineage, pin.version)
        return History(self.storage, [self.storage.tables.open(replace(pin, lineage=name))])

    def _commit(self, effect: StagedEffect) -> None:
        row = self.storage.table_commits.commit(effect)
        self.states.append(self.storage.tables.open(replace(effect.pin, version=row.table_version)))

    def _compact(self) -> None:
        pin = self.newest.pin
        handle = self.storage.handles.open_for_change(pin.path, pin.version)
        handle.optimize.compact_files(materialize_deletions_threshold=0.0)
        self.states.append(self.storage.tables.open(replace(pin, version=int(handle.version))))


@contextmanager
def new_history() -> Iterator[History]:
    with tempfile.TemporaryDirectory() as folder:
        Graph.init(f"{folder}/g", SCHEMA, durability="os")
        storage = open_storage(f"{folder}/g", durability="os")
        yield History(storage, [storage.tables.open(TablePin(PERSON, PERSON.location, 1, None, 0))])


@given(st.lists(STEPS, min_size=2, max_size=8), st.data())
@settings(max_examples=40)
def test_any_two_versions_of_a_table_differ_as_reading_everything_says(steps: list[Step], data: st.DataObject) -> None:
    with new_history() as history:
        for step in steps:
            history.take(step)
        states = st.sampled_from(history.states)
        pairs = [(history.states[0], history.newest), *((data.draw(states), data.draw(states)) for _ in range(4))]
        for before, after in pairs:
            assert by_candidates(before, after) == by_reading_everything(before, after)


@given(*[st.lists(STEPS, max_size=4) for _ in range(4)])
@settings(max_examples=40)
def test_a_table_and_its_forks_differ_as_reading_everything_says(
    shared: list[Step], on_main: list[Step], on_fork: list[Step], on_fork_of_fork: list[Step]
) -> None:
    with new_history() as main:
        for step in shared:
            main.take(step)
        fork = main.fork("one")
        for step in on_main:
            main.take(step)
        for step in on_fork:
            fork.take(step)
        second = fork.fork("two")
        for step in on_fork_of_fork:
            second.take(step)
        lineages = [main, fork, second]
        for before in lineages:
            for after in lineages:
                expected = by_reading_everything(before.newest, after.newest)
                assert by_candidates(before.newest, after.newest) == expected


# --- the cost ---------------------------------------------------------------------------------------------


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[History]:
    """A table of three fragments with a hundred rows each."""
    with new_history() as history:
        for part in "abc":
            history.take(("append", {f"{part}{number}": number for number in range(100)}))
        yield history


def test_equal_versions_have_no_candidates(wide: History) -> None:
    assert changed_rows(wide.newest, wide.newest).is_empty
    fork = wide.fork("b")
    assert changed_rows(wide.newest, fork.newest).is_empty
    wide.take(("index", None))
    assert changed_rows(wide.states[-2], wide.newest).is_empty, "an index changes no row"


def test_the_candidates_of_an_upsert_are_its_rows(wide: History) -> None:
    wide.take(("upsert", {"a1": 7, "c5": 8, "new": 9}))
    found = changed_rows(wide.states[-2], wide.newest)
    assert (len(found.before), len(found.after)) == (2, 3)


def test_the_candidates_of_a_delete_are_its_rows(wide: History) -> None:
    wide.take(("delete", ["a1", "b2", "b3"]))
    found = changed_rows(wide.states[-2], wide.newest)
    assert (len(found.before), len(found.after)) == (3, 0)
    wide.take(("delete", ["b4"]))
    assert len(changed_rows(wide.states[-2], wide.newest).before) == 1


def test_a_row_rewritten_with_equal_values_is_a_candidate_and_no_difference(wide: History) -> None:
    wide.take(("upsert", {"a1": 1}))
    before, after = wide.states[-2], wide.newest
    assert len(changed_rows(before, after).after) == 1
    assert by_candidates(before, after) == ({}, {})


def test_both_directions_are_mirror_images(wide: History) -> None:
    wide.take(("upsert", {"a1": 7, "new": 9}))
    wide.take(("delete", ["b1"]))
    before, after = wide.states[3], wide.newest
    forward, backward = changed_rows(before, after), changed_rows(after, before)
    assert sorted(forward.before) == sorted(backward.after)
    assert sorted(forward.after) == sorted(backward.before)


@given(st.lists(STEPS, min_size=1, max_size=8))
@settings(max_examples=20)
def test_fragments_known_by_their_bytes_are_those_that_lance_tells(steps: list[Step]) -> None:
    """A canary: the list of fragments is where it is thought to be in a serialized manifest."""
    with new_history() as history:
        for step in steps:
            history.take(step)
        for table in history.states:
            told = table.handle.get_fragments()
            states = fragment_states(table)
            assert [state.number for state in states] == [fragment.fragment_id for fragment in told]
            assert [state.rows for state in states] == [fragment.count_rows() for fragment in told]
            assert [[name for name, _ in state.files] for state in states] == [
                [file.path for file in fragment.metadata.files] for fragment in told
            ]
        for before, after in itertools.combinations(history.states, 2):
            came, grown = rows_came(before, after), after.count() - before.count()
            assert came >= grown
            if came == grown:  # then nothing that any version between them had is missing
                assert row_ids(before) <= row_ids(after)
                assert ids_between(history, before, after) <= set(after.read(["id"])["id"].to_pylist())


@given(st.lists(STEPS, min_size=1, max_size=10))
@settings(max_examples=25)
def test_rows_lie_where_the_lists_of_row_ids_say(steps: list[Step]) -> None:
    """A canary: each fragment lists the ids of its rows, deleted ones too, and the greatest one has the row."""
    with new_history() as history:
        for step in steps:
            history.take(step)
        for table in history.states:
            rows = table.read(["_rowid", "_rowaddr"])
            ids, places = (np.asarray(rows[name].to_numpy(), np.uint64) for name in ("_rowid", "_rowaddr"))
            found, known = listed_addresses(table, ids, [state.number for state in fragment_states(table)])
            assert known.all()
            assert found.tolist() == places.tolist()
            _, known = listed_addresses(table, np.array([2**40], np.uint64), range(100))
            assert not known.any()


def test_row_ids_with_gaps_and_in_any_order_are_found_in_their_lists(tmp_path: Path) -> None:
    """Every form in which a list is kept: runs, runs with holes or a bitmap, sorted and unsorted numbers."""
    with new_history() as history:
        for number in range(6):
            history.take(("append", {f"{number}-{place}": place for place in range(200)}))
        history.take(("delete", [f"0-{place}" for place in range(200) if place % 7 == 0]))
        history.take(("delete", [f"1-{place}" for place in range(200) if place % 2]))
        history.take(("delete", [f"2-{place}" for place in range(200) if place % 50]))
        history.take(("upsert", {f"3-{place}": -1 for place in range(0, 200, 9)}))
        history.take(("compact", None))
        history.take(("upsert", {f"{number}-{place}": -2 for place in (100, 50) for number in (5, 0, 3)}))
        for table in history.states:
            rows = table.read(["_rowid", "_rowaddr"])
            ids, places = (np.asarray(rows[name].to_numpy(), np.uint64) for name in ("_rowid", "_rowaddr"))
            found, known = listed_addresses(table, ids[::-1], [state.number for state in fragment_states(table)])
            assert known.all()
            assert found.tolist() == places[::-1].tolist()


def rows_came(before: Table, after: Table) -> int:
    counts = rows_given(before), rows_given(after)
    assert None not in counts
    return (counts[1] or 0) - (counts[0] or 0)


def row_ids(table: Table) -> set[int]:
    return set(table.read(["_rowid"])["_rowid"].to_pylist())


def ids_between(history: History, before: Table, after: Table) -> set[str]:
    states = history.states[history.states.index(before) : history.states.index(after)]
    return {each for table in states for each in table.read(["id"])["id"].to_pylist()}


@pytest.mark.parametrize("data", [b"\x12\x05abc", b"\x0b", b"\x12", b"\x80"], ids=["cut", "group", "no-length", "tag"])
def test_bytes_that_are_no_manifest_are_told_apart(data: bytes) -> None:
    with pytest.raises(NotAManifest):
        fragment_messages(data)
