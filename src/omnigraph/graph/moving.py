"""Moving: the methods of `Graph` that take a graph elsewhere, as lines, as files, or as another graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omnigraph import history
from omnigraph.graph.versions import Versions
from omnigraph.history import Snapshot
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.model.progress import ProgressListener
    from omnigraph.pipeline.clone import CloneResult
    from omnigraph.pipeline.export import ExportResult
    from omnigraph.storage import Address
    from omnigraph.storage.files import Durability


class Moving(Versions):
    """What leaves a graph."""

    def export(
        self,
        branch: str | None = None,
        *,
        at: str | None = None,
        types: Sequence[str] | None = None,
        dates: Literal["raw", "iso"] = "raw",
        manifest: bool = False,
    ) -> Iterator[bytes]:
        """The entities of one snapshot as JSON lines: nodes before edges, sorted by id. `load` reads them back.

        `at` is a commit, a tag or a time; otherwise the head of the branch is exported. `types` narrows it to some
        types. `dates` writes dates as integers (`raw`) or as text (`iso`). With `manifest` the last line has the counts
        and a digest of the lines before it, and `load` checks them.

        >>> next(graph.export(types=["Person"]))
        b'{"type":"Person","data":{"id":"Ada","age":36,"name":"Ada"}}\\n'

        Raises BranchNotFound, UnknownReference and UnknownType.
        """
        from omnigraph.history.export import export_lines, with_manifest

        snapshot = self._exported(branch, at)
        catalog = history.schema_of(self._storage, snapshot, self._accepted).catalog
        lines = export_lines(self._storage, snapshot, catalog, types=types, dates=dates)
        return with_manifest(lines, snapshot) if manifest else lines

    def export_to(
        self,
        path: str | Path,
        *,
        format: Literal["jsonl", "parquet", "csv"] = "jsonl",  # noqa: A002 — the word that Spark and pandas users expect
        branch: str | None = None,
        at: str | None = None,
        types: Sequence[str] | None = None,
        dates: Literal["raw", "iso"] | None = None,
        engine: Literal["auto", "local", "spark"] = "auto",
        spark: SparkSession | str | None = None,
        progress: ProgressListener | None = None,
    ) -> ExportResult:
        """Writes one snapshot to an empty folder, several files in parallel. `load` reads it back.

        `at` is a commit, a tag or a time; otherwise the head of the branch is exported. `dates` says how text formats
        write dates: integers (`raw`, the default of JSON lines) or text (`iso`, of CSV).

        >>> graph.export_to("backup", format="parquet", engine="local").total_entities
        3

        Raises BranchNotFound, UnknownReference, UnknownType, and BadRequest for a folder that is not empty.
        """
        from omnigraph.pipeline.export import export_to

        snapshot = self._exported(branch, at)
        return export_to(
            self._storage,
            history.schema_of(self._storage, snapshot, self._accepted),
            snapshot,
            str(path),
            format=format,
            types=types,
            dates=dates,
            engine=engine,
            spark=spark,
            progress=progress,
        )

    def clone(
        self,
        target: Address,
        *,
        branch: str | None = None,
        at: str | None = None,
        history: bool = False,
        durability: Durability = "full",
        progress: ProgressListener | None = None,
    ) -> CloneResult:
        """Makes another graph of this one at a new address, on this disk or on S3. This graph is only read.

        Without `history` the new graph begins anew with the rows of today: those of every branch, of one `branch`, or
        of the commit, tag or time `at`; a single snapshot becomes its `main`. With `history` it has the same commits
        with their ids, times and actors, the tags and the branches; with a `branch` too, main and what that branch
        stands on. `progress` is called while it runs; Ctrl-C and an error that it raises end it, and leave nothing.

        >>> copy = graph.clone("copy.omni")
        >>> copy.branches, copy.commits
        (('main',), 1)
        >>> og.open("copy.omni").snapshot().tables[1].row_count
        2

        Raises CloneTargetExists, RecoveryRequired while a write of this graph is unfinished, BranchNotFound,
        UnknownReference, HistoricalVersionReclaimed, and Unreachable if a disk or store fails.
        """
        from omnigraph.pipeline.clone import Clone, clone

        if at is not None and (branch is not None or history):
            other = "branch" if branch is not None else "history"
            raise BadRequest(f"a clone at one commit takes no '{other}'", "pass at= alone")
        request = Clone(
            target=target,
            branch=None if branch is None else self._exported_branch(branch),
            snapshot=None if at is None else self._exported(None, at),
            history=history,
            actor_id=self._actor,
            durability=durability,
            progress=progress,
        )
        if branch is None and at is None:
            for name in self.branches():
                self._allow("export", branch=name)
        return clone(self._storage, self._accepted, request)

    def _exported(self, branch: str | None, at: str | None) -> Snapshot:
        """The snapshot of an export, if the caller may export it."""
        if at is None:
            return history.current_snapshot(self._storage, self._exported_branch(branch))
        if branch is not None:
            raise BadRequest("an export is of a branch or at a commit, not both", "pass branch= or at=")
        return history.snapshot_at(self._storage, self._readable(at, "export").commit)

    def _exported_branch(self, branch: str | None) -> str:
        named = self._named(branch)
        self._allow("export", branch=named)
        self._require_branch(named)
        return named
