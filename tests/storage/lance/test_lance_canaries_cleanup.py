"""Canaries: what Lance says of files that only some versions name, on which the removal of old versions stands."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset

NOW = timedelta(0)


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "v": list(range(len(ids)))})


def upsert(dataset: LanceDataset, *ids: str) -> None:
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows(*ids))


@pytest.fixture
def aged(tmp_path: Path) -> LanceDataset:
    """Nine versions: appends, an index that was replaced, a deletion, a compaction."""
    base = lance.write_dataset(rows("a", "b", "c"), str(tmp_path / "t"), enable_stable_row_ids=True)
    for number in range(3):
        base = lance.write_dataset(rows(f"n{number}"), base, mode="append")
    base.create_scalar_index("id", "BTREE")
    base.delete("id = 'a'")
    base.create_scalar_index("id", "BTREE", replace=True)
    base.optimize.compact_files()
    return base


def explained(dataset: LanceDataset, versions: list[int], **options: Any) -> Any:
    found = dataset.explain_cleanup_old_versions(
        versions=versions, older_than=NOW, include_files=True, max_files=2**31, **options
    )
    assert not found.candidate_files_truncated
    return found


def kinds(found: Any) -> dict[str, int]:
    counted: dict[str, int] = {}
    for each in found.candidate_files:
        counted[each.kind] = counted.get(each.kind, 0) + 1
    return counted


def removed_versions(found: Any) -> set[int]:
    files = [str(each.path).rpartition("/")[2] for each in found.candidate_files if each.kind == "manifest"]
    return {2**64 - 1 - int(name.removesuffix(".manifest")) for name in files}


def test_the_files_of_exactly_the_listed_versions_are_named_with_their_sizes(aged: LanceDataset) -> None:
    before = sorted(path for path in Path(aged.uri).rglob("*") if path.is_file())
    found = explained(aged, list(range(1, aged.version)))
    assert removed_versions(found) == set(range(1, aged.version))
    assert set(kinds(found)) == {"manifest", "transaction", "data", "deletion", "index"}
    assert sorted(path for path in Path(aged.uri).rglob("*") if path.is_file()) == before, "nothing was removed"
    for each in found.candidate_files:
        assert Path("/", each.path).stat().st_size == each.size_bytes


def test_the_explanation_is_what_a_cleanup_removes(aged: LanceDataset) -> None:
    wanted = {Path("/", each.path) for each in explained(aged, [1, 2, 3, 5]).candidate_files}
    before = {path for path in Path(aged.uri).rglob("*") if path.is_file()}
    aged.cleanup_old_versions(versions=[1, 2, 3, 5], older_than=NOW)
    assert before - {path for path in Path(aged.uri).rglob("*") if path.is_file()} == wanted
    assert {each["version"] for each in aged.version_refs()} == set(range(1, aged.version + 1)) - {1, 2, 3, 5}


def test_a_file_that_another_version_names_is_not_listed(aged: LanceDataset) -> None:
    assert "data" not in kinds(explained(aged, [1, 2, 3])), "version 4 has the fragments of the first three"


def test_the_newest_version_is_spared_and_an_empty_list_refused(aged: LanceDataset) -> None:
    assert removed_versions(explained(aged, [1, aged.version, 77])) == {1}
    with pytest.raises(OSError, match="versions must not be empty"):
        explained(aged, [])


def test_a_tagged_version_is_spared_with_its_files(aged: LanceDataset) -> None:
    aged.tags.create("kept", 4)
    with pytest.raises(OSError, match="tagged version"):
        explained(aged, [1, 2, 3, 4])
    found = explained(aged, list(range(1, aged.version)), error_if_tagged_old_versions=False)
    assert 4 not in removed_versions(found)
    assert "data" not in kinds(found)


def test_what_a_branch_was_cut_from_is_spared_also_of_a_branch_of_a_branch(aged: LanceDataset) -> None:
    aged.create_branch("one", reference=3)
    one = lance.dataset(f"{aged.uri}/tree/one")
    for number in range(3):
        upsert(one, "a", f"one{number}")
    aged.create_branch("two", reference=("one", 5))
    two = lance.dataset(f"{aged.uri}/tree/two")
    upsert(two, "two")
    of_main = explained(aged, list(range(1, aged.version)))
    assert removed_versions(of_main) == set(range(1, aged.version)) - {3}
    of_one = explained(one, list(range(3, one.version)))
    assert removed_versions(of_one) == {3, 4}, "5 is where the other one was cut"
    for found in (of_main, of_one):
        for each in found.candidate_files:
            Path("/", each.path).unlink()
    session = lance.Session()
    for uri in (aged.uri, f"{aged.uri}/tree/one", f"{aged.uri}/tree/two"):
        assert lance.dataset(uri, session=session).to_table().num_rows > 0
    assert lance.dataset(aged.uri, version=3, session=session).count_rows() == 5


def test_files_of_a_write_that_was_not_committed_are_spared(aged: LanceDataset) -> None:
    stray = Path(aged.uri, "data", "stray.lance")
    stray.write_bytes(b"x")
    found = explained(aged, list(range(1, aged.version)))
    assert not any(each.path.endswith("stray.lance") for each in found.candidate_files)


def test_versions_are_found_and_commits_go_on_beside_holes(aged: LanceDataset) -> None:
    for each in explained(aged, [2, 3, 5, 6]).candidate_files:
        Path("/", each.path).unlink()
    again = lance.dataset(aged.uri, session=lance.Session())
    assert again.version == aged.version
    assert lance.write_dataset(rows("z"), again, mode="append").version == aged.version + 1
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(aged.uri, version=3, session=lance.Session())


def test_a_version_without_its_transaction_file_still_tells_its_transaction(aged: LanceDataset) -> None:
    for file in Path(aged.uri, "_transactions").iterdir():
        file.unlink()
    again = lance.dataset(aged.uri, session=lance.Session())
    assert type(again.read_transaction(2).operation).__name__ == "Append"
    assert lance.write_dataset(rows("z"), again, mode="append").count_rows() == again.count_rows() + 1
