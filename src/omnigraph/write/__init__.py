"""The write path: how a change is checked and becomes a graph commit. Start with `write`, then read downwards."""

from omnigraph.write.changes import ChangeSet, StagedWork, TableChange
from omnigraph.write.commit import Receipt, WriteBase, WriteRequest, write
from omnigraph.write.committed_view import CommittedView
from omnigraph.write.load import PreparedLoad, prepare_load
from omnigraph.write.mutations import Mutated, MutationRun
from omnigraph.write.patterns import check_pattern
from omnigraph.write.recovery import RecoveryRecord, Resolution, pending, recover_graph, recoveries
from omnigraph.write.sidecars import Sidecar
from omnigraph.write.sources import ItemSource, SourceItem, Unreadable
from omnigraph.write.validation import validate
from omnigraph.write.verify import verify_graph
from omnigraph.write.verify_report import VerifyReport
from omnigraph.write.violations import ValidationFailed, Violation, refuse

__all__ = [
    "ChangeSet",
    "CommittedView",
    "ItemSource",
    "Mutated",
    "MutationRun",
    "PreparedLoad",
    "Receipt",
    "RecoveryRecord",
    "Resolution",
    "Sidecar",
    "SourceItem",
    "StagedWork",
    "TableChange",
    "Unreadable",
    "ValidationFailed",
    "VerifyReport",
    "Violation",
    "WriteBase",
    "WriteRequest",
    "check_pattern",
    "pending",
    "prepare_load",
    "recover_graph",
    "recoveries",
    "refuse",
    "validate",
    "verify_graph",
    "write",
]
