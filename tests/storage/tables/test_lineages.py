"""Lineages: forks of a table are created, listed, read, written and removed; leftovers of a crash are reclaimed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.model.errors import BranchExists, BranchHasDependants, HistoricalVersionReclaimed, OmniGraphError
from omnigraph.storage import Compare, GraphStorage, layout, open_storage
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.files import durability
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    IndexSpec,
    StagedEffect,
    Table,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_upsert,
)
from support.graphs.rust_graphs import rust_graph
from support.graphs.unmade_forks import leave_unmade
from support.processes.writers import KNOWS, PERSON

WHERE = PERSON.location
BASE = TablePin(PERSON, WHERE, 1, None, 0)


def people(**ages: int) -> pa.Table:
    fields = [("id", pa.string(), False), ("age", pa.int32(), True), ("name", pa.string(), False)]
    columns = {"id": list(ages), "age": list(ages.values()), "name": list(ages)}
    return pa.table(columns, schema=pa.schema([pa.field(*field) for field in fields]))


def commit(storage: GraphStorage, effect: StagedEffect | None) -> Table:
    assert effect is not None
    row = storage.table_commits.commit(effect)
    assert row.table_branch == effect.pin.lineage
    return storage.tables.open(replace(effect.pin, version=row.table_version))


def fork(storage: GraphStorage, table: Table, name: str) -> Table:
    storage.lineages.create(WHERE, name, table.pin.lineage, table.version, base=table)
    return storage.tables.open(replace(table.pin, lineage=name))


def ages(table: Table) -> dict[str, int]:
    read = table.read(["id", "age"])
    return dict(zip(read["id"].to_pylist(), read["age"].to_pylist(), strict=True))


def test_a_fork_has_the_rows_of_its_source_and_goes_its_own_way(storage: GraphStorage) -> None:
    base = commit(storage, stage_append(storage.tables.open(BASE), people(ann=1, bob=2)))
    mine = fork(storage, base, "team/feature")
    assert (mine.version, ages(mine)) == (base.version, {"ann": 1, "bob": 2})
    changed = commit(storage, stage_upsert(mine, people(bob=20, cid=3)))
    grown = commit(storage, stage_append(base, people(dan=4)))
    assert ages(changed) == {"ann": 1, "bob": 20, "cid": 3}
    assert ages(grown) == {"ann": 1, "bob": 2, "dan": 4}
    assert changed.version == grown.version == 3, "the numbers of a fork continue"


def test_a_fork_can_be_cut_from_an_earlier_version(storage: GraphStorage) -> None:
    old = commit(storage, stage_append(storage.tables.open(BASE), people(ann=1)))
    commit(storage, stage_append(old, people(bob=2)))
    assert ages(fork(storage, old, "b")) == {"ann": 1}


def test_a_fork_is_the_same_whether_its_maker_had_the_version_open_or_not(storage: GraphStorage) -> None:
    base = commit(storage, stage_append(storage.tables.open(BASE), people(ann=1)))
    commit(storage, stage_append(base, people(bob=2)))
    one = commit(storage, stage_append(fork(storage, base, "one"), people(cid=3)))
    for source in (base, one):
        lineage = source.pin.lineage
        storage.lineages.create(WHERE, f"with-{lineage}", lineage, source.version, base=source)
        storage.lineages.create(WHERE, f"without-{lineage}", lineage, source.version)
        with_it, without = (
            storage.tables.open(replace(source.pin, lineage=f"{how}-{lineage}")) for how in ("with", "without")
        )
        assert ages(with_it) == ages(without) == ages(source)
        origins = [storage.lineages.origin(WHERE, f"{how}-{lineage}") for how in ("with", "without")]
        assert origins == [(lineage, source.version)] * 2
    assert ages(base) == {"ann": 1}, "the open version stays where it is"


def test_a_version_is_read_while_forks_are_cut_from_it(storage: GraphStorage) -> None:
    base = commit(storage, stage_append(storage.tables.open(BASE), people(ann=1)))
    with ThreadPoolExecutor(3) as pool:
        read = [pool.submit(lambda: [ages(base) for _ in range(40)]) for _ in range(2)]
        cut = pool.submit(lambda: [fork(storage, base, f"b{number}") for number in range(8)])
        assert all(seen == {"ann": 1} for each in read for seen in each.result())
        assert len(cut.result()) == 8


LEFT = ["a ref without content", "a ref without a version"]


@pytest.mark.parametrize("left", LEFT)
def test_what_a_power_cut_left_of_one_fork_is_in_nobodys_way(left: str, local: GraphStorage) -> None:
    base = commit(local, stage_append(local.tables.open(BASE), people(ann=1)))
    fork(local, base, "half")
    leave_unmade(Path(local.root.uri), WHERE, "half", left)
    other = fork(local, base, "other")
    assert local.lineages.children(WHERE, "other") == []
    fork(local, base, "half")
    leave_unmade(Path(local.root.uri), WHERE, "half", left)
    assert local.lineages.children(WHERE, "other") == []
    assert local.lineages.delete(WHERE, "other")
    assert ages(other) == {"ann": 1}
    assert ages(fork(local, base, "half")) == {"ann": 1}


def test_a_fork_whose_ref_was_emptied_keeps_its_rows(local: GraphStorage) -> None:
    """That is damage to what was acknowledged, not what a power cut left: the ref tells nothing, the rows are there."""
    base = commit(local, stage_append(local.tables.open(BASE), people(ann=1)))
    mine = commit(local, stage_append(fork(local, base, "mine"), people(bob=2)))
    leave_unmade(Path(local.root.uri), WHERE, "mine", LEFT[0])
    fork(local, base, "other")
    assert local.lineages.delete(WHERE, "other")
    assert ages(open_storage(local.root.uri).tables.open(mine.pin)) == {"ann": 1, "bob": 2}


def test_what_a_power_cut_left_of_a_fork_stays_while_its_branch_is_written(local: GraphStorage) -> None:
    """Whoever holds the branch may be making it anew."""
    base = commit(local, stage_append(local.tables.open(BASE), people(ann=1)))
    fork(local, base, "half")
    leave_unmade(Path(local.root.uri), WHERE, "half", LEFT[0])
    fork(local, base, "other")
    with local.leases.hold("half"), pytest.raises(OmniGraphError):
        local.lineages.children(WHERE, "other")
    assert local.lineages.exists(WHERE, "half")
    assert local.lineages.children(WHERE, "other") == []
    assert not local.lineages.exists(WHERE, "half")


def test_a_fork_of_a_fork_reads_everything_that_it_inherits(storage: GraphStorage) -> None:
    base = commit(storage, stage_append(storage.tables.open(BASE), people(ann=1, bob=2)))
    base = commit(storage, stage_indexes(base, [IndexSpec("id", "BTREE", "id_idx")]))
    one = commit(storage, stage_upsert(fork(storage, base, "one"), people(bob=20, cid=3)))
    two = commit(storage, stage_delete(fork(storage, one, "two"), Compare("id", "=", "ann"))[0])
    three = fork(storage, two, "three")
    fresh = open_storage(storage.root.uri).tables.open(three.pin)
    assert ages(fresh) == {"bob": 20, "cid": 3}
    assert fresh.read(["age"], Compare("id", "=", "bob"))["age"].to_pylist() == [20]
    assert ages(commit(storage, stage_upsert(three, people(cid=30, eve=5)))) == {"bob": 20, "cid": 30, "eve": 5}


def test_names_are_listed_sorted_and_decoded_per_table(storage: GraphStorage) -> None:
    base = storage.tables.open(BASE)
    for name in ("z", "team/a", "B.c-d_e", "größe"):
        fork(storage, base, name)
    assert storage.lineages.names(WHERE) == ["B.c-d_e", "größe", "team/a", "z"]
    assert storage.lineages.names(KNOWS.location) == []
    assert storage.lineages.exists(WHERE, "team/a")
    assert not storage.lineages.exists(WHERE, "team")


def test_a_taken_name_is_refused_and_keeps_what_it_has(storage: GraphStorage) -> None:
    base = storage.tables.open(BASE)
    mine = commit(storage, stage_append(fork(storage, base, "b"), people(ann=1)))
    with pytest.raises(BranchExists):
        storage.lineages.create(WHERE, "b", None, 1)
    assert ages(open_storage(storage.root.uri).tables.open(mine.pin)) == {"ann": 1}


def test_a_deleted_lineage_is_gone_with_its_files_and_its_name_is_free(storage: GraphStorage) -> None:
    base = storage.tables.open(BASE)
    mine = commit(storage, stage_append(fork(storage, base, "b"), people(ann=1)))
    assert storage.lineages.delete(WHERE, "b") is True
    assert storage.lineages.names(WHERE) == []
    assert not storage.objects.has_any(layout.branch_tree(WHERE, "b"))
    with pytest.raises(HistoricalVersionReclaimed):
        storage.tables.open(mine.pin)
    again = fork(storage, base, "b")
    assert ages(again) == {}, "no handle of the old incarnation is served"


def test_deleting_what_is_not_there_says_so(storage: GraphStorage) -> None:
    assert storage.lineages.delete(WHERE, "nothing") is False
    fork(storage, storage.tables.open(BASE), "b")
    assert storage.lineages.delete(WHERE, "b") is True
    assert storage.lineages.delete(WHERE, "b") is False


def test_a_lineage_that_others_were_cut_from_is_kept_and_its_dependants_are_named(storage: GraphStorage) -> None:
    parent = commit(storage, stage_append(fork(storage, storage.tables.open(BASE), "parent"), people(ann=1)))
    fork(storage, parent, "kid-2")
    fork(storage, parent, "kid-1")
    with pytest.raises(BranchHasDependants) as refused:
        storage.lineages.delete(WHERE, "parent")
    assert refused.value.dependants == ("kid-1", "kid-2")
    for name in ("kid-1", "kid-2", "parent"):
        assert storage.lineages.delete(WHERE, name)


def test_a_longer_name_below_a_lineage_survives_its_deletion(storage: GraphStorage) -> None:
    """The graph forbids such pairs of names; a table forked by another program may have them."""
    base = storage.tables.open(BASE)
    fork(storage, base, "a")
    below = commit(storage, stage_append(fork(storage, base, "a/b"), people(ann=1)))
    assert storage.lineages.delete(WHERE, "a")
    assert storage.lineages.names(WHERE) == ["a/b"]
    assert ages(open_storage(storage.root.uri).tables.open(below.pin)) == {"ann": 1}


def test_a_name_can_come_back_above_a_longer_one_without_harming_it(storage: GraphStorage) -> None:
    base = storage.tables.open(BASE)
    fork(storage, base, "a")
    below = commit(storage, stage_append(fork(storage, base, "a/b"), people(ann=1)))
    storage.lineages.delete(WHERE, "a")
    storage.lineages.create(WHERE, "a", None, 1)
    fresh = open_storage(storage.root.uri)
    assert ages(fresh.tables.open(below.pin)) == {"ann": 1}
    assert ages(fresh.tables.open(replace(BASE, lineage="a"))) == {}


def test_a_tree_that_a_dead_writer_left_without_a_ref_is_reclaimed(storage: GraphStorage) -> None:
    base = storage.tables.open(BASE)
    commit(storage, stage_append(fork(storage, base, "b"), people(ghost=1)))
    storage.objects.delete(layout.branch_ref(WHERE, "b"))
    assert storage.objects.has_any(layout.branch_tree(WHERE, "b"))
    fresh = open_storage(storage.root.uri, durability="os")
    again = fork(fresh, fresh.tables.open(BASE), "b")
    assert ages(again) == {}
    assert ages(commit(fresh, stage_append(again, people(ann=1)))) == {"ann": 1}


def test_a_writer_that_dies_after_the_fork_leaves_a_whole_lineage(storage: GraphStorage) -> None:
    with armed(Point.FORK_CREATED), pytest.raises(InjectedFault):
        storage.lineages.create(WHERE, "b", None, 1)
    assert open_storage(storage.root.uri).lineages.names(WHERE) == ["b"]
    assert storage.tables.open(replace(BASE, lineage="b")).count() == 0


@pytest.mark.parametrize(("source", "version"), [(None, 9), ("nothing", 1)])
def test_a_fork_of_what_is_not_there_fails_and_leaves_no_lineage(
    storage: GraphStorage, source: str | None, version: int
) -> None:
    with pytest.raises(OmniGraphError):
        storage.lineages.create(WHERE, "b", source, version)
    assert storage.lineages.names(WHERE) == []
    storage.lineages.create(WHERE, "b", None, 1)


def test_with_full_durability_the_first_version_and_the_ref_are_synced(
    local: GraphStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(durability, "_sync", synced.append)
    durable = open_storage(local.root.uri, durability="full")
    durable.lineages.create(WHERE, "team/b", None, 1)
    assert sorted(Path(path).suffix for path in synced if Path(path).is_file()) == [".json", ".manifest"]
    table = Path(local.root.uri, WHERE)
    new = ("tree/team/b/_versions", "tree/team/b", "tree/team", "tree", "_refs/branches", "_refs", ".")
    assert {str(table / folder) for folder in new} <= set(synced), "every new folder, and the one that names it"


def test_the_misplaced_index_of_a_rust_fork_of_a_fork_is_read_around() -> None:
    with rust_graph("fork-of-fork") as rust:
        storage = open_storage(rust.uri, read_only=True)
        pin = next(pin for pin in storage.manifest.load("b").state.pins() if pin.table_key == PERSON)
        table = storage.tables.open(replace(pin, lineage="b"))
        ada = Compare("id", "=", "Ada")
        assert table.read(["id"], ada)["id"].to_pylist() == ["Ada"]
        assert table.read(["id"], ada, use_index=False)["id"].to_pylist() == ["Ada"]
