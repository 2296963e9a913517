"""`__manifest`: its rows, the state that they fold into, and `publishing`, where a commit becomes visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.manifest.publishing import Change as Change
    from omnigraph.storage.manifest.publishing import CommitIdentity as CommitIdentity
    from omnigraph.storage.manifest.publishing import HeadIs as HeadIs
    from omnigraph.storage.manifest.publishing import Published as Published
    from omnigraph.storage.manifest.publishing import PublishPlan as PublishPlan
    from omnigraph.storage.manifest.publishing import Requirement as Requirement
    from omnigraph.storage.manifest.publishing import VersionIs as VersionIs
    from omnigraph.storage.manifest.publishing import head_of as head_of
    from omnigraph.storage.manifest.publishing import publish as publish
    from omnigraph.storage.manifest.publishing import rows_of as rows_of
    from omnigraph.storage.manifest.publishing import stage_publish as stage_publish
    from omnigraph.storage.manifest.rows import MANIFEST_SCHEMA as MANIFEST_SCHEMA
    from omnigraph.storage.manifest.rows import GraphCommit as GraphCommit
    from omnigraph.storage.manifest.rows import GraphHead as GraphHead
    from omnigraph.storage.manifest.rows import ManifestRow as ManifestRow
    from omnigraph.storage.manifest.rows import TableRegistration as TableRegistration
    from omnigraph.storage.manifest.rows import TableTombstone as TableTombstone
    from omnigraph.storage.manifest.rows import TableVersion as TableVersion
    from omnigraph.storage.manifest.rows import encode as encode
    from omnigraph.storage.manifest.state import BranchIdentifier as BranchIdentifier
    from omnigraph.storage.manifest.state import Incarnation as Incarnation
    from omnigraph.storage.manifest.state import ManifestState as ManifestState
    from omnigraph.storage.manifest.state import TablePin as TablePin
    from omnigraph.storage.manifest.store import BranchRef as BranchRef
    from omnigraph.storage.manifest.store import LoadedManifest as LoadedManifest
    from omnigraph.storage.manifest.store import ManifestStore as ManifestStore
    from omnigraph.storage.manifest.store import StagedRows as StagedRows
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "publishing": (
                "Change",
                "CommitIdentity",
                "HeadIs",
                "PublishPlan",
                "Published",
                "Requirement",
                "VersionIs",
                "head_of",
                "publish",
                "rows_of",
                "stage_publish",
            ),
            "rows": (
                "GraphCommit",
                "GraphHead",
                "MANIFEST_SCHEMA",
                "ManifestRow",
                "TableRegistration",
                "TableTombstone",
                "TableVersion",
                "encode",
            ),
            "state": (
                "BranchIdentifier",
                "Incarnation",
                "ManifestState",
                "TablePin",
            ),
            "store": (
                "BranchRef",
                "LoadedManifest",
                "ManifestStore",
                "StagedRows",
            ),
        },
    )
