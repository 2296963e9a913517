"""Canaries: Lance branches, on which our lineages and graph branches stand."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.fragment import write_fragments

from support.graphs.rust_graphs import rust_graph

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("v", pa.int64())])


def rows(**values: int) -> pa.Table:
    return pa.table({"id": list(values), "v": list(values.values())}, schema=SCHEMA)


@pytest.fixture
def base(tmp_path: Path) -> LanceDataset:
    uri = str(tmp_path / "t")
    transaction = write_fragments(rows(a=1, b=2), uri, mode="create", return_transaction=True)
    return LanceDataset.commit(uri, transaction, max_retries=0, enable_stable_row_ids=True)


def tree(base: LanceDataset, name: str) -> LanceDataset:
    return lance.dataset(f"{base.uri}/tree/{name}")


def test_a_branch_is_a_ref_object_and_a_tree_and_starts_at_its_parents_version(base: LanceDataset) -> None:
    grown = lance.write_dataset(rows(c=3), base, mode="append")
    grown.create_branch("team/feature", reference=2)
    ref = json.loads(Path(base.uri, "_refs", "branches", "team%2Ffeature.json").read_text())
    assert ref.keys() == {"parentBranch", "identifier", "parentVersion", "createAt", "manifestSize", "metadata"}
    assert (ref["parentBranch"], ref["parentVersion"]) == (None, 2)
    [[version, unique]] = ref["identifier"]["version_mapping"]
    assert version == 2
    assert len(unique) == 32
    branch = tree(base, "team/feature")
    assert (branch.version, branch.count_rows()) == (2, 3)
    assert not os.path.exists(f"{branch.uri}/data"), "no data is copied"


def test_a_branch_of_a_branch_adds_to_its_parents_identifier(base: LanceDataset) -> None:
    base.create_branch("parent")
    base.create_branch("child", reference=("parent", 1))
    refs = base.branches.list()
    assert refs["child"]["parent_branch"] == "parent"
    assert refs["child"]["branch_identifier"][:1] == refs["parent"]["branch_identifier"]


def test_a_re_created_branch_has_another_identifier(base: LanceDataset) -> None:
    seen = set()
    for _ in range(2):
        base.create_branch("b")
        seen.add(str(base.branches.list()["b"]["branch_identifier"]))
        base.branches.delete("b")
    assert len(seen) == 2


def test_a_write_on_a_branch_leaves_main_alone_and_continues_the_numbers(base: LanceDataset) -> None:
    base.create_branch("b")
    branch = lance.write_dataset(rows(c=3), tree(base, "b"), mode="append")
    assert (branch.version, branch.count_rows()) == (2, 3)
    assert lance.dataset(base.uri).version == 1
    assert lance.dataset(base.uri).count_rows() == 2


def test_sibling_branches_give_equal_row_ids_to_different_rows(base: LanceDataset) -> None:
    """Row ids are an identity inside one lineage only."""
    ids = []
    for name in ("x", "y"):
        base.create_branch(name)
        grown = lance.write_dataset(rows(**{name: 1}), tree(base, name), mode="append")
        ids.append(grown.to_table(columns=["_rowid"], filter=f"`id` = '{name}'")["_rowid"].to_pylist())
    assert ids[0] == ids[1]


def test_edge_10_a_branch_names_its_base_by_absolute_path_and_does_not_survive_a_move(
    base: LanceDataset, tmp_path: Path
) -> None:
    base.create_branch("b")
    moved = str(tmp_path / "moved")
    shutil.move(base.uri, moved)
    assert lance.dataset(moved).to_table().num_rows == 2
    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        lance.dataset(f"{moved}/tree/b", session=lance.Session()).to_table()


def test_edge_12_deleting_a_branch_above_another_leaves_a_tree_that_blocks_the_name(base: LanceDataset) -> None:
    """Why branch names may not be path prefixes of each other, and why a tree without a ref is removed first."""
    base.create_branch("a")
    base.create_branch("a/b")
    base.branches.delete("a")
    assert "_versions" in os.listdir(f"{base.uri}/tree/a")
    with pytest.raises(OSError, match="Clone operation should not enter build_manifest"):
        base.create_branch("a")


def test_a_taken_name_and_a_tree_without_a_ref_fail_with_the_same_words(base: LanceDataset) -> None:
    base.create_branch("b")
    with pytest.raises(OSError, match="Clone operation should not enter build_manifest"):
        base.create_branch("b")
    os.unlink(f"{base.uri}/_refs/branches/b.json")
    assert base.branches.list() == {}
    with pytest.raises(OSError, match="Clone operation should not enter build_manifest"):
        base.create_branch("b")
    shutil.rmtree(f"{base.uri}/tree/b")
    base.create_branch("b")


@pytest.mark.parametrize("name", ["two words", "a:b", "main", "a..b", "x.lock", "back\\slash", "/a", "a//b", ""])
def test_a_name_that_lance_refuses_leaves_nothing_behind(base: LanceDataset, name: str) -> None:
    with pytest.raises((OSError, ValueError), match="Ref is invalid"):
        base.create_branch(name)
    assert base.branches.list() == {}
    assert not os.path.exists(f"{base.uri}/tree")


def test_a_branch_that_another_was_cut_from_cannot_be_deleted(base: LanceDataset) -> None:
    base.create_branch("parent")
    base.create_branch("child", reference=("parent", 1))
    with pytest.raises(OSError, match="Ref conflict error"):
        base.branches.delete("parent")
    base.branches.delete("child")
    base.branches.delete("parent")


def test_a_fork_of_a_fork_reads_and_uses_the_index_of_its_origin(base: LanceDataset) -> None:
    base.create_scalar_index("id", "BTREE", name="id_idx")
    base.create_branch("one", reference=2)
    lance.write_dataset(rows(c=3), tree(base, "one"), mode="append")
    base.create_branch("two", reference=("one", 3))
    second = tree(base, "two")
    assert [index.name for index in second.describe_indices()] == ["id_idx"]
    assert second.to_table(filter="`id` = 'b'")["v"].to_pylist() == [2]
    assert second.to_table(filter="`id` = 'c'")["v"].to_pylist() == [3]


def test_edge_13_a_handle_from_checkout_pickles_wrongly_and_one_opened_by_tree_path_does_not(
    base: LanceDataset,
) -> None:
    base.create_branch("b")
    lance.write_dataset(rows(c=3), tree(base, "b"), mode="append")
    checked_out = lance.dataset(base.uri).checkout_version(("b", None))
    assert checked_out.uri == base.uri
    with pytest.raises(OSError, match="Not found"):
        pickle.loads(pickle.dumps(checked_out)).count_rows("`v` > 0")
    assert pickle.loads(pickle.dumps(tree(base, "b"))).count_rows("`v` > 0") == 3


def test_a_version_of_a_branch_is_opened_by_tree_path_and_not_by_a_pair(base: LanceDataset) -> None:
    base.create_branch("b")
    with pytest.raises(OSError, match="version must be an integer or a string"):
        lance.dataset(base.uri, version=("b", 1))
    assert lance.dataset(f"{base.uri}/tree/b", version=1).count_rows() == 2


def test_edge_25_an_index_that_the_rust_release_misplaced_in_a_fork_of_a_fork_fails_only_when_used() -> None:
    with rust_graph("fork-of-fork") as graph:
        [fork] = [path.parent for path in graph.path.glob("nodes/*/tree/b/_versions")]
        dataset = lance.dataset(str(fork), session=lance.Session())
        with pytest.raises((OSError, ValueError), match=r"Not found: .*/_indices/"):
            dataset.to_table(filter="`id` = 'Ada'")
        assert dataset.scanner(filter="`id` = 'Ada'", use_scalar_index=False).to_table().num_rows == 1
