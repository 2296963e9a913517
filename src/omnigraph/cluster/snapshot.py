"""The serving snapshot: what a server needs of an applied revision, read and checked once. Nothing is written.

The steps are those of the contract: sidecars, the ledger, each graph against its digest, the files of queries and
policies. Whatever is wrong is collected, so that one look shows all of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field

from omnigraph.cluster.diagnostics import ClusterDiagnostic, ClusterNotServable, failed
from omnigraph.cluster.digests import graph_digest, payload_digest, provider_digest
from omnigraph.cluster.ledger import STATE, BlobBase, EmbeddingProfile, InvalidLedger, Ledger, Resource, parse_ledger
from omnigraph.cluster.locate import locate_cluster
from omnigraph.cluster.payloads import query_path, read_payload
from omnigraph.cluster.policies import PolicyPayload, read_policies
from omnigraph.cluster.sidecars import pending_recoveries
from omnigraph.model.errors import OmniGraphError, sentence_of
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import Root
from omnigraph.storage.objects import ObjectStore, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGraph:
    """A graph that is to be served."""

    id: str
    uri: str
    queries: Mapping[str, str] = field(default_factory=dict)
    """The stored queries: a name, and the text of the file that declares it. A file may declare several."""
    embedding: EmbeddingProfile | None = None
    blob_bases: tuple[BlobBase, ...] = ()
    """Empty: external blobs are denied."""

    @property
    def server_blob_bases(self) -> tuple[str, ...]:
        """The bases that a server may use."""
        return tuple(base.uri for base in self.blob_bases if base.scope == "server_safe")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSnapshot:
    """An applied revision that can be served. `warnings` name the graphs that are left out, and why."""

    root: str
    revision: int
    state_digest: str
    """Of the ledger's bytes: another one means another applied revision."""
    graphs: tuple[ServedGraph, ...]
    policies: tuple[PolicyPayload, ...] = ()
    warnings: tuple[ClusterDiagnostic, ...] = ()

    @property
    def server_policy(self) -> PolicyPayload | None:
        """What decides about the server itself."""
        return next((policy for policy in self.policies if policy.is_for_server), None)

    def policy_of(self, graph_id: str) -> PolicyPayload | None:
        """What decides about one graph."""
        return next((policy for policy in self.policies if f"graph.{graph_id}" in policy.applies_to), None)


def read_serving_snapshot(cluster: str | os.PathLike[str]) -> ServingSnapshot:
    """Reads the applied revision of a cluster: a folder with `cluster.yaml`, or a storage root.

    Raises ClusterNotServable with every reason, and Unreachable if the storage does not answer.
    """
    root = locate_cluster(cluster)
    store = open_store(root)
    pending, wrong = pending_recoveries(store)
    ledger, state_digest = _ledger(root, store, wrong)
    graphs = [
        served
        for graph_id, resource in ledger.graphs.items()
        if graph_id not in pending and (served := _graph(root, store, ledger, graph_id, resource, wrong)) is not None
    ]
    policies = read_policies(store, ledger, {graph.id for graph in graphs}, wrong)
    wrong += _strays(ledger)
    if not wrong and not graphs:
        wrong.append(_nothing_to_serve(ledger))
    if wrong:
        raise ClusterNotServable(root.uri, tuple(wrong))
    return ServingSnapshot(
        root=root.uri,
        revision=ledger.revision,
        state_digest=state_digest,
        graphs=tuple(graphs),
        policies=policies,
        warnings=tuple(pending.values()),
    )


def _ledger(root: Root, store: ObjectStore, wrong: list[ClusterDiagnostic]) -> tuple[Ledger, str]:
    """The ledger and the digest of its bytes. Without it nothing else can be checked."""
    try:
        stored = store.read(STATE)
    except OmniGraphError as error:
        raise ClusterNotServable(root.uri, (*wrong, failed("state_read_error", STATE, sentence_of(error)))) from error
    if stored is None:
        missing = failed("cluster_state_missing", STATE, "nothing was applied to this cluster")
        raise ClusterNotServable(root.uri, (*wrong, missing))
    try:
        return parse_ledger(stored.data), payload_digest(stored.data)
    except InvalidLedger as error:
        raise ClusterNotServable(root.uri, (*wrong, error.diagnostic)) from None


def _graph(
    root: Root, store: ObjectStore, ledger: Ledger, graph_id: str, resource: Resource, wrong: list[ClusterDiagnostic]
) -> ServedGraph | None:
    """One graph, if everything about it is as the ledger says."""
    before = len(wrong)
    provider = _provider(ledger, graph_id, resource, wrong)
    if len(wrong) == before:
        _check_digest(ledger, graph_id, resource, wrong)
    queries = {}
    for name, query in ledger.queries.get(graph_id, {}).items():
        text = read_payload(store, query_path(graph_id, name, query.digest), query.digest, wrong)
        if text is not None:
            queries[name] = text
    if len(wrong) != before:
        return None
    return ServedGraph(
        id=graph_id,
        uri=root.join(f"graphs/{graph_id}.omni"),
        queries=queries,
        embedding=provider,
        blob_bases=resource.blob_bases,
    )


def _provider(
    ledger: Ledger, graph_id: str, resource: Resource, wrong: list[ClusterDiagnostic]
) -> EmbeddingProfile | None:
    address, place = resource.embedding_provider, f"graph.{graph_id}"
    if address is None:
        return None
    provider = ledger.providers.get(address)
    if not address.startswith("provider.embedding."):
        wrong.append(failed("wrong_kind_reference", place, f"'{address}' is not a provider of embeddings"))
    elif provider is None:
        wrong.append(failed("embedding_provider_missing", place, f"the ledger has no '{address}'"))
    elif provider.embedding_profile is None:
        wrong.append(failed("embedding_provider_profile_missing", address, "the ledger has no profile of it"))
    elif provider_digest(provider.embedding_profile) != provider.digest:
        wrong.append(failed("embedding_provider_digest_mismatch", address, "its profile is not the one applied"))
    else:
        return EmbeddingProfile(**provider.embedding_profile)
    return None


def _check_digest(ledger: Ledger, graph_id: str, resource: Resource, wrong: list[ClusterDiagnostic]) -> None:
    """The digest of a graph binds all of its parts: a ledger that was edited by hand does not pass."""
    schema = ledger.schemas.get(graph_id)
    address = resource.embedding_provider
    expected = graph_digest(
        graph_id,
        "" if schema is None else schema.digest,
        {name: query.digest for name, query in ledger.queries.get(graph_id, {}).items()},
        None if address is None else (address, ledger.providers[address].digest),
        [(base.uri, base.scope) for base in resource.blob_bases],
    )
    if schema is None or expected != resource.digest:
        message = "its digest is not that of its schema, queries, provider and blob policy"
        wrong.append(failed("external_blob_policy_digest_mismatch", f"graph.{graph_id}", message))


def _strays(ledger: Ledger) -> list[ClusterDiagnostic]:
    """Queries of graphs that were not applied: the ledger is not one that an apply wrote."""
    return [
        failed("dangling_graph_reference", f"query.{graph_id}.*", f"the ledger has no graph '{graph_id}'")
        for graph_id in ledger.queries
        if graph_id not in ledger.graphs
    ]


def _nothing_to_serve(ledger: Ledger) -> ClusterDiagnostic:
    if ledger.graphs:
        return failed("cluster_no_healthy_graphs", STATE, "every applied graph waits for a recovery")
    return failed("cluster_empty", STATE, "no graph was applied")
