"""Repair: what another program did to a table is classified, shown, and published only as far as it was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import lance
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, Corrupt, TableDrift
from omnigraph.write.upkeep.repair_drift import (
    UNKNOWN,
    Classification,
    RepairedTable,
    action_for,
    classify,
)
from support.graphs.people import INSERT_PERSON, fx, people
from support.processes.interrupted_writes import PERSON

OPERATIONS = [
    ((), "no_drift"),
    (("Rewrite",), "verified_maintenance"),
    (("ReserveFragments", "Rewrite"), "verified_maintenance"),
    (("Append",), "suspicious"),
    (("Delete",), "suspicious"),
    (("CreateIndex",), "suspicious"),
    (("Rewrite", "Append"), "suspicious"),
    ((UNKNOWN,), "unverifiable"),
    (("Append", UNKNOWN), "unverifiable"),
]
ACTIONS = {
    "no_drift": ("no_op", "no_op", "no_op"),
    "verified_maintenance": ("preview", "healed", "healed"),
    "suspicious": ("preview", "refused", "forced"),
    "unverifiable": ("preview", "refused", "forced"),
}


@pytest.mark.parametrize(("operations", "expected"), OPERATIONS)
def test_what_made_the_versions_says_what_they_are(operations: tuple[str, ...], expected: str) -> None:
    assert classify(operations) == expected


@pytest.mark.parametrize("found", get_args(Classification))
def test_what_is_done_follows_the_table(found: Classification) -> None:
    shown = (
        action_for(found, confirm=False, force=False),
        action_for(found, confirm=True, force=False),
        action_for(found, confirm=True, force=True),
    )
    assert shown == ACTIONS[found]


def raw(graph: Graph) -> Any:
    """The table of people as another program opens it."""
    return lance.dataset(f"{graph.uri}/{PERSON.location}")


def drifted(graph: Graph, **options: bool) -> RepairedTable:
    report = graph.repair(**options)
    [moved] = [table for table in report.tables if table.classification != "no_drift"]
    assert moved.type == "node:Person"
    assert (moved.action in ("healed", "forced")) == (report.commit is not None)
    return moved


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = fx(tmp_path / "g")
    for name in ("Eve", "Fay"):
        graph.mutate(INSERT_PERSON, n=name)
    return graph


def test_tx_O03_a_compaction_by_another_program_is_skipped_shown_and_healed(graph: Graph) -> None:
    before = people(graph)
    raw(graph).optimize.compact_files()
    optimized = {table.type: table for table in graph.optimize().tables}["node:Person"]
    assert (optimized.skipped, optimized.published_version, optimized.head_version) == ("drift_needs_repair", 4, 6)
    assert not optimized.committed
    moved = drifted(graph)
    assert (moved.classification, moved.action) == ("verified_maintenance", "preview")
    assert (moved.published_version, moved.head_version) == (4, 6)
    assert set(moved.operations) == {"ReserveFragments", "Rewrite"}
    with pytest.raises(TableDrift, match="repair"):
        graph.mutate(INSERT_PERSON, n="Gus")
    assert drifted(graph, confirm=True).action == "healed"
    [commit] = graph.commits(limit=1)
    assert (commit.actor_id, commit.py["kind"]) == ("omnigraph:repair", "repair")
    assert people(graph) == before
    graph.mutate(INSERT_PERSON, n="Gus")
    graph.optimize()
    assert graph.verify().ok


def test_tx_O04_a_deletion_by_another_program_is_published_by_force_alone(graph: Graph) -> None:
    raw(graph).delete("name = 'Fay'")
    assert drifted(graph, confirm=True).action == "refused"
    assert "Fay" in people(graph)
    moved = drifted(graph, confirm=True, force=True)
    assert (moved.classification, moved.action, moved.operations) == ("suspicious", "forced", ("Delete",))
    assert graph.commits(limit=1)[0].actor_id == "omnigraph:repair:force"
    assert "Fay" not in people(graph)
    assert graph.verify().ok
    assert graph.repair(confirm=True).commit is None


def test_tx_O05_force_alone_is_an_error(graph: Graph) -> None:
    with pytest.raises(BadRequest, match="confirm"):
        graph.repair(force=True)


def test_an_index_build_by_another_program_is_suspicious(graph: Graph) -> None:
    raw(graph).create_scalar_index("age", "BTREE")
    assert drifted(graph).classification == "suspicious"


def test_what_nobody_can_tell_is_unverifiable(graph: Graph, tmp_path: Path) -> None:
    raw(graph).delete("name = 'Fay'")
    raw(graph).delete("name = 'Eve'")
    folder = tmp_path / "g" / PERSON.location / "_versions"
    (folder / f"{2**64 - 1 - 5:020d}.manifest").unlink()
    moved = drifted(graph, confirm=True)
    assert (moved.classification, moved.action) == ("unverifiable", "refused")
    assert drifted(graph, confirm=True, force=True).action == "forced"
    assert set(people(graph)) == {"Alice", "Bob", "Charlie", "Diana"}


def test_one_table_is_healed_although_another_is_refused(graph: Graph) -> None:
    raw(graph).optimize.compact_files()
    knows = next(pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Knows")
    lance.dataset(f"{graph.uri}/{knows.path}").delete("true")
    report = graph.repair(confirm=True)
    assert {table.type: table.action for table in report.tables if table.action != "no_op"} == {
        "node:Person": "healed",
        "edge:Knows": "refused",
    }
    assert [table.type for table in report.refused] == ["edge:Knows"]


def test_a_branch_is_repaired_by_itself(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(INSERT_PERSON, n="Gus")
    pin = next(pin for pin in draft.snapshot().tables if pin.lineage == "draft")
    lance.dataset(f"{graph.uri}/{pin.path}").optimize.compact_files()
    assert {table.action for table in graph.repair().tables} == {"no_op"}
    assert [table.action for table in draft.repair(confirm=True).tables] == ["healed"]
    assert "Gus" in people(draft, "draft")
    assert graph.verify().ok


def test_a_table_that_lost_its_newest_version_is_damage(graph: Graph, tmp_path: Path) -> None:
    newest = min((tmp_path / "g" / PERSON.location / "_versions").glob("*.manifest"))
    newest.unlink()
    with pytest.raises(Corrupt, match="newest version is 3"):
        Graph.open(graph.uri, read_only=True).repair()
