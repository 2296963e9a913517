"""A cluster written by hand: its ledger, its payloads and, if wanted, its graphs, as `cluster apply` would leave them.

    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("library", schema=SCHEMA, queries={"all_authors": "query all_authors() {…}"})
    cluster.policy("rules", LIBRARY, applies_to=["graph.library"])
    cluster.policy("front-door", SERVER, applies_to=["cluster"])
    cluster.write()                          # now `read_serving_snapshot(cluster.root)` and `--cluster` work
    og.open(cluster.uri_of("library"))       # `graph(...)` also makes an empty graph, unless `create=False`

`write()` may be called again after a change: it is the next applied revision. A query may give the text of a whole file
that several queries share. For a cluster on S3 pass its address as the root; the variables of the server must be set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnigraph.cluster import graph_digest, payload_digest, provider_digest
from omnigraph.graph import Graph
from omnigraph.storage import parse_root
from omnigraph.storage.objects import open_store

STATE = "__cluster/state.json"


class WrittenCluster:
    """A cluster under construction."""

    def __init__(self, root: Path | str) -> None:
        self.root = str(root)
        if "://" not in self.root:
            Path(self.root).mkdir(parents=True, exist_ok=True)
        self.store = open_store(parse_root(self.root), durable=False)
        self.revision = 0
        self.resources: dict[str, dict[str, Any]] = {}
        self._graphs: dict[str, dict[str, Any]] = {}

    def uri_of(self, graph_id: str) -> str:
        return f"{self.root}/graphs/{graph_id}.omni"

    def graph(
        self,
        graph_id: str,
        *,
        schema: str = "node Thing { name: String @key }",
        queries: Mapping[str, str] | None = None,
        provider: str | None = None,
        blob_bases: Sequence[tuple[str, str]] = (),
        create: bool = True,
    ) -> None:
        """Declares a graph; `provider` is the name of one, a base is its URI and its scope."""
        if create and graph_id not in self._graphs:
            Graph.init(self.uri_of(graph_id), schema, durability="os").close()
        self._graphs[graph_id] = {
            "schema": payload_digest(schema.encode()),
            "queries": dict(queries or {}),
            "provider": None if provider is None else f"provider.embedding.{provider}",
            "blob_bases": list(blob_bases),
        }

    def policy(self, name: str, text: str, applies_to: Sequence[str] | None) -> None:
        digest = payload_digest(text.encode())
        self.store.write(f"__cluster/resources/policy/{name}/{digest}.yaml", text.encode())
        self.resources[f"policy.{name}"] = {"digest": digest}
        if applies_to is not None:
            self.resources[f"policy.{name}"]["applies_to"] = sorted(applies_to)

    def provider(self, name: str, profile: Mapping[str, str]) -> None:
        self.resources[f"provider.embedding.{name}"] = {
            "digest": provider_digest(profile),
            "embedding_profile": dict(profile),
        }

    def query_payload(self, graph_id: str, name: str) -> str:
        """Where the file of a stored query is, below the root."""
        digest = payload_digest(self._graphs[graph_id]["queries"][name].encode())
        return f"__cluster/resources/query/{graph_id}/{name}/{digest}.gq"

    def sidecar(self, graph_id: str | None, **changed: Any) -> str:
        """Leaves the trace of an interrupted apply."""
        operation = "01J9Z8Q5W3V7C2B4N6M8K0H1G3"
        document = {
            "schema_version": 1,
            "operation_id": operation,
            "started_at": "2026-01-01T00:00:00Z",
            "actor": None,
            "kind": "schema_apply",
            "graph_id": graph_id,
            "graph_uri": "" if graph_id is None else self.uri_of(graph_id),
            "observed_manifest_version": None,
            "expected_manifest_version": None,
            "desired_schema_digest": "",
            "state_cas_base": None,
            "approval_id": None,
        }
        path = f"__cluster/recoveries/{operation}.json"
        self.store.write(path, json.dumps(document | changed).encode())
        return path

    def document(self) -> dict[str, Any]:
        """The ledger as it would be written."""
        resources = dict(self.resources)
        for graph_id, graph in self._graphs.items():
            queries = {name: payload_digest(text.encode()) for name, text in graph["queries"].items()}
            resources[f"schema.{graph_id}"] = {"digest": graph["schema"]}
            for name, digest in queries.items():
                resources[f"query.{graph_id}.{name}"] = {"digest": digest}
            resources[f"graph.{graph_id}"] = self._graph_resource(graph_id, graph, queries)
        return {
            "version": 1,
            "state_revision": self.revision,
            "applied_revision": {"config_digest": None, "resources": resources},
        }

    def _graph_resource(self, graph_id: str, graph: dict[str, Any], queries: dict[str, str]) -> dict[str, Any]:
        address = graph["provider"]
        provider = None if address is None else (address, self.resources.get(address, {}).get("digest", ""))
        resource = {"digest": graph_digest(graph_id, graph["schema"], queries, provider, graph["blob_bases"])}
        if address is not None:
            resource["embedding_provider"] = address
        if graph["blob_bases"]:
            bases = [{"uri": uri, "scope": scope} for uri, scope in graph["blob_bases"]]
            resource["external_blob_policy"] = {"mode": "allow", "bases": bases}
        return resource

    def write(self) -> None:
        """Writes payloads first and the ledger last: the next applied revision."""
        self.revision += 1
        for graph_id, graph in self._graphs.items():
            for name, text in graph["queries"].items():
                self.store.write(self.query_payload(graph_id, name), text.encode())
        self.store.write(STATE, (json.dumps(self.document(), indent=2) + "\n").encode())
