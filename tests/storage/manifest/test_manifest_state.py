"""The fold of manifest rows into a snapshot: rules as a table, and incremental equals whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.model.errors import Corrupt
from omnigraph.storage.manifest.rows import (
    GraphCommit,
    GraphHead,
    ManifestRow,
    TableRegistration,
    TableTombstone,
    TableVersion,
)
from omnigraph.storage.manifest.state import ManifestState, fold_rows

KEY = "node:P"


def version(number: int, lineage: str | None = None, key: str = KEY, rows: int = 0) -> TableVersion:
    return TableVersion(table_key=key, table_version=number, table_branch=lineage, row_count=rows, manifest_path="m")


def tombstone(number: int, key: str = KEY) -> TableTombstone:
    return TableTombstone(table_key=key, table_version=number)


def table(key: str = KEY) -> TableRegistration:
    return TableRegistration(table_key=key, location=f"nodes/{key[-1]}")


def commit(name: str, number: int, created_at: int = 0) -> GraphCommit:
    return GraphCommit(
        commit_id=name,
        branch=None,
        version=number,
        parent_id=None,
        merged_parent_id=None,
        actor_id=None,
        created_at=created_at,
    )


@pytest.mark.parametrize(
    ("rows", "visible", "latest"),
    [
        pytest.param([table()], None, 0, id="a registered table without a version is not visible"),
        pytest.param([table(), version(1)], 1, 1, id="the first version"),
        pytest.param([table(), version(3), version(2)], 3, 3, id="the greatest number wins, whatever the order"),
        pytest.param([table(), version(2), version(3, "b")], 3, 3, id="lineages compete by number"),
        pytest.param([table(), version(3), tombstone(3)], None, 3, id="a tombstone hides its own number"),
        pytest.param([table(), version(3), tombstone(4)], None, 4, id="a tombstone hides lower numbers"),
        pytest.param([table(), version(5), tombstone(4)], 5, 5, id="a later version is visible again"),
        pytest.param([table(), tombstone(4)], None, 4, id="only a tombstone"),
        pytest.param([], None, 0, id="an unknown key"),
    ],
)
def test_the_visible_version_follows_the_rules(rows: list[ManifestRow], visible: int | None, latest: int) -> None:
    state = fold_rows(rows)
    assert [pin.version for pin in state.pins()] == ([] if visible is None else [visible])
    assert state.latest_version(KEY) == latest


def test_an_owner_handoff_replaces_the_row_of_the_same_version() -> None:
    state = fold_rows([table(), version(3), version(3, "b")])
    assert [pin.lineage for pin in state.pins()] == ["b"]


def test_pins_come_in_order_of_their_keys_and_know_their_path() -> None:
    rows = [table("node:B"), table("edge:Z"), version(1, key="node:B"), version(2, "x/y", key="edge:Z")]
    pins = fold_rows(rows).pins()
    assert [str(pin.table_key) for pin in pins] == ["edge:Z", "node:B"]
    assert [pin.path for pin in pins] == ["nodes/Z/tree/x/y", "nodes/B"]


def test_a_version_without_a_table_row_is_corruption() -> None:
    with pytest.raises(Corrupt):
        fold_rows([version(1)]).pins()


def test_the_effective_head_is_the_greatest_commit_even_without_a_head_row() -> None:
    state = fold_rows([commit("a", 1), commit("c", 3, 10), commit("b", 3, 20), commit("d", 2)])
    assert state.head is not None
    assert state.head.commit_id == "b"
    assert [entry.commit_id for entry in state.history()] == ["b", "c", "d", "a"]
    assert state.heads == {}


_ROWS = st.one_of(
    st.builds(table, st.sampled_from(["node:P", "node:Q"])),
    st.builds(version, st.integers(1, 9), st.sampled_from([None, "b"]), st.sampled_from(["node:P", "node:Q"])),
    st.builds(tombstone, st.integers(1, 9), st.sampled_from(["node:P", "node:Q"])),
    st.builds(commit, st.sampled_from("abc"), st.integers(1, 5), st.integers(0, 3)),
    st.builds(
        GraphHead,
        branch=st.sampled_from(["main", "b"]),
        head_commit_id=st.sampled_from("abc"),
        parent_commit_id=st.none(),
    ),
)


@given(st.lists(_ROWS, max_size=20, unique_by=lambda row: row.object_id), st.integers(0, 20))
def test_folding_in_two_steps_equals_folding_at_once(rows: list[ManifestRow], cut: int) -> None:
    assert fold_rows(rows[:cut]).fold(rows[cut:]) == fold_rows(rows)


@given(st.lists(_ROWS, max_size=20, unique_by=lambda row: row.object_id), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[ManifestRow], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold_rows(shuffled) == fold_rows(rows)
    assert ManifestState().fold(rows) == fold_rows(rows)
