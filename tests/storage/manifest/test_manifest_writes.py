"""The ways into `__manifest`: equal results, and of two writers on one base one loses, whichever ways they take.

These are canaries too: the swap of the head row rests on Lance refusing two changes to one fragment, be it a new
deletion mark in it or its replacement.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.files import durability
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.storage.manifest import store as manifest
from omnigraph.storage.manifest.publishing import rows_of
from omnigraph.storage.manifest.row_writes import GROWN_ROWS_MAX, find_head, only_moves_head
from omnigraph.storage.manifest.rows import ManifestRow, TableVersion
from omnigraph.storage.manifest.store import CommitLost, LoadedManifest, ManifestStore
from support.processes.writers import SCHEMA, write_pair


def plan(actor: str, branch: str = "main") -> PublishPlan:
    return PublishPlan(branch=branch, identity=CommitIdentity(actor_id=actor))


def by_swap(store: ManifestStore, base: LoadedManifest, rows: Sequence[ManifestRow]) -> LoadedManifest:
    assert only_moves_head(base.branch, rows, base.state)
    return store.commit(base, rows)


def by_growing(store: ManifestStore, base: LoadedManifest, rows: Sequence[ManifestRow]) -> LoadedManifest:
    if base.head_place is None:  # after an init or a merge nobody knows the fragment's rows
        return by_swap(store, base, rows)
    assert base.head_place.rows is not None
    loaded = by_swap(store, base, rows)
    assert base.head_place.fragment_id not in loaded.handle.fragment_ids(), "it was replaced"
    return loaded


def by_marking(store: ManifestStore, base: LoadedManifest, rows: Sequence[ManifestRow]) -> LoadedManifest:
    place = find_head(base.handle, base.branch)
    assert place is not None
    loaded = by_swap(store, replace(base, head_place=place), rows)
    assert place.fragment_id in loaded.handle.fragment_ids(), "it goes on without the row"
    return loaded


def by_merge(store: ManifestStore, base: LoadedManifest, rows: Sequence[ManifestRow]) -> LoadedManifest:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "only_moves_head", lambda *_: False)
        return store.commit(base, rows)


WAYS = {"growing": by_growing, "marking": by_marking, "merge": by_merge}


@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("first", WAYS)
def test_of_two_writers_on_one_base_the_second_loses(storage: GraphStorage, first: str, second: str) -> None:
    write_pair(storage)
    base = storage.manifest.load()
    WAYS[first](storage.manifest, base, rows_of(plan("first"), base)[1])
    with pytest.raises(CommitLost):
        WAYS[second](storage.manifest, base, rows_of(plan("second"), base)[1])
    after = open_storage(storage.root.uri).manifest.load()
    assert after.version == base.version + 1
    assert after.state.head is not None
    assert after.state.head.actor_id == "first"


def test_a_swap_after_a_compaction_loses_instead_of_being_rebased(storage: GraphStorage) -> None:
    for _ in range(3):
        write_pair(storage)
    base = storage.manifest.load()
    open_storage(storage.root.uri, durability="os").manifest.compact(base)
    with pytest.raises(CommitLost):
        by_swap(storage.manifest, base, rows_of(plan("late"), base)[1])


def test_a_first_publish_after_a_compaction_loses_too(storage: GraphStorage) -> None:
    for _ in range(3):
        write_pair(storage)
        storage.manifest.forget("main")  # so that each leaves a fragment of its own
    Graph(storage).create_branch("fresh")
    base = storage.manifest.load("fresh")
    compacted = open_storage(storage.root.uri, durability="os").manifest.compact(base)
    assert compacted.version > base.version
    with pytest.raises(CommitLost):
        by_swap(storage.manifest, base, rows_of(plan("late", "fresh"), base)[1])


def test_of_many_threads_on_one_base_one_wins_each_round(storage: GraphStorage) -> None:
    for number in range(6):
        base = storage.manifest.load()
        outcomes: list[str] = []
        start = threading.Barrier(8)

        def race(name: str, base: LoadedManifest, start: threading.Barrier, outcomes: list[str]) -> None:
            store = open_storage(storage.root.uri, durability="os").manifest
            rows = rows_of(plan(name), base)[1]
            start.wait()
            try:
                store.commit(base, rows)
            except CommitLost:
                return
            outcomes.append(name)

        threads = [threading.Thread(target=race, args=(f"{number}-{each}", base, start, outcomes)) for each in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        now = storage.manifest.load()
        assert len(outcomes) == 1
        assert (now.version, now.state.head.actor_id) == (base.version + 1, outcomes[0])  # type: ignore[union-attr]


def test_all_ways_leave_the_same_rows(tmp_path: Path) -> None:
    shown = {}
    Graph.init(str(tmp_path / "origin"), SCHEMA, durability="os")
    for name, way in WAYS.items():
        shutil.copytree(tmp_path / "origin", tmp_path / name)
        store = open_storage(str(tmp_path / name), durability="os").manifest
        for number in range(4):
            base = store.load()
            lineage = CommitIdentity(commit_id=f"01J{number:023d}", created_at=number)
            loaded = way(store, base, rows_of(PublishPlan(identity=lineage), base)[1])
        shown[name] = sorted(loaded.handle.to_table().to_pylist(), key=itemgetter("object_id"))
        loaded.handle.validate()
    assert shown["growing"] == shown["marking"] == shown["merge"]


def test_a_fragment_grows_no_further_than_its_limit_and_few_are_left(storage: GraphStorage) -> None:
    before = len(storage.manifest.load().fragments)
    for number in range(3 * GROWN_ROWS_MAX):
        loaded = publish(storage.manifest, plan(str(number))).manifest
    sizes = [fragment.count_rows() for fragment in loaded.handle.get_fragments()]
    assert max(sizes) <= GROWN_ROWS_MAX
    assert len(sizes) <= before + 4
    assert len(loaded.state.commits) == 1 + 3 * GROWN_ROWS_MAX
    assert open_storage(storage.root.uri).manifest.load().state == loaded.state


def test_every_version_keeps_the_rows_that_it_had_while_its_fragments_grow(storage: GraphStorage) -> None:
    states = [storage.manifest.load(), *(publish(storage.manifest, plan(str(each))).manifest for each in range(5))]
    later = open_storage(storage.root.uri).manifest
    for loaded in states:
        assert later.load_at("main", loaded.version).state == loaded.state


def test_a_process_that_published_before_reads_on_from_fragments_that_another_let_grow(storage: GraphStorage) -> None:
    other = open_storage(storage.root.uri, durability="os")
    for number in range(4):
        for store in (storage.manifest, other.manifest):
            for _ in range(number):
                published = publish(store, plan(str(number))).manifest
    assert storage.manifest.load().state == other.manifest.load().state == published.state


def test_the_state_after_a_swap_equals_a_fresh_read_and_knows_its_head(storage: GraphStorage) -> None:
    for number in range(3):
        loaded = publish(storage.manifest, plan(str(number))).manifest
        fresh = open_storage(storage.root.uri).manifest.load()
        assert (fresh.version, fresh.state, fresh.fragments) == (loaded.version, loaded.state, loaded.fragments)
        assert loaded.head_place == find_head(fresh.handle, "main")
        assert loaded.head_place.rows == fresh.handle.get_fragment(loaded.head_place.fragment_id).to_table()


@pytest.mark.parametrize("second", ["first", "merge"])
@pytest.mark.parametrize("first", ["first", "merge"])
def test_of_two_first_publishes_on_a_branch_the_second_loses(storage: GraphStorage, first: str, second: str) -> None:
    write_pair(storage)
    Graph(storage).create_branch("fresh")
    base = storage.manifest.load("fresh")
    assert "fresh" not in base.state.heads
    ways = {"first": by_swap, "merge": by_merge}
    ways[first](storage.manifest, base, rows_of(plan("first", "fresh"), base)[1])
    with pytest.raises(CommitLost):
        ways[second](storage.manifest, base, rows_of(plan("second", "fresh"), base)[1])
    after = open_storage(storage.root.uri).manifest.load("fresh")
    assert after.version == base.version + 1
    assert after.state.head is not None
    assert after.state.head.actor_id == "first"


def test_the_first_publish_of_a_branch_adds_its_rows_and_the_second_goes_on_from_there(storage: GraphStorage) -> None:
    write_pair(storage)
    Graph(storage).create_branch("fresh")
    base = storage.manifest.load("fresh")
    first = publish(storage.manifest, plan("a", "fresh"))
    assert first.manifest.handle.fragment_ids() - base.handle.fragment_ids() == {first.manifest.head_place.fragment_id}  # type: ignore[union-attr]
    rows = first.manifest.handle.to_table(columns=["object_id", "_rowid", "_row_created_at_version"]).to_pylist()
    assert len({row["_rowid"] for row in rows}) == len(rows) == base.handle.count_rows() + 2
    first.manifest.handle.validate()
    second = publish(storage.manifest, plan("b", "fresh"))
    assert first.manifest.head_place.fragment_id in {*first.manifest.handle.fragment_ids()} - {  # type: ignore[union-attr]
        *second.manifest.handle.fragment_ids()
    }
    assert open_storage(storage.root.uri).manifest.load("fresh").state == second.manifest.state
    assert storage.manifest.load().state == open_storage(storage.root.uri).manifest.load().state


def test_a_handoff_is_merged(storage: GraphStorage) -> None:
    write_pair(storage)
    main = storage.manifest.load()
    newest = main.state.newest["node:Person"]
    moved: TableVersion = replace(newest, table_branch="elsewhere")
    rows = rows_of(PublishPlan(changes=(moved,), identity=CommitIdentity()), main)[1]
    assert not only_moves_head("main", rows, main.state), "a published row is replaced"
    assert storage.manifest.commit(main, rows).state.newest["node:Person"].table_branch == "elsewhere"


@pytest.mark.parametrize("way", ["growing", "marking"])
def test_with_full_durability_every_file_of_a_swap_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    storage = open_storage(str(tmp_path / "g"), durability="full")
    folder = Path(storage.root.uri, "__manifest")
    base = publish(storage.manifest, plan("first")).manifest
    before = set(folder.rglob("*"))
    synced: list[str] = []
    monkeypatch.setattr(durability, "_sync", synced.append)
    WAYS[way](storage.manifest, base, rows_of(plan("second"), base)[1])
    created = {path for path in set(folder.rglob("*")) - before if path.is_file()}
    kinds = {path.relative_to(folder).parts[0] for path in created}
    assert kinds == ({"data", "_versions", "_transactions"} | ({"_deletions"} if way == "marking" else set()))
    lasting = {str(path) for path in created if "_transactions" not in path.parts}
    assert lasting <= set(synced), "the copy of the transaction is the one file that nothing needs"
    assert {str(folder / kind) for kind in kinds - {"_transactions"}} <= set(synced)
