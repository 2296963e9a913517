"""A writer that is paused for longer than its lease lasts can do nothing more: its answer is true, and the graph whole.

A real S3 server, real processes, real pauses (SIGSTOP): the writer stops at every place of the protocol in turn,
another process takes the lease over and writes, then the first one goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import ENVIRONMENT_VARIABLE, Point
from support.servers.s3_server import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(180)]
SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
ADD = "query add($n: String) { insert Person { name: $n } }"
NAMES = "query names() { match { $p: Person } return { $p.name as name, $p.age as age } order { name asc } }"
PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "paused_writer.py"

PLACES = (
    Point.MUTATION_STAGED,
    Point.MUTATION_ARMED,
    Point.TABLE_COMMITTING,
    Point.MUTATION_TABLE_COMMITTED,
    Point.MUTATION_BEFORE_PUBLISH,
    Point.PUBLISH_LOADED,
    Point.PUBLISH_BEFORE,
    Point.PUBLISH_AFTER,
    Point.SIDECAR_DELETE,
)


@pytest.fixture
def uri(s3: S3Server, tmp_path: Path, short_leases: None) -> str:
    uri = s3.uri(f"{tmp_path.name}/g.omni")
    graph = Graph.init(uri, SCHEMA)
    graph.mutate(ADD, n="root")
    graph.create_branch("b")
    return uri


@contextmanager
def paused(uri: str, operation: str, point: Point) -> Iterator[subprocess.Popen[str]]:
    """The writer, stopped at a place. It is killed at the end, whatever became of it."""
    environment = {**os.environ, ENVIRONMENT_VARIABLE: f"{point}=stop", "PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen(
        [sys.executable, str(PROGRAM), uri, operation], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        _, status = os.waitpid(writer.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"{operation} did not come to {point}"
        yield writer
    finally:
        writer.kill()
        writer.wait()


def resumed(writer: subprocess.Popen[str]) -> dict[str, Any]:
    os.kill(writer.pid, signal.SIGCONT)
    assert writer.stdout is not None
    line = writer.stdout.readline()
    writer.wait(60)
    answer: dict[str, Any] = json.loads(line)
    return answer


def names(uri: str, branch: str = "main") -> list[str]:
    return [row["name"] for row in Graph.open(uri, read_only=True).query(NAMES, branch=branch)]


def require_whole(uri: str, branch: str = "main") -> None:
    """Whoever comes next writes without a person's help, and nothing is left to complain about."""
    graph = Graph.open(uri)
    graph.mutate(ADD, n="next", branch=branch)
    graph.mutate('query q() { insert Knows { from: "next", to: "root" } }', branch=branch)
    report = graph.verify()
    assert report.ok, report
    assert "next" in names(uri, branch)


@pytest.mark.parametrize("point", PLACES)
def test_a_paused_insert_is_acknowledged_only_if_its_own_commit_is_there(uri: str, point: Point) -> None:
    with paused(uri, "both", point) as writer:
        Graph.open(uri).mutate(ADD, n="other")
        answer = resumed(writer)
    graph = Graph.open(uri)
    commits = {commit.commit_id: commit for commit in graph.commits()}
    if "commit" in answer:
        assert answer["commit"] in commits
        assert commits[answer["commit"]].py["kind"] == "mutation"
    assert ("paused" in names(uri)) == ("commit" in answer), answer
    assert {"root", "other"} <= set(names(uri))
    edges = list(graph.query("query e() { match { $p: Person $p knows $q } return { $p.name as n } }"))
    assert [row["n"] for row in edges] == (["paused"] if "commit" in answer else [])
    require_whole(uri)


@pytest.mark.parametrize(
    "point",
    [Point.MUTATION_ARMED, Point.TABLE_COMMITTING, Point.MUTATION_TABLE_COMMITTED, Point.PUBLISH_BEFORE],
)
@pytest.mark.parametrize("operation", ["update", "first", "load"])
def test_a_paused_write_of_any_kind_leaves_the_graph_whole(uri: str, operation: str, point: Point) -> None:
    branch = "b" if operation == "first" else "main"
    with paused(uri, operation, point) as writer:
        Graph.open(uri).mutate(ADD, n="other", branch=branch)
        answer = resumed(writer)
    if operation == "update":
        ages = [row["age"] for row in Graph.open(uri, read_only=True).query(NAMES)]
        assert (77 in ages) == ("commit" in answer), answer
    else:
        assert ("paused" in names(uri, branch)) == ("commit" in answer), answer
    assert "other" in names(uri, branch)
    require_whole(uri, branch)


def test_a_version_that_lands_after_two_other_writes_is_taken_back(uri: str) -> None:
    with paused(uri, "insert", Point.TABLE_COMMITTING) as writer:
        for name in ("one", "two"):
            Graph.open(uri).mutate(ADD, n=name)
        answer = resumed(writer)
    # It only adds, so it may have been prepared again; then it is there once, by a commit of its own.
    assert sorted(["one", "root", "two", *(["paused"] if "commit" in answer else [])]) == names(uri)
    require_whole(uri)


@pytest.mark.parametrize("point", [Point.COMPACTION_WRITTEN, Point.TABLE_COMMITTING, Point.PUBLISH_BEFORE])
def test_a_cleaner_takes_nothing_from_a_paused_optimize_that_a_reader_could_miss(uri: str, point: Point) -> None:
    graph = Graph.open(uri)
    for number in range(12):
        graph.mutate(ADD, n=f"n{number}")
    before = names(uri)
    with paused(uri, "optimize", point) as writer:
        other = Graph.open(uri)
        other.mutate(ADD, n="other")
        other.cleanup_staging()
        resumed(writer)
    assert names(uri) == sorted([*before, "other"])
    require_whole(uri)
    assert Graph.open(uri).cleanup_staging() == []


def test_a_paused_delete_takes_nothing_from_a_branch_that_was_made_again(uri: str) -> None:
    Graph.open(uri).mutate(ADD, n="old", branch="b")
    with paused(uri, "delete_branch", Point.BRANCH_FORKS_DELETING) as writer:
        other = Graph.open(uri)
        other.create_branch("b")
        other.mutate(ADD, n="new", branch="b")
        resumed(writer)
    assert names(uri, "b") == ["new", "root"]
    require_whole(uri, "b")
