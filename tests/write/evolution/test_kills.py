"""`kill -9` at every place of a schema change: the graph is as before or after, nobody is locked out, and the change
can be asked for again.

One change does everything at once: a type added, one renamed, one dropped, a column filled, one renamed, one dropped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import Point
from support.graphs.self_check import check_layout

PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "dying_schema_apply.py"
BEFORE = """
node P { k: String @key a: I32? gone: String? }
node Old { t: String @key }
node Dropped { t: String }
edge Knows: P -> P
"""
AFTER = """
node P { k: String @key b: I64? @rename_from("a") n: I32 @default(7) }
node New @rename_from("Old") { t: String @key }
node Fresh { t: String }
edge Knows: P -> P
"""
PLAIN = BEFORE.replace("a: I32?", "a: I32? n: String?")
"""A change without rows to write."""

# place → whether the change is there after the death
PLACES: dict[Point, bool] = {
    Point.SCHEMA_LOCKED: False,
    Point.COLUMNS_WRITTEN: False,
    Point.ROWS_COPIED: False,
    Point.SCHEMA_STAGED: False,
    Point.SIDECAR_WRITE: False,
    Point.SCHEMA_ARMED: False,
    Point.SCHEMA_TABLE_MADE: False,
    Point.SCHEMA_TABLE_COMMITTED: False,
    Point.SCHEMA_BEFORE_FILES: False,
    Point.SCHEMA_FILE_STAGED: False,
    Point.SCHEMA_FILES_STAGED: True,
    Point.PUBLISH_BEFORE: True,
    Point.PUBLISH_AFTER: True,
    Point.SCHEMA_PUBLISHED: True,
    Point.SCHEMA_FILE_MOVED: True,
    Point.SCHEMA_COLLECTING: True,
    Point.SIDECAR_DELETE: True,
    Point.SCHEMA_DONE: True,
}


def test_every_failpoint_of_a_schema_change_has_its_row() -> None:
    assert {point for point in Point if point.startswith(("schema_apply.", "columns.", "rows."))} <= set(PLACES)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "g"
    graph = Graph.init(str(path), BEFORE, durability="os")
    records = [{"type": "P", "data": {"k": k, "a": a, "gone": "x"}} for k, a in (("a", 1), ("b", None))]
    records += [{"type": "Old", "data": {"t": "o"}}, {"type": "Dropped", "data": {"t": "d"}}]
    records += [{"edge": "Knows", "from": "a", "to": "b", "data": {}}]
    graph.load([json.dumps(record).encode() for record in records], mode="append")
    return path


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> Graph:
    shutil.copytree(template, tmp_path / "g")
    return Graph.open(str(tmp_path / "g"))


def die(uri: str, point: Point, text: str = AFTER, *, mode: str = "soft") -> None:
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    command = [sys.executable, str(PROGRAM), uri, text, mode]
    assert subprocess.run(command, env=environment, check=False, capture_output=True).returncode == -9


def lines(graph: Graph) -> list[str]:
    return [line.decode() for line in graph.export()]


def check_whole(graph: Graph, before: list[str], *, is_there: bool) -> None:
    shown = lines(graph)
    if is_there:
        assert graph.schema_source == AFTER
        assert [line for line in shown if '"P"' in line] == [
            '{"type":"P","data":{"id":"a","b":1,"k":"a","n":7}}\n',
            '{"type":"P","data":{"id":"b","b":null,"k":"b","n":7}}\n',
        ]
        assert '{"type":"New","data":{"id":"o","t":"o"}}\n' in shown
        assert not any("Dropped" in line for line in shown)
    else:
        assert graph.schema_source == BEFORE
        assert shown == before
    assert graph.pending_recoveries() == []
    assert not graph._storage.lineages.names("__manifest"), "the lock is gone"
    assert not list(Path(graph.uri).glob("*.staging"))
    assert not graph._storage.objects.has_any("__staging")
    findings = [each for each in graph.verify().findings if each.severity != "info"]
    assert findings == []
    check_layout(graph.uri)


@pytest.mark.parametrize("mode", ["soft", "hard"])
@pytest.mark.parametrize("point", PLACES, ids=str)
def test_a_killed_change_is_finished_or_taken_back_by_whoever_opens_the_graph(
    graph: Graph, point: Point, mode: str
) -> None:
    if mode == "hard" and point not in (Point.SCHEMA_FILES_STAGED, Point.SCHEMA_COLLECTING, Point.ROWS_COPIED):
        pytest.skip("the same as a soft drop there")
    before = lines(graph)
    die(graph.uri, point, mode=mode)
    again = Graph.open(graph.uri)
    check_whole(again, before, is_there=PLACES[point])
    again.apply_schema(AFTER, allow_data_loss=mode == "hard")
    check_whole(again, before, is_there=True)
    again.mutate('query m() { insert P { k: "c" } }')


@pytest.mark.parametrize("point", [Point.SCHEMA_LOCKED, Point.SCHEMA_TABLE_COMMITTED, Point.SCHEMA_PUBLISHED], ids=str)
def test_a_handle_that_was_open_all_the_time_writes_on_without_anybody_opening_the_graph(
    graph: Graph, point: Point
) -> None:
    branch = graph.create_branch("draft")
    branch.mutate('query m() { insert P { k: "y" } }')
    die(graph.uri, point, PLAIN)
    branch.mutate('query m() { insert P { k: "z" } }')
    graph.mutate('query m() { insert P { k: "c" } }')
    assert (graph.schema_source == PLAIN) == (point is Point.SCHEMA_PUBLISHED)
    assert len(graph.query("query q() { match { $p: P } return { $p.k } }")) == 3
    assert graph.verify().ok


# --- the rows of the table of crashes -----------------------------------------------------------------------------


def test_tx_C28_a_property_that_dies_before_the_files_is_not_there_and_can_be_added_again(graph: Graph) -> None:
    die(graph.uri, Point.SCHEMA_BEFORE_FILES, PLAIN)
    again = Graph.open(graph.uri)
    assert again.schema_source == BEFORE
    again.apply_schema(PLAIN)
    assert len(again.query("query q() { match { $p: P } return { $p.n } }")) == 2


def test_tx_C29_files_that_are_whole_make_the_new_schema_live(graph: Graph) -> None:
    die(graph.uri, Point.SCHEMA_FILES_STAGED, PLAIN)
    again = Graph.open(graph.uri)
    assert again.schema_source == PLAIN
    assert again.query("query q() { match { $p: P } return { $p.n } }").rows() == [{"p.n": None}] * 2


@pytest.mark.parametrize("point", [Point.SCHEMA_PUBLISHED, Point.SCHEMA_FILE_MOVED], ids=["tx-C30", "tx-C31"])
def test_files_that_are_not_in_their_place_are_moved_there(graph: Graph, point: Point) -> None:
    die(graph.uri, point, PLAIN)
    assert Graph.open(graph.uri).schema_source == PLAIN
    assert graph.verify().ok


def test_tx_C32_a_wider_enum_that_dies_after_its_files_is_applied(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "e"), "node P { k: String @key s: enum(x) }", durability="os")
    die(graph.uri, Point.SCHEMA_FILES_STAGED, "node P { k: String @key s: enum(x, y) }")
    Graph.open(graph.uri).mutate('query m() { insert P { k: "a", s: "y" } }')
    assert graph.verify().ok


def test_tx_C33_a_type_whose_table_was_made_in_vain_is_added_by_the_second_apply(graph: Graph) -> None:
    text = f"{BEFORE}\nnode Fresh {{ t: String }}"
    die(graph.uri, Point.SCHEMA_TABLE_MADE, text)
    again = Graph.open(graph.uri)
    assert again.schema_source == BEFORE
    again.apply_schema(text)
    again.mutate('query m() { insert Fresh { t: "n" } }')
    assert again.verify().ok


def test_tx_C34_a_read_only_open_shows_a_change_that_is_half_in_place_and_changes_nothing(graph: Graph) -> None:
    """Replaced: a reader takes the schema by the hash that the commit carries, so there is nothing to refuse."""
    die(graph.uri, Point.SCHEMA_PUBLISHED, PLAIN)
    files = {path: path.read_bytes() for path in Path(graph.uri).glob("*schema*") if path.is_file()}
    reader = Graph.open(graph.uri, read_only=True)
    for handle in (reader, graph):
        assert handle.query("query q() { match { $p: P } return { $p.n } }").rows() == [{"p.n": None}] * 2
    assert {path: path.read_bytes() for path in files} == files
    graph.mutate('query m() { insert P { k: "c", n: "new" } }')
    assert graph.schema_source == PLAIN, "whoever writes next finishes it"
