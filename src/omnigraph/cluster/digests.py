"""Digests: what the ledger records of each resource, SHA-256 in lower hex. Pure; the recipes are part of the format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

PROFILE_MEMBERS = ("kind", "base_url", "model", "api_key")
"""In the order in which a profile is digested."""


def payload_digest(data: bytes) -> str:
    """Of a schema, a query file or a policy file: of its bytes."""
    return hashlib.sha256(data).hexdigest()


def provider_digest(profile: Mapping[str, str]) -> str:
    """Of a provider of embeddings: of its profile, absent members left out."""
    members = {name: profile[name] for name in PROFILE_MEMBERS if name in profile}
    return payload_digest(b"embedding-provider\0" + _compact(members))


def graph_digest(
    graph_id: str,
    schema: str,
    queries: Mapping[str, str],
    provider: tuple[str, str] | None = None,
    blob_bases: Sequence[tuple[str, str]] = (),
) -> str:
    """Of a graph: of everything that it consists of. `provider` is its address and digest, a base its URI and scope."""
    parts = ["graph", graph_id, "schema", schema]
    for name in sorted(queries):
        parts += ["query", name, queries[name]]
    if provider is not None:
        parts += ["embedding_provider", *provider]
    text = "".join(f"{part}\0" for part in parts).encode()
    if blob_bases:
        policy = {"mode": "allow", "bases": [{"uri": uri, "scope": scope} for uri, scope in blob_bases]}
        text += b"external_blob_policy\0" + _compact(policy) + b"\0"
    return payload_digest(text)


def _compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
