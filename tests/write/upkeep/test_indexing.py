"""Index upkeep: one commit, incremental, never in a writer's way, and resolved when it is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Corrupt, PreconditionFailed, TypeNotFound, Unreachable
from omnigraph.query.search import nearest, text_matches, vectors
from omnigraph.storage import All, OneOf
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.indexes import builds
from omnigraph.storage.indexes.builds import BuildTask, BuiltSegment, IndexBuild, build_in_threads, existing_indexes
from omnigraph.write.upkeep import index_plan, indexing
from omnigraph.write.upkeep.indexing import ensure_indices
from support.graphs.people import FX_SCHEMA, INSERT_PERSON, fx, people
from support.graphs.rust_graphs import rust_graph
from support.graphs.searchable import Documents, forget_columns
from support.loads.leftovers import nothing_is_left

DYING = Path(__file__).parents[2] / "support" / "processes" / "dying_upkeep.py"


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    forget_columns()
    yield
    forget_columns()


def states(graph: Graph, branch: str | None = None) -> dict[str, str]:
    return {f"{one.type}.{one.column}": one.state for one in graph.indexes(branch)}


def some(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"slug": f"s{i}", "title": f"graph {i}", "emb": [float(i), 0.0]} for i in range(start, start + count)]


# --- building ---------------------------------------------------------------------------------------------


def test_everything_is_built_in_one_commit_and_then_there_is_nothing_to_do(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g", actor="me")
    assert set(states(graph).values()) == {"pending"}
    before = len(graph.commits())
    report = graph.ensure_indices()
    assert report.commit is not None
    assert (report.commit.py["kind"], report.commit.actor_id) == ("ensure_indices", "me")
    assert len(graph.commits()) == before + 1
    assert set(states(graph).values()) == {"ready"}
    assert len(report.built) == len(graph.indexes()) == 10
    assert graph.ensure_indices() == indexing.IndexReport(None, (), ())
    assert graph.verify().ok


def test_rows_that_came_later_become_a_segment_of_their_own(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", some(20))
    documents.graph.ensure_indices()
    documents.put(some(5, 20))
    [title] = [one for one in documents.graph.indexes() if one.column == "title"]
    assert (title.state, title.rows, title.rows_indexed) == ("partial", 25, 20)
    assert title.reason is not None
    report = documents.graph.ensure_indices()
    assert {(one.action, one.rows) for one in report.built} == {("extend", 5)}
    assert set(states(documents.graph).values()) == {"ready"}
    table = documents.table()
    forget_columns()
    assert documents.slugs(text_matches(table, "title", "23")) == ["s23"]
    hits = nearest(table, "emb", np.array([22.1, 0.0], np.float32), None, limit=1)
    assert documents.slugs(hits.row_ids) == ["s22"]
    assert table.count() == 25
    assert documents.graph.verify().ok


def test_one_table_alone_can_be_asked_for(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    report = graph.ensure_indices(tables=["node:Person"])
    assert {one.type for one in report.built} == {"node:Person"}
    assert states(graph)["node:Company.id"] == "pending"
    with pytest.raises(TypeNotFound):
        graph.ensure_indices(tables=["node:Nobody"])


def test_a_vector_index_waits_for_the_first_vector(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", [{"slug": "a"}, {"slug": "b"}])
    report = documents.graph.ensure_indices()
    [waiting] = report.pending
    assert (waiting.column, waiting.state, waiting.reason) == ("emb", "pending", indexing.NO_VECTOR)
    assert documents.graph.ensure_indices().commit is None, "waiting is no work"
    documents.put([{"slug": "c", "emb": [1.0, 0.0]}])
    assert "emb" in {one.column for one in documents.graph.ensure_indices().built}
    documents.put([{"slug": "d", "emb": None}])
    assert states(documents.graph)["node:Doc.emb"] == "ready", "rows without a vector need no index"


def test_an_empty_table_has_no_index_yet(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), FX_SCHEMA, durability="os")
    assert graph.ensure_indices().commit is None
    assert {one.reason for one in graph.indexes()} == {indexing.NO_ROWS}


def test_beyond_the_exact_number_the_nearest_are_found_by_an_approximate_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_plan, "EXACT_VECTORS_MAX", 1000)
    monkeypatch.setattr(index_plan, "PARTITION_VECTORS", 64)
    rng = np.random.default_rng(1)
    stored = rng.standard_normal((2000, 16)).astype(np.float32)
    rows = [{"slug": f"s{i}", "emb": stored[i].tolist()} for i in range(2000)]
    schema = "node Doc { slug: String @key  emb: Vector(16)? @index }"
    documents = Documents(tmp_path / "g", rows, schema)
    documents.graph.ensure_indices()
    table = documents.table()
    assert {index.kind for index in table.indexes() if index.columns == ("emb",)} == {"IVF_RQ"}
    monkeypatch.setattr(vectors, "RESIDENT_BYTES_MAX", 0)
    found = wanted = 0
    for query in rng.standard_normal((20, 16)).astype(np.float32):
        forget_columns()
        near = set(nearest(table, "emb", query, None, limit=10).row_ids.tolist())
        exact = set(nearest(table, "emb", query, None, limit=10, use_index=False).row_ids.tolist())
        found, wanted = found + len(near & exact), wanted + len(exact)
    assert found >= 0.9 * wanted


def test_a_text_index_with_many_entries_of_deleted_rows_is_built_anew(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", some(8))
    documents.graph.ensure_indices()
    for number in range(3):
        documents.drop(f"s{number}")
    assert set(states(documents.graph).values()) == {"ready"}
    assert {(one.column, one.action) for one in documents.graph.ensure_indices().built} == {
        ("title", "rebuild"),
        ("slug", "rebuild"),
    }
    assert documents.graph.ensure_indices().commit is None


def test_a_branch_builds_for_the_tables_that_it_owns_and_leaves_the_others_to_their_owner(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Eve")
    report = draft.ensure_indices()
    assert {one.type for one in report.built} == {"node:Person"}
    inherited = [one for one in draft.indexes() if one.type == "node:Company"]
    assert {one.reason for one in inherited} == {indexing.INHERITED}
    assert set(states(graph).values()) == {"pending"}, "main has its own"
    assert graph.verify().ok


# --- broken indexes ---------------------------------------------------------------------------------------


def test_a_broken_index_is_listed_and_built_anew(tmp_path: Path) -> None:
    whole = Documents(tmp_path / "whole", some(10))
    whole.graph.ensure_indices()
    documents = Documents.__new__(Documents)
    shutil.copytree(whole.graph.uri, tmp_path / "g")
    for folder in (tmp_path / "g").glob("nodes/*/_indices/*"):
        shutil.rmtree(folder)
    documents.graph = Graph.open(str(tmp_path / "g"), durability="os")
    assert set(states(documents.graph).values()) == {"broken"}
    assert all(one.reason for one in documents.graph.indexes())
    assert documents.slugs(text_matches(documents.table(), "title", "7")) == ["s7"], "it counts as absent"
    hits = nearest(documents.table(), "emb", np.array([7.1, 0.0], np.float32), None, limit=1)
    assert documents.slugs(hits.row_ids) == ["s7"]
    report = documents.graph.ensure_indices()
    assert {one.action for one in report.built} == {"rebuild"}
    assert set(states(documents.graph).values()) == {"ready"}
    assert documents.graph.verify().ok


def test_indexes_of_the_rust_binary_are_kept_and_extended() -> None:
    with rust_graph("people") as found:
        graph = Graph.open(found.uri, durability="os")
        assert {one.name for one in graph.indexes()} >= {"id_idx", "name_idx", "src_idx", "dst_idx"}
        assert "broken" not in states(graph).values()
        graph.ensure_indices()
        assert set(states(graph).values()) == {"ready"}
        assert graph.verify().ok


# --- beside writers ---------------------------------------------------------------------------------------


def test_a_conditional_write_looks_through_index_commits(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    seen = graph.snapshot().commit_id
    graph.ensure_indices()
    graph.mutate(INSERT_PERSON, n="Eve", if_commit=seen)
    with pytest.raises(PreconditionFailed):
        graph.mutate(INSERT_PERSON, n="Fay", if_commit=seen)


@pytest.mark.parametrize("conditional", [False, True])
def test_upkeep_that_comes_between_never_fails_a_write(tmp_path: Path, conditional: bool) -> None:
    graph = fx(tmp_path / "g")
    seen = graph.snapshot().commit_id if conditional else None
    with armed(Point.MUTATION_STAGED, lambda: Graph.open(graph.uri, durability="os").ensure_indices() and None):
        graph.mutate('query u() { update Person set { age: 99 } where name = "Bob" }', if_commit=seen)
    assert people(graph)["Bob"] == 99
    assert [commit.py["kind"] for commit in graph.commits(limit=2)] == ["mutation", "ensure_indices"]


def test_what_was_built_is_kept_when_a_writer_is_first(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    builds: list[str] = []

    def build(tasks: Sequence[BuildTask]) -> list[BuiltSegment]:
        builds.extend(f"{task.pin.table_key}.{task.build.spec.column}" for task in tasks)
        return build_in_threads(tasks)

    with armed(Point.MUTATION_STAGED, lambda: graph.mutate(INSERT_PERSON, n="Eve") and None):
        report = ensure_indices(graph._storage, lambda: graph.schema, build=build)
    assert report.commit is not None
    assert len(builds) == len(set(builds)) == 10
    assert {one.type for one in report.pending} == {"node:Person"}, "what came between is extended the next time"
    assert graph.ensure_indices().pending == ()
    assert people(graph)["Eve"] is None
    assert graph.verify().ok


@pytest.mark.parametrize("has_damage", [False, True])
def test_a_build_that_breaks_off_blames_the_table_only_if_its_rows_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_damage: bool
) -> None:
    graph = fx(tmp_path / "g")
    built = builds._written_segment

    def broken(copy: Any, build: IndexBuild) -> Any:
        built(copy, build)
        raise OSError("file does not appear to be a Lance file (invalid magic: [76, 65, 78, 67])")

    monkeypatch.setattr(builds, "_written_segment", broken)
    if has_damage:
        for file in Path(graph.uri).glob("*s/*/data/*.lance"):
            file.write_bytes(file.read_bytes()[:-40])
        graph = Graph.open(graph.uri)
    with pytest.raises(Corrupt if has_damage else Unreachable) as told:
        graph.ensure_indices()
    assert has_damage or "could not be built" in told.value.sentence()


# --- deaths -----------------------------------------------------------------------------------------------

DEATHS = [
    ("built", Point.INDEX_BUILT, False),
    ("moved", Point.INDEX_MOVED, False),
    ("staged", Point.MUTATION_STAGED, False),
    ("armed", Point.MUTATION_ARMED, False),
    ("one-table-committed", Point.MUTATION_TABLE_COMMITTED, False),
    ("all-committed", Point.MUTATION_BEFORE_PUBLISH, True),
    ("published", Point.PUBLISH_AFTER, True),
]


@pytest.mark.parametrize(("point", "landed"), [row[1:] for row in DEATHS], ids=[row[0] for row in DEATHS])
def test_upkeep_killed_anywhere_is_whole_or_absent_after_reopening(tmp_path: Path, point: str, landed: bool) -> None:
    uri = str(tmp_path / "g")
    before = people(fx(uri))
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    result = subprocess.run([sys.executable, str(DYING), uri, "ensure_indices"], env=environment, check=False)
    assert result.returncode == -9
    graph = Graph.open(uri, durability="os")
    assert set(states(graph).values()) == ({"ready"} if landed else {"pending"})
    assert people(graph) == before
    assert nothing_is_left(graph)
    assert graph.verify().ok
    graph.mutate(INSERT_PERSON, n="Eve")
    assert graph.ensure_indices().pending == ()
    assert nothing_is_left(graph)


def test_a_build_that_fails_leaves_nothing_and_is_no_hindrance_to_the_next(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with armed(Point.INDEX_BUILT, "raise", visit=3), pytest.raises(InjectedFault):
        graph.ensure_indices()
    assert nothing_is_left(graph)
    assert set(states(graph).values()) == {"pending"}
    assert graph.ensure_indices().pending == ()


def test_a_large_lookup_index_is_built_in_parts_and_answers_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_plan, "PART_ROWS", 10)
    documents = Documents(tmp_path / "g", some(20))
    documents.put(some(15, 20))
    documents.graph.ensure_indices()
    [by_id] = [one for one in existing_indexes(documents.table()) if one.name == "id_idx"]
    assert len(by_id.segments) == 2
    assert documents.table().count(OneOf("id", ("s3", "s31", "none"))) == 2
    assert set(states(documents.graph).values()) == {"ready"}
    assert documents.graph.ensure_indices().commit is None
    assert documents.graph.verify().ok


# --- properties of edges, several properties --------------------------------------------------------------

EDGE_SCHEMA = """
node Person { name: String @key }
edge Meets: Person -> Person { place: String?  hour: I32?  note: String? @index  @index(place, hour) }
"""


def meetings(path: Path, count: int = 40) -> Graph:
    graph = Graph.init(str(path), EDGE_SCHEMA, durability="os")
    records: list[dict[str, Any]] = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(5)]
    for number in range(count):
        data = {"place": f"room{number % 4}", "hour": number % 5, "note": f"about topic{number}"}
        records.append({"edge": "Meets", "from": f"p{number % 5}", "to": f"p{number % 3}", "data": data})
    graph.load([json.dumps(record).encode() + b"\n" for record in records], mode="append")
    return graph


def test_a_filter_over_all_members_of_an_index_goes_through_each_of_them(tmp_path: Path) -> None:
    graph = meetings(tmp_path / "g")
    graph.ensure_indices()
    assert {one.column for one in graph.indexes() if one.type == "edge:Meets" and one.state == "ready"} == {
        *("id", "src", "dst", "place", "hour", "note")
    }
    [pin] = [pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Meets"]
    table = graph._storage.tables.open(pin)
    both = All((OneOf("place", ("room2",)), OneOf("hour", (3,))))
    plan = table.handle.scanner(filter="place = 'room2' AND hour = 3").explain_plan()
    assert "place_btree_idx" in plan
    assert "hour_idx" in plan
    found, scanned = (sorted(table.read(["id"], both, use_index=use)["id"].to_pylist()) for use in (True, False))
    assert found == scanned
    assert len(found) == 2


def test_a_search_over_a_property_of_an_edge_finds_what_a_scan_finds(tmp_path: Path) -> None:
    graph = meetings(tmp_path / "g")
    graph.ensure_indices()
    [pin] = [pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Meets"]
    table = graph._storage.tables.open(pin)
    forget_columns()
    hits, scanned = (sorted(text_matches(table, "note", "topic17", use_index=use).tolist()) for use in (True, False))
    assert hits == scanned
    assert len(hits) == 1
    assert graph.verify().ok


def test_every_index_is_built_again_when_that_is_asked_for(tmp_path: Path) -> None:
    graph = meetings(tmp_path / "g")
    graph.ensure_indices()
    report = graph.optimize(rebuild_indexes=True)
    assert {one.action for one in report.indexes.built} == {"rebuild"}
    assert len(report.indexes.built) == len(graph.indexes())
    assert graph.optimize().indexes.commit is None
    assert graph.verify().ok
