"""Canaries: what Lance does and our storage relies on or guards against. One that falls means: read that code again.

Each sharp edge of the library has a number. A test named `test_edge_NN_…` in one of the canary files states it; edges
that cannot cut us are listed here with the reason.
"""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

PLAIN = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("v", pa.int64())])
KEYED = PLAIN.set(0, PLAIN.field(0).with_metadata({"lance-schema:unenforced-primary-key": "true"}))

DO_NOT_TOUCH_US = {
    3: "a commit lock switches the atomic put off; we never pass one",
    8: "detached versions; every version of ours is attached",
    19: "DataFusion is not among our dependencies",
}


def test_every_sharp_edge_has_a_canary_or_a_reason() -> None:
    files = sorted(Path(__file__).parent.glob("test_lance_canaries*.py"))
    named = [int(number) for file in files for number in re.findall(r"^def test_edge_(\d\d)_", file.read_text(), re.M)]
    assert len(named) == len(set(named)), "one canary per edge"
    assert not set(named) & DO_NOT_TOUCH_US.keys()
    assert sorted([*named, *DO_NOT_TOUCH_US]) == list(range(1, 26))


def test_no_source_of_ours_uses_what_the_listed_edges_forbid() -> None:
    source = "".join(path.read_text() for path in (Path(__file__).parents[3] / "src").rglob("*.py"))
    for word in ("commit_lock=", "detached=True", "import datafusion", "from datafusion"):
        assert word not in source


def rows(schema: pa.Schema = PLAIN, **values: int) -> pa.Table:
    return pa.table({"id": list(values), "v": list(values.values())}, schema=schema)


def create(uri: str, table: pa.Table, *, stable: bool = True) -> LanceDataset:
    transaction = write_fragments(table, uri, mode="create", return_transaction=True, data_storage_version="2.2")
    return LanceDataset.commit(uri, transaction, max_retries=0, enable_stable_row_ids=stable)


def staged(base: LanceDataset, **values: int) -> lance.Transaction:
    return write_fragments(rows(**values), base, mode="append", return_transaction=True)


def upsert(handle: LanceDataset) -> lance.dataset.MergeInsertBuilder:
    builder = handle.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    return builder.conflict_retries(0).use_index(False)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "t")


# --- commits ----------------------------------------------------------------------------------------------


def test_edge_01_a_stale_append_is_rebased_in_silence_even_with_no_retries(uri: str) -> None:
    base = create(uri, rows(a=1))
    first, second = staged(base, b=1), staged(base, c=1)
    LanceDataset.commit(base, first, max_retries=0)
    landed = LanceDataset.commit(base, second, max_retries=0)
    assert (second.read_version, landed.version) == (1, 3)
    assert landed.count_rows() == 3


def test_edge_02_a_staged_merge_loses_the_primary_key_and_commits_a_duplicate(uri: str) -> None:
    base = create(uri, rows(KEYED, a=1))
    effects = [upsert(base).execute_uncommitted(rows(KEYED, n=value))[0] for value in (1, 2)]
    for effect in effects:
        landed = LanceDataset.commit(base, effect, max_retries=0)
    assert sorted(landed.to_table()["id"].to_pylist()) == ["a", "n", "n"]


def test_rows_are_compared_and_swapped_only_through_execute(uri: str) -> None:
    create(uri, rows(KEYED, a=1))
    for key in ("n", "a"):
        first, second = lance.dataset(uri), lance.dataset(uri)
        upsert(first).execute(rows(KEYED, **{key: 10}))
        with pytest.raises(OSError, match="Too many concurrent writers") as lost:
            upsert(second).execute(rows(KEYED, **{key: 20}))
        assert not isinstance(lost.value, CommitConflictError)
    assert lance.dataset(uri).to_table().sort_by("id").to_pydict() == {"id": ["a", "n"], "v": [10, 10]}


def test_without_the_key_mark_execute_inserts_a_duplicate(uri: str) -> None:
    create(uri, rows(a=1))
    first, second = lance.dataset(uri), lance.dataset(uri)
    upsert(first).execute(rows(n=1))
    upsert(second).execute(rows(n=2))
    assert lance.dataset(uri).count_rows("`id` = 'n'") == 2


def test_a_retry_of_lance_turns_a_lost_insert_into_an_overwrite_of_the_winner(uri: str) -> None:
    """Why publish passes `conflict_retries(0)` and owns the retry."""
    create(uri, rows(KEYED, a=1))
    first, second = lance.dataset(uri), lance.dataset(uri)
    upsert(first).execute(rows(KEYED, n=1))
    upsert(second).conflict_retries(5).execute(rows(KEYED, n=2))
    assert lance.dataset(uri).to_table(filter="`id` = 'n'")["v"].to_pylist() == [2]


def test_edge_04_write_dataset_in_create_mode_replaces_what_a_rival_created_meanwhile(uri: str) -> None:
    def slow_rows() -> Iterator[pa.RecordBatch]:
        yield from rows(first=1).to_batches()
        create(uri, rows(rival=1))  # after Lance has looked, before our rows are complete
        yield from rows(second=1).to_batches()

    reader = pa.RecordBatchReader.from_batches(PLAIN, slow_rows())
    lance.write_dataset(reader, uri, mode="create")
    assert lance.dataset(uri).to_table()["id"].to_pylist() == ["first", "second"]


def test_of_many_staged_creations_exactly_one_is_committed(uri: str) -> None:
    """The way that birth creates datasets."""
    effects = [
        write_fragments(rows(**{f"c{number}": 1}), uri, mode="create", return_transaction=True) for number in range(6)
    ]
    barrier, won = threading.Barrier(len(effects)), []

    def commit(effect: lance.Transaction) -> None:
        barrier.wait()
        try:
            won.append(LanceDataset.commit(uri, effect, max_retries=0, enable_stable_row_ids=True).version)
        except OSError:
            return

    threads = [threading.Thread(target=commit, args=(effect,)) for effect in effects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [1]
    assert lance.dataset(uri).count_rows() == 1


def test_edge_05_a_transaction_committed_twice_is_applied_twice(uri: str) -> None:
    base = create(uri, rows(a=1))
    effect = staged(base, b=1)
    for _ in range(2):
        landed = LanceDataset.commit(base, effect, max_retries=0)
    assert landed.count_rows("`id` = 'b'") == 2
    assert landed.read_transaction(2).uuid == landed.read_transaction(3).uuid == effect.uuid


def test_a_transaction_keeps_the_id_that_its_writer_minted(uri: str) -> None:
    base = create(uri, rows(a=1))
    effect = staged(base, b=1)
    effect.uuid = "11111111-2222-3333-4444-555555555555"
    landed = LanceDataset.commit(base, effect, max_retries=0)
    assert landed.read_transaction(landed.version).uuid == effect.uuid
    assert base.version == 1, "commit does not move the handle it is given"


def test_edge_06_a_delete_that_matches_nothing_still_makes_a_version(uri: str) -> None:
    handle = create(uri, rows(a=1))
    handle.delete("`id` = 'none'")
    assert handle.latest_version == 2


def test_edge_07_equal_new_keys_in_one_merge_are_all_inserted_but_equal_known_keys_refused(uri: str) -> None:
    handle = create(uri, rows(a=1))
    twice = pa.table({"id": ["n", "n"], "v": [1, 2]}, schema=PLAIN)
    assert upsert(handle).execute(twice)["num_inserted_rows"] == 2
    with pytest.raises(OSError, match="Ambiguous merge inserts"):
        upsert(handle).execute(pa.table({"id": ["a", "a"], "v": [1, 2]}, schema=PLAIN))


def test_edge_09_large_publishes_of_different_keys_collide_and_small_ones_do_not(uri: str) -> None:
    """`__manifest` carries the key mark: its publishes stay small. Tables carry none."""
    create(uri, rows(KEYED, a=1))

    def publish_beside_another(size: int) -> None:
        first, second = lance.dataset(uri), lance.dataset(uri)
        upsert(first).execute(rows(KEYED, **{f"x{size}-{number}": 1 for number in range(size)}))
        upsert(second).execute(rows(KEYED, **{f"y{size}-{number}": 1 for number in range(size)}))

    publish_beside_another(5)
    with pytest.raises(OSError, match="Too many concurrent writers"):
        publish_beside_another(500)


def test_edge_11_a_compaction_that_rewrote_an_index_cannot_be_read_back(uri: str) -> None:
    """`read_transaction` is used on our own fresh commits alone, never to walk through history."""
    create(uri, rows(a=1)).create_scalar_index("id", "BTREE", name="id_idx")
    handle = lance.write_dataset(rows(b=1), uri, mode="append")
    handle.optimize.optimize_indices()
    before = handle.version
    handle.optimize.compact_files()
    assert handle.version == before + 2, "a reservation, then the rewrite"
    with pytest.raises(TypeError, match="RewrittenIndex"):
        handle.read_transaction(handle.version)


# --- handles, versions, rows ------------------------------------------------------------------------------


def test_edge_15_row_versions_are_all_one_unless_row_ids_are_stable(tmp_path: Path) -> None:
    column = "_row_last_updated_at_version"
    seen = {}
    for stable in (False, True):
        handle = create(str(tmp_path / str(stable)), rows(a=1, b=1), stable=stable)
        upsert(handle).execute(rows(b=2))
        found = handle.to_table(columns=["id", column]).to_pylist()
        seen[handle.has_stable_row_ids] = {row["id"]: row[column] for row in found}
    assert seen == {False: {"a": 1, "b": 1}, True: {"a": 1, "b": 2}}


def test_edge_20_a_call_that_changes_the_dataset_moves_its_handle_and_a_copy_protects(uri: str) -> None:
    handle = create(uri, rows(a=1, b=1))
    shared = copy.copy(handle)
    upsert(handle).execute(rows(c=1))
    handle.delete("`id` = 'a'")
    handle.create_scalar_index("id", "BTREE")
    assert (handle.version, shared.version) == (4, 1)
    assert shared.to_table()["id"].to_pylist() == ["a", "b"]


def test_staging_does_not_move_a_handle(uri: str) -> None:
    handle = create(uri, rows(a=1, b=1))
    staged(handle, c=1)
    upsert(handle).execute_uncommitted(rows(a=2))
    handle.get_fragments()[0].delete_rows([0])
    handle.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0])
    assert handle.version == handle.latest_version == 1


def test_cutting_a_branch_from_a_handle_leaves_the_handle_where_it_is(uri: str) -> None:
    old = create(uri, rows(a=1, b=1))
    lance.dataset(uri).delete("id = 'b'")
    old.create_branch("side", reference=old.version)
    assert (old.version, old.uri, old.count_rows()) == (1, uri, 2)
    side = lance.dataset(uri).checkout_version(("side", None))
    at = side.version
    side.create_branch("twig", reference=("side", at))
    assert (side.version, side.count_rows()) == (at, 2)
    parents = {name: (ref["parent_branch"], ref["parent_version"]) for name, ref in old.branches.list().items()}
    assert parents == {"side": (None, 1), "twig": ("side", at)}


def test_edge_21_versions_reads_every_version_and_version_refs_only_names(uri: str) -> None:
    handle = create(uri, rows(a=1))
    for number in range(3):
        handle = lance.write_dataset(rows(**{f"n{number}": 1}), handle, mode="append")
    (Path(uri) / "_versions" / f"{2**64 - 1 - 2:020d}.manifest").write_bytes(b"broken")
    assert [ref["version"] for ref in lance.dataset(uri, session=lance.Session()).version_refs()] == [1, 2, 3, 4]
    with pytest.raises((OSError, ValueError, RuntimeError)):
        lance.dataset(uri, session=lance.Session()).versions()


def test_version_files_count_down_from_the_largest_number(uri: str) -> None:
    create(uri, rows(a=1))
    assert f"{2**64 - 2:020d}.manifest" in os.listdir(f"{uri}/_versions")


def test_an_empty_table_and_an_overwrite_with_no_rows_are_legal(uri: str) -> None:
    base = create(uri, PLAIN.empty_table())
    assert (base.version, base.get_fragments()) == (1, [])
    emptied = lance.Transaction(1, lance.LanceOperation.Overwrite(PLAIN, []))
    landed = LanceDataset.commit(base, emptied, max_retries=0)
    assert (landed.version, landed.count_rows(), landed.has_stable_row_ids) == (2, 0, True)


_NOISE = "import sys, lance, pyarrow as pa; lance.write_dataset(pa.table({'a': [1]}), sys.argv[1], mode='append')"


def test_edge_24_lance_writes_to_stderr_unless_told_before_the_import(tmp_path: Path) -> None:
    said = {}
    for level in ("warn", "error"):
        environment = {**os.environ, "LANCE_LOG": level}
        command = [sys.executable, "-c", _NOISE, str(tmp_path / level)]
        said[level] = subprocess.run(command, env=environment, capture_output=True, check=True).stderr
    assert b"WARN" in said["warn"]
    assert said["error"] == b""
