"""Payloads: the files of stored queries and policies, kept under their digests and hashed again when they are read."""

from __future__ import annotations

from omnigraph.cluster.diagnostics import ClusterDiagnostic, failed
from omnigraph.cluster.digests import payload_digest
from omnigraph.storage.objects import ObjectStore

RESOURCES = "__cluster/resources"
REMEDY = "run `cluster refresh`, then `cluster apply`"


def query_path(graph_id: str, name: str, digest: str) -> str:
    return f"{RESOURCES}/query/{graph_id}/{name}/{digest}.gq"


def policy_path(name: str, digest: str) -> str:
    return f"{RESOURCES}/policy/{name}/{digest}.yaml"


def read_payload(store: ObjectStore, path: str, digest: str, wrong: list[ClusterDiagnostic]) -> str | None:
    """The text of a payload, or None and one more line in `wrong`."""
    stored = store.read(path)
    if stored is None:
        wrong.append(failed("catalog_payload_missing", path, f"the ledger names it, and it is not there; {REMEDY}"))
        return None
    if payload_digest(stored.data) != digest:
        wrong.append(failed("catalog_payload_digest_mismatch", path, f"its bytes are not those applied; {REMEDY}"))
        return None
    try:
        return stored.data.decode("utf-8")
    except UnicodeDecodeError:
        wrong.append(failed("catalog_payload_digest_mismatch", path, f"it is not text; {REMEDY}"))
        return None
