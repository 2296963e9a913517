"""Who comes while a schema changes: told at once, or waits; a change that is given up leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omnigraph.errors import SchemaApplyInProgress
from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from support.graphs.rust_graphs import rust_graph

PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "dying_schema_apply.py"
BASE = "node P { k: String @key a: I32? }\n"
NEXT = "node P { k: String @key a: I32? n: String? }\n"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), BASE, durability="os")
    graph.load([b'{"type":"P","data":{"k":"a","a":1}}'], mode="append")
    return graph


@contextmanager
def stopped_apply(uri: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process in the middle of a schema change, stopped."""
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": "schema_apply.after_stage=stop"}
    command = [sys.executable, str(PROGRAM), uri, NEXT, "soft"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
        try:
            os.waitpid(child.pid, os.WUNTRACED)
            yield child
        finally:
            child.kill()


def test_a_living_change_of_another_process_is_named_at_once(graph: Graph) -> None:
    with stopped_apply(graph.uri) as child:
        with pytest.raises(SchemaApplyInProgress, match=f":{child.pid}"):
            graph.apply_schema(NEXT)
        with pytest.raises(SchemaApplyInProgress):
            graph.unlock_schema()
        assert graph.query("query q() { match { $p: P } return { $p.a } }").rows() == [{"p.a": 1}], "readers go on"


def test_who_waits_comes_after_the_other_change(graph: Graph) -> None:
    with stopped_apply(graph.uri) as child:
        threading.Timer(0, os.kill, (child.pid, signal.SIGCONT)).start()
        receipt = graph.apply_schema(NEXT.replace("String?", "String? @index"), wait=60)
    assert [step.kind for step in receipt.plan.steps] == ["add_constraint"], "the property came with the other change"


def test_who_waits_for_branches_goes_on_when_the_last_is_gone(graph: Graph) -> None:
    graph.create_branch("draft")
    threading.Timer(0.2, graph.delete_branch, ("draft",)).start()
    assert graph.apply_schema("node P { k: String @key }\n", wait=60).applied


def test_a_listener_that_raises_ends_the_change_and_nothing_is_left(graph: Graph) -> None:
    class GiveUp(Exception):
        pass

    def listen(progress: Progress) -> None:
        if progress.stage == "write":
            raise GiveUp

    before = graph.snapshot()
    with pytest.raises(GiveUp):
        graph.apply_schema(BASE.replace("a: I32?", "a: I64?"), progress=listen)
    assert graph.snapshot() == before
    assert not graph._storage.lineages.names("__manifest")
    assert not graph._storage.objects.has_any("__staging")
    assert graph.apply_schema(BASE.replace("a: I32?", "a: I64?")).applied
    assert graph.verify().ok


def test_a_write_that_was_prepared_under_the_old_schema_is_prepared_again(graph: Graph) -> None:
    """The schema changes between the files of an insert and its turn."""
    from omnigraph.storage.failpoints import Point, armed

    other = Graph.open(graph.uri)
    with armed(Point.MUTATION_STAGED, lambda: other.apply_schema(NEXT) and None):
        graph.mutate('query m() { insert P { k: "b", a: 2 } }')
    assert len(graph.query("query q() { match { $p: P } return { $p.n } }")) == 2
    assert graph.verify().ok


# --- graphs of the Rust release -----------------------------------------------------------------------------------


def test_the_evolved_graph_evolves_further_and_its_past_stays_readable() -> None:
    with rust_graph("evolved") as rust:
        graph = Graph.open(rust.uri)
        first, before = graph.commits()[-1].commit_id, list(graph.export())
        past = len(graph.snapshot_at(first).tables)
        graph.apply_schema(f"{graph.schema_source}\nnode Added {{ t: String }}\n")
        graph.mutate('query m() { insert Added { t: "x" } }')
        assert [line for line in graph.export() if b'"Added"' not in line] == before
        assert len(graph.snapshot_at(first).tables) == past
        assert graph.verify().ok


def test_a_graph_whose_change_died_in_rust_is_finished_unlocked_and_changed_again() -> None:
    with rust_graph("crash-schema-before") as rust:
        graph = Graph.open(rust.uri)
        receipt = graph.apply_schema(f"{graph.schema_source}\nnode Added {{ t: String }}\n")
        assert receipt.applied
        graph.mutate('query m() { insert Added { t: "x" } }')
        assert graph.verify().ok
