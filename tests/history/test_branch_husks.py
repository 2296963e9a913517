"""What a power cut leaves of a branch that was being created is in nobody's way: delete it, or create it anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.model.errors import Corrupt

ADD = "query add($n: String) { insert Person { name: $n } }"


def _without_tree(root: Path) -> None:
    shutil.rmtree(root / "__manifest/tree/new")


def _with_an_empty_version(root: Path) -> None:
    for file in (root / "__manifest/tree/new/_versions").glob("*.manifest"):
        file.write_bytes(b"")


def _with_an_empty_ref(root: Path) -> None:
    (root / "__manifest/_refs/branches/new.json").write_bytes(b"")


HUSKS = [_without_tree, _with_an_empty_version, _with_an_empty_ref]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph = og.init(tmp_path / "people.omni", schema="node Person { name: String @key }")
    graph.mutate(ADD, n="Ada")
    graph.create_branch("new")
    graph.create_branch("other").mutate(ADD, n="Grace")
    return tmp_path / "people.omni"


@pytest.mark.parametrize("cut", HUSKS)
def test_everybody_else_goes_on_and_the_name_can_be_used_again(root: Path, cut: Callable[[Path], None]) -> None:
    cut(root)
    graph = og.open(root)
    assert graph.mutate(ADD, n="Alan").affected_nodes == 1
    graph.merge("other")
    graph.delete_branch("other")
    assert graph.create_branch("new").mutate(ADD, n="Eve", branch="new").affected_nodes == 1
    assert graph.verify().ok


@pytest.mark.parametrize("cut", HUSKS)
def test_it_is_refused_with_what_to_do_and_deleted_like_any_branch(root: Path, cut: Callable[[Path], None]) -> None:
    cut(root)
    graph = og.open(root)
    with pytest.raises(Corrupt, match="delete the branch"):
        graph.branch("new")
    graph.delete_branch("new")
    assert graph.branches() == ["main", "other"]
    assert graph.verify().ok
