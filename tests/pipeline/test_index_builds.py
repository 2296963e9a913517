"""Indexes after a load: built on the executors, in a commit of their own, and never a reason to fail the load."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from omnigraph.graph import Graph
from omnigraph.pipeline.load import run_load as loading
from omnigraph.storage.indexes.builds import BuildTask, BuiltSegment, build_segment
from omnigraph.write.upkeep.indexing import SUBSTRING_ROWS_VARIABLE
from support.loads.leftovers import nothing_is_left

cloudpickle.register_pickle_by_value(sys.modules[__name__])
SCHEMA = "node P { k: String @key  t: String? @index  v: Vector(2)? @index }\nedge K: P -> P"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(loading, "INDEX_FROM_ROWS", 20)
    return Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")


def rows(start: int, count: int) -> list[bytes]:
    numbers = range(start, start + count)
    nodes = [{"type": "P", "data": {"k": f"p{n}", "t": f"word{n}", "v": [float(n), 1.0]}} for n in numbers]
    return [
        json.dumps(row).encode() for row in [*nodes, *({"edge": "K", "from": f"p{n}", "to": "p0"} for n in numbers)]
    ]


def built_elsewhere(task: BuildTask) -> BuiltSegment:
    """The kernel, which also says which process it ran in."""
    (Path(task.files.root.uri).parent / f"built-by-{os.getpid()}").touch()
    return build_segment(task)


def dying(task: BuildTask) -> BuiltSegment:
    build_segment(task)
    os._exit(9)


def test_the_executors_build_what_a_load_makes_worthwhile(
    graph: Graph, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.pipeline.load.spark_job.build_segment", built_elsewhere)
    result = graph.load(rows(0, 40), mode="append", spark=spark)
    assert {one.state for one in graph.indexes()} == {"ready"}
    assert {one.name for one in graph.indexes()} == {"id_idx", "src_idx", "dst_idx", "k_idx", "t_idx", "v_idx"}
    builders = {path.name for path in tmp_path.glob("built-by-*")}
    assert builders
    assert f"built-by-{os.getpid()}" not in builders
    kinds = [commit.py["kind"] for commit in graph.commits(limit=2)]
    assert kinds == ["ensure_indices", "load"], "one commit of their own"
    assert result.commit is not None
    assert result.commit.py["kind"] == "load"
    graph.load(rows(40, 25), mode="append", spark=spark)
    assert {(one.state, one.rows_indexed) for one in graph.indexes()} == {("ready", 65)}
    assert graph.verify().ok
    assert nothing_is_left(graph)


def test_a_load_on_a_branch_indexes_what_the_branch_owns(graph: Graph, spark: Any) -> None:
    graph.load(rows(0, 30), mode="append", spark=spark)
    graph.create_branch("draft")
    graph.load(rows(30, 30), mode="merge", branch="draft", spark=spark)
    assert {(one.state, one.rows_indexed) for one in graph.indexes("draft")} == {("ready", 60)}
    assert {(one.state, one.rows_indexed) for one in graph.indexes()} == {("ready", 30)}
    assert graph.verify().ok
    assert nothing_is_left(graph)


def test_a_load_leaves_an_index_that_takes_minutes_to_upkeep(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUBSTRING_ROWS_VARIABLE, "10")
    graph.load(rows(0, 40), mode="append", engine="local")
    assert {one.name for one in graph.indexes() if one.state != "ready"} == {"t_ngram_idx"}
    assert {one.name for one in graph.ensure_indices().built} == {"t_ngram_idx"}


def test_builders_that_die_neither_fail_the_load_nor_leave_anything(
    graph: Graph, spark: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("omnigraph.pipeline.load.spark_job.build_segment", dying)
    with caplog.at_level(logging.WARNING, "omnigraph.graph"):
        result = graph.load(rows(0, 30), mode="append", spark=spark)
    assert result.nodes == {"P": 30}
    assert "its indexes are not" in caplog.text
    assert {one.state for one in graph.indexes()} == {"pending"}
    assert graph.verify().ok
    assert nothing_is_left(graph)
    assert graph.ensure_indices().pending == ()
