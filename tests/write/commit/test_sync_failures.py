"""What could not be synced is not durable: the write is taken back or reported, and never confirmed."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    CommitNotDurable,
    InitializationIndeterminate,
    OmniGraphError,
    OutcomeUnknown,
    RecoveryRequired,
    SyncFailed,
    Unreachable,
)
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.files import durability
from omnigraph.storage.manifest.store import ManifestStore
from omnigraph.storage.tables.lineages import Lineages

SCHEMA = "node Person { name: String @key  age: I32? }"
ADD = "query add($n: String) { insert Person { name: $n } }"
NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name asc } }"

TABLE_DATA = r"/nodes/[^/]+/(tree/b/)?data/[^/]+\.lance$"
TABLE_VERSION = r"/nodes/[^/]+/(tree/b/)?_versions/[^/]+\.manifest$"
MANIFEST_DATA = r"/__manifest/(tree/b/)?data/[^/]+\.lance$"
MANIFEST_VERSION = r"/__manifest/(tree/b/)?_versions/[^/]+\.manifest$"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g.omni"), SCHEMA)
    graph.mutate(ADD, n="root")
    return graph


@contextmanager
def failing(pattern: str, times: int | None = None) -> Iterator[list[str]]:
    """Every fsync of a path that matches fails, so many times, or goes on failing."""
    real, failed = os.fsync, list[str]()

    def fsync(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if re.search(pattern, path) and (times is None or len(failed) < times):
            failed.append(path)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    with patch.object(os, "fsync", fsync):
        yield failed


def unanswered(*_: Any) -> Any:
    raise Unreachable("the disk does not answer")


def names(graph: Graph, branch: str = "main") -> list[str]:
    return [row["name"] for row in Graph.open(graph.uri).query(NAMES, branch=branch)]


def require_whole(graph: Graph) -> None:
    again = Graph.open(graph.uri)
    again.mutate(ADD, n="next")
    assert again.verify().ok


@pytest.mark.parametrize("pattern", [TABLE_DATA, TABLE_VERSION])
def test_a_write_whose_table_cannot_be_synced_is_taken_back(graph: Graph, pattern: str) -> None:
    with failing(pattern) as failed, pytest.raises(OmniGraphError, match="durable"):
        graph.mutate(ADD, n="lost")
    assert failed
    assert names(graph) == ["root"]
    require_whole(graph)


def test_a_publish_whose_rows_cannot_be_synced_is_not_confirmed_and_whole_once_they_can(graph: Graph) -> None:
    """They are synced before the version that names them; taking the write back needs the same disk, which fails."""
    with failing(MANIFEST_DATA) as failed, pytest.raises(RecoveryRequired, match="durable"):
        graph.mutate(ADD, n="armed")
    assert failed
    assert names(graph) in (["root"], ["armed", "root"])
    require_whole(graph)


def test_a_publish_whose_rows_cannot_be_synced_once_is_taken_back(graph: Graph) -> None:
    with failing(MANIFEST_DATA, times=1), pytest.raises(SyncFailed):
        graph.mutate(ADD, n="lost")
    assert names(graph) == ["root"]
    require_whole(graph)


def test_a_commit_that_cannot_be_synced_is_reported_by_its_id_and_not_confirmed(graph: Graph) -> None:
    with failing(MANIFEST_VERSION) as failed, pytest.raises(OmniGraphError, match="not durable") as raised:
        graph.mutate(ADD, n="visible")
    assert failed
    assert names(graph) == ["root", "visible"]
    assert any(commit.commit_id in str(raised.value) for commit in graph.commits())
    require_whole(graph)


def test_an_empty_commit_that_cannot_be_synced_is_reported(graph: Graph) -> None:
    with failing(MANIFEST_VERSION), pytest.raises(CommitNotDurable):
        graph.load([], mode="append")
    require_whole(graph)


@pytest.mark.parametrize("pattern", [r"/__recovery/", r"/__recovery$"])
def test_a_sidecar_that_cannot_be_synced_stops_the_write_before_its_first_effect(graph: Graph, pattern: str) -> None:
    with failing(pattern), pytest.raises(OmniGraphError):
        graph.mutate(ADD, n="lost")
    assert names(graph) == ["root"]
    require_whole(graph)


def test_the_folder_of_sidecars_is_synced_in_the_graph_before_the_first_effect(graph: Graph) -> None:
    """It is new: a sidecar in a folder that a power cut takes away would be none."""
    shutil.rmtree(os.path.join(graph.uri, "__recovery"), ignore_errors=True)
    with failing(r"/g\.omni$") as failed, pytest.raises(SyncFailed):
        Graph.open(graph.uri).mutate(ADD, n="lost")
    assert failed
    assert names(graph) == ["root"]
    require_whole(graph)


@pytest.mark.parametrize("pattern", [r"/tree/b/_versions/", r"/_refs/", r"/_refs$", r"/tree$"])
def test_a_branch_that_cannot_be_synced_is_not_confirmed(graph: Graph, pattern: str) -> None:
    with failing(pattern) as failed, pytest.raises(SyncFailed):
        graph.create_branch("b")
    assert failed
    assert names(graph) == ["root"]
    require_whole(graph)


def test_a_branch_that_cannot_be_synced_nor_removed_is_told_as_one_that_may_be_there(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing(r"/tree/b/_versions/"):
        monkeypatch.setattr(Lineages, "delete", unanswered)
        with pytest.raises(OutcomeUnknown, match="branch 'b'"):
            graph.create_branch("b")
    monkeypatch.undo()
    require_whole(graph)


def test_a_branch_whose_making_fails_after_it_is_there_is_taken_back(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_answers() -> None:
        monkeypatch.setattr(ManifestStore, "identifier", unanswered)

    with armed(Point.BRANCH_CREATED, no_more_answers), pytest.raises(Unreachable):
        graph.create_branch("b")
    monkeypatch.undo()
    assert Graph.open(graph.uri).branches() == ["main"]
    graph.create_branch("b").mutate(ADD, n="there")
    require_whole(graph)


def test_the_creation_of_a_graph_that_cannot_be_synced_is_not_confirmed(tmp_path: Path) -> None:
    with failing(MANIFEST_VERSION), pytest.raises(InitializationIndeterminate):
        Graph.init(str(tmp_path / "new.omni"), SCHEMA)


def test_recovery_syncs_what_it_publishes_for_a_dead_writer(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    unsynced = patch.object(durability, "_sync")
    with (
        unsynced,
        armed(Point.MUTATION_BEFORE_PUBLISH),
        armed(Point.ROLL_FORWARD_PUBLISH),
        pytest.raises(OmniGraphError),
    ):
        graph.mutate(ADD, n="rolled forward")
    synced: list[str] = []
    monkeypatch.setattr(durability, "_sync", synced.append)
    assert names(graph) == ["rolled forward", "root"]
    for kind in (TABLE_DATA, TABLE_VERSION, MANIFEST_DATA, MANIFEST_VERSION):
        assert any(re.search(kind, path) for path in synced), kind


def test_recovery_syncs_a_publish_that_it_finds_done(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    with patch.object(durability, "_sync"), armed(Point.SIDECAR_DELETE):
        graph.mutate(ADD, n="published")
    synced: list[str] = []
    monkeypatch.setattr(durability, "_sync", synced.append)
    assert names(graph) == ["published", "root"]
    for kind in (MANIFEST_DATA, MANIFEST_VERSION):
        assert any(re.search(kind, path) for path in synced), kind


def test_a_recovery_that_cannot_sync_reports_it_and_publishes_nothing(graph: Graph) -> None:
    with armed(Point.MUTATION_BEFORE_PUBLISH), armed(Point.ROLL_FORWARD_PUBLISH), pytest.raises(OmniGraphError):
        graph.mutate(ADD, n="dead")
    with failing(TABLE_VERSION), pytest.raises((OmniGraphError, InjectedFault)):
        Graph.open(graph.uri)
    assert names(graph) == ["dead", "root"]
    require_whole(graph)


def cut_short(pattern: str, folder: Path) -> None:
    """As Lance leaves a file whose last write failed."""
    found = [path for path in folder.rglob("*") if re.search(pattern, str(path))]
    newest = max(found, key=lambda path: path.stat().st_ctime_ns)
    newest.write_bytes(newest.read_bytes()[:-7])


@pytest.mark.parametrize(
    ("pattern", "text"), [(TABLE_DATA, ADD), ("_deletions/", "query d($n: String) { delete Person where name = $n }")]
)
def test_a_file_that_was_not_written_to_its_end_is_never_named_by_a_version(
    graph: Graph, pattern: str, text: str
) -> None:
    graph.load([b'{"type": "Person", "data": {"name": "%d"}}' % number for number in range(3)], mode="append")
    with armed(Point.MUTATION_ARMED, lambda: cut_short(pattern, Path(graph.uri))), pytest.raises(SyncFailed):
        graph.mutate(text, n="1" if pattern == "_deletions/" else "lost")
    assert names(graph) == ["0", "1", "2", "root"]
    require_whole(graph)


def test_a_publish_whose_rows_were_not_written_to_their_end_is_not_made(graph: Graph) -> None:
    stage = ManifestStore.stage

    def staged(*given: Any) -> Any:
        done = stage(*given)
        cut_short(MANIFEST_DATA, Path(graph.uri))
        return done

    with patch.object(ManifestStore, "stage", staged), pytest.raises(OmniGraphError, match="bytes"):
        graph.mutate(ADD, n="lost")
    assert names(graph) == ["root"]
    require_whole(graph)
