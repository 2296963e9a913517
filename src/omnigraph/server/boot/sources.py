"""Where the serving comes from: the applied revision of a cluster, or one graph. Read again to follow changes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from omnigraph.cluster import EmbeddingProfile, ServingSnapshot, read_serving_snapshot
from omnigraph.language.query import parse_queries
from omnigraph.model.errors import BadRequest
from omnigraph.server.boot.launch import BootRefused, Launch
from omnigraph.server.serving import PolicyText, ServedGraph, Serving


class Source(Protocol):
    """Where the serving comes from."""

    def read(self) -> Serving:
        """What is to be served now."""


class ClusterSource:
    """The applied revision of a cluster."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def read(self) -> Serving:
        return serving_of(read_serving_snapshot(self._cluster))


def serving_of(snapshot: ServingSnapshot) -> Serving:
    """A cluster's snapshot in the server's words."""
    graphs = []
    for graph in snapshot.graphs:
        policy = snapshot.policy_of(graph.id)
        graphs.append(
            ServedGraph(
                graph_id=graph.id,
                uri=graph.uri,
                queries=graph.queries,
                policy=None if policy is None else PolicyText(name=policy.name, text=policy.source),
                blob_bases=graph.server_blob_bases,
                embedding={} if graph.embedding is None else _members(graph.embedding),
            )
        )
    server = snapshot.server_policy
    return Serving(
        graphs=tuple(graphs),
        server_policy=None if server is None else PolicyText(name=server.name, text=server.source),
        revision=snapshot.state_digest,
        is_cluster=True,
        skipped={each.graph_id: each.message for each in snapshot.warnings if each.graph_id is not None},
        warnings=tuple(map(str, snapshot.warnings)),
    )


def _members(profile: EmbeddingProfile) -> dict[str, str]:
    return {name: value for name, value in asdict(profile).items() if value is not None}


class StoreSource:
    """One graph, and the files beside it: a policy, stored queries. They are read again when they change."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def read(self) -> Serving:
        launch = self._launch
        policy = _text_of("policy file", launch.policy_file)
        queries = _text_of("query file", launch.queries_file)
        graph = ServedGraph(
            graph_id=launch.served_id,
            uri=launch.store or "",
            queries={} if queries is None else _each_query(queries, launch.queries_file),
            policy=None if policy is None else PolicyText(name=launch.policy_file or "", text=policy),
        )
        digest = hashlib.sha256(repr((policy, queries)).encode()).hexdigest()
        return Serving(graphs=(graph,), revision=digest)


def _text_of(kind: str, path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadRequest(f"the {kind} '{path}' cannot be read: {reason}") from None


def _each_query(text: str, path: str | None) -> dict[str, str]:
    """Every query that the file declares, by its name, with the text of the whole file. Raises CompileError."""
    return dict.fromkeys(parse_queries(text, file=path).by_name, text)


def source_of(launch: Launch) -> Source:
    if launch.cluster is not None:
        return ClusterSource(launch.cluster)
    if launch.store is not None:
        return StoreSource(launch)
    raise BootRefused("omnigraph-server boots from a cluster", "pass --cluster <dir|uri>")
