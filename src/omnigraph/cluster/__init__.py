"""Clusters: graphs declared as code. This release reads what was applied; start with `read_serving_snapshot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.cluster.applied_graphs import GraphNotApplied as GraphNotApplied
    from omnigraph.cluster.applied_graphs import applied_graph_uri as applied_graph_uri
    from omnigraph.cluster.diagnostics import ClusterDiagnostic as ClusterDiagnostic
    from omnigraph.cluster.diagnostics import ClusterNotServable as ClusterNotServable
    from omnigraph.cluster.digests import graph_digest as graph_digest
    from omnigraph.cluster.digests import payload_digest as payload_digest
    from omnigraph.cluster.digests import provider_digest as provider_digest
    from omnigraph.cluster.ledger import BlobBase as BlobBase
    from omnigraph.cluster.ledger import EmbeddingProfile as EmbeddingProfile
    from omnigraph.cluster.locate import locate_cluster as locate_cluster
    from omnigraph.cluster.policies import CLUSTER_BINDING as CLUSTER_BINDING
    from omnigraph.cluster.policies import NoSuchPolicy as NoSuchPolicy
    from omnigraph.cluster.policies import PolicyPayload as PolicyPayload
    from omnigraph.cluster.policies import choose_policy as choose_policy
    from omnigraph.cluster.snapshot import ServedGraph as ServedGraph
    from omnigraph.cluster.snapshot import ServingSnapshot as ServingSnapshot
    from omnigraph.cluster.snapshot import read_serving_snapshot as read_serving_snapshot
    from omnigraph.cluster.stored_queries import Breakage as Breakage
    from omnigraph.cluster.stored_queries import StoredQuery as StoredQuery
    from omnigraph.cluster.stored_queries import check_queries as check_queries
    from omnigraph.cluster.stored_queries import declared_queries as declared_queries
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "applied_graphs": ("GraphNotApplied", "applied_graph_uri"),
            "diagnostics": ("ClusterDiagnostic", "ClusterNotServable"),
            "digests": ("graph_digest", "payload_digest", "provider_digest"),
            "ledger": ("BlobBase", "EmbeddingProfile"),
            "locate": ("locate_cluster",),
            "policies": ("CLUSTER_BINDING", "NoSuchPolicy", "PolicyPayload", "choose_policy"),
            "snapshot": ("ServedGraph", "ServingSnapshot", "read_serving_snapshot"),
            "stored_queries": ("Breakage", "StoredQuery", "check_queries", "declared_queries"),
        },
    )
