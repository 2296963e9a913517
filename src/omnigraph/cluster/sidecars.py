"""Recovery sidecars of a cluster: changes that an interrupted apply may have left half done, by graph."""

from __future__ import annotations

from omnigraph.cluster.diagnostics import ClusterDiagnostic, failed
from omnigraph.model.errors import OmniGraphError, sentence_of
from omnigraph.model.strict_json import DECODER
from omnigraph.storage.objects import ObjectStore

RECOVERIES = "__cluster/recoveries"
VERSION = 1
_MEMBERS = {
    "schema_version",
    "operation_id",
    "started_at",
    "actor",
    "kind",
    "graph_id",
    "graph_uri",
    "observed_manifest_version",
    "expected_manifest_version",
    "desired_schema_digest",
    "state_cas_base",
    "approval_id",
}
_KINDS = ("graph_create", "schema_apply", "graph_delete")


def pending_recoveries(store: ObjectStore) -> tuple[dict[str, ClusterDiagnostic], list[ClusterDiagnostic]]:
    """The graphs with a pending recovery, each with its warning; and what is wrong with sidecars of nobody."""
    pending: dict[str, ClusterDiagnostic] = {}
    wrong: list[ClusterDiagnostic] = []
    for name in store.list_names(RECOVERIES):
        if not name.endswith(".json"):
            continue
        found = _sidecar(store, f"{RECOVERIES}/{name}")
        if isinstance(found, ClusterDiagnostic):
            wrong.append(found)
        else:
            graph_id, warning = found
            pending.setdefault(graph_id, warning)
    return pending, wrong


def _sidecar(store: ObjectStore, path: str) -> tuple[str, ClusterDiagnostic] | ClusterDiagnostic:
    try:
        stored = store.read(path)
    except OmniGraphError as error:
        return failed("recovery_sidecar_read_error", path, sentence_of(error))
    if stored is None:
        return failed("recovery_sidecar_read_error", path, "it vanished while it was read")
    try:
        document = DECODER.decode(stored.data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return failed("invalid_recovery_sidecar", path, f"not valid JSON: {error}")
    return _checked(document, path)


def _checked(document: object, path: str) -> tuple[str, ClusterDiagnostic] | ClusterDiagnostic:
    if not isinstance(document, dict):
        return failed("invalid_recovery_sidecar", path, "it is not an object")
    if document.get("schema_version") != VERSION:
        found = f"version {document.get('schema_version')!r}; this release reads version {VERSION}"
        return failed("unsupported_recovery_sidecar_version", path, found)
    unknown = sorted(set(document) - _MEMBERS)
    if unknown or document.get("kind") not in _KINDS:
        what = f"the unknown member '{unknown[0]}'" if unknown else f"the unknown kind {document.get('kind')!r}"
        return failed("invalid_recovery_sidecar", path, f"it has {what}")
    graph_id = document.get("graph_id")
    if not isinstance(graph_id, str) or not graph_id:
        return failed("cluster_recovery_unattributed", path, "it names no graph")
    message = f"a {document['kind']} of graph '{graph_id}' was interrupted; the next cluster apply resolves it"
    return graph_id, ClusterDiagnostic(
        code="cluster_recovery_pending", path=path, message=message, severity="warning", graph_id=graph_id
    )
