"""Clones: the same rows elsewhere, the same history where it is asked for, and nothing at all when one fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, GraphNotFound, RecoveryRequired, Unreachable
from omnigraph.pipeline.clone import run_clone
from omnigraph.storage import open_storage
from omnigraph.storage.copying import CloneTargetExists
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from support.graphs.library import SCHEMA, exports, fill, logs, pasts, with_history
from support.graphs.rust_graphs import rust_graph
from support.processes.interrupted_writes import SCHEMA as PEOPLE
from support.processes.interrupted_writes import interrupted
from support.servers.s3_server import S3Server

TESTS = str(Path(__file__).parents[1])
CLONE_POINTS = [Point.CLONE_FILE_COPIED, Point.CLONE_REPLAYED, Point.CLONE_FILE_WRITTEN]


def made_in(folder: Path) -> Graph:
    (folder / "outside").mkdir()
    bases = [f"file://{folder}/outside/"]
    graph = Graph.init(str(folder / "source"), SCHEMA, durability="os", actor="ada", blob_bases=bases)
    fill(graph, folder / "outside")
    with_history(graph)
    return graph


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """For all tests that leave it as it is, which every clone must."""
    return made_in(tmp_path_factory.mktemp("source"))


@pytest.fixture
def own(tmp_path: Path) -> Graph:
    """For a test that writes to it."""
    return made_in(tmp_path)


@contextmanager
def away(graph: Graph) -> Iterator[None]:
    """Whatever a clone still reads of its source is not there."""
    shutil.move(graph.uri, f"{graph.uri}-away")
    try:
        yield
    finally:
        shutil.move(f"{graph.uri}-away", graph.uri)


def is_sound(graph: Graph) -> bool:
    report = graph.verify()
    assert report.findings == ()
    return report.ok


# --- with history -----------------------------------------------------------------------------------------


def test_a_clone_with_history_has_every_branch_commit_and_tag_and_reads_nothing_of_its_source(
    source: Graph, tmp_path: Path
) -> None:
    heads, commits, past, tags = exports(source), logs(source), pasts(source), source.tags()
    receipt = source.clone(tmp_path / "copy", history=True, durability="os")
    with away(source):
        copy = Graph.open(str(tmp_path / "copy"))
        assert (exports(copy), logs(copy), copy.tags()) == (heads, commits, tags)
        assert pasts(copy) == past
        assert is_sound(copy)
    assert receipt.branches == ("deeper", "draft", "idle", "main")
    assert (receipt.reclaimed, receipt.left_out) == (0, ())


def test_a_merge_in_a_clone_does_what_it_would_have_done_in_the_source(own: Graph, tmp_path: Path) -> None:
    copies = [own, *(Graph.open(own.clone(tmp_path / f"{h}", history=h).target) for h in (True, False))]
    for graph in copies:
        graph.merge("draft", into="main")
        graph.merge("deeper", into="main")
    lines = [_without_edge_ids(graph) for graph in copies]
    assert lines[0] == lines[1] == lines[2]


def _without_edge_ids(graph: Graph) -> list[bytes]:
    return list(graph.export(types=["Book", "Note"]))


def test_a_clone_with_history_of_one_branch_brings_main_and_what_the_branch_stands_on(
    source: Graph, tmp_path: Path
) -> None:
    receipt = source.clone(tmp_path / "copy", branch="deeper", history=True, durability="os")
    assert receipt.branches == ("deeper", "draft", "main")
    copy = Graph.open(receipt.target)
    assert list(copy.export("deeper")) == list(source.export("deeper"))


def test_a_clone_can_be_cloned_branched_written_and_its_branches_deleted(source: Graph, tmp_path: Path) -> None:
    first = Graph.open(source.clone(tmp_path / "one", history=True, durability="os").target, durability="os")
    first.mutate('query q() { insert Book { isbn: "new" } }', branch="draft")
    first.delete_branch("idle")
    second = Graph.open(first.clone(tmp_path / "two", history=True, durability="os").target)
    assert (exports(second), logs(second)) == (exports(first), logs(first))
    assert is_sound(first)
    assert is_sound(second)


@pytest.mark.s3
def test_a_graph_that_goes_to_s3_and_back_is_the_same(source: Graph, tmp_path: Path, s3: S3Server) -> None:
    heads, commits, past = exports(source), logs(source), pasts(source)
    there = Graph.open(source.clone(s3.uri(f"{tmp_path.name}/there"), history=True).target, read_only=True)
    assert is_sound(there)
    back = Graph.open(there.clone(tmp_path / "back", history=True, durability="os").target)
    assert (exports(back), logs(back), pasts(back)) == (heads, commits, past)
    assert is_sound(back)
    anew = Graph.open(there.clone(tmp_path / "anew", durability="os").target)
    assert exports(anew) == heads


@pytest.mark.parametrize("name", ["branches", "rich", "fork-of-fork", "evolved"])
def test_a_graph_of_the_rust_release_is_cloned_with_its_history_and_without(name: str, tmp_path: Path) -> None:
    with rust_graph(name) as rust:
        graph = Graph.open(rust.uri, read_only=True)
        heads, past = exports(graph), pasts(graph) if name != "evolved" else {}  # it had types that nobody declares now
        anew = Graph.open(graph.clone(tmp_path / "anew", durability="os").target)
        copy = Graph.open(graph.clone(tmp_path / "copy", history=True, durability="os").target)
        commits = logs(graph)
    assert exports(anew) == exports(copy) == heads
    assert logs(copy) == commits
    assert {commit: list(copy.at(commit).export()) for commit in past} == past
    assert is_sound(anew)
    assert is_sound(copy)


# --- without history --------------------------------------------------------------------------------------


def test_a_clone_without_history_has_the_rows_of_every_branch_and_a_new_first_commit(
    source: Graph, tmp_path: Path
) -> None:
    heads, ids = exports(source), {commit[0] for log in logs(source).values() for commit in log}
    receipt = source.clone(tmp_path / "copy", durability="os")
    with away(source):
        copy = Graph.open(receipt.target)
        assert exports(copy) == heads
        assert not ids & {commit[0] for log in logs(copy).values() for commit in log}
        assert copy.tags() == []
        assert is_sound(copy)


@pytest.mark.parametrize("what", ["branch", "tag", "commit", "time"])
def test_one_snapshot_becomes_the_main_of_a_new_graph_with_one_commit(what: str, source: Graph, tmp_path: Path) -> None:
    if what == "branch":
        options: dict[str, Any] = {"branch": "draft"}
        expected = list(source.export("draft"))
    else:
        tagged = source.tags()[0].commit_id
        reference = {"tag": "first", "commit": tagged, "time": "2999-01-01T00:00:00Z"}[what]
        options, expected = {"at": reference}, list(source.at(reference).export())
    receipt = source.clone(tmp_path / "copy", durability="os", **options)
    copy = Graph.open(receipt.target)
    assert (receipt.branches, receipt.commits) == (("main",), 1)
    assert list(copy.export()) == expected
    assert copy.commits()[0].py["cloned"] == receipt.source_commit_id
    assert is_sound(copy)


def test_external_blobs_stay_references_and_managed_ones_are_copied(source: Graph, tmp_path: Path) -> None:
    for history in (True, False):
        copy = Graph.open(source.clone(tmp_path / f"{history}", history=history, durability="os").target)
        assert (
            copy.blob("Book", "b4", "cover", branch="deeper").uri == f"file://{Path(source.uri).parent}/outside/b4.bin"
        )
        assert copy.blob("Book", "b5", "cover", branch="deeper").read(299_998) == b"xx"


# --- beside others ----------------------------------------------------------------------------------------


def test_a_source_that_is_written_meanwhile_gives_one_whole_snapshot(own: Graph, tmp_path: Path) -> None:
    stop, written = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            own.mutate(
                f'query q() {{ insert Book {{ isbn: "w{number}" }} insert Cites {{ from: "w{number}", to: "b1" }} }}'
            )
            written.set()
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    written.wait(30)
    try:
        for history in (True, False):
            receipt = Graph.open(own.uri, read_only=True).clone(
                tmp_path / f"{history}", history=history, durability="os"
            )
            copy = Graph.open(receipt.target)
            assert list(copy.export()) == list(own.at(receipt.source_commit_id or "").export())
            assert is_sound(copy)
    finally:
        stop.set()
        writer.join()


def test_of_two_clones_to_one_place_one_is_refused_and_the_other_is_whole(source: Graph, tmp_path: Path) -> None:
    def meanwhile() -> None:
        with pytest.raises(CloneTargetExists, match="another clone to it is running"):
            source.clone(tmp_path / "copy")

    with armed(Point.CLONE_COPIED, meanwhile):
        receipt = source.clone(tmp_path / "copy", durability="os")
    assert is_sound(Graph.open(receipt.target))


def test_a_commit_of_a_branch_that_changed_no_row_is_made_again_and_the_next_one_too(
    own: Graph, tmp_path: Path
) -> None:
    idle = own.branch("idle")
    idle.load(list(own.export(types=["Note"])), mode="merge")
    idle.load([b'{"type":"Note","data":{"id":"n2","text":"new"}}'], mode="merge")
    copy = Graph.open(own.clone(tmp_path / "copy", history=True, durability="os").target)
    assert (exports(copy), logs(copy)) == (exports(own), logs(own))
    assert is_sound(copy)


# --- what was reclaimed -----------------------------------------------------------------------------------


def test_history_that_was_reclaimed_is_reported_and_the_rest_is_cloned(own: Graph, tmp_path: Path) -> None:
    draft = own.branch("draft")
    for number in range(3):
        own.mutate(f'query q() {{ update Book set {{ title: "m{number}" }} where isbn = "b1" }}')
        draft.mutate(f'query q() {{ update Book set {{ title: "d{number}" }} where isbn = "d1" }}')
    own.cleanup(keep_versions=1, grace=0, confirm=True)
    heads = exports(own)
    receipt = own.clone(tmp_path / "with", history=True, durability="os")
    copy = Graph.open(receipt.target)
    assert exports(copy) == heads
    assert receipt.reclaimed > 0
    assert receipt.left_out != ()
    assert set(receipt.left_out).isdisjoint(commit.commit_id for commit in copy.commits("draft"))
    assert {commit[0] for commit in logs(own)["main"]} == {commit[0] for commit in logs(copy)["main"]}
    assert {finding.code for finding in copy.verify().findings} == {"history_reclaimed"}
    anew = Graph.open(own.clone(tmp_path / "without", durability="os").target)
    assert exports(anew) == heads
    assert is_sound(anew)


# --- refusals ---------------------------------------------------------------------------------------------


def test_a_target_that_has_anything_in_it_is_refused_and_stays_as_it_is(source: Graph, tmp_path: Path) -> None:
    other = Graph.init(str(tmp_path / "other"), SCHEMA, durability="os")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("other", "folder", "file"):
        with pytest.raises(CloneTargetExists):
            source.clone(tmp_path / name)
    assert list(other.export()) == []
    assert sorted(os.listdir(tmp_path / "folder")) == ["mine.txt"]


@pytest.mark.parametrize("target", ["", "/inside", "/.."])
def test_a_graph_is_not_cloned_into_itself_or_around_itself(target: str, source: Graph) -> None:
    with pytest.raises(BadRequest, match="into itself"):
        source.clone(source.uri + target)


def test_wrong_choices_are_refused_before_anything_is_made(source: Graph, tmp_path: Path) -> None:
    for options in (
        {"branch": "nope"},
        {"branch": "nope", "history": True},
        {"at": "nope"},
        {"at": "first", "history": True},
    ):
        with pytest.raises(og.OmniGraphError):
            source.clone(tmp_path / "copy", **options)  # type: ignore[arg-type]
        assert not (tmp_path / "copy").exists()


def test_an_interrupted_write_of_the_source_is_resolved_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_clone, "WRITERS_WAIT_S", 0.0)
    uri = str(tmp_path / "g")
    Graph.init(uri, PEOPLE, durability="os")
    interrupted(open_storage(uri, durability="os"))
    with pytest.raises(RecoveryRequired):
        Graph.open(uri, read_only=True).clone(tmp_path / "copy", history=True)
    assert not (tmp_path / "copy").exists()
    Graph.open(uri).clone(tmp_path / "copy", history=True, durability="os")


# --- progress, cancelling, dying --------------------------------------------------------------------------


@pytest.mark.parametrize("history", [True, False])
def test_progress_counts_up_to_all_of_it(history: bool, source: Graph, tmp_path: Path) -> None:
    heard: list[og.Progress] = []
    source.clone(tmp_path / "copy", history=history, durability="os", progress=heard.append)
    assert [each.stage for each in heard if each.is_done][-1] == ("replay" if history else "copy")
    assert [each.tasks for each in heard if each.stage == "copy"] == sorted(
        each.tasks for each in heard if each.stage == "copy"
    )


@pytest.mark.parametrize("stage", ["copy", "replay"])
def test_a_clone_that_is_cancelled_leaves_nothing(stage: str, source: Graph, tmp_path: Path) -> None:
    def cancel(progress: og.Progress) -> None:
        if progress.stage == stage and progress.tasks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.clone(tmp_path / "new" / "copy", history=True, progress=cancel)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("point", CLONE_POINTS)
def test_a_clone_that_fails_leaves_nothing(point: Point, source: Graph, tmp_path: Path) -> None:
    with armed(point), pytest.raises((InjectedFault, Unreachable)):
        source.clone(tmp_path / "copy", history=True)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("point", "history", "visit"),
    [
        (Point.CLONE_CLAIMED, True, 1),
        (Point.CLONE_FILE_COPIED, True, 5),
        (Point.CLONE_REPLAYED, True, 2),
        (Point.CLONE_TABLE_FILLED, False, 2),
        (Point.CLONE_FILE_WRITTEN, False, 2),
    ],
)
def test_a_clone_that_is_killed_leaves_no_graph_and_can_be_run_again(
    point: Point, history: bool, visit: int, source: Graph, tmp_path: Path
) -> None:
    _killed_and_again(source, str(tmp_path / "copy"), f"{point}=kill@{visit}", history=history)


@pytest.mark.s3
def test_a_clone_to_s3_that_is_killed_leaves_no_graph_and_can_be_run_again(
    source: Graph, tmp_path: Path, s3: S3Server, short_leases: None
) -> None:
    _killed_and_again(source, s3.uri(f"{tmp_path.name}/copy"), f"{Point.CLONE_REPLAYED}=kill@2", history=True)


def _killed_and_again(source: Graph, target: str, failpoint: str, *, history: bool) -> None:
    heads = exports(source)
    killed = _clone_in_process(source.uri, target, history, failpoint)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for read_only in (True, False):
        with pytest.raises(GraphNotFound, match="clone to it did not finish"):
            Graph.open(target, read_only=read_only)
    _again(source, target, history)
    copy = Graph.open(target)
    assert exports(copy) == heads
    assert is_sound(copy)


def _clone_in_process(source: str, target: str, history: bool, failpoints: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMNIGRAPH_FAILPOINTS": failpoints}
    command = [sys.executable, "-m", "support.processes.cloning", source, target, *(["history"] if history else [])]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _again(source: Graph, target: str, history: bool) -> None:
    """Once more; on S3 the lock of a dead process expires after its term."""
    while True:
        with suppress(CloneTargetExists):
            source.clone(target, history=history, durability="os")
            return
        assert not open_storage(target).objects.exists("_schema.pg")


# --- graphs whose schema changed --------------------------------------------------------------------------


@pytest.mark.parametrize("history", [True, False])
def test_branches_that_lag_behind_the_schema_of_main_are_cloned_and_can_still_catch_up(
    history: bool, tmp_path: Path
) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node P { k: String @key }", durability="os")
    graph.load([b'{"type":"P","data":{"k":"a"}}'], mode="append")
    lag = graph.create_branch("lag")
    graph.apply_schema("node P { k: String @key  t: String? }\nnode Q { k: String @key }\nedge K: P -> Q")
    graph.load([b'{"type":"Q","data":{"k":"q"}}', b'{"type":"P","data":{"k":"b","t":"new"}}'], mode="merge")
    lag.mutate('query q() { insert P { k: "lag" } }')
    heads, past = exports(graph), pasts(graph)
    copy = Graph.open(graph.clone(tmp_path / "copy", history=history, durability="os").target)
    assert exports(copy) == heads
    assert not history or pasts(copy) == past
    assert is_sound(copy)
    for each in (graph, copy):
        each.merge("main", into="lag")
        each.branch("lag").mutate('query q() { insert P { k: "z", t: "z" } insert K { from: "z", to: "q" } }')
    assert list(copy.export("lag", types=["P", "Q"])) == list(graph.export("lag", types=["P", "Q"]))
    assert is_sound(copy)
