"""How a server starts from a cluster, and when it does not: rows 135 to 138 of the contract, with real processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from policy.library import LIBRARY
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import TOKENS_JSON, server_command, serving

TOKENS = '{"cy": "t-cy"}'


def refused(cluster: WrittenCluster, *arguments: str, **extra: str) -> str:
    """What a server says that does not start."""
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", *arguments)
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | extra, timeout=120, check=False, cwd=cluster.root
    )
    assert done.returncode != 0, done.stdout
    assert "OMNIGRAPH_LISTEN_ADDR" not in done.stdout
    return done.stderr


@pytest.fixture
def cluster(tmp_path: Path) -> WrittenCluster:
    return WrittenCluster(tmp_path / "c")


def test_a_cluster_that_was_not_applied_is_empty_or_was_tampered_with_is_not_served(cluster: WrittenCluster) -> None:
    """`cli-135`"""
    assert "cluster_state_missing" in refused(cluster, "--unauthenticated")
    cluster.write()
    assert "cluster_empty" in refused(cluster, "--unauthenticated")
    cluster.graph("catalog", queries={"all": "query all() { match { $t: Thing } return { $t.name } }"}, create=False)
    cluster.write()
    cluster.store.write(cluster.query_payload("catalog", "all"), b"query all() { }")
    assert "catalog_payload_digest_mismatch" in refused(cluster, "--unauthenticated")


def test_a_graph_that_waits_for_a_recovery_is_left_out_unless_all_are_required(
    cluster: WrittenCluster, tmp_path: Path
) -> None:
    """`cli-136`; and `cli-138`: a lock is of no interest to a server."""
    cluster.graph("healthy")
    cluster.graph("waiting")
    cluster.write()
    cluster.sidecar("waiting")
    cluster.store.write("__cluster/lock.json", b'{"version":1}')
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", "--unauthenticated")
    with serving(command, tmp_path) as running:
        assert running.send("GET", "/graphs/healthy/branches").json == {"branches": ["main"]}
        assert running.send("GET", "/graphs/waiting/branches").status in (404, 503)
        assert (Path(cluster.root) / "__cluster" / "lock.json").exists()
    assert "cluster_recovery_pending" in refused(cluster, "--unauthenticated", "--require-all-graphs")


def test_a_server_without_tokens_says_what_to_do(cluster: WrittenCluster) -> None:
    """`cli-137`"""
    cluster.graph("catalog")
    cluster.write()
    assert "--unauthenticated" in refused(cluster)
    cluster.policy("rules", LIBRARY, ["graph.catalog"])
    cluster.write()
    assert "no bearer tokens" in refused(cluster, "--unauthenticated", **{TOKENS_JSON: ""})
