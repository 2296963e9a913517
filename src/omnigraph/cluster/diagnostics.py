"""Diagnostics: what is wrong with a cluster, as codes that never change, each with the object that it is about."""

from __future__ import annotations

from dataclasses import dataclass as plain_dataclass
from typing import Literal

from omnigraph.model.errors import Conflict, Json
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDiagnostic:
    """One finding. An error keeps the cluster from being served; a warning keeps one graph from it."""

    code: str
    path: str
    """The object below the root, or the address of a resource in the ledger."""
    message: str
    severity: Literal["error", "warning"] = "error"
    graph_id: str | None = None
    """The graph that a warning is about."""

    def __str__(self) -> str:
        return f"[{self.code}] {self.path}: {self.message}"

    def to_json(self) -> dict[str, Json]:
        return {"code": self.code, "severity": self.severity, "path": self.path, "message": self.message}


@plain_dataclass(eq=False)
class ClusterNotServable(Conflict):
    """The applied revision of a cluster cannot be served."""

    root: str
    diagnostics: tuple[ClusterDiagnostic, ...]

    def sentence(self) -> str:
        return f"the cluster at '{self.root}' cannot be served: " + "; ".join(str(each) for each in self.diagnostics)

    @property
    def hint(self) -> str | None:
        codes = {each.code for each in self.diagnostics}
        if codes & {"cluster_state_missing", "cluster_empty"}:
            return "nothing was applied here yet: run cluster import and cluster apply, or check the address"
        if codes & {"catalog_payload_missing", "catalog_payload_digest_mismatch"}:
            return "run cluster refresh, then cluster apply"
        return None

    def details(self) -> dict[str, Json]:
        return {"root": self.root, "diagnostics": [each.to_json() for each in self.diagnostics]}


def failed(code: str, path: str, message: str) -> ClusterDiagnostic:
    """A finding that keeps the cluster from being served."""
    return ClusterDiagnostic(code=code, path=path, message=message)
