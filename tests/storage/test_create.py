"""Creating a graph: one winner, all or nothing, and never over something that exists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pytest

from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.model.errors import (
    AlreadyInitialized,
    GraphNotFound,
    InitializationClaimed,
    OmniGraphError,
    SyncFailed,
    Unreachable,
)
from omnigraph.storage import GraphStorage
from omnigraph.storage import create as birth
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.manifest.rows import MANIFEST_SCHEMA
from omnigraph.storage.objects.local import LocalObjects
from support.processes.writers import SCHEMA

OTHER = "node Thing { label: String @key }\n"


def test_a_new_graph_is_one_version_with_the_stamp_inside(new_root: Callable[[str], str]) -> None:
    graph = Graph.init(new_root("g"), SCHEMA)
    snapshot = graph.snapshot()
    assert snapshot.version == 1
    assert [(str(pin.table_key), pin.version, pin.row_count) for pin in snapshot.tables] == [
        ("edge:Knows", 1, 0),
        ("node:Person", 1, 0),
    ]
    (genesis,) = graph.commits()
    assert (genesis.parent_id, genesis.actor_id, genesis.version) == (None, None, 1)


def test_the_files_on_disk_are_those_of_the_format(tmp_path: Path) -> None:
    Graph.init(str(tmp_path / "g"), SCHEMA)
    assert sorted(os.listdir(tmp_path / "g")) == [
        "__manifest",
        "__schema_state.json",
        "__schemas",
        "_schema.ir.json",
        "_schema.pg",
        "edges",
        "nodes",
    ]
    assert (tmp_path / "g" / "_schema.pg").read_text() == SCHEMA
    state = (tmp_path / "g" / "__schema_state.json").read_text()
    assert list(json.loads(state)) == ["format_version", "schema_ir_hash", "schema_identity_version"]
    assert sorted(os.listdir(tmp_path / "g" / "nodes")) == ["40d76f1f51639ec0"]
    manifest = lance.dataset(str(tmp_path / "g" / "__manifest"))
    assert manifest.schema.equals(MANIFEST_SCHEMA, check_metadata=True)
    assert manifest.has_stable_row_ids
    assert manifest.data_storage_version == "2.2"
    table = lance.dataset(str(tmp_path / "g" / "nodes" / "40d76f1f51639ec0"))
    assert (table.version, table.has_stable_row_ids, table.data_storage_version) == (1, True, "2.2")
    assert table.schema.names == ["id", "age", "name"]


def test_a_second_init_is_refused_and_changes_nothing(new_root: Callable[[str], str]) -> None:
    uri = new_root("g")
    genesis = Graph.init(uri, SCHEMA).commits()
    for force in (False, True):
        with pytest.raises(AlreadyInitialized):
            Graph.init(uri, OTHER, force=force)
    again = Graph.open(uri)
    assert again.commits() == genesis
    assert again.schema_source == SCHEMA


def test_a_schema_that_does_not_compile_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(CompileError):
        Graph.init(str(tmp_path / "g"), "node person { }")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_check_pattern_is_refused_before_anything_is_created(tmp_path: Path) -> None:
    with pytest.raises(CompileError):
        Graph.init(str(tmp_path / "g"), 'node A { c: String @check(c, "(") }')
    assert list(tmp_path.iterdir()) == []


def test_of_racing_initialisers_exactly_one_wins(new_root: Callable[[str], str]) -> None:
    uri, barrier = new_root("g"), threading.Barrier(6)

    def attempt(number: int) -> str:
        barrier.wait()
        try:
            return Graph.init(uri, SCHEMA + f"node T{number} {{ a: String }}\n").schema_source
        except (AlreadyInitialized, InitializationClaimed) as refused:
            return refused.code

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(attempt, range(6)))
    winners = [text for text in outcomes if text.startswith("node")]
    assert len(winners) == 1
    graph = Graph.open(uri)
    assert graph.schema_source == winners[0]
    assert len(graph.commits()) == 1


def test_a_loser_that_finds_a_finished_graph_takes_nothing_of_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other initialiser starts and finishes after our first look and before our claim."""
    uri, make_root = str(tmp_path / "g"), birth._make_root

    def overtaken(storage: GraphStorage) -> None:
        monkeypatch.setattr(birth, "_make_root", make_root)
        Graph.init(uri, SCHEMA)
        make_root(storage)

    monkeypatch.setattr(birth, "_make_root", overtaken)
    with pytest.raises(AlreadyInitialized):
        Graph.init(uri, OTHER)
    assert Graph.open(uri).schema_source == SCHEMA
    assert "__init_claim.json" not in os.listdir(uri)


_INIT = "import sys; from omnigraph.graph import Graph; Graph.init(sys.argv[1], sys.argv[2])"
_DIES_BEFORE_BIRTH = [
    Point.INIT_CLAIMED,
    Point.INIT_SOURCE_WRITTEN,
    Point.INIT_CONTRACT_WRITTEN,
    Point.INIT_TABLES_CREATED,
]


def _killed_init(uri: str, point: Point) -> None:
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    result = subprocess.run([sys.executable, "-c", _INIT, uri, SCHEMA], env=environment, check=False)
    assert result.returncode == -9


@pytest.mark.parametrize("point", _DIES_BEFORE_BIRTH)
def test_tx_C43_a_killed_init_leaves_no_graph_and_force_finishes_it(tmp_path: Path, point: Point) -> None:
    uri = str(tmp_path / "g")
    _killed_init(uri, point)
    with pytest.raises(GraphNotFound):
        Graph.open(uri)
    with pytest.raises((AlreadyInitialized, InitializationClaimed)):
        Graph.init(uri, SCHEMA)
    graph = Graph.init(uri, SCHEMA, force=True)
    assert len(graph.commits()) == 1
    assert "__init_claim.json" not in os.listdir(uri)


def test_an_init_killed_after_the_birth_has_made_the_graph(tmp_path: Path) -> None:
    uri = str(tmp_path / "g")
    _killed_init(uri, Point.INIT_ACK_LOST)
    assert len(Graph.open(uri).commits()) == 1
    with pytest.raises(AlreadyInitialized):
        Graph.init(uri, SCHEMA, force=True)


@pytest.fixture
def undeletable(monkeypatch: pytest.MonkeyPatch) -> None:
    def delete(_: LocalObjects, name: str, *, lasting: bool = True) -> None:
        raise SyncFailed(name, "Input/output error")

    monkeypatch.setattr(LocalObjects, "delete", delete)


@pytest.mark.usefixtures("undeletable")
def test_a_graph_whose_claim_cannot_be_removed_is_created_all_the_same(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA)
    assert len(graph.commits()) == 1
    assert [finding.code for finding in graph.verify().findings] == ["init_claim"]
    assert graph.verify().ok


@pytest.mark.usefixtures("undeletable")
def test_a_refused_init_that_cannot_tidy_up_says_why_it_was_refused(tmp_path: Path) -> None:
    with armed(Point.INIT_SOURCE_WRITTEN), pytest.raises(InjectedFault):
        Graph.init(str(tmp_path / "g"), SCHEMA)


def test_an_init_whose_puts_had_to_be_repeated_does_not_take_its_own_objects_for_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = LocalObjects.write_if_absent

    def repeated(self: LocalObjects, name: str, data: bytes) -> str | None:
        put(self, name, data)
        return put(self, name, data)

    monkeypatch.setattr(LocalObjects, "write_if_absent", repeated)
    monkeypatch.setattr(LocalObjects, "require_conditional_puts", lambda _: None)
    assert len(Graph.init(str(tmp_path / "g"), SCHEMA).commits()) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_an_init_that_lost_its_claim_to_force_takes_nothing_of_the_new_graph_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The same schema makes the same files: they are not the files of an attempt whose claim is another's by now."""
    uri = str(tmp_path / "g")
    write_contract, archive = birth._write_contract, birth.contract.archive

    def fail(*_: object) -> None:
        raise Unreachable("the store failed")

    def overtaken(storage: GraphStorage, *rest: Any) -> None:
        monkeypatch.setattr(birth, "_write_contract", write_contract)
        other = Graph.init(uri, SCHEMA, force=True)
        other.mutate('query add() { insert Person { name: "Ada" } }')
        monkeypatch.setattr(birth.contract, "archive", fail if fails else archive)
        write_contract(storage, *rest)

    monkeypatch.setattr(birth, "_write_contract", overtaken)
    with pytest.raises((AlreadyInitialized, InitializationClaimed)):
        Graph.init(uri, SCHEMA)
    monkeypatch.undo()
    assert len(Graph.open(uri).query("query q() { match { $p: Person } return { $p.name } }")) == 1


def test_an_init_that_lost_its_claim_makes_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever took the claim over makes them, perhaps at this very moment."""
    uri = str(tmp_path / "g")
    archive = birth.contract.archive

    def overtaken(*given: Any) -> None:
        archive(*given)
        (tmp_path / "g" / "__init_claim.json").write_text('{"version": 1, "attempt_id": "another"}')

    monkeypatch.setattr(birth.contract, "archive", overtaken)
    with pytest.raises(InitializationClaimed, match="another"):
        Graph.init(uri, SCHEMA)
    assert not (tmp_path / "g" / "nodes").exists()
    assert (tmp_path / "g" / "_schema.pg").exists(), "it is the other's by now"


def test_tx_C44_a_lost_acknowledgement_of_the_birth_is_still_success(new_root: Callable[[str], str]) -> None:
    with armed(Point.INIT_ACK_LOST):
        graph = Graph.init(new_root("g"), SCHEMA)
    assert len(graph.commits()) == 1


@pytest.mark.parametrize("point", [Point.INIT_CLAIMED, Point.INIT_SOURCE_WRITTEN, Point.INIT_CONTRACT_WRITTEN])
def test_an_init_that_fails_before_any_table_takes_its_files_back(tmp_path: Path, point: Point) -> None:
    with armed(point), pytest.raises(InjectedFault):
        Graph.init(str(tmp_path / "g"), SCHEMA)
    assert set(os.listdir(tmp_path / "g")) <= {"__schemas"}
    Graph.init(str(tmp_path / "g"), OTHER)


def test_leftover_tables_of_another_schema_are_never_overwritten(tmp_path: Path) -> None:
    uri = str(tmp_path / "g")
    _killed_init(uri, Point.INIT_TABLES_CREATED)
    with pytest.raises(OmniGraphError, match="did not create"):
        Graph.init(uri, SCHEMA.replace("age: I32?", "age: I64?"), force=True)
    with pytest.raises(GraphNotFound):
        Graph.open(uri)


@pytest.mark.parametrize("place", ["__manifest", "nodes/40d76f1f51639ec0"])
def test_force_finishes_an_init_that_died_in_the_middle_of_making_a_table(tmp_path: Path, place: str) -> None:
    uri = tmp_path / "g"
    _killed_init(str(uri), Point.INIT_CONTRACT_WRITTEN)
    for name in ("data/half.lance", "_transactions/0-x.txn", "_versions/18446744073709551614.manifest#1"):
        (uri / place / name).parent.mkdir(parents=True, exist_ok=True)
        (uri / place / name).write_bytes(b"half")
    graph = Graph.init(str(uri), SCHEMA, force=True)
    assert graph.verify().ok
    assert Graph.open(str(uri)).schema_source == SCHEMA
