"""Graphs that the Rust 0.8.0 binary left when it was killed: ours recovers them to its own answers, or to better ones.

Better means: no commit for a write without effect, none for a write that was visible already, and no lock left behind.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, open_storage, read_files
from omnigraph.storage.contract import accept
from omnigraph.write.evolution import unlock_schema
from omnigraph.write.recovery.recover import recover_graph, recoveries
from support.graphs.rust_graphs import RustGraph, rust_graph
from support.graphs.self_check import check_layout

PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "interrupted_writes.py"
OUTCOMES = {
    "crash-armed": "effect_free",
    "crash-partial": "rolled_back",
    "crash-effects": "rolled_forward",
    "crash-published": "already_visible",
    "crash-merge": "rolled_forward",
    "crash-schema-before": "rolled_forward",
}
WITHOUT_RECOVERY_COMMIT = {"crash-armed", "crash-published"}


def entities(storage: GraphStorage, branch: str) -> list[dict[str, Any]]:
    """The rows of every table in the shape of the binary's export, in an order of ours."""
    found: list[dict[str, Any]] = []
    for pin in storage.manifest.load(branch).state.pins():
        for row in storage.tables.open(pin).read().to_pylist():
            data = {name: _wire(value) for name, value in row.items() if name not in ("src", "dst")}
            if pin.table_key.kind == "node":
                found.append({"type": pin.table_key.type_name, "data": data})
            else:
                ends = {"from": row["src"], "to": row["dst"]}
                found.append({"edge": pin.table_key.type_name, **ends, "data": data})
    return sorted(found, key=repr)


def _wire(value: Any) -> Any:
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def commits(storage: GraphStorage, branch: str) -> list[dict[str, Any]]:
    """The commits oldest first; the id and the time of a recovery commit are new each time and say nothing."""
    return [
        {
            "graph_commit_id": "new" if commit.actor_id == "omnigraph:recovery" else commit.commit_id,
            "manifest_branch": commit.branch,
            "manifest_version": commit.version,
            "parent_commit_id": commit.parent_id,
            "merged_parent_commit_id": commit.merged_parent_id,
            "actor_id": commit.actor_id,
            "created_at": "new" if commit.actor_id == "omnigraph:recovery" else commit.created_at,
        }
        for commit in reversed(storage.manifest.load(branch).state.history())
    ]


def expected_commits(graph: RustGraph, name: str, branch: str) -> list[dict[str, Any]]:
    found = []
    for commit in graph.expected["at"][branch]["commits"]:
        if commit["actor_id"] == "omnigraph:recovery":
            if name in WITHOUT_RECOVERY_COMMIT:
                continue
            commit |= {"graph_commit_id": "new", "created_at": "new"}
        found.append(commit)
    return found


def tables(storage: GraphStorage, branch: str) -> list[dict[str, Any]]:
    return [
        {
            "table_key": str(pin.table_key),
            "table_path": pin.location,
            "table_version": pin.version,
            "table_branch": pin.lineage,
            "row_count": pin.row_count,
        }
        for pin in storage.manifest.load(branch).state.pins()
    ]


def audit(storage: GraphStorage) -> list[dict[str, Any]]:
    return [
        {
            "recovery_kind": record.recovery_kind,
            "recovery_for_actor": record.recovery_for_actor,
            "operation_id": record.operation_id,
            "sidecar_writer_kind": record.sidecar_writer_kind,
            "per_table_outcomes": [
                {"table_key": one.table_key, "from_version": one.from_version, "to_version": one.to_version}
                for one in record.outcomes
            ],
        }
        for record in recoveries(storage)
    ]


def expected_audit(graph: RustGraph, name: str) -> list[dict[str, Any]]:
    if name == "crash-armed":
        return []  # nothing happened, so there is nothing to tell
    generated = ("graph_commit_id", "created_at")
    return [{key: value for key, value in row.items() if key not in generated} for row in graph.expected["recoveries"]]


def check_recovered(graph: RustGraph, name: str) -> None:
    storage = open_storage(graph.uri)
    assert storage.manifest.branches() == graph.expected["branches"]
    for branch in graph.expected["branches"]:
        expected = graph.expected["at"][branch]
        assert tables(storage, branch) == expected["tables"]
        assert commits(storage, branch) == expected_commits(graph, name, branch)
        assert entities(storage, branch) == sorted(expected["entities"], key=repr)
    assert audit(storage) == expected_audit(graph, name)
    visible = {commit.commit_id for commit in storage.manifest.load().state.commits.values()}
    assert {record.graph_commit_id for record in recoveries(storage)} <= visible
    assert accept(read_files(storage.objects)).source + "\n" == graph.expected["schema"], "as the binary printed it"
    assert storage.lineages.names("__manifest") == [name for name in graph.expected["branches"] if name != "main"]
    check_layout(graph.uri)


@pytest.mark.parametrize("name", OUTCOMES)
def test_tx_O23_a_killed_write_of_the_rust_binary_is_resolved_as_it_resolves_it_or_better(name: str) -> None:
    with rust_graph(name) as graph:
        (resolution,) = recover_graph(open_storage(graph.uri))
        assert resolution.outcome == OUTCOMES[name]
        check_recovered(graph, name)
        assert recover_graph(open_storage(graph.uri)) == []
        check_recovered(graph, name)


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_recovered_graph_takes_branches_and_opens_for_writing(name: str) -> None:
    with rust_graph(name) as graph:
        recover_graph(open_storage(graph.uri))
        opened = Graph.open(graph.uri)
        opened.create_branch("after-recovery")
        assert "after-recovery" in opened.branches()


def digests(path: Path) -> dict[str, str]:
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_read_only_open_changes_nothing(name: str) -> None:
    with rust_graph(name) as graph:
        before = digests(graph.path)
        opened = Graph.open(graph.uri, read_only=True)
        assert opened.snapshot().tables
        assert digests(graph.path) == before


PLACES = (
    "recovery.sidecar_list",
    "recovery.sidecar_delete",
    "recovery.post_table_restore_pre_publish",
    "recovery.before_roll_forward_publish",
    "recovery.record_audit",
    "graph_publish.before_commit_append",
    "graph_publish.after_manifest_commit",
)


@pytest.mark.parametrize("name", ["crash-partial", "crash-effects", "crash-merge", "crash-schema-before"])
@pytest.mark.parametrize("point", PLACES)
def test_recovery_killed_at_any_place_is_finished_by_the_next_one(name: str, point: str) -> None:
    forward, back = "recovery.before_roll_forward_publish", "recovery.post_table_restore_pre_publish"
    unreached = {"crash-partial": forward}.get(name, back)
    with rust_graph(name) as graph:
        environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
        died = subprocess.run([sys.executable, PROGRAM, graph.uri], env=environment, check=False, capture_output=True)
        assert died.returncode == (0 if point == unreached else -9), died.stderr
        recover_graph(open_storage(graph.uri))
        check_recovered(graph, name)


STAGED = ("_schema.pg.staging", "_schema.ir.json.staging", "__schema_state.json.staging")


@pytest.mark.parametrize("missing", [STAGED, STAGED[1:], STAGED[2:]], ids=["tx-C28", "source-only", "no-state"])
def test_a_schema_apply_without_its_complete_new_schema_is_rolled_back(missing: tuple[str, ...]) -> None:
    with rust_graph("crash-schema-before") as graph:
        before = read_files(open_storage(graph.uri).objects)
        for name in missing:
            (graph.path / name).unlink()
        storage = open_storage(graph.uri)
        (resolution,) = recover_graph(storage)
        assert resolution.outcome == "rolled_back"
        assert read_files(storage.objects) == before
        pins = {str(pin.table_key): pin for pin in storage.manifest.load().state.pins()}
        assert sorted(pins) == ["edge:Knows", "node:Person"]
        assert (pins["node:Person"].version, pins["node:Person"].row_count) == (6, 4)
        assert storage.tables.open(pins["node:Person"]).schema.names == ["id", "age", "name"]
        (row,) = audit(storage)
        assert row["recovery_kind"] == "RolledBack"
        assert row["per_table_outcomes"] == [{"table_key": "node:Person", "from_version": 5, "to_version": 4}]
        assert storage.lineages.names("__manifest") == []
        check_layout(graph.uri)
        assert recover_graph(storage) == []


def test_tx_C31_a_schema_whose_files_are_half_in_place_is_completed() -> None:
    """Another implementation moves the files before it publishes; it may die between any two of them."""
    for moved in (1, 2, 3):
        with rust_graph("crash-schema-before") as graph:
            for name in STAGED[:moved]:
                (graph.path / name).rename(graph.path / name.removesuffix(".staging"))
            (resolution,) = recover_graph(open_storage(graph.uri))
            assert resolution.outcome == "rolled_forward"
            check_recovered(graph, "crash-schema-before")


def test_tx_C30_a_published_schema_whose_files_are_not_in_place_is_completed() -> None:
    """Killed right after the publish, before any file is moved: no second commit, the new schema is live."""
    with rust_graph("crash-schema-before") as graph:
        environment = os.environ | {"OMNIGRAPH_FAILPOINTS": "graph_publish.after_manifest_commit=kill"}
        assert subprocess.run([sys.executable, PROGRAM, graph.uri], env=environment, check=False).returncode == -9
        assert (graph.path / STAGED[0]).exists()
        recover_graph(open_storage(graph.uri))
        check_recovered(graph, "crash-schema-before")


def test_tx_C35_a_lock_of_another_program_without_a_sidecar_is_removed_by_unlocking() -> None:
    with rust_graph("crash-schema-before") as graph:
        for file in (graph.path / "__recovery").iterdir():
            file.unlink()
        for name in STAGED:
            (graph.path / name).unlink()
        storage = open_storage(graph.uri)
        assert storage.lineages.names("__manifest") == ["__schema_apply_lock__"]
        assert recover_graph(storage) == []
        assert storage.lineages.names("__manifest") == ["__schema_apply_lock__"], "nobody can tell whether it lives"
        assert unlock_schema(storage).found
        assert storage.lineages.names("__manifest") == []
