"""The applied revision of a cluster: what is served, what is left out, and what is refused with which code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cluster import ClusterNotServable, GraphNotApplied, applied_graph_uri, read_serving_snapshot
from policy.library import LIBRARY, SERVER
from support.clusters.written_ledger import STATE, WrittenCluster

QUERIES = "query all() { match { $t: Thing } return { $t.name } }"
PROFILE = {"kind": "mock", "model": "m"}


@pytest.fixture
def cluster(tmp_path: Path) -> WrittenCluster:
    """Two graphs without storage, a stored query, a provider, blob bases, and both kinds of policies."""
    made = WrittenCluster(tmp_path / "c")
    made.provider("main", PROFILE)
    bases = [("s3://assets/", "server_safe"), ("s3://private/", "embedded_only")]
    made.graph("library", queries={"all": QUERIES}, provider="main", blob_bases=bases, create=False)
    made.graph("spare", create=False)
    made.policy("rules", LIBRARY, ["graph.library"])
    made.policy("front-door", SERVER, ["cluster"])
    made.write()
    return made


def codes(cluster: WrittenCluster | str) -> list[str]:
    with pytest.raises(ClusterNotServable) as caught:
        read_serving_snapshot(cluster if isinstance(cluster, str) else cluster.root)
    return [each.code for each in caught.value.diagnostics]


def test_the_snapshot_has_graphs_queries_policies_providers_and_blob_bases(cluster: WrittenCluster) -> None:
    snapshot = read_serving_snapshot(cluster.root)
    library, spare = snapshot.graphs
    assert (library.id, library.uri, dict(library.queries)) == ("library", cluster.uri_of("library"), {"all": QUERIES})
    assert library.embedding is not None
    assert (library.embedding.kind, library.embedding.model, library.embedding.api_key) == ("mock", "m", None)
    assert (len(library.blob_bases), library.server_blob_bases) == (2, ("s3://assets/",))
    assert (spare.id, dict(spare.queries), spare.embedding, spare.blob_bases) == ("spare", {}, None, ())
    assert snapshot.revision == 1
    rules, door = snapshot.policy_of("library"), snapshot.server_policy
    assert rules is not None
    assert door is not None
    assert (rules.name, rules.source, door.name, door.source) == ("rules", LIBRARY, "front-door", SERVER)
    assert snapshot.policy_of("spare") is None
    assert snapshot.warnings == ()


@pytest.mark.s3
def test_a_cluster_on_s3_is_read_like_one_on_disk(new_root: Callable[[str], str]) -> None:
    made = WrittenCluster(new_root("clusters/one"))
    made.graph("library", queries={"all": QUERIES}, create=False)
    made.write()
    snapshot = read_serving_snapshot(made.root)
    assert [(graph.uri, dict(graph.queries)) for graph in snapshot.graphs] == [
        (made.uri_of("library"), {"all": QUERIES})
    ]
    assert applied_graph_uri(made.root, None) == made.uri_of("library")


def test_another_revision_has_another_digest(cluster: WrittenCluster) -> None:
    before = read_serving_snapshot(cluster.root)
    assert read_serving_snapshot(cluster.root) == before
    cluster.write()
    after = read_serving_snapshot(cluster.root)
    assert (after.revision, after.state_digest != before.state_digest) == (2, True)


def test_a_pending_recovery_leaves_out_its_graph_its_queries_and_its_policies(cluster: WrittenCluster) -> None:
    path = cluster.sidecar("library")
    snapshot = read_serving_snapshot(cluster.root)
    assert [graph.id for graph in snapshot.graphs] == ["spare"]
    assert [policy.name for policy in snapshot.policies] == ["front-door"]
    assert [(each.code, each.path, each.graph_id) for each in snapshot.warnings] == [
        ("cluster_recovery_pending", path, "library")
    ]
    assert snapshot.warnings[0].severity == "warning"


def test_reading_changes_nothing_and_heeds_no_lock(cluster: WrittenCluster) -> None:
    """The half of `cli-138` that is the reader's."""
    cluster.store.write("__cluster/lock.json", b"{}")
    root = Path(cluster.root)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert len(read_serving_snapshot(cluster.root).graphs) == 2
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


# --- what is refused ------------------------------------------------------------------------------------------


def _edit(cluster: WrittenCluster, change: Callable[[dict[str, Any]], None]) -> None:
    document = cluster.document()
    change(document)
    cluster.store.write(STATE, json.dumps(document).encode())


def _resources(document: dict[str, Any]) -> dict[str, Any]:
    resources: dict[str, Any] = document["applied_revision"]["resources"]
    return resources


def _without_profile(document: dict[str, Any]) -> None:
    del _resources(document)["provider.embedding.main"]["embedding_profile"]


def _other_profile(document: dict[str, Any]) -> None:
    _resources(document)["provider.embedding.main"]["embedding_profile"]["model"] = "other"


def _wider_bases(document: dict[str, Any]) -> None:
    _resources(document)["graph.library"]["external_blob_policy"]["bases"][1]["scope"] = "server_safe"


def _without_bindings(document: dict[str, Any]) -> None:
    del _resources(document)["policy.rules"]["applies_to"]


EDITS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "another version": (lambda state: state.update(version=2), "unsupported_state_version"),
    "an unknown member": (lambda state: state.update(more=1), "invalid_state_json"),
    "an unknown member of a resource": (
        lambda state: _resources(state)["graph.spare"].update(more=1),
        "invalid_state_json",
    ),
    "bindings on a graph": (lambda state: _resources(state)["graph.spare"].update(applies_to=[]), "invalid_state_json"),
    "a digest that is none": (lambda state: _resources(state)["graph.spare"].update(digest="x"), "invalid_state_json"),
    "an address of nothing": (lambda state: _resources(state).update({"thing.x": {}}), "invalid_state_json"),
    "a provider that is not there": (
        lambda state: _resources(state).pop("provider.embedding.main"),
        "embedding_provider_missing",
    ),
    "a provider of another kind": (
        lambda state: _resources(state)["graph.library"].update(embedding_provider="graph.spare"),
        "wrong_kind_reference",
    ),
    "a provider without its profile": (_without_profile, "embedding_provider_profile_missing"),
    "a provider that was edited": (_other_profile, "embedding_provider_digest_mismatch"),
    "blob bases that were edited": (_wider_bases, "external_blob_policy_digest_mismatch"),
    "a graph without its schema": (
        lambda state: _resources(state).pop("schema.spare"),
        "external_blob_policy_digest_mismatch",
    ),
    "a policy without bindings": (_without_bindings, "policy_bindings_missing"),
    "a policy of something else": (
        lambda state: _resources(state)["policy.rules"].update(applies_to=["query.library.all"]),
        "wrong_kind_reference",
    ),
    "two policies of one graph": (
        lambda state: _resources(state)["policy.front-door"].update(applies_to=["graph.library"]),
        "duplicate_policy_binding",
    ),
    "a query of no graph": (
        lambda state: _resources(state).update({"query.gone.q": {"digest": "0" * 64}}),
        "dangling_graph_reference",
    ),
    "no graph at all": (
        lambda state: state["applied_revision"].update(resources={}),
        "cluster_empty",
    ),
}


@pytest.mark.parametrize(("change", "code"), EDITS.values(), ids=EDITS)
def test_a_ledger_that_no_apply_wrote_is_refused_with_its_code(
    cluster: WrittenCluster, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    """Among them the reader's half of `cli-128` and of `cli-135`."""
    _edit(cluster, change)
    assert codes(cluster) == [code]


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"version": 1}', b'{"version": 1, "version": 1}', b"\xff"])
def test_a_ledger_that_is_not_one_is_refused(cluster: WrittenCluster, data: bytes) -> None:
    cluster.store.write(STATE, data)
    assert codes(cluster) == ["invalid_state_json"]


def test_payloads_are_hashed_again_and_every_fault_is_told_at_once(cluster: WrittenCluster) -> None:
    """The reader's half of `cli-135`."""
    cluster.store.write(cluster.query_payload("library", "all"), b"query all() { }")
    cluster.store.delete(f"__cluster/resources/policy/rules/{cluster.resources['policy.rules']['digest']}.yaml")
    assert codes(cluster) == ["catalog_payload_digest_mismatch", "catalog_payload_missing"]
    with pytest.raises(ClusterNotServable, match="cluster refresh"):
        read_serving_snapshot(cluster.root)


@pytest.mark.parametrize(
    ("graph_id", "changed", "code"),
    [
        (None, {}, "cluster_recovery_unattributed"),
        ("library", {"schema_version": 2}, "unsupported_recovery_sidecar_version"),
        ("library", {"more": 1}, "invalid_recovery_sidecar"),
        ("library", {"kind": "other"}, "invalid_recovery_sidecar"),
    ],
)
def test_a_sidecar_that_nobody_understands_is_fatal(
    cluster: WrittenCluster, graph_id: str | None, changed: dict[str, Any], code: str
) -> None:
    cluster.sidecar(graph_id, **changed)
    assert codes(cluster) == [code]


def test_a_sidecar_that_is_not_json_is_fatal(cluster: WrittenCluster) -> None:
    cluster.store.write(cluster.sidecar("library"), b"{")
    assert codes(cluster) == ["invalid_recovery_sidecar"]


def test_recoveries_of_every_graph_leave_nothing_to_serve(tmp_path: Path) -> None:
    made = WrittenCluster(tmp_path / "c")
    made.graph("only", create=False)
    made.write()
    made.sidecar("only")
    assert codes(made) == ["cluster_no_healthy_graphs"]


# --- where a cluster is ---------------------------------------------------------------------------------------


def test_a_cluster_is_found_by_its_folder_its_uri_and_the_storage_of_its_configuration(
    cluster: WrittenCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read_serving_snapshot(cluster.root)
    assert read_serving_snapshot(f"file://{cluster.root}") == expected
    config = tmp_path / "config"
    config.mkdir()
    for storage in (cluster.root, f"file://{cluster.root}", "../c", "../c/"):
        (config / "cluster.yaml").write_text(f"version: 1\nstorage: {storage}\n")
        assert read_serving_snapshot(config) == expected, storage
    monkeypatch.chdir(cluster.root)
    assert read_serving_snapshot(".") == expected


def test_a_cluster_that_is_not_there_is_refused_with_its_code(tmp_path: Path) -> None:
    assert codes(str(tmp_path / "nowhere")) == ["config_dir_not_found"]
    assert codes(str(tmp_path)) == ["cluster_state_missing"]
    (tmp_path / "cluster.yaml").write_text("version: 1\nstorage: 's3://'\n")
    assert codes(str(tmp_path)) == ["invalid_storage_root"]
    (tmp_path / "cluster.yaml").write_text("storage: [\n")
    assert codes(str(tmp_path)) == ["invalid_cluster_yaml"]


def test_the_storage_of_a_graph_needs_the_ledger_alone(cluster: WrittenCluster) -> None:
    """`cli-130`: also when payloads are gone and a recovery is pending."""
    cluster.store.delete_tree("__cluster/resources")
    cluster.sidecar("library")
    assert applied_graph_uri(cluster.root, "library") == cluster.uri_of("library")
    with pytest.raises(GraphNotApplied, match="library, spare"):
        applied_graph_uri(cluster.root, None)
    with pytest.raises(GraphNotApplied, match="'nope' is not applied"):
        applied_graph_uri(cluster.root, "nope")
