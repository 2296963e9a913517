"""Row changes: deletion vectors as Lance writes them, addresses that are taken, versions that are shared."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, OneOf
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    Table,
    candidate_rows,
    read_candidates,
    shared_version,
    stage_append,
    stage_delete,
    stage_patch,
)
from omnigraph.storage.tables.deletion_vectors import deleted_offsets, roaring_values
from support.processes.writers import PERSON, SCHEMA

ROWS = 30_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")


def pin_of(graph: Graph, branch: str = "main") -> TablePin:
    return graph.snapshot(branch).table(PERSON)


def grown(storage: GraphStorage, pin: TablePin, names: list[str]) -> TablePin:
    """The pin after rows were added, past the graph: only the table matters here."""
    opened = storage.tables.open(pin)
    rows = pa.Table.from_pylist([{"id": name, "name": name, "age": 1} for name in names], schema=opened.schema)
    return moved(pin, storage.table_commits.commit(stage_append(opened, rows)))


def thinned(storage: GraphStorage, pin: TablePin, names: list[str]) -> TablePin:
    effect, _ = stage_delete(storage.tables.open(pin), OneOf("id", tuple(names)))
    assert effect is not None
    return moved(pin, storage.table_commits.commit(effect))


def moved(pin: TablePin, version: Any) -> TablePin:
    return TablePin(pin.table_key, pin.location, version.table_version, pin.lineage, version.row_count)


def reader(storage: GraphStorage) -> Any:
    def read(path: str) -> bytes | None:
        found = storage.objects.read(path)
        return None if found is None else found.data

    return read


def there(opened: Table) -> set[int]:
    return {address & 0xFFFFFFFF for address in opened.read(["_rowaddr"])["_rowaddr"].to_pylist()}


@pytest.mark.parametrize("deleted", [range(3), range(0, ROWS, 3), range(5_000, 25_000)])
def test_a_deletion_vector_says_what_the_rows_say(graph: Graph, deleted: range) -> None:
    storage = graph._storage
    pin = grown(storage, pin_of(graph), [f"n{number:05}" for number in range(ROWS)])
    after = storage.tables.open(thinned(storage, pin, [f"n{number:05}" for number in deleted]))
    offsets = deleted_offsets(after, 0, reader(storage))
    assert offsets is not None, "else every look at a difference reads all rows"
    assert set(offsets.tolist()) == set(range(ROWS)) - there(after)
    gone, come = candidate_rows(storage.tables.open(pin), after, pin.version, reader(storage))
    read = [row for batch in read_candidates(storage.tables.open(pin), gone, ["id"]) for row in batch.to_pylist()]
    assert {row["id"] for row in read} == {f"n{number:05}" for number in deleted}
    assert len(come) == 0


def test_a_fork_reads_the_vector_of_the_table_that_it_was_cut_from(graph: Graph) -> None:
    storage = graph._storage
    pin = grown(storage, pin_of(graph), [f"n{number}" for number in range(100)])
    pin = thinned(storage, pin, ["n7", "n8"])
    storage.lineages.create(pin.location, "fork", None, pin.version)
    fork = TablePin(pin.table_key, pin.location, pin.version, "fork", pin.row_count)
    offsets = deleted_offsets(storage.tables.open(fork), 0, reader(storage))
    assert offsets is not None
    assert sorted(offsets.tolist()) == [7, 8]


def test_a_vector_that_cannot_be_read_is_replaced_by_a_look_at_the_rows(graph: Graph) -> None:
    storage = graph._storage
    pin = grown(storage, pin_of(graph), [f"n{number}" for number in range(100)])
    before, after = storage.tables.open(pin), storage.tables.open(thinned(storage, pin, ["n7"]))
    for read in (lambda _: None, lambda _: b"something else"):
        gone, come = candidate_rows(before, after, pin.version, read)
        assert (gone.addresses.tolist(), len(come)) == ([7], 0)


def test_few_rows_are_taken_by_their_addresses_without_a_scan(graph: Graph) -> None:
    """Lance answers a filter on addresses by taking them: with a scan the cost would follow the table."""
    storage = graph._storage
    pin = grown(storage, pin_of(graph), [f"n{number}" for number in range(1000)])
    handle = storage.tables.open(pin).handle
    plan = handle.scanner(columns=["id", "_rowid"], filter="_rowaddr in (3,4)").explain_plan()
    assert "OneShotStream" in plan
    assert "full_filter=--" in plan


def test_versions_share_what_was_there_when_their_lineages_parted(graph: Graph) -> None:
    storage = graph._storage
    first = pin_of(graph)
    second = grown(storage, first, ["a"])
    storage.lineages.create(first.location, "fork", None, second.version)
    third = grown(storage, second, ["b"])
    storage.lineages.create(first.location, "twig", "fork", second.version)

    def on(lineage: str, version: int) -> TablePin:
        return TablePin(first.table_key, first.location, version, lineage, 0)

    assert shared_version(storage.lineages, first, third) == first.version
    assert shared_version(storage.lineages, third, on("fork", 9)) == second.version
    assert shared_version(storage.lineages, on("twig", 9), on("fork", 7)) == second.version
    assert shared_version(storage.lineages, on("twig", 9), first) == first.version
    assert shared_version(storage.lineages, on("gone", 9), first) is None


def test_a_patch_writes_and_removes_rows_in_one_version(graph: Graph) -> None:
    storage = graph._storage
    pin = grown(storage, pin_of(graph), ["a", "b", "c"])
    opened = storage.tables.open(pin)
    rows = {row["id"]: row["_rowaddr"] for row in opened.read(["id", "_rowaddr"]).to_pylist()}
    new = pa.RecordBatch.from_pylist(
        [{"id": name, "name": name, "age": 9} for name in ("b", "d")], schema=opened.schema
    )
    effect = stage_patch(opened, iter([new]), np.array([rows["b"], rows["c"]], np.uint64))
    assert effect is not None
    after = storage.tables.open(moved(pin, storage.table_commits.commit(effect)))
    assert after.version == pin.version + 1
    assert {row["id"]: row["age"] for row in after.read().to_pylist()} == {"a": 1, "b": 9, "d": 9}
    assert stage_patch(after, iter(()), np.empty(0, np.uint64)) is None


def test_a_patch_can_take_every_row_of_a_table(graph: Graph) -> None:
    storage = graph._storage
    pin = grown(storage, pin_of(graph), ["a", "b"])
    opened = storage.tables.open(pin)
    effect = stage_patch(opened, iter(()), opened.read(["_rowaddr"])["_rowaddr"].to_numpy())
    assert effect is not None
    assert storage.tables.open(moved(pin, storage.table_commits.commit(effect))).count() == 0


def test_the_three_containers_of_a_roaring_bitmap_are_read() -> None:
    values = [1, 5, 70_000, 70_001, 70_002]
    array = struct.pack("<2H", 1, 5)
    runs = struct.pack("<3H", 1, 70_000 - 65_536, 2)
    data = struct.pack("<I", 12347 | (1 << 16)) + bytes([0b10]) + struct.pack("<4H", 0, 1, 1, 2) + array + runs
    assert roaring_values(data).tolist() == values
    many = np.zeros(8192, np.uint8)
    many[:1000] = 0xFF
    bitmap = struct.pack("<2I", 12346, 1) + struct.pack("<2H", 2, 7999) + struct.pack("<I", 16) + many.tobytes()
    assert roaring_values(bitmap).tolist() == list(range(2 << 16, (2 << 16) + 8000))
    with pytest.raises(ValueError, match="not a Roaring bitmap"):
        roaring_values(b"\x00" * 16)
