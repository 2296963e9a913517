"""Baselines: a snapshot and the cursor behind it, or neither."""

from __future__ import annotations

import json
import os
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from history.feed.following import brief, change, commits_of, fx, head, only, poll
from omnigraph.graph import Graph
from omnigraph.history.export import UnknownType
from omnigraph.history.feed import Baseline, ChangeCursorRejected, baseline_lines, install_baseline
from omnigraph.model.errors import BadRequest, BranchNotFound, BranchReplaced, Corrupt


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


def lines_of(graph: Graph, branch: str = "main", **wanted: list[str]) -> Iterator[bytes]:
    return baseline_lines(graph._storage, graph.schema.catalog, branch, wanted=only(**wanted))


def install(graph: Graph, path: Path, branch: str = "main", **wanted: list[str]) -> Baseline:
    return install_baseline(graph._storage, graph.schema.catalog, path, branch, wanted=only(**wanted))


def test_a_stream_ends_with_one_record_that_names_the_commit_and_the_cursor(graph: Graph) -> None:
    *lines, last = lines_of(graph)
    assert b"".join(lines) == b"".join(graph.export())
    record = json.loads(last)
    assert list(record) == ["baseline"]
    assert list(record["baseline"]) == ["snapshot_commit_id", "resume_cursor"]
    assert record["baseline"]["snapshot_commit_id"] == head(graph)
    change(graph, 'insert Person { name: "Eve" }')
    assert commits_of(poll(graph, cursor=record["baseline"]["resume_cursor"])) == [head(graph)]


def test_the_snapshot_is_of_the_head_at_the_beginning_whatever_is_committed_meanwhile(graph: Graph) -> None:
    before = b"".join(graph.export())
    lines = lines_of(graph)
    found = [next(lines)]
    change(graph, 'insert Person { name: "Eve" }')
    *rest, last = lines
    assert b"".join([*found, *rest]) == before
    [block] = poll(graph, cursor=json.loads(last)["baseline"]["resume_cursor"])
    assert brief(block.changes) == [("insert", "Person", "Eve")]


def test_a_scope_narrows_the_snapshot_by_kind_and_type_and_binds_the_cursor(graph: Graph, tmp_path: Path) -> None:
    *lines, last = lines_of(graph, kinds=["node"], types=["Person", "Knows"], ops=["delete"])
    assert {json.loads(line).get("type") for line in lines} == {"Person"}
    assert len(lines) == 4, "operations do not narrow a snapshot"
    cursor = json.loads(last)["baseline"]["resume_cursor"]
    with pytest.raises(ChangeCursorRejected, match="another filter"):
        poll(graph, cursor=cursor)
    change(graph, 'insert Person { name: "Eve" }')
    change(graph, 'delete Person where name = "Eve"')
    page = poll(graph, cursor=cursor, wanted=only(kinds=["node"], types=["Knows", "Person"], ops=["delete"]))
    assert [brief(block.changes) for block in page] == [[], [("delete", "Person", "Eve")]]
    with pytest.raises(UnknownType, match="type 'Persn' not found"):
        install(graph, tmp_path / "out", types=["Persn"])
    assert not (tmp_path / "out").exists()


def test_a_file_has_the_snapshot_alone_and_can_be_read_by_its_owner_only(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.jsonl"
    path.write_text("older")
    installed = install(graph, path)
    assert path.read_bytes() == b"".join(graph.export())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert installed.to_json() == {"snapshot_commit_id": head(graph), "resume_cursor": installed.resume_cursor}
    assert sorted(os.listdir(tmp_path)) == ["g", "snapshot.jsonl", "snapshot.jsonl.lock"]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does to whoever writes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_tx_F15_a_sink_that_fails_leaves_the_old_file_no_draft_and_no_cursor(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "out" / "snapshot.jsonl"
    path.parent.mkdir()
    path.write_text("older")
    with files_of_at_most(300), pytest.raises(BadRequest, match="cannot write the baseline") as caught:
        install(graph, path)
    assert "there is no cursor" in (caught.value.hint or "")
    assert path.read_text() == "older"
    assert sorted(os.listdir(path.parent)) == ["snapshot.jsonl", "snapshot.jsonl.lock"]


def test_tx_F15_a_table_that_cannot_be_read_leaves_the_same(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "out" / "snapshot.jsonl"
    path.parent.mkdir()
    path.write_text("older")
    for pin in graph.snapshot().tables:
        if pin.table_key.type_name == "WorksAt":
            for file in Path(f"{graph.uri}/{pin.path}/data").iterdir():
                file.write_bytes(b"")
    with pytest.raises(Corrupt):
        install(Graph.open(graph.uri, read_only=True), path)
    assert path.read_text() == "older"
    assert sorted(os.listdir(path.parent)) == ["snapshot.jsonl", "snapshot.jsonl.lock"]
    stream, seen = lines_of(Graph.open(graph.uri, read_only=True)), []
    with pytest.raises(Corrupt):
        seen.extend(stream)
    assert not any(b'"baseline"' in line for line in seen)


def test_a_branch_that_is_replaced_while_it_is_exported_gives_no_cursor(graph: Graph) -> None:
    graph.create_branch("feature")
    lines = lines_of(graph, "feature")
    next(lines)
    graph.delete_branch("feature")
    graph.create_branch("feature")
    with pytest.raises(BranchReplaced):
        list(lines)


def test_places_that_cannot_be_written_and_branches_that_do_not_exist_are_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="it is a folder"):
        install(graph, tmp_path)
    with pytest.raises(BadRequest, match=r"cannot write the baseline .*No such file"):
        install(graph, tmp_path / "nowhere" / "out")
    with pytest.raises(BranchNotFound, match="branch 'nope' not found"):
        install(graph, tmp_path / "out", "nope")
    assert not (tmp_path / "out").exists()


def test_installers_of_one_file_wait_for_each_other_and_the_file_is_whole(graph: Graph, tmp_path: Path) -> None:
    path, found = tmp_path / "snapshot.jsonl", list[Baseline]()
    threads = [threading.Thread(target=lambda: found.append(install(graph, path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert path.read_bytes() == b"".join(graph.export())
