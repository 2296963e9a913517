"""Graphs of the Rust 0.8.0 binary: we see what it saw, and what we write follows every rule of the format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.language.schema import Catalog
from omnigraph.language.schema.catalog import NodeType
from omnigraph.model.identifiers import TableKey
from omnigraph.model.types import Scalar
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, TablePin, head_of, publish
from omnigraph.storage.tables import stage_append
from omnigraph.storage.tables.columns import table_schema
from support.graphs.rust_graphs import RustGraph, rust_graph
from support.graphs.self_check import check_layout

GRAPHS = ["people", "rich", "branches", "evolved"]


@pytest.fixture(params=GRAPHS)
def graph_of_rust(request: pytest.FixtureRequest) -> Iterator[RustGraph]:
    with rust_graph(request.param) as graph:
        yield graph


def test_branches_and_schema_are_what_the_binary_reported(graph_of_rust: RustGraph) -> None:
    graph = Graph.open(graph_of_rust.uri, read_only=True)
    assert graph.branches() == sorted(graph_of_rust.expected["branches"])
    assert graph.schema_source.strip() == graph_of_rust.expected["schema"].strip()


def test_snapshots_are_what_the_binary_reported(graph_of_rust: RustGraph) -> None:
    graph = Graph.open(graph_of_rust.uri, read_only=True)
    for branch, expected in graph_of_rust.expected["at"].items():
        snapshot = graph.snapshot(branch)
        assert snapshot.version == expected["manifest_version"]
        assert [_as_reported(pin) for pin in snapshot.tables] == expected["tables"]


def _as_reported(pin: TablePin) -> dict[str, object]:
    return {
        "table_key": str(pin.table_key),
        "table_path": pin.location,
        "table_version": pin.version,
        "table_branch": pin.lineage,
        "row_count": pin.row_count,
    }


def test_commits_with_parents_and_actors_are_what_the_binary_reported(graph_of_rust: RustGraph) -> None:
    graph = Graph.open(graph_of_rust.uri, read_only=True)
    for branch, expected in graph_of_rust.expected["at"].items():
        commits = [
            {
                "graph_commit_id": commit.commit_id,
                "manifest_branch": commit.branch,
                "manifest_version": commit.version,
                "parent_commit_id": commit.parent_id,
                "merged_parent_commit_id": commit.merged_parent_id,
                "actor_id": commit.actor_id,
                "created_at": commit.created_at,
            }
            for commit in reversed(graph.commits(branch))
        ]
        assert commits == expected["commits"]


def test_tables_open_with_the_rows_and_column_types_of_the_schema(graph_of_rust: RustGraph) -> None:
    graph = Graph.open(graph_of_rust.uri, read_only=True)
    storage = open_storage(graph_of_rust.uri, read_only=True)
    for branch in graph.branches():
        for pin in graph.snapshot(branch).tables:
            table = storage.tables.open(pin)
            assert table.count() == pin.row_count == sum(batch.num_rows for batch in table.scan(["id"]))
            declared = graph.schema.catalog.table(pin.table_key)
            assert declared is not None
            assert _plain(table.schema) == _plain(table_schema(declared))


def _plain(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    """Names, types and nullability; Lance shows a blob column as its own extension type."""
    return [(field.name, "blob" if _is_blob(field) else str(field.type), field.nullable) for field in schema]


def _is_blob(field: pa.Field) -> bool:
    return "blob" in str(field.type) or (field.metadata or {}).get(b"ARROW:extension:name") == b"lance.blob.v2"


def test_reading_a_graph_leaves_every_byte_as_it_was(graph_of_rust: RustGraph) -> None:
    before = {path: path.read_bytes() for path in graph_of_rust.path.rglob("*") if path.is_file()}
    graph = Graph.open(graph_of_rust.uri, read_only=True)
    for branch in graph.branches():
        graph.snapshot(branch)
        graph.commits(branch)
    assert before == {path: path.read_bytes() for path in graph_of_rust.path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["people", "rich"])
def test_indexes_that_the_binary_built_are_seen_and_are_those_of_the_rule(name: str) -> None:
    with rust_graph(name) as rust:
        graph, storage = Graph.open(rust.uri, read_only=True), open_storage(rust.uri, read_only=True)
        for pin in graph.snapshot().tables:
            found = {index.name: index.kind for index in storage.tables.open(pin).indexes()}
            assert found == _indexes_by_rule(graph.schema.catalog, pin.table_key)


def _indexes_by_rule(catalog: Catalog, key: TableKey) -> dict[str, str]:
    """What the format says the binary builds: ids, endpoints, and per declared property an index by its type."""
    entity = catalog.table(key)
    if not isinstance(entity, NodeType):
        return {"id_idx": "BTree", "src_idx": "BTree", "dst_idx": "BTree"}
    indexes = {"id_idx": "BTree"}
    for columns in {*entity.indices, entity.key or ()}:
        prop = entity.property(columns[0]) if len(columns) == 1 else None
        if prop is not None and not prop.type.is_list and not prop.type.is_blob:
            text = prop.type.scalar is Scalar.STRING and not prop.type.is_enum
            kind = "Inverted" if text else "IVF_FLAT" if prop.type.is_vector else "BTree"
            indexes[f"{prop.name}_idx"] = kind
    return indexes


def test_forks_of_the_branches_graph_name_the_lineage_that_holds_their_bytes() -> None:
    with rust_graph("branches") as rust:
        storage = open_storage(rust.uri, read_only=True)
        for branch, expected in rust.expected["at"].items():
            forks = {table["table_key"]: table["table_branch"] for table in expected["tables"]}
            for pin in Graph.open(rust.uri, read_only=True).snapshot(branch).tables:
                assert pin.lineage == forks[str(pin.table_key)]
                if pin.lineage is not None:
                    assert pin.lineage in storage.lineages.names(pin.location)


@pytest.mark.parametrize("name", GRAPHS)
def test_after_a_publish_of_ours_the_layout_passes_every_rule(name: str) -> None:
    """One appended row per branch, onto the branch's own lineage, published like any write."""
    with rust_graph(name) as rust:
        graph = Graph.open(rust.uri)
        storage = open_storage(rust.uri)
        key = TableKey("node", {"rich": "Doc", "evolved": "Human"}.get(name, "Person"))
        for branch in graph.branches():
            before = graph.snapshot(branch)
            _append_copy_of_first_row(storage, branch, key)
            after = graph.snapshot(branch)
            assert after.table(key).row_count == before.table(key).row_count + 1
            assert len(graph.commits(branch)) == len(rust.expected["at"][branch]["commits"]) + 1
        check_layout(rust.uri)


def _append_copy_of_first_row(storage: GraphStorage, branch: str, key: TableKey) -> None:
    with storage.leases.hold(branch) as lease:
        loaded = storage.manifest.load(branch)
        pin = next(pin for pin in loaded.state.pins() if pin.table_key == key)
        if branch != "main" and pin.lineage != branch:
            storage.lineages.create(pin.location, branch, pin.lineage, pin.version)
            pin = TablePin(pin.table_key, pin.location, pin.version, branch, pin.row_count)
        table = storage.tables.open(pin)
        plain = [field.name for field in table.schema if not _is_blob(field)]
        row = table.read(plain).slice(0, 1)
        row = row.set_column(0, table.schema.field("id"), pa.array([f"copy on {branch}"]))
        for field in table.schema:
            if _is_blob(field):
                row = row.append_column(field, pa.nulls(1, field.type))
        change = storage.table_commits.commit(stage_append(table, row.select(table.schema.names)))
        plan = PublishPlan(branch=branch, changes=(change,), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(storage.manifest, plan, fence=lease.check)
