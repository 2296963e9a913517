"""OmniGraph: a typed property graph on Lance, with branches and commits over the whole graph.

import omnigraph as og
graph = og.init("people.omni", schema="people.pg")
graph = og.open("people.omni")

Everything that a program needs is here: `Graph`, and what its methods take and return. `og.errors` has every error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from omnigraph.client import RemoteGraph as RemoteGraph
    from omnigraph.graph import Graph as Graph
    from omnigraph.graph import PinnedGraph as PinnedGraph
    from omnigraph.graph import verify as verify
    from omnigraph.history import PastEntity as PastEntity
    from omnigraph.history import Snapshot as Snapshot
    from omnigraph.history import Tag as Tag
    from omnigraph.history.diff import Diff as Diff
    from omnigraph.history.diff import EntityChange as EntityChange
    from omnigraph.history.feed import Baseline as Baseline
    from omnigraph.history.feed import CommitChanges as CommitChanges
    from omnigraph.history.feed import FeedPage as FeedPage
    from omnigraph.history.feed import PageLimits as PageLimits
    from omnigraph.language import CompileError as CompileError
    from omnigraph.language.query import ParameterError as ParameterError
    from omnigraph.language.schema import MigrationPlan as MigrationPlan
    from omnigraph.merge import MergeConflict as MergeConflict
    from omnigraph.merge import MergeConflicts as MergeConflicts
    from omnigraph.merge import MergeResult as MergeResult
    from omnigraph.merge import RestoreResult as RestoreResult
    from omnigraph.merge import RevertResult as RevertResult
    from omnigraph.model.errors import BadRequest as BadRequest
    from omnigraph.model.errors import BranchExists as BranchExists
    from omnigraph.model.errors import BranchNotFound as BranchNotFound
    from omnigraph.model.errors import CommitNotFound as CommitNotFound
    from omnigraph.model.errors import Conflict as Conflict
    from omnigraph.model.errors import Denied as Denied
    from omnigraph.model.errors import Gone as Gone
    from omnigraph.model.errors import GraphNotFound as GraphNotFound
    from omnigraph.model.errors import LimitExceeded as LimitExceeded
    from omnigraph.model.errors import NotFound as NotFound
    from omnigraph.model.errors import OmniGraphError as OmniGraphError
    from omnigraph.model.errors import PreconditionFailed as PreconditionFailed
    from omnigraph.model.errors import Unreachable as Unreachable
    from omnigraph.model.progress import Progress as Progress
    from omnigraph.pipeline.export import ExportResult as ExportResult
    from omnigraph.policy import Policy as Policy
    from omnigraph.policy import PolicyDenied as PolicyDenied
    from omnigraph.query import Cancellation as Cancellation
    from omnigraph.query import Explanation as Explanation
    from omnigraph.query import QueryCancelled as QueryCancelled
    from omnigraph.query import QueryLimits as QueryLimits
    from omnigraph.query import QueryResult as QueryResult
    from omnigraph.storage.files import Durability as Durability
    from omnigraph.storage.manifest import GraphCommit as GraphCommit
    from omnigraph.write import LoadInterrupted as LoadInterrupted
    from omnigraph.write import LoadReport as LoadReport
    from omnigraph.write import LoadResult as LoadResult
    from omnigraph.write import MutationResult as MutationResult
    from omnigraph.write.evolution import SchemaPlan as SchemaPlan
    from omnigraph.write.evolution import SchemaReceipt as SchemaReceipt
    from omnigraph.write.intake.tabular import Suggestion as Suggestion
    from omnigraph.write.rules import ValidationFailed as ValidationFailed
    from omnigraph.write.upkeep import IndexReport as IndexReport
    from omnigraph.write.upkeep import IndexStatus as IndexStatus
    from omnigraph.write.upkeep import OptimizeReport as OptimizeReport
    from omnigraph.write.verify import VerifyReport as VerifyReport

__version__ = "0.1.0"

_HOMES = {
    "client": ("RemoteGraph",),
    "graph": ("Graph", "PinnedGraph", "verify"),
    "history": ("PastEntity", "Snapshot", "Tag"),
    "history.diff": ("Diff", "EntityChange"),
    "history.feed": ("Baseline", "CommitChanges", "FeedPage", "PageLimits"),
    "language": ("CompileError",),
    "language.query": ("ParameterError",),
    "language.schema": ("MigrationPlan",),
    "merge": ("MergeConflict", "MergeConflicts", "MergeResult", "RestoreResult", "RevertResult"),
    "model.errors": (
        "BadRequest",
        "BranchExists",
        "BranchNotFound",
        "CommitNotFound",
        "Conflict",
        "Denied",
        "Gone",
        "GraphNotFound",
        "LimitExceeded",
        "NotFound",
        "OmniGraphError",
        "PreconditionFailed",
        "Unreachable",
    ),
    "model.progress": ("Progress",),
    "pipeline.export": ("ExportResult",),
    "policy": ("Policy", "PolicyDenied"),
    "query": ("Cancellation", "Explanation", "QueryCancelled", "QueryLimits", "QueryResult"),
    "storage.manifest": ("GraphCommit",),
    "write": ("LoadInterrupted", "LoadReport", "LoadResult", "MutationResult"),
    "write.evolution": ("SchemaPlan", "SchemaReceipt"),
    "write.intake.tabular": ("Suggestion",),
    "write.rules": ("ValidationFailed",),
    "write.upkeep": ("IndexReport", "IndexStatus", "OptimizeReport"),
    "write.verify": ("VerifyReport",),
}
"""Where the names come from. They are imported on first use, so that `import omnigraph` stays cheap."""

__all__ = ["__version__", "init", "open", *(name for names in _HOMES.values() for name in names)]


def init(
    uri: str | PathLike[str],
    schema: str | PathLike[str],
    *,
    force: bool = False,
    actor: str | None = None,
    durability: Durability = "full",
    blob_bases: Sequence[str] = (),
) -> Graph:
    """Creates an empty graph and returns a handle on its branch `main`.

    `schema` is the text of a `.pg` schema, or the path of a file that ends in `.pg`. `actor` is recorded with every
    commit of the handle. `durability="os"` leaves it to the operating system when files reach the disk: faster, and
    only for graphs that may be lost. `force` replaces schema files that a failed `init` left behind, never a graph.
    `blob_bases` are as for `open`.

    >>> graph = og.init("library.omni", schema="node Book { title: String @key }")
    >>> graph.branches()
    ['main']

    Raises CompileError for a schema that is not valid, and AlreadyInitialized if there is a graph at this address.
    """
    from omnigraph.graph import Graph, read_schema

    text, file = read_schema(schema)
    return Graph.init(
        uri, text, schema_file=file, force=force, actor=actor, durability=durability, blob_bases=blob_bases
    )


@overload
def open(  # noqa: A001 — the name people expect: `og.open(...)`
    uri: str | PathLike[str],
    *,
    branch: str | None = None,
    read_only: bool = False,
    actor: str | None = None,
    durability: Durability = "full",
    policy: Policy | None = None,
    blob_bases: Sequence[str] = (),
) -> Graph: ...
@overload
def open(uri: str, *, token: str | None, branch: str | None = None, read_only: bool = False) -> RemoteGraph: ...  # noqa: A001
def open(  # noqa: A001
    uri: str | PathLike[str],
    *,
    branch: str | None = None,
    read_only: bool = False,
    actor: str | None = None,
    durability: Durability = "full",
    policy: Policy | None = None,
    blob_bases: Sequence[str] = (),
    token: str | None = None,
) -> Graph | RemoteGraph:
    """Opens a graph and returns a handle on `branch` (default: `main`).

    Opening for writing first finishes or undoes what a crashed writer left. With `read_only` nothing is ever changed.
    `actor` and `durability` are as for `init`. With a `policy`, the path of a policy file, every call is decided for
    the actor before it acts. `blob_bases` are the places that external blobs of a write may lie in,
    `s3://bucket/folder/` or `file:///folder/`; there are none by default.

    A graph on a server is `http://host/graphs/ID`; `token` says who asks, and the handle is a `RemoteGraph` with the
    same verbs. Without an id the server must have exactly one graph.

    >>> graph = og.open("people.omni", actor="ada")
    >>> graph.branch_name
    'main'

    Raises GraphNotFound, BranchNotFound, InvalidPolicy, and FormatTooOld or FormatTooNew for a graph of another format
    version; for a server NotAuthenticated, GraphNotNamed and ServerUnreachable.
    """
    if isinstance(uri, str) and uri.startswith(("http://", "https://")):
        from omnigraph.client import connect, refuse_options

        refuse_options(actor=actor, policy=policy, blob_bases=tuple(blob_bases) or None)
        return connect(uri, token=token, branch=branch, read_only=read_only)
    from omnigraph.graph import Graph

    if token is not None:
        from omnigraph.model.errors import BadRequest

        raise BadRequest("a token is for a graph on a server", "pass actor=… for a graph on disk or S3")
    return Graph.open(
        uri,
        branch=branch,
        read_only=read_only,
        actor=actor,
        durability=durability,
        policy=policy,
        blob_bases=blob_bases,
    )


def __getattr__(name: str) -> Any:
    if name == "errors":
        from importlib import import_module

        return import_module("omnigraph.errors")
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f"omnigraph.{home}"), name)
            globals()[name] = value  # the next look finds it without coming here
            return value
    raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
