"""Tables for reading: the pinned version by scan, take and count; nothing of Lance leaks, whatever is broken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.model.errors import Corrupt, HistoricalVersionReclaimed, Internal, OmniGraphError
from omnigraph.storage import Compare, GraphStorage, OneOf, open_storage
from omnigraph.storage.lance import session as lance_session
from omnigraph.storage.lance.session import Handles
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    IndexSpec,
    StagedEffect,
    Table,
    changed_rows,
    existing_ids,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_insert,
    stage_overwrite,
    stage_upsert,
)
from support.processes.writers import PERSON

BASE = TablePin(PERSON, PERSON.location, 1, None, 0)


def people(*names: str) -> pa.Table:
    fields = [("id", pa.string(), False), ("age", pa.int32(), True), ("name", pa.string(), False)]
    columns = {"id": list(names), "age": list(range(len(names))), "name": [name.upper() for name in names]}
    return pa.table(columns, schema=pa.schema([pa.field(*field) for field in fields]))


def commit(storage: GraphStorage, effect: StagedEffect | None) -> Table:
    assert effect is not None
    row = storage.table_commits.commit(effect)
    return storage.tables.open(replace(effect.pin, version=row.table_version))


def filled(storage: GraphStorage) -> Table:
    return commit(storage, stage_append(storage.tables.open(BASE), people("ann", "bob", "cid", "dan")))


# --- reading ----------------------------------------------------------------------------------------------


def test_a_table_is_opened_at_its_pin_and_never_at_the_newest_version(storage: GraphStorage) -> None:
    second = filled(storage)
    third = commit(storage, stage_append(second, people("eve")))
    for version, count in ((1, 0), (2, 4), (3, 5)):
        table = open_storage(storage.root.uri).tables.open(replace(BASE, version=version))
        assert (table.version, table.count()) == (version, count)
    assert storage.tables.head_version(BASE) == third.version


def test_a_version_that_is_gone_is_reported_as_reclaimed(storage: GraphStorage) -> None:
    with pytest.raises(HistoricalVersionReclaimed) as refused:
        storage.tables.open(replace(BASE, version=7))
    assert refused.value.version == 7
    assert PERSON.location in refused.value.path
    with pytest.raises(HistoricalVersionReclaimed):
        storage.tables.open(replace(BASE, lineage="nothing"))


def test_a_scan_streams_batches_of_the_asked_size_and_columns(storage: GraphStorage) -> None:
    table = filled(storage)
    batches = list(table.scan(["name", "id"], batch_rows=3))
    assert [batch.num_rows for batch in batches] == [3, 1]
    assert batches[0].schema.names == ["name", "id"]
    assert [value for batch in batches for value in batch["id"].to_pylist()] == ["ann", "bob", "cid", "dan"]


def test_a_scan_takes_a_predicate_and_a_limit(storage: GraphStorage) -> None:
    table = filled(storage)
    old = Compare("age", ">=", 1)
    assert sum(batch.num_rows for batch in table.scan(["id"], old)) == 3 == table.count(old)
    assert sum(batch.num_rows for batch in table.scan(["id"], old, limit=2)) == 2
    assert sum(batch.num_rows for batch in table.scan(["id"], Compare("id", "=", "nobody"))) == 0


def test_a_scan_that_is_left_early_leaves_the_table_usable(storage: GraphStorage) -> None:
    table = filled(storage)
    scan = table.scan(batch_rows=1)
    next(scan)
    scan.close()
    assert table.count() == 4


def test_take_gives_rows_by_id_in_order_with_repeats_and_leaves_out_what_is_gone(storage: GraphStorage) -> None:
    table = filled(storage)
    ids = dict(zip(*(table.read(["id", "_rowid"])[name].to_pylist() for name in ("id", "_rowid")), strict=True))
    wanted = [ids["dan"], ids["ann"], ids["dan"]]
    assert table.take(wanted, ["id"])["id"].to_pylist() == ["dan", "ann", "dan"]
    shrunk = commit(storage, stage_delete(table, Compare("id", "=", "dan"))[0])
    assert shrunk.take([*wanted, 10**6], ["id"])["id"].to_pylist() == ["ann"]
    assert table.take([], ["id"]).num_rows == 0
    assert table.take([ids["bob"]]).to_pylist() == [{"id": "bob", "age": 1, "name": "BOB"}]


def test_row_ids_survive_updates_and_compaction(storage: GraphStorage) -> None:
    table = filled(storage)
    before = dict(zip(*(table.read(["id", "_rowid"])[name].to_pylist() for name in ("id", "_rowid")), strict=True))
    changed = commit(storage, stage_upsert(table, people("cid", "new")))
    handle = storage.handles.open_for_change(changed.pin.path, changed.version)
    handle.optimize.compact_files()
    packed = storage.tables.open(replace(changed.pin, version=int(handle.version)))
    assert packed.fragment_count() == 1 < changed.fragment_count()
    after = dict(zip(*(packed.read(["id", "_rowid"])[name].to_pylist() for name in ("id", "_rowid")), strict=True))
    assert before.items() <= after.items()


def test_an_empty_table_can_be_read_in_every_way(storage: GraphStorage) -> None:
    table = storage.tables.open(BASE)
    assert (table.count(), table.fragment_count(), table.indexes()) == (0, 0, [])
    assert table.read().num_rows == 0
    assert list(table.scan()) == []
    assert table.schema.names == ["id", "age", "name"]


def test_one_table_can_be_read_by_many_threads(local: GraphStorage) -> None:
    table, seen = filled(local), []
    threads = [threading.Thread(target=lambda: seen.append(table.count(Compare("age", ">", 0)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [3] * 8


# --- handles ----------------------------------------------------------------------------------------------


def test_a_version_is_opened_once_and_forgotten_with_its_folder(local: GraphStorage) -> None:
    handles = Handles(local.root)
    first = handles.shared(PERSON.location, 1)
    assert handles.shared(PERSON.location, 1) is first
    assert handles.open_for_change(PERSON.location, 1) is not first
    handles.forget(f"{PERSON.location}/tree/b")
    assert handles.shared(PERSON.location, 1) is first
    handles.forget(PERSON.location)
    assert handles.shared(PERSON.location, 1) is not first


@pytest.mark.parametrize("limit", ["HANDLES_MAX", "VERSIONS_MAX"])
def test_the_least_used_handle_is_dropped_first(
    local: GraphStorage, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Of all tables, and of one: what a table that is written for weeks takes up does not grow with its versions."""
    monkeypatch.setattr(f"omnigraph.storage.lance.session.{limit}", 2)
    filled(local)
    commit(local, stage_append(local.tables.open(replace(BASE, version=2)), people("eve")))
    handles = Handles(local.root)
    one, two = handles.shared(PERSON.location, 1), handles.shared(PERSON.location, 2)
    assert handles.shared(PERSON.location, 1) is one
    handles.shared(PERSON.location, 3)
    assert handles.shared(PERSON.location, 1) is one
    assert handles.shared(PERSON.location, 2) is not two


# --- broken storage ---------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[GraphStorage, TablePin], object]] = {
    "open": lambda storage, pin: storage.tables.open(pin),
    "head_version": lambda storage, pin: storage.tables.head_version(pin),
    "count": lambda storage, pin: storage.tables.open(pin).count(Compare("age", ">", 0)),
    "scan": lambda storage, pin: list(storage.tables.open(pin).scan()),
    "read": lambda storage, pin: storage.tables.open(pin).read(["id"], OneOf("id", ("ann",))),
    "take": lambda storage, pin: storage.tables.open(pin).take([0, 1]),
    "indexes": lambda storage, pin: storage.tables.open(pin).indexes(),
    "existing_ids": lambda storage, pin: existing_ids(storage.tables.open(pin), ["ann"]),
    "append": lambda storage, pin: _write(storage, stage_append(storage.tables.open(pin), people("eve"))),
    "insert": lambda storage, pin: _write(storage, stage_insert(storage.tables.open(pin), people("eve"))),
    "upsert": lambda storage, pin: _write(storage, stage_upsert(storage.tables.open(pin), people("ann"))),
    "overwrite": lambda storage, pin: _write(storage, stage_overwrite(storage.tables.open(pin), people("eve"))),
    "delete": lambda storage, pin: _write(storage, stage_delete(storage.tables.open(pin), Compare("age", "=", 2))[0]),
    "index": lambda storage, pin: _write(
        storage, stage_indexes(storage.tables.open(pin), [IndexSpec("name", "INVERTED", "name_idx")])
    ),
    "diff": lambda storage, pin: changed_rows(storage.tables.open(replace(pin, version=2)), storage.tables.open(pin)),
    "fork": lambda storage, pin: storage.lineages.create(pin.location, "b", None, pin.version),
    "delete_fork": lambda storage, pin: storage.lineages.delete(pin.location, "old"),
}


def _write(storage: GraphStorage, effect: StagedEffect | None) -> None:
    if effect is not None:
        storage.table_commits.commit(effect)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
}
PLACES = ["data/*", "_deletions/*", "_indices/*/*", "_versions/*.manifest", "_refs/branches/*", "_transactions/*"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_file_is_broken_nothing_of_lance_leaks(local: GraphStorage, operation: str) -> None:
    """Each operation works or fails with an error of ours, whose sentence is one line without Lance's source places."""
    pin = _worn_table(local).pin
    folder = Path(local.root.uri, PERSON.location)
    healthy = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    failures = 0
    for place in PLACES:
        for damage in DAMAGE.values():
            for path in [path for path in folder.rglob("*") if path.is_file() and path not in healthy]:
                path.unlink()
            for path, data in healthy.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            for path in filter(Path.is_file, list(folder.glob(place))):
                damage(path)
            failures += _fails_cleanly(local.root.uri, operation, pin)
    assert failures > 0, "some of this damage must be noticed"


def _worn_table(storage: GraphStorage) -> Table:
    """A table with data, deletions, an index and a fork."""
    table = commit(storage, stage_delete(filled(storage), Compare("id", "=", "dan"))[0])
    table = commit(storage, stage_indexes(table, [IndexSpec("id", "BTREE", "id_idx")]))
    storage.lineages.create(PERSON.location, "old", None, 2)
    return table


def _as_another_process(uri: str) -> GraphStorage:
    """Nothing is remembered: what one process read of a file, its session would serve after the file broke."""
    lance_session._session = None
    return open_storage(uri, durability="os")


def _fails_cleanly(uri: str, operation: str, pin: TablePin) -> bool:
    fresh = _as_another_process(uri)
    try:
        OPERATIONS[operation](fresh, pin)
    except OmniGraphError as error:
        sentence = error.sentence()
        assert "\n" not in sentence
        assert ".rs:" not in sentence
        return True
    return False


@pytest.mark.parametrize("damage", ["empty", "half", "zeros", "noise"])
@pytest.mark.parametrize("place", ["data/*", "_deletions/*", "_versions/*.manifest"])
def test_broken_bytes_are_called_corrupt_and_the_path_is_named(local: GraphStorage, place: str, damage: str) -> None:
    pin = _worn_table(local).pin
    for path in Path(local.root.uri, PERSON.location).glob(place):
        DAMAGE[damage](path)
    with pytest.raises(Corrupt) as refused:
        _as_another_process(local.root.uri).tables.open(pin).read()
    assert PERSON.location in refused.value.path


def test_a_filter_that_lance_refuses_is_an_error_of_ours(local: GraphStorage) -> None:
    with pytest.raises(Internal):
        filled(local).count(Compare("age", "=", "not a number"))
