"""Key maps: the same answers as a plain set over random histories, and no more reading than the change."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, OneOf, open_storage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.restore import restore_lineage
from omnigraph.storage.tables import (
    StagedEffect,
    Table,
    key_map,
    stage_append,
    stage_delete,
    stage_overwrite,
    stage_upsert,
)
from omnigraph.storage.tables.key_map import KeyMaps
from omnigraph.storage.tables.staging import existing_ids
from support.processes.writers import PERSON, SCHEMA, write_pair

BASE = TablePin(PERSON, PERSON.location, 1, None, 0)
UNIVERSE = [f"k{number}" for number in range(60)]


@pytest.fixture
def storage(local: GraphStorage) -> GraphStorage:
    return local


@pytest.fixture(autouse=True)
def maps(monkeypatch: pytest.MonkeyPatch) -> KeyMaps:
    """A process without any map yet."""
    fresh = KeyMaps()
    monkeypatch.setattr(key_map, "_maps", fresh)
    return fresh


def people(ids: list[str]) -> pa.Table:
    fields = [pa.field("id", pa.string(), False), pa.field("age", pa.int32()), pa.field("name", pa.string(), False)]
    return pa.table([ids, [1] * len(ids), ids], schema=pa.schema(fields))


def committed(storage: GraphStorage, effect: StagedEffect | None) -> Table:
    assert effect is not None
    row = storage.table_commits.commit(effect)
    return storage.tables.open(replace(effect.pin, version=row.table_version))


class History:
    """A random history of one lineage beside the plain sets of ids that its versions have."""

    def __init__(self, storage: GraphStorage, pin: TablePin, ids: set[str], rng: random.Random) -> None:
        self.storage, self.rng = storage, rng
        self.states = {pin.version: (pin, ids)}
        self.pin, self.ids = pin, ids

    def step(self) -> None:
        table = self.storage.tables.open(self.pin)
        some = self.rng.sample(UNIVERSE, self.rng.randint(1, 8))
        action = self.rng.choice(["append", "append", "upsert", "upsert", "delete", "overwrite", "compact", "restore"])
        match action:
            case "append" if set(some) - self.ids:
                new = sorted(set(some) - self.ids)
                self._moved(committed(self.storage, stage_append(table, people(new))), self.ids | set(new))
            case "upsert":
                self._moved(committed(self.storage, stage_upsert(table, people(some))), self.ids | set(some))
            case "delete" if set(some) & self.ids:
                gone = stage_delete(table, OneOf("id", tuple(some)))[0]
                self._moved(committed(self.storage, gone), self.ids - set(some))
            case "overwrite" if self.rng.random() < 0.3:
                self._moved(committed(self.storage, stage_overwrite(table, people(some))), set(some))
            case "compact":
                handle = self.storage.handles.open_for_change(self.pin.path, self.pin.version)
                handle.optimize.compact_files()
                self._at(int(handle.version), self.ids)
            case "restore":
                version = self.rng.choice(list(self.states))
                head = restore_lineage(
                    self.storage, self.pin.location, self.pin.lineage, version, head=self.pin.version, commit_id="none"
                )
                self._at(head, self.states[version][1])

    def _moved(self, table: Table, ids: set[str]) -> None:
        self._at(table.version, ids)

    def _at(self, version: int, ids: set[str]) -> None:
        self.pin, self.ids = replace(self.pin, version=version), ids
        self.states[version] = (self.pin, ids)

    def fork(self, name: str) -> History:
        self.storage.lineages.create(self.pin.location, name, self.pin.lineage, self.pin.version)
        return History(self.storage, replace(self.pin, lineage=name), self.ids, self.rng)


def probe(history: History, maps: KeyMaps) -> int:
    """Asks about the newest version and a random older one; returns how often a map gave the answer."""
    older = history.states[history.rng.choice(list(history.states))]
    answered = 0
    for pin, ids in ((history.pin, history.ids), older):
        table = history.storage.tables.open(pin)
        wanted = history.rng.sample(UNIVERSE, 12)
        answer = maps.present(table, wanted)
        if answer is not None:
            answered += 1
            assert answer == ids & set(wanted), f"version {pin.version} of {pin.path}"
        assert existing_ids(table, wanted) == ids & set(wanted)
    return answered


@pytest.mark.parametrize("seed", range(8))
def test_a_map_answers_like_a_plain_set_over_any_history(storage: GraphStorage, maps: KeyMaps, seed: int) -> None:
    rng = random.Random(seed)
    histories, answered = [History(storage, BASE, set(), rng)], 0
    for number in range(45):
        history = rng.choice(histories)
        history.step()
        answered += probe(history, maps)
        if number in (12, 24):
            histories.append(rng.choice(histories).fork(f"fork{number}"))
    assert answered > 45, "most questions are answered by a map"


def test_the_first_question_builds_nothing(storage: GraphStorage, maps: KeyMaps) -> None:
    table = storage.tables.open(BASE)
    assert maps.present(table, ["a"]) is None
    assert maps.present(table, ["a"]) == set()


def test_the_first_question_about_a_fork_is_answered_by_the_map_of_its_source(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["a"])))
    maps.present(table, ["a"])
    maps.present(table, ["a"])
    storage.lineages.create(PERSON.location, "fork", None, 2)
    forked = storage.tables.open(replace(table.pin, lineage="fork"))
    monkeypatch.setattr(key_map, "_scanner", None)
    assert maps.present(forked, ["a", "b"]) == {"a"}


def test_what_this_process_appended_is_never_read_back(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["a"])))
    existing_ids(table, ["a"])
    existing_ids(table, ["a"])

    def no_reading(*_: object) -> None:
        raise AssertionError("a fragment was read")

    monkeypatch.setattr(key_map, "_scanner", no_reading)
    for number in range(5):
        table = committed(storage, stage_upsert(table, people([f"new{number}"])))
        assert existing_ids(table, [f"new{number}", "other"]) == {f"new{number}"}


def test_ids_of_equal_hash_are_told_apart(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_map, "hashes_of", lambda ids: key_map.np.zeros(len(ids), key_map.np.int64))
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["a", "b", "c"])))
    existing_ids(table, ["a"])
    assert maps.present(table, ["a", "b", "x"]) == {"a", "b"}


def test_a_map_that_grew_too_much_is_built_anew(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_map, "RECENT_ROWS_MAX", 3)
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["k0"])))
    existing_ids(table, ["k1"])
    for number in range(1, 10):
        table = committed(storage, stage_append(table, people([f"k{number}"])))
        assert maps.present(table, UNIVERSE[:12]) == {f"k{each}" for each in range(number + 1)}


def test_a_table_beyond_the_budget_gets_no_map(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_map, "BUDGET_BYTES", 16)
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["a", "b"])))
    assert [maps.present(table, ["a"]) for _ in range(3)] == [None, None, None]
    assert existing_ids(table, ["a", "x"]) == {"a"}


def test_the_least_recently_used_map_is_dropped_first(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = committed(storage, stage_append(storage.tables.open(BASE), people(["a"])))
    storage.lineages.create(PERSON.location, "fork", None, 2)
    forked = storage.tables.open(replace(table.pin, lineage="fork"))
    for each in (table, table, forked, forked):
        maps.present(each, ["a"])
    monkeypatch.setattr(key_map, "BUDGET_BYTES", 50)
    maps.present(forked, ["a"])
    assert list(maps._maps) == [forked.uri]


def test_a_lineage_that_is_made_again_is_known_by_its_own_rows(storage: GraphStorage, maps: KeyMaps) -> None:
    """The same numbers of versions and fragments, other files: whatever was met before, in whatever order."""
    base = committed(storage, stage_append(storage.tables.open(BASE), people(["base"]))).pin

    def made_again(first: str, second: str) -> list[Table]:
        """The first row is added, then the second; then the first is deleted, and its fragment with it."""
        storage.lineages.delete(base.location, "draft")
        storage.lineages.create(base.location, "draft", None, base.version)
        tables = [storage.tables.open(replace(base, lineage="draft"))]
        for entity_id in (first, second):
            tables.append(committed(storage, stage_append(tables[-1], people([entity_id]))))
        gone, _ = stage_delete(tables[-1], OneOf("id", (first,)))
        return [*tables[1:], committed(storage, gone)]

    for table in made_again("a", "b"):
        maps.present(table, ["a"])
    one, both, other = made_again("c", "d")
    for table, ids in ((other, {"base", "d"}), (both, {"base", "c", "d"}), (one, {"base", "c"})):
        for entity_id in ("base", "a", "b", "c", "d"):
            assert maps.present(table, [entity_id]) == ids & {entity_id}


def test_a_graph_in_the_place_of_another_has_a_map_at_its_first_versions(
    tmp_path: Path, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its versions begin anew: they are not older ones of the graph that was there before."""
    monkeypatch.setattr(key_map, "RECENT_ROWS_MAX", 3)
    uri = str(tmp_path / "g")

    def graph_with(rows: int) -> Table:
        shutil.rmtree(uri, ignore_errors=True)
        Graph.init(uri, SCHEMA, durability="os")
        storage = open_storage(uri, durability="os")
        table = committed(storage, stage_append(storage.tables.open(BASE), people(UNIVERSE)))
        for number in range(rows):
            existing_ids(table, ["a"])
            table = committed(storage, stage_append(table, people([f"row{number}"])))
        return table

    old = graph_with(8)
    assert maps.present(old, ["row0", "k1"]) == {"row0", "k1"}
    new = graph_with(1)
    assert new.version < old.version
    assert maps.present(new, ["row0", "row5", "k1"]) == {"row0", "k1"}


def test_a_branch_that_was_made_again_has_a_map_at_its_first_versions(
    storage: GraphStorage, maps: KeyMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_map, "RECENT_ROWS_MAX", 3)
    graph = Graph.open(storage.root.uri)

    def draft_with(names: list[str]) -> Table:
        graph.create_branch("draft")
        for name in names:
            write_pair(storage, "draft", name)
            [pin] = (pin for pin in storage.manifest.load("draft").state.pins() if pin.table_key == PERSON)
            table = storage.tables.open(pin)
            maps.present(table, ["a"])
        return table

    old = draft_with([f"old{number}" for number in range(9)])
    graph.delete_branch("draft")
    new = draft_with([f"new{number}" for number in range(5)])
    assert (new.uri, new.version < old.version) == (old.uri, True)
    assert maps.present(new, ["old0", "new0", "new4"]) == {"new0", "new4"}
