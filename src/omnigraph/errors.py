"""Every error that a caller of OmniGraph can meet. They are imported on first use.

All of them are `OmniGraphError`s, and each belongs to a family that says how to react: `BadRequest`, `NotFound`,
`Conflict` … `str(error)` is the whole message with its place and hint; `code`, `hint` and `details()` are its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.client import GraphNotNamed as GraphNotNamed
    from omnigraph.client import InvalidServerAddress as InvalidServerAddress
    from omnigraph.client import NotAuthenticated as NotAuthenticated
    from omnigraph.client import NotOverHttp as NotOverHttp
    from omnigraph.client import ServerFailed as ServerFailed
    from omnigraph.client import ServerTooOld as ServerTooOld
    from omnigraph.client import ServerUnreachable as ServerUnreachable
    from omnigraph.client import TooManyRequests as TooManyRequests
    from omnigraph.cluster import ClusterNotServable as ClusterNotServable
    from omnigraph.cluster import GraphNotApplied as GraphNotApplied
    from omnigraph.cluster import NoSuchPolicy as NoSuchPolicy
    from omnigraph.history import AmbiguousName as AmbiguousName
    from omnigraph.history import BlobIsExternal as BlobIsExternal
    from omnigraph.history import BlobNotFound as BlobNotFound
    from omnigraph.history import BlobRangeNotSatisfiable as BlobRangeNotSatisfiable
    from omnigraph.history import BranchIsTagged as BranchIsTagged
    from omnigraph.history import InvalidBlobSelector as InvalidBlobSelector
    from omnigraph.history import InvalidTagName as InvalidTagName
    from omnigraph.history import TagExists as TagExists
    from omnigraph.history import TaggedCommitGone as TaggedCommitGone
    from omnigraph.history import TagNotFound as TagNotFound
    from omnigraph.history import UnknownReference as UnknownReference
    from omnigraph.history.export import UnknownType as UnknownType
    from omnigraph.history.export import ValueNotExportable as ValueNotExportable
    from omnigraph.history.feed import ChangeCursorRejected as ChangeCursorRejected
    from omnigraph.history.feed import ChangeFeedGap as ChangeFeedGap
    from omnigraph.history.feed import ChangeSchemaBoundary as ChangeSchemaBoundary
    from omnigraph.history.feed import CommitHasNoParent as CommitHasNoParent
    from omnigraph.language import CompileError as CompileError
    from omnigraph.language.query import ParameterError as ParameterError
    from omnigraph.language.query import QueryNameRequired as QueryNameRequired
    from omnigraph.language.query import UnknownQuery as UnknownQuery
    from omnigraph.language.query import WrongQueryKind as WrongQueryKind
    from omnigraph.merge import CannotRevert as CannotRevert
    from omnigraph.merge import InvalidResolution as InvalidResolution
    from omnigraph.merge import MergeConflicts as MergeConflicts
    from omnigraph.merge import NoCommonHistory as NoCommonHistory
    from omnigraph.merge import RestoreRefused as RestoreRefused
    from omnigraph.merge import RevertConflicts as RevertConflicts
    from omnigraph.model.errors import AlreadyInitialized as AlreadyInitialized
    from omnigraph.model.errors import BadRequest as BadRequest
    from omnigraph.model.errors import BranchExists as BranchExists
    from omnigraph.model.errors import BranchHasDependants as BranchHasDependants
    from omnigraph.model.errors import BranchNotFound as BranchNotFound
    from omnigraph.model.errors import BranchReplaced as BranchReplaced
    from omnigraph.model.errors import CommitNotDurable as CommitNotDurable
    from omnigraph.model.errors import CommitNotFound as CommitNotFound
    from omnigraph.model.errors import ConditionalPutsUnsupported as ConditionalPutsUnsupported
    from omnigraph.model.errors import Conflict as Conflict
    from omnigraph.model.errors import Corrupt as Corrupt
    from omnigraph.model.errors import Denied as Denied
    from omnigraph.model.errors import EmbeddingModelMismatch as EmbeddingModelMismatch
    from omnigraph.model.errors import EmbeddingNotConfigured as EmbeddingNotConfigured
    from omnigraph.model.errors import EmbeddingProviderFailed as EmbeddingProviderFailed
    from omnigraph.model.errors import ExpectedVersionMismatch as ExpectedVersionMismatch
    from omnigraph.model.errors import FormatStampUnreadable as FormatStampUnreadable
    from omnigraph.model.errors import FormatTooNew as FormatTooNew
    from omnigraph.model.errors import FormatTooOld as FormatTooOld
    from omnigraph.model.errors import Gone as Gone
    from omnigraph.model.errors import GraphNotFound as GraphNotFound
    from omnigraph.model.errors import GraphReplaced as GraphReplaced
    from omnigraph.model.errors import HistoricalVersionReclaimed as HistoricalVersionReclaimed
    from omnigraph.model.errors import InitializationClaimed as InitializationClaimed
    from omnigraph.model.errors import InitializationIndeterminate as InitializationIndeterminate
    from omnigraph.model.errors import Internal as Internal
    from omnigraph.model.errors import InvalidBranchName as InvalidBranchName
    from omnigraph.model.errors import InvalidRoot as InvalidRoot
    from omnigraph.model.errors import InvalidValue as InvalidValue
    from omnigraph.model.errors import KeyConflict as KeyConflict
    from omnigraph.model.errors import LeaseLost as LeaseLost
    from omnigraph.model.errors import LeaseTimeout as LeaseTimeout
    from omnigraph.model.errors import LimitExceeded as LimitExceeded
    from omnigraph.model.errors import NotFound as NotFound
    from omnigraph.model.errors import OmniGraphError as OmniGraphError
    from omnigraph.model.errors import OpenedReadOnly as OpenedReadOnly
    from omnigraph.model.errors import OutcomeUnknown as OutcomeUnknown
    from omnigraph.model.errors import PreconditionFailed as PreconditionFailed
    from omnigraph.model.errors import ReadSetChanged as ReadSetChanged
    from omnigraph.model.errors import RecoveryRequired as RecoveryRequired
    from omnigraph.model.errors import ResourceLimitExceeded as ResourceLimitExceeded
    from omnigraph.model.errors import RowLevelCasContention as RowLevelCasContention
    from omnigraph.model.errors import SchemaApplyInProgress as SchemaApplyInProgress
    from omnigraph.model.errors import SchemaContractDrift as SchemaContractDrift
    from omnigraph.model.errors import SchemaContractMissing as SchemaContractMissing
    from omnigraph.model.errors import StorageReadOnly as StorageReadOnly
    from omnigraph.model.errors import SyncFailed as SyncFailed
    from omnigraph.model.errors import TableDrift as TableDrift
    from omnigraph.model.errors import TypeNotFound as TypeNotFound
    from omnigraph.model.errors import Unreachable as Unreachable
    from omnigraph.model.export_line import ExportDamaged as ExportDamaged
    from omnigraph.pipeline.spark import JavaMissing as JavaMissing
    from omnigraph.pipeline.spark import SparkJobFailed as SparkJobFailed
    from omnigraph.pipeline.spark import SparkMasterUnusable as SparkMasterUnusable
    from omnigraph.pipeline.spark import SparkUnreachable as SparkUnreachable
    from omnigraph.policy import InvalidPolicy as InvalidPolicy
    from omnigraph.policy import PolicyDenied as PolicyDenied
    from omnigraph.policy import PolicyEvaluationFailed as PolicyEvaluationFailed
    from omnigraph.query import QueryCancelled as QueryCancelled
    from omnigraph.query import QueryTimeout as QueryTimeout
    from omnigraph.storage.copying import BaseLineageMissing as BaseLineageMissing
    from omnigraph.storage.copying import CloneTargetExists as CloneTargetExists
    from omnigraph.storage.external import ExternalBlobDenied as ExternalBlobDenied
    from omnigraph.storage.external import ExternalBlobSource as ExternalBlobSource
    from omnigraph.storage.external import InvalidBlobBase as InvalidBlobBase
    from omnigraph.write.evolution import SchemaBlockedByBranches as SchemaBlockedByBranches
    from omnigraph.write.evolution import SchemaBlockedByTags as SchemaBlockedByTags
    from omnigraph.write.evolution import SchemaChangeUnsupported as SchemaChangeUnsupported
    from omnigraph.write.evolution import SchemaRowsRefused as SchemaRowsRefused
    from omnigraph.write.intake.tabular import InvalidMapping as InvalidMapping
    from omnigraph.write.rules import ValidationFailed as ValidationFailed
    from omnigraph.write.upkeep import BranchUnreadable as BranchUnreadable
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "client": (
                "GraphNotNamed",
                "InvalidServerAddress",
                "NotAuthenticated",
                "NotOverHttp",
                "ServerFailed",
                "ServerTooOld",
                "ServerUnreachable",
                "TooManyRequests",
            ),
            "cluster": ("ClusterNotServable", "GraphNotApplied", "NoSuchPolicy"),
            "history": (
                "AmbiguousName",
                "BlobIsExternal",
                "BlobNotFound",
                "BlobRangeNotSatisfiable",
                "BranchIsTagged",
                "InvalidBlobSelector",
                "InvalidTagName",
                "TagExists",
                "TagNotFound",
                "TaggedCommitGone",
                "UnknownReference",
            ),
            "history.export": ("UnknownType", "ValueNotExportable"),
            "history.feed": ("ChangeCursorRejected", "ChangeFeedGap", "ChangeSchemaBoundary", "CommitHasNoParent"),
            "language": ("CompileError",),
            "language.query": ("ParameterError", "QueryNameRequired", "UnknownQuery", "WrongQueryKind"),
            "merge": (
                "CannotRevert",
                "InvalidResolution",
                "MergeConflicts",
                "NoCommonHistory",
                "RestoreRefused",
                "RevertConflicts",
            ),
            "model.errors": (
                "AlreadyInitialized",
                "BadRequest",
                "BranchExists",
                "BranchHasDependants",
                "BranchNotFound",
                "BranchReplaced",
                "CommitNotDurable",
                "CommitNotFound",
                "ConditionalPutsUnsupported",
                "Conflict",
                "Corrupt",
                "Denied",
                "EmbeddingModelMismatch",
                "EmbeddingNotConfigured",
                "EmbeddingProviderFailed",
                "ExpectedVersionMismatch",
                "FormatStampUnreadable",
                "FormatTooNew",
                "FormatTooOld",
                "Gone",
                "GraphNotFound",
                "GraphReplaced",
                "HistoricalVersionReclaimed",
                "InitializationClaimed",
                "InitializationIndeterminate",
                "Internal",
                "InvalidBranchName",
                "InvalidRoot",
                "InvalidValue",
                "KeyConflict",
                "LeaseLost",
                "LeaseTimeout",
                "LimitExceeded",
                "NotFound",
                "OmniGraphError",
                "OpenedReadOnly",
                "OutcomeUnknown",
                "PreconditionFailed",
                "ReadSetChanged",
                "RecoveryRequired",
                "ResourceLimitExceeded",
                "RowLevelCasContention",
                "SchemaApplyInProgress",
                "SchemaContractDrift",
                "SchemaContractMissing",
                "StorageReadOnly",
                "SyncFailed",
                "TableDrift",
                "TypeNotFound",
                "Unreachable",
            ),
            "pipeline.spark": ("JavaMissing", "SparkJobFailed", "SparkMasterUnusable", "SparkUnreachable"),
            "policy": ("InvalidPolicy", "PolicyDenied", "PolicyEvaluationFailed"),
            "model.export_line": ("ExportDamaged",),
            "query": ("QueryCancelled", "QueryTimeout"),
            "storage.copying": ("BaseLineageMissing", "CloneTargetExists"),
            "storage.external": ("ExternalBlobDenied", "ExternalBlobSource", "InvalidBlobBase"),
            "write.evolution": (
                "SchemaBlockedByBranches",
                "SchemaBlockedByTags",
                "SchemaChangeUnsupported",
                "SchemaRowsRefused",
            ),
            "write.intake.tabular": ("InvalidMapping",),
            "write.rules": ("ValidationFailed",),
            "write.upkeep": ("BranchUnreadable",),
        },
        root="omnigraph",
    )
