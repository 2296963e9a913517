"""Serving: what a server serves, as values. A cluster's applied revision or one graph becomes this; boot opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyText:
    """A policy file by its content, and the name that messages show for it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGraph:
    """One graph to open: where it lies, and what the revision says about it."""

    graph_id: str
    uri: str
    queries: Mapping[str, str] = field(default_factory=dict)
    """Stored queries: the name, and the text of the file that declares it."""
    policy: PolicyText | None = None
    blob_bases: tuple[str, ...] = ()
    """The places that external blobs of a write may lie in."""
    embedding: Mapping[str, str] = field(default_factory=dict)
    """The embedding provider that the revision names: kind, base_url, model, api_key. A key is `${NAME}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Everything that one revision serves. `revision` changes whenever anything in it does."""

    graphs: tuple[ServedGraph, ...]
    server_policy: PolicyText | None = None
    revision: str = ""
    is_cluster: bool = False
    """A cluster owns the schemas of its graphs: they are changed there and not over HTTP."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Graphs that are configured and cannot be served now, and why: they answer 503 until they can."""
    warnings: tuple[str, ...] = ()

    @property
    def has_policy(self) -> bool:
        return self.server_policy is not None or any(graph.policy is not None for graph in self.graphs)
