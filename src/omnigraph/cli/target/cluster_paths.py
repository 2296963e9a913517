"""Cluster-managed paths: a graph under a cluster's root belongs to `cluster apply`."""

from __future__ import annotations

from pathlib import Path

from omnigraph.cli.refusals import ClusterManaged
from omnigraph.cli.target.consent import is_local


def cluster_root_of(uri: str) -> Path | None:
    """The cluster that owns a local `<root>/graphs/<id>.omni`, or None. Other shapes cost no look at the disk."""
    if not is_local(uri):
        return None
    path = Path(uri.removeprefix("file://")).absolute()
    if path.suffix != ".omni" or path.parent.name != "graphs":
        return None
    root = path.parent.parent
    return root if (root / "__cluster" / "state.json").exists() else None


def refuse_cluster_managed(uri: str, verb: str) -> None:
    """Raise when only the cluster may do this."""
    root = cluster_root_of(uri)
    if root is not None:
        raise ClusterManaged(
            f"refusing `{verb}`: '{uri}' is managed by the cluster at '{root}'",
            "declare the graph in cluster.yaml; the tool that manages the cluster creates it with cluster apply",
        )
