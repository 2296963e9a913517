"""Verify: sound graphs are clean, each kind of damage has its finding, and no byte changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.history import create_branch
from omnigraph.model.errors import FormatTooOld, GraphNotFound
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, GraphCommit, PublishPlan, head_of, publish
from omnigraph.storage.manifest.rows import GraphHead
from omnigraph.storage.manifest.state import fold_rows
from omnigraph.storage.tables import IndexSpec, stage_append, stage_indexes
from omnigraph.write.verify.check_graph import verify_graph
from omnigraph.write.verify.file_checks import check_chain
from omnigraph.write.verify.report import VerifyReport
from support.graphs.rust_graphs import rust_graph
from support.graphs.tables import append_rows
from support.graphs.unmade_forks import leave_unmade

SCHEMA = """
node Person {
  name: String @key
  email: String?
  born: DateTime?
  bio: String? @index
  @unique(email)
  @unique(born, bio)
}
node Day { on: Date @key }
node Pair { a: String  b: I32  @key(a, b) }
edge Knows: Person -> Person { @unique(src, dst) }
edge On: Person -> Day
"""

PEOPLE = [{"id": name, "name": name, "bio": f"a person called {name}"} for name in ("ada", "bela", "carl")]
KNOWS = [{"id": "1", "src": "ada", "dst": "bela"}, {"id": "2", "src": "bela", "dst": "carl"}]


@pytest.fixture
def storage(tmp_path: Path) -> GraphStorage:
    """A sound graph with rows in every table, a branch, and no index."""
    uri = str(tmp_path / "g.omni")
    Graph.init(uri, SCHEMA, durability="os").close()
    storage = open_storage(uri, durability="os")
    append_rows(storage, "node:Person", PEOPLE)
    append_rows(storage, "node:Day", [{"id": "19782", "on": 19782}])
    append_rows(storage, "node:Pair", [{"id": '["x","1"]', "a": "x", "b": 1}])
    append_rows(storage, "edge:Knows", KNOWS)
    append_rows(storage, "edge:On", [{"id": "1", "src": "ada", "dst": "19782"}])
    create_branch(storage, "draft")
    return storage


def verified(storage: GraphStorage, *, deep: bool = True) -> VerifyReport:
    """The report of a fresh, read-only look."""
    return verify_graph(open_storage(storage.root.uri, read_only=True), deep=deep)


def codes(report: VerifyReport) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in report.findings]


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


# --- graphs of the Rust binary ----------------------------------------------------------------------------------

RUST = {
    "people": [],
    "rich": [],
    "branches": [("info", "unused_fork")],
    "evolved": [],
    "fork-of-fork": [("warning", "index_unreadable"), ("warning", "index_unreadable"), ("info", "unused_fork")],
    "crash-armed": [("warning", "pending_recovery")],
    "crash-partial": [("warning", "pending_recovery"), ("info", "covered_drift")],
    "crash-effects": [("warning", "pending_recovery"), ("info", "covered_drift"), ("info", "covered_drift")],
    "crash-published": [("warning", "pending_recovery")],
    "crash-merge": [("warning", "pending_recovery"), ("info", "covered_drift"), ("info", "covered_drift")],
    "crash-schema-before": [
        ("warning", "pending_recovery"),
        ("warning", "schema_lock"),
        ("warning", "schema_staging"),
        ("warning", "schema_staging"),
        ("warning", "schema_staging"),
        ("info", "covered_drift"),
    ],
}


@pytest.mark.parametrize(("name", "expected"), RUST.items())
def test_graph_of_the_binary_has_exactly_these_findings_and_is_left_untouched(
    name: str, expected: list[tuple[str, str]]
) -> None:
    with rust_graph(name) as rust:
        before = contents(rust.path)
        report = verify_graph(open_storage(rust.uri, read_only=True))
        assert codes(report) == expected
        assert report.ok
        assert contents(rust.path) == before


def test_drift_that_no_sidecar_explains_is_an_error() -> None:
    with rust_graph("crash-partial") as rust:
        for sidecar in (rust.path / "__recovery").iterdir():
            sidecar.unlink()
        report = verify_graph(open_storage(rust.uri, read_only=True))
        assert codes(report) == [("error", "uncovered_drift")]
        assert "newest version is 5, published is 4" in report.findings[0].message


# --- a sound graph ----------------------------------------------------------------------------------------------


def test_sound_graph_is_clean_and_counts_what_was_looked_at(storage: GraphStorage) -> None:
    report = verified(storage)
    assert codes(report) == []
    assert (report.ok, report.branches, report.tables, report.rows) == (True, 2, 5, 8)


def test_report_has_one_json_form_and_one_text(storage: GraphStorage) -> None:
    report = verified(storage)
    assert list(report.to_json()) == [
        *("uri", "ok", "deep", "branches", "tables", "rows", "errors", "warnings", "infos", "findings")
    ]
    assert report.render().startswith("OK    verified ")
    (Path(storage.root.uri) / "__init_claim.json").touch()
    report = verified(storage)
    assert json.loads(json.dumps(report.to_json()))["findings"][0]["code"] == "init_claim"
    assert report.render().splitlines()[0].startswith("WARN  init_claim: __init_claim.json: ")


def test_indexes_that_agree_with_the_rows_are_no_finding(storage: GraphStorage) -> None:
    build_indexes(storage, "node:Person", ("id", "BTREE"), ("bio", "INVERTED"))
    build_indexes(storage, "edge:Knows", ("src", "BTREE"), ("dst", "BTREE"))
    assert codes(verified(storage)) == []


def build_indexes(storage: GraphStorage, key: str, *indexes: tuple[str, str]) -> None:
    specs = [IndexSpec(column, kind, f"{column}_idx") for column, kind in indexes]
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        pin = next(pin for pin in loaded.state.pins() if str(pin.table_key) == key)
        change = storage.table_commits.commit(stage_indexes(storage.tables.open(pin), specs))
        plan = PublishPlan(branch="main", changes=(change,), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(storage.manifest, plan, fence=lease.check)


# --- rows -------------------------------------------------------------------------------------------------------

BROKEN_ROWS = {
    "id twice": ("node:Day", [{"id": "19782", "on": 19782}], ["duplicate_id", "duplicate_key"]),
    "id is not the key": ("node:Person", [{"id": "dora", "name": "Dora"}], ["id_not_of_key"]),
    "date key as text": ("node:Day", [{"id": "2024-03-01", "on": 19783}], ["id_not_of_key"]),
    "unique text twice": (
        "node:Person",
        [{"id": name, "name": name, "email": "x@y"} for name in ("dora", "emil")],
        ["unique_violation"],
    ),
    "unique pair with a null is exempt": (
        "node:Person",
        [{"id": name, "name": name, "born": 1} for name in ("dora", "emil")],
        [],
    ),
    "moments of one day differ": (
        "node:Person",
        [{"id": str(born), "name": str(born), "born": born, "bio": "b"} for born in (1, 2)],
        [],
    ),
    "unique pair twice": (
        "node:Person",
        [{"id": name, "name": name, "born": 7, "bio": "b"} for name in ("dora", "emil")],
        ["unique_violation"],
    ),
    "unique endpoints twice": ("edge:Knows", [{"id": "3", "src": "ada", "dst": "bela"}], ["unique_violation"]),
    "source missing": ("edge:Knows", [{"id": "3", "src": "nobody", "dst": "bela"}], ["missing_endpoint"]),
    "target missing": ("edge:On", [{"id": "3", "src": "ada", "dst": "ada"}], ["missing_endpoint"]),
    "composite key twice": (
        "node:Pair",
        [{"id": "other", "a": "x", "b": 1}],
        ["id_not_of_key", "duplicate_key"],
    ),
    "id of one member": ("node:Pair", [{"id": "y", "a": "y", "b": 1}], ["composite_id_of_one_member"]),
}


@pytest.mark.parametrize(
    ("key", "rows", "expected"), [pytest.param(*case, id=name) for name, case in BROKEN_ROWS.items()]
)
def test_row_that_breaks_a_rule_is_found_once_although_two_branches_show_the_graph(
    key: str, rows: list[dict[str, Any]], expected: list[str], storage: GraphStorage
) -> None:
    append_rows(storage, key, rows)
    report = verified(storage)
    assert [finding.code for finding in report.findings] == expected
    assert all(finding.where.startswith(key) for finding in report.findings)
    assert codes(verified(storage, deep=False)) == []


def test_finding_names_the_values_and_their_holders(storage: GraphStorage) -> None:
    append_rows(storage, "node:Person", [{"id": name, "name": name, "email": "x@y"} for name in ("dora", "emil")])
    message = verified(storage).findings[0].message
    assert message == "@unique(email): 1 value(s) occur twice: x@y held by 'dora' and 'emil'"


# --- indexes ----------------------------------------------------------------------------------------------------


def test_index_that_finds_other_rows_than_a_scan_is_an_error(storage: GraphStorage) -> None:
    build_indexes(storage, "edge:Knows", ("src", "BTREE"), ("dst", "BTREE"))
    pin = next(pin for pin in storage.manifest.load().state.pins() if str(pin.table_key) == "edge:Knows")
    first, second = sorted((Path(storage.root.uri) / pin.location / "_indices").iterdir())
    for name in ("page_data.lance", "page_lookup.lance"):
        one, other = (first / name).read_bytes(), (second / name).read_bytes()
        (first / name).write_bytes(other)
        (second / name).write_bytes(one)
    found = [code for code in codes(verified(storage)) if code[1].startswith("index")]
    assert found == [("error", "index_disagrees")] * 2


def test_index_whose_files_are_gone_is_a_warning(storage: GraphStorage) -> None:
    build_indexes(storage, "node:Person", ("id", "BTREE"), ("bio", "INVERTED"))
    pin = next(pin for pin in storage.manifest.load().state.pins() if str(pin.table_key) == "node:Person")
    for path in (Path(storage.root.uri) / pin.location / "_indices").rglob("*.lance"):
        path.unlink()
    assert codes(verified(storage)) == [("warning", "index_unreadable")] * 2


# --- files ------------------------------------------------------------------------------------------------------


def damage_contract(root: Path) -> None:
    (root / "_schema.pg").write_text((root / "_schema.pg").read_text() + "\nnode Extra { a: String @key }\n")


def damage_data(root: Path) -> None:
    for path in (root / "nodes").rglob("data/*.lance"):
        path.write_bytes(b"")


def damage_pin(root: Path) -> None:
    for path in (root / "edges").rglob("_versions/*.manifest"):
        path.unlink()


DAMAGE: dict[str, tuple[Callable[[Path], Any], set[tuple[str, str]]]] = {
    "schema edited": (damage_contract, {("error", "schema_contract")}),
    "schema file missing": (lambda root: (root / "_schema.ir.json").unlink(), {("error", "schema_contract")}),
    "rows unreadable": (damage_data, {("error", "rows_unreadable")}),
    "versions gone": (
        damage_pin,
        {("error", "pin_unreadable"), ("error", "drift_unknown"), ("info", "history_reclaimed")},
    ),
    "init claim": (lambda root: (root / "__init_claim.json").touch(), {("warning", "init_claim")}),
    "probe": (
        lambda root: (root / "__create_if_absent_probe_01J9Z8Q5W3V7C2B4N6M8K0H1G3").touch(),
        {("warning", "probe_leftover")},
    ),
    "schema staging": (lambda root: (root / "_schema.pg.staging").touch(), {("warning", "schema_staging")}),
}


@pytest.mark.parametrize(("damage", "expected"), [pytest.param(*case, id=name) for name, case in DAMAGE.items()])
def test_damaged_file_has_its_finding(
    damage: Callable[[Path], Any], expected: set[tuple[str, str]], storage: GraphStorage
) -> None:
    root = Path(storage.root.uri)
    damage(root)
    before = contents(root)
    assert set(codes(verified(storage))) == expected
    assert contents(root) == before


def test_staging_files_of_a_load_are_listed(storage: GraphStorage) -> None:
    storage.objects.write("__staging/01J9Z8Q5W3V7C2B4N6M8K0H1G3/part-0", b"x")
    assert codes(verified(storage)) == [("warning", "staging_leftover")]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"schema_version": 3, "operation_id": "01J9Z8Q5W3V7C2B4N6M8K0H1G3"}'],
    ids=["cut", "list", "new"],
)
def test_sidecar_that_cannot_be_read_is_an_error(text: str, storage: GraphStorage) -> None:
    storage.objects.write("__recovery/01J9Z8Q5W3V7C2B4N6M8K0H1G3.json", text.encode())
    assert codes(verified(storage)) == [("error", "sidecar_unreadable")]


def test_fork_that_no_branch_reads_is_listed(storage: GraphStorage) -> None:
    pin = storage.manifest.load().state.pins()[0]
    storage.lineages.create(pin.location, "gone", None, pin.version)
    storage.lineages.create(pin.location, "draft", None, pin.version)
    assert codes(verified(storage)) == [("warning", "orphan_fork"), ("info", "unused_fork")]


@pytest.mark.parametrize("left", ["a ref without content", "a ref without a version"])
def test_fork_that_a_power_cut_left_unmade_is_no_damage(left: str, storage: GraphStorage) -> None:
    pin = storage.manifest.load().state.pins()[0]
    storage.lineages.create(pin.location, "draft", None, pin.version)
    leave_unmade(Path(storage.root.uri), pin.location, "draft", left)
    assert codes(verified(storage)) == [("info", "unmade_fork")]


def test_table_that_moved_without_a_publish_is_uncovered_drift(storage: GraphStorage) -> None:
    pin = next(pin for pin in storage.manifest.load().state.pins() if str(pin.table_key) == "edge:Knows")
    table = storage.tables.open(pin)
    storage.table_commits.commit(stage_append(table, table.read().slice(0, 1)))
    assert codes(verified(storage)) == [("error", "uncovered_drift")]


def test_published_row_count_is_compared_with_the_table(storage: GraphStorage) -> None:
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        pin = next(pin for pin in loaded.state.pins() if str(pin.table_key) == "edge:On")
        table = storage.tables.open(pin)
        change = storage.table_commits.commit(stage_append(table, table.read().slice(0, 0)))
        plan = PublishPlan(
            branch="main",
            changes=(replace(change, row_count=9),),
            requirements=(head_of(loaded),),
            identity=CommitIdentity(),
        )
        publish(storage.manifest, plan, fence=lease.check)
    report = verified(storage)
    assert codes(report) == [("error", "row_count")]
    assert report.findings[0].message == "1 rows, published were 9"


def test_what_is_no_graph_or_of_another_format_is_refused_not_reported(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFound):
        verify_graph(open_storage(str(tmp_path / "nowhere.omni"), read_only=True))


def test_format_of_another_release_is_refused_not_reported(
    storage: GraphStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.storage.manifest.store.INTERNAL_SCHEMA_VERSION", 5)
    with pytest.raises(FormatTooOld):
        verified(storage)


# --- the chain of commits ---------------------------------------------------------------------------------------


def commit(name: str, parent: str | None, version: int) -> GraphCommit:
    return GraphCommit(
        commit_id=name,
        branch=None,
        version=version,
        parent_id=parent,
        merged_parent_id=None,
        actor_id=None,
        created_at=version,
    )


def head(name: str) -> GraphHead:
    return GraphHead(branch="main", head_commit_id=name, parent_commit_id=None)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([commit("a", None, 1), commit("b", "a", 2), head("b")], [], id="sound"),
        pytest.param([commit("b", "a", 2), head("b")], ["commit_parent_missing"], id="parent missing"),
        pytest.param([commit("a", None, 1), commit("b", None, 2), head("b")], ["commit_chain"], id="two chains"),
        pytest.param(
            [commit("a", "b", 1), commit("b", "a", 2), head("b")], ["commit_chain", "commit_versions"], id="loop"
        ),
        pytest.param([commit("a", None, 2), commit("b", "a", 2), head("b")], ["commit_versions"], id="equal versions"),
        pytest.param([commit("a", None, 1), commit("b", "a", 2), head("a")], ["head_row"], id="old head row"),
        pytest.param([commit("a", None, 1)], ["head_row"], id="no head row"),
    ],
)
def test_commits_that_are_no_chain_are_errors(rows: list[Any], expected: list[str]) -> None:
    assert [finding.code for finding in check_chain(fold_rows(rows), "main")] == expected


def test_every_code_is_in_the_manual() -> None:
    root = Path(__file__).parents[2]
    sources = "".join(path.read_text() for path in (root / "src" / "omnigraph" / "write" / "verify").glob("*.py"))
    used = set(
        re.findall(r'(?:Finding\(\s*"\w+",\s*|guarded\(\s*|_check_unique\([^"]*(?:\("id",\), )?)"(\w+)"', sources)
    )
    manual = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    assert len(used) > 25
    assert sorted(code for code in used if f"`{code}`" not in manual) == []
