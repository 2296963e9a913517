"""Optimize: few fragments again, the same entities, row ids and answers; one commit, resolved when it is killed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.graph import Graph
from omnigraph.model.identifiers import new_ulid
from omnigraph.query.search import bm25, nearest, text_matches
from omnigraph.storage import OneOf
from omnigraph.storage.bulk.area import StagingFiles
from omnigraph.storage.compaction import fragment_rewrites as compaction
from omnigraph.storage.compaction.fragment_rewrites import greatest_fragment
from omnigraph.storage.failpoints import Point, armed
from support.graphs.people import INSERT_PERSON, fx, lines, people, person
from support.graphs.searchable import Documents, forget_columns
from support.loads.leftovers import nothing_is_left
from support.servers.s3_server import S3Server

DYING = Path(__file__).parents[2] / "support" / "processes" / "dying_upkeep.py"


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    forget_columns()
    yield
    forget_columns()


def scattered(path: Path) -> Documents:
    """Thirty documents in as many fragments, some rewritten, one gone, half of them indexed."""
    documents = Documents(path)
    for number in range(30):
        documents.put([{"slug": f"s{number:02}", "title": f"graph {number}", "emb": [float(number), 0.0]}])
        if number == 15:
            documents.graph.ensure_indices()
    documents.put([{"slug": "s03", "title": "rewritten", "emb": [3.0, 0.5]}])
    documents.drop("s07")
    return documents


def rows(documents: Documents) -> list[dict[str, Any]]:
    columns = ["id", "title", "emb", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    return sorted(documents.table().read(columns).to_pylist(), key=lambda row: str(row["id"]))


def answers(documents: Documents) -> Any:
    forget_columns()
    table = documents.table()
    hits = bm25(table, "title", "graph 12", None, limit=5)
    near = nearest(table, "emb", np.array([20.2, 0.0], np.float32), None, limit=3)
    return (
        sorted(documents.slugs(text_matches(table, "title", "graph"))),
        sorted(zip(hits.scores, documents.slugs(hits.row_ids), strict=True)),
        sorted(zip(near.scores, documents.slugs(near.row_ids), strict=True)),
    )


def test_rows_keep_their_ids_and_versions_and_every_answer_stays(tmp_path: Path) -> None:
    documents = scattered(tmp_path / "g")
    before, answered = rows(documents), answers(documents)
    report = documents.graph.optimize()
    assert report.commit is not None
    assert report.commit.py["kind"] == "optimize"
    [compacted] = report.compacted
    assert compacted.fragments_removed > 20 > 4 > compacted.fragments_added
    assert rows(documents) == before
    assert answers(documents) == answered
    assert {one.state for one in documents.graph.indexes()} == {"ready"}
    assert report.indexes.pending == ()
    assert documents.graph.verify().ok


def test_lookups_through_the_index_find_every_row_afterwards(tmp_path: Path) -> None:
    """Canary: a rewrite takes the coverage of its fragments from a BTREE; the refresh gives it back."""
    documents = scattered(tmp_path / "g")
    documents.graph.optimize()
    for row in rows(documents):
        found = documents.table().read(["_rowid"], OneOf("id", (row["id"],)))
        assert found["_rowid"].to_pylist() == [row["_rowid"]]


def test_another_run_joins_what_different_segments_covered_and_then_there_is_nothing_to_do(tmp_path: Path) -> None:
    documents = scattered(tmp_path / "g")
    documents.graph.optimize()
    documents.graph.optimize()
    assert documents.table().fragment_count() == 1
    commits = len(documents.graph.commits())
    again = documents.graph.optimize()
    assert (again.commit, again.compacted, again.indexes.commit, again.conflict) == (None, (), None, None)
    assert len(documents.graph.commits()) == commits


def test_writing_goes_on_after_it(tmp_path: Path) -> None:
    documents = scattered(tmp_path / "g")
    documents.graph.optimize()
    documents.put([{"slug": "s01", "title": "again"}, {"slug": "new", "title": "new"}])
    documents.drop("s02")
    documents.graph.optimize()
    titles = {row["id"]: row["title"] for row in rows(documents)}
    assert (titles["s01"], titles["new"], "s02" in titles, len(titles)) == ("again", "new", False, 29)
    assert documents.graph.verify().ok


def test_the_number_of_a_fragment_is_never_used_again(tmp_path: Path) -> None:
    """Canary: only the manifest remembers the greatest number when the fragment itself is gone."""
    documents = Documents(tmp_path / "g")
    for slug in ("a", "b", "c"):
        documents.put([{"slug": slug}])
    greatest = greatest_fragment(documents.table())
    documents.drop("c")
    table = documents.table()
    assert (greatest_fragment(table), max(table.handle.fragment_ids())) == (greatest, greatest - 1)
    documents.graph.optimize()
    assert min(documents.table().handle.fragment_ids()) > greatest


def test_history_stays_readable(tmp_path: Path) -> None:
    documents = scattered(tmp_path / "g")
    old = documents.graph.commits()[5]
    before = documents.graph.snapshot_at(old.commit_id)
    documents.graph.optimize()
    assert documents.graph.snapshot_at(old.commit_id) == before
    [pin] = before.tables
    assert documents.graph._storage.tables.open(pin).count() == pin.row_count


@pytest.mark.parametrize(
    "statement",
    [
        'query i() { insert Person { name: "Eve" } }',
        'query u() { update Person set { age: 99 } where name = "Bob" }',
        'query d() { delete Person where name = "Bob" }',
    ],
    ids=["insert", "update", "delete"],
)
def test_a_write_that_comes_between_stays_and_so_does_the_compaction(tmp_path: Path, statement: str) -> None:
    graph = fx(tmp_path / "g")
    for number in range(5):
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    writer = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: writer.mutate(statement) and None):
        report = graph.optimize()
    assert report.commit is not None
    assert "node:Person" in {one.type for one in report.compacted}
    names = people(graph)
    assert ("Eve" in names, names.get("Bob")) == {
        "i": (True, 25),
        "u": (False, 99),
        "d": (False, None),
    }[statement[6]]
    assert graph.verify().ok


def test_an_index_build_that_comes_between_stays_and_so_does_the_compaction(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", [{"slug": f"s{i}", "title": "graph"} for i in range(20)])
    documents.graph.ensure_indices()
    for number in range(5):
        documents.put([{"slug": f"n{number}", "title": "graph"}])
    keeper = Graph.open(documents.graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: keeper.ensure_indices() and None):
        documents.put([{"slug": "n9", "title": "graph"}])
    with armed(Point.MUTATION_STAGED, lambda: keeper.ensure_indices() and None):
        report = documents.graph.optimize()
    assert (report.commit is not None, report.conflict) == (True, None)
    assert documents.table().count() == 26
    assert documents.graph.verify().ok


def test_a_write_is_not_failed_by_a_compaction_that_comes_between(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for number in range(5):
        graph.mutate(INSERT_PERSON, n=f"p{number}")
    keeper = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: keeper.optimize() and None):
        graph.mutate('query u() { update Person set { age: 99 } where name = "p3" }')
    assert people(graph)["p3"] == 99
    assert graph.verify().ok


def test_a_branch_compacts_only_what_it_owns(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    draft = graph.create_branch("draft")
    for number in range(5):
        draft.mutate(INSERT_PERSON, n=f"p{number}")
    before = people(draft)
    assert [one.type for one in draft.optimize().compacted] == ["node:Person"]
    assert people(draft) == before
    assert len(people(graph)) == 4
    assert graph.verify().ok


def staging(documents: Documents) -> StagingFiles:
    return StagingFiles(documents.graph._storage.root, new_ulid())


def test_middle_sized_fragments_are_left_alone_until_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SMALL_ROWS", 4)
    monkeypatch.setattr(compaction, "LARGE_ROWS", 1000)
    monkeypatch.setattr(compaction, "MIDDLE_FRAGMENTS_MAX", 3)
    documents = Documents(tmp_path / "g")
    for number in range(4):
        assert not compaction.is_worth_compacting(documents.table())
        documents.put([{"slug": f"a{number}-{i}"} for i in range(5)])
    compacted = compaction.compact(documents.table(), staging(documents))
    assert (compacted.fragments_removed, compacted.fragments_added) == (4, 1)


DEATHS = [
    ("written", Point.COMPACTION_WRITTEN, False),
    ("staged", Point.MUTATION_STAGED, False),
    ("armed", Point.MUTATION_ARMED, False),
    ("all-committed", Point.MUTATION_BEFORE_PUBLISH, True),
    ("published", Point.PUBLISH_AFTER, True),
]


@pytest.mark.parametrize(("point", "landed"), [row[1:] for row in DEATHS], ids=[row[0] for row in DEATHS])
def test_optimize_killed_anywhere_is_whole_or_absent_after_reopening(tmp_path: Path, point: str, landed: bool) -> None:
    documents = scattered(tmp_path / "g")
    uri, before = documents.graph.uri, rows(documents)
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    result = subprocess.run([sys.executable, str(DYING), uri, "optimize"], env=environment, check=False)
    assert result.returncode == -9
    documents.graph = Graph.open(uri, durability="os")
    assert (documents.table().fragment_count() < 5) == landed
    assert rows(documents) == before
    assert documents.graph.verify().ok
    assert nothing_is_left(documents.graph)
    assert documents.graph.optimize().conflict is None
    assert rows(documents) == before


def test_blobs_of_every_size_survive(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node F { name: String @key  data: Blob? }", durability="os")
    values = {"empty": b"", "small": b"few bytes", "packed": b"p" * 200_000, "own": b"d" * 5_000_000, "none": None}
    for name, value in values.items():
        text = None if value is None else f"base64:{base64.b64encode(value).decode()}"
        graph.load([json.dumps({"type": "F", "data": {"name": name, "data": text}}).encode()], mode="append")
    before = list(graph.export())
    assert [one.fragments_removed for one in graph.optimize().compacted] == [5]
    assert list(graph.export()) == before
    assert graph.verify().ok


def test_the_handle_that_readers_share_does_not_move(tmp_path: Path) -> None:
    documents = scattered(tmp_path / "g")
    table = documents.table()
    version, fragments = table.version, table.fragment_count()
    assert compaction.compact(table, staging(documents)).fragments_removed > 1
    assert (table.version, table.fragment_count()) == (version, fragments)


@pytest.mark.s3
def test_optimize_and_its_indexes_work_on_s3(s3: S3Server, tmp_path: Path) -> None:
    documents = Documents(s3.uri(f"{tmp_path.name}/g"))
    for number in range(4):
        documents.put([{"slug": f"s{number}", "title": f"graph {number}", "emb": [float(number), 0.0]}])
    before, answered = rows(documents), answers(documents)
    report = documents.graph.optimize()
    assert [one.fragments_removed for one in report.compacted] == [4]
    assert {one.state for one in documents.graph.indexes()} == {"ready"}
    assert rows(documents) == before
    assert answers(documents) == answered


# --- rows of the tables -----------------------------------------------------------------------------------


def test_tx_O01_after_ten_loads_one_commit_puts_the_fragments_together(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for number in range(10):
        graph.load(lines(person(f"p{number}", number)), mode="append")
    graph.ensure_indices()
    before, commits = people(graph), len(graph.commits())
    report = graph.optimize()
    kinds = [commit.py["kind"] for commit in graph.commits()[: len(graph.commits()) - commits]]
    assert kinds in (["optimize"], ["ensure_indices", "optimize"]), "at most one of each kind"
    [table] = [table for table in report.tables if table.type == "node:Person"]
    assert (table.fragments_removed, table.fragments_added, table.committed) == (11, 1, True)
    assert report.tables[-1].type == "__manifest"
    assert report.tables[-1].committed
    assert people(graph) == before
    version, commits = graph.snapshot().version, len(graph.commits())
    again = graph.optimize()
    assert (again.commit, again.indexes.commit) == (None, None)
    assert not any(table.committed for table in again.tables)
    assert (graph.snapshot().version, len(graph.commits())) == (version, commits)


def test_tx_O11_an_index_without_a_vector_is_pending_and_no_error(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "g", [{"slug": "a"}, {"slug": "b"}])
    for report in (documents.graph.ensure_indices(), documents.graph.optimize().indexes):
        assert [(one.column, one.state) for one in report.pending] == [("emb", "pending")]
    [table] = [table for table in documents.graph.optimize().tables if table.type == "node:Doc"]
    assert [one.column for one in table.pending_indexes] == ["emb"]
    documents.put([{"slug": "c", "emb": [1.0, 0.0]}])
    assert "emb" in {one.column for one in documents.graph.optimize().indexes.built}
    assert documents.graph.optimize().tables[0].pending_indexes == ()


@pytest.mark.parametrize("operation", ["ensure_indices", "optimize"])
def test_tx_C36_C37_upkeep_that_died_after_its_tables_is_published_or_taken_back_as_a_whole(
    tmp_path: Path, operation: str
) -> None:
    graph = fx(tmp_path / "g")
    for number in range(6):
        graph.load(lines(person(f"p{number}"), {"type": "Company", "data": {"name": f"c{number}"}}), mode="append")
    before = list(graph.export())
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{Point.MUTATION_BEFORE_PUBLISH}=kill"}
    result = subprocess.run([sys.executable, str(DYING), graph.uri, operation], env=environment, check=False)
    assert result.returncode == -9
    again = Graph.open(graph.uri, durability="os")
    assert again.commits(limit=1)[0].py["kind"] == operation
    assert list(again.export()) == before
    assert again.pending_recoveries() == []
    assert [record.recovery_kind for record in again.recoveries()] == ["RolledForward"]
    assert again.verify().ok
