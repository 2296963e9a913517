"""Old versions of a table: exactly the given ones go, whole or not at all, and nothing that another version names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.model.errors import HistoricalVersionReclaimed
from omnigraph.storage import GraphStorage, from_disk
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.predicates import OneOf
from omnigraph.storage.tables import Table, stage_append, stage_delete, stage_upsert
from storage.tables.test_lineages import BASE, WHERE, commit, fork, people


def grown(storage: GraphStorage, versions: int = 6) -> Table:
    """Version 1 is empty; then each has one row more and another age for Ann."""
    table = storage.tables.open(BASE)
    for number in range(2, versions + 1):
        table = commit(storage, stage_upsert(table, people(**{"ann": number, f"p{number}": number})))
    return table


def rows_at(storage: GraphStorage, pin: TablePin, version: int) -> int:
    return storage.tables.open(replace(pin, version=version)).read().num_rows


def present(storage: GraphStorage, path: str = WHERE) -> list[int]:
    return [each.version for each in storage.old_versions.on_disk(path)]


def test_exactly_the_given_versions_go(storage: GraphStorage) -> None:
    head = grown(storage)
    removal = storage.old_versions.removal(WHERE, [1, 2, 4])
    assert removal.versions == (1, 2, 4)
    assert removal.size > 0
    assert removal.file_count >= 6, "version files and transactions at the least"
    assert present(storage) == [1, 2, 3, 4, 5, 6], "looking changes nothing"
    storage.old_versions.remove(removal)
    assert present(storage) == [3, 5, 6]
    fresh = from_disk(storage)
    assert [rows_at(fresh, head.pin, version) for version in (3, 5, 6)] == [3, 5, 6]
    for gone in (1, 2, 4):
        with pytest.raises(HistoricalVersionReclaimed):
            fresh.tables.open(replace(head.pin, version=gone))


def test_the_newest_version_stays_although_it_is_listed(storage: GraphStorage) -> None:
    grown(storage, 3)
    assert storage.old_versions.removal(WHERE, [1, 2, 3]).versions == (1, 2)
    assert storage.old_versions.removal(WHERE, []).file_count == 0
    assert storage.old_versions.removal(WHERE, [99]).versions == ()


def test_files_that_only_removed_versions_name_are_gone_and_their_size_was_told(storage: GraphStorage) -> None:
    table = grown(storage, 3)
    commit(storage, stage_delete(table, OneOf("id", ("ann", "p2", "p3")))[0])
    before = {each.name: each.size for each in storage.objects.list_files(f"{WHERE}/data")}
    removal = storage.old_versions.removal(WHERE, [1, 2, 3])
    storage.old_versions.remove(removal)
    after = {each.name for each in storage.objects.list_files(f"{WHERE}/data")}
    gone = {name: size for name, size in before.items() if name not in after}
    assert gone, "an empty table has no file"
    assert {path.rpartition("/")[2] for path in removal.other_files} >= set(gone)
    assert removal.size >= sum(gone.values())
    assert from_disk(storage).tables.open(replace(table.pin, version=4)).read().num_rows == 0


def test_a_fork_keeps_what_it_was_cut_from_and_loses_its_own_old_versions(storage: GraphStorage) -> None:
    base = grown(storage, 4)
    mine = fork(storage, storage.tables.open(replace(base.pin, version=2)), "team/feature")
    for number in range(3):
        mine = commit(storage, stage_append(mine, people(**{f"own{number}": number})))
    assert storage.old_versions.removal(WHERE, [1, 2, 3]).versions == (1, 3)
    storage.old_versions.remove(storage.old_versions.removal(WHERE, [1, 2, 3]))
    storage.old_versions.remove(storage.old_versions.removal(mine.pin.path, [2, 3, 4]))
    assert (present(storage), present(storage, mine.pin.path)) == ([2, 4], [5])
    fresh = from_disk(storage)
    assert fresh.tables.open(replace(mine.pin, version=5)).read().num_rows == 5
    assert fresh.tables.open(replace(base.pin, version=2)).read().num_rows == 2


@pytest.mark.parametrize("point", [Point.VERSIONS_REMOVED, Point.CLEANUP_TABLE])
def test_a_removal_that_dies_leaves_each_version_whole_or_gone(
    storage: GraphStorage, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.storage.reclaim.old_versions.DELETED_AT_ONCE", 2)
    head = grown(storage)
    with armed(point), pytest.raises(InjectedFault):
        storage.old_versions.remove(storage.old_versions.removal(WHERE, [1, 2, 3, 4, 5]))
    fresh = from_disk(storage)
    left = present(fresh)
    assert 6 in left
    for version in left:
        assert rows_at(fresh, head.pin, version) == (0 if version == 1 else version)
    again = fresh.old_versions.removal(WHERE, [1, 2, 3, 4, 5])
    fresh.old_versions.remove(again)
    assert present(fresh) == [6]
    assert rows_at(from_disk(storage), head.pin, 6) == 6


def test_whoever_lost_the_right_removes_no_version_any_more(storage: GraphStorage) -> None:
    grown(storage, 3)

    def lost() -> None:
        raise InjectedFault("lost")

    with pytest.raises(InjectedFault):
        storage.old_versions.remove(storage.old_versions.removal(WHERE, [1, 2]), lost)
    assert present(storage) == [1, 2, 3]


def test_times_are_those_of_the_store(storage: GraphStorage) -> None:
    before = storage.old_versions.now()
    grown(storage, 3)
    after = storage.old_versions.now()
    times = [each.written_at for each in storage.old_versions.on_disk(WHERE)]
    assert times == sorted(times)
    assert before - 1.0 <= times[-1] <= after + 1.0
