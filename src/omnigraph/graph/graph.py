"""`Graph`: the public Python API, and the one gate that every face goes through.

The write path is imported by the methods that need it: a command that only reads starts in two thirds of the time.
"""

from __future__ import annotations

import datetime as dt
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from omnigraph import history
from omnigraph.history import Snapshot
from omnigraph.language.schema import compile_schema
from omnigraph.model.errors import BadRequest, Conflict, Corrupt
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.storage import (
    STAGING,
    AcceptedSchema,
    Address,
    ContractFiles,
    GraphStorage,
    accept,
    create_graph,
    files_stamp,
    open_storage,
    read_files,
)
from omnigraph.storage.files import Durability
from omnigraph.storage.manifest import GraphCommit, LoadedManifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.graph.pinned import PinnedGraph
    from omnigraph.graph.reading import Reader
    from omnigraph.language.schema import MigrationPlan
    from omnigraph.model.progress import ProgressListener
    from omnigraph.pipeline.export import ExportResult
    from omnigraph.pipeline.load import Engine, LoadMode, Source
    from omnigraph.query import Cancellation, Explanation, QueryLimits, QueryResult
    from omnigraph.query.plan import Mode
    from omnigraph.write import LoadResult, MutationResult
    from omnigraph.write.intake.tabular import Suggestion
    from omnigraph.write.recovery import RecoveryRecord, Sidecar
    from omnigraph.write.upkeep import IndexReport, IndexStatus, OptimizeReport
    from omnigraph.write.verify import VerifyReport


class Graph:
    """A handle of one graph, bound to one branch. Thread-safe; open it once and share it."""

    def __init__(self, storage: GraphStorage, branch: str = MAIN, actor: str | None = None) -> None:
        self._storage = storage
        self._branch = branch
        self._actor = actor
        self._reads: Reader | None = None
        self._contract: tuple[tuple[tuple[int, ...], ...] | None, ContractFiles, AcceptedSchema] | None = None

    # --- coming and going ---------------------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        uri: Address,
        schema: str,
        *,
        schema_file: str | None = None,
        force: bool = False,
        actor: str | None = None,
        durability: Durability = "full",
    ) -> Self:
        """Creates an empty graph with this schema text. A schema that does not compile changes nothing."""
        from omnigraph.write.rules import check_pattern

        compiled = compile_schema(schema, file=schema_file, check_pattern=check_pattern)
        storage = open_storage(uri, durability=durability)
        create_graph(storage, compiled, force=force)
        return cls(storage, actor=actor)

    @classmethod
    def open(
        cls,
        uri: Address,
        *,
        branch: str | None = None,
        read_only: bool = False,
        actor: str | None = None,
        durability: Durability = "full",
    ) -> Self:
        """Opens an existing graph. Read-only has no side effect at all; read-write makes sure that writing is safe."""
        storage = open_storage(uri, durability=durability, read_only=read_only)
        main = storage.manifest.load(MAIN)  # the version stamp is checked before anything else
        if not read_only:
            from omnigraph.write.recovery import recover_graph

            storage.objects.require_conditional_puts()
            if recover_graph(storage):
                main = storage.manifest.load(MAIN)
            if storage.objects.has_any(STAGING):
                from omnigraph.storage.bulk import cleanup_staging

                cleanup_staging(storage)
        graph = cls(storage, normalize_branch(branch), actor)
        graph._check_contract(main)
        if graph._branch != MAIN:
            storage.manifest.load(graph._branch)
        return graph

    def close(self) -> None:
        """Drops the cached handles. A graph needs no closing for its data's sake: what was acknowledged is durable."""
        self._storage.handles.forget("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Graph({self.uri!r}, branch={self._branch!r})"

    # --- what it is ---------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        return self._storage.root.uri

    @property
    def branch_name(self) -> str:
        """The branch that this handle reads and writes when none is named."""
        return self._branch

    @property
    def actor(self) -> str | None:
        return self._actor

    @property
    def schema(self) -> AcceptedSchema:
        """The accepted schema: source text, compiled form, catalog."""
        stamp, known = files_stamp(self._storage.objects), self._contract
        if known is not None and stamp is not None and stamp == known[0]:
            return known[2]
        files = read_files(self._storage.objects)
        accepted = known[2] if known is not None and known[1] == files else accept(files)
        # The stamp was taken before the files were read: a change in between makes the next look read them again.
        self._contract = (stamp, files, accepted)
        return accepted

    @property
    def schema_source(self) -> str:
        return self.schema.source

    def plan_schema(self, text: str, *, file: str | None = None, allow_data_loss: bool = False) -> MigrationPlan:
        """What it would take to go from the accepted schema to this text. Changes nothing."""
        from omnigraph.language.schema import plan_migration
        from omnigraph.write.rules import check_pattern

        desired = compile_schema(text, file=file, check_pattern=check_pattern)
        return plan_migration(self.schema.ir, desired, allow_data_loss=allow_data_loss)

    # --- reading ------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        use_index: bool = True,
        **named: Any,
    ) -> QueryResult:
        """The answer of a read, on one snapshot: the newest of a branch, that of a `commit`, or that `as_of` a time.

        Parameters come as a mapping or by name. A query that would take more memory than `limits` allow, or more
        seconds than `timeout`, ends with a typed error; `cancellation` ends it from another thread. `mode` says how
        edges are followed and `use_index` whether search uses indexes: both change the speed, never the answer.
        """
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.graph.reading import Read

        options: dict[str, Any] = {"name": name, "commit": commit, "as_of": as_of, "mode": mode, "limits": limits}
        options |= {"timeout": timeout, "cancellation": cancellation, "use_index": use_index}
        read = Read(
            text=text,
            params=json_params(params, named),
            branch=self._named(branch),
            stated=given_options(params, branch=branch, **options),
            **options,
        )
        return self._reader.query(lambda: self.schema, read)

    def explain(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        analyze: bool = False,
        **named: Any,
    ) -> Explanation:
        """The plan of a read, with estimates; with `analyze` it is run and every step says what it did."""
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.graph.reading import Read

        options: dict[str, Any] = {"name": name, "commit": commit, "as_of": as_of, "mode": mode, "limits": limits}
        read = Read(
            text=text,
            params=json_params(params, named),
            branch=self._named(branch),
            timeout=timeout,
            stated=given_options(params, branch=branch, timeout=timeout, analyze=analyze, **options),
            **options,
        )
        return self._reader.explain(lambda: self.schema, read, analyze=analyze)

    def at(self, commit: str) -> PinnedGraph:
        """The graph as it was right after a commit: `graph.at(commit).query(…)`."""
        from omnigraph.graph.pinned import PinnedGraph

        return PinnedGraph(self, self.commit(commit).commit_id)

    @property
    def _reader(self) -> Reader:
        """Made on the first read: a command that only writes does without the query engine."""
        from omnigraph.graph.reading import Reader

        if self._reads is None:
            self._reads = Reader(self._storage)
        return self._reads

    # --- writing ------------------------------------------------------------------------------------------

    def mutate(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        message: str | None = None,
        **named: Any,
    ) -> MutationResult:
        """Runs the insert, update or delete statements of a query as one commit.

        Parameters come as a mapping or by name. With `if_commit` the write happens only if that commit is still the
        head. With an `idempotency_key` a repeated call returns the first call's commit instead of writing again.
        """
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.write.mutation import Mutation, mutate

        options = {"name": name, "if_commit": if_commit, "idempotency_key": idempotency_key, "message": message}
        mutation = Mutation(
            text=text,
            params=json_params(params, named),
            branch=self._named(branch),
            actor_id=self._actor,
            stated=given_options(params, branch=branch, **options),
            **options,
        )
        return mutate(self._storage, lambda: self.schema, mutation)

    def load(
        self,
        source: Source,
        *,
        mode: LoadMode,
        branch: str | None = None,
        base: str | None = None,
        patch: bool = False,
        match_edges: Literal["endpoints"] | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        max_errors: int = 100,
        reject_file: Path | None = None,
        dry_run: bool = False,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        message: str | None = None,
        format: str = "jsonl",  # noqa: A002 - the word of the command line and of Spark
        type: str | None = None,  # noqa: A002
        mapping: Mapping[str, Any] | None = None,
        options: Mapping[str, str] | None = None,
        engine: Engine = "auto",
        spark: Any = None,
        progress: ProgressListener | None = None,
    ) -> LoadResult:
        """Loads records as one commit: every one is checked, and all of them become visible, or none.

        `append` refuses existing ids, `merge` replaces them (with `patch`, only the given properties), `overwrite`
        replaces every type that occurs in the input. A missing branch is made from `base` if one is named.

        The source is a file, a folder, a glob or several of them, lines in memory, or a DataFrame. Files are JSON
        lines, or tables by `format`, `type` and `mapping`. Small inputs run in this process, others on Spark
        (`engine`); `spark` is a session or a master.
        """
        from omnigraph.pipeline.load import Load, SourceFormat, load

        request = Load(
            source=source,
            mode=mode,
            branch=self._named(branch),
            base_branch=None if base is None else normalize_branch(base),
            patch=patch,
            match_edges=match_edges,
            on_error=on_error,
            max_errors=max_errors,
            reject_file=reject_file,
            dry_run=dry_run,
            actor_id=self._actor,
            message=message,
            if_commit=if_commit,
            idempotency_key=idempotency_key,
            how=SourceFormat(format=format, type=type, mapping=mapping, options=dict(options or {})),
            engine=engine,
            spark=spark,
            progress=progress,
        )
        return load(self._storage, lambda: self.schema, request)

    def suggest_mapping(
        self,
        source: str | Path | Sequence[str | Path],
        *,
        format: str = "csv",  # noqa: A002 — as `load` has it
        type: str | None = None,  # noqa: A002
        options: Mapping[str, str] | None = None,
    ) -> Suggestion:
        """A mapping for a table, from the names of its columns and its first rows: to read, mend and give to `load`."""
        from omnigraph.write.intake.tabular import suggest_for

        paths = [source] if isinstance(source, str | Path) else list(source)
        return suggest_for(paths, format, self.schema.catalog, type_name=type, options=options)

    def cleanup_staging(self) -> list[str]:
        """Removes what loads that died left behind; says which loads these were. Living ones are not touched."""
        from omnigraph.storage.bulk import cleanup_staging

        self._storage.require_writable()
        return cleanup_staging(self._storage)

    def export(
        self, branch: str | None = None, *, types: Sequence[str] | None = None, dates: Literal["raw", "iso"] = "raw"
    ) -> Iterator[bytes]:
        """The entities of one snapshot as JSON lines, nodes before edges, by id; `load` reads them back."""
        from omnigraph.history.export import export_lines

        snapshot = self.snapshot(branch)
        return export_lines(self._storage, snapshot, self.schema.catalog, types=types, dates=dates)

    def export_to(
        self,
        path: str | Path,
        *,
        format: Literal["jsonl", "parquet", "csv"] = "jsonl",  # noqa: A002 — the word that Spark and pandas users expect
        branch: str | None = None,
        types: Sequence[str] | None = None,
        dates: Literal["raw", "iso"] | None = None,
        engine: Literal["auto", "local", "spark"] = "auto",
        spark: SparkSession | str | None = None,
        progress: ProgressListener | None = None,
    ) -> ExportResult:
        """Writes one snapshot to an empty folder, a file per group of rows, in parallel; `load` reads it back.

        `dates` says how text formats write them: integers (`raw`, the default for lines) or text (`iso`, for CSV).
        """
        from omnigraph.pipeline.export import export_to

        snapshot = self.snapshot(branch)
        return export_to(
            self._storage,
            self.schema,
            snapshot,
            str(path),
            format=format,
            types=types,
            dates=dates,
            engine=engine,
            spark=spark,
            progress=progress,
        )

    def indexes(self, branch: str | None = None) -> list[IndexStatus]:
        """Every index that the schema asks for or that a table has: what it covers, and why it is not ready."""
        from omnigraph.write.upkeep import index_status

        snapshot = self.snapshot(branch)
        return index_status(self._storage, snapshot.tables, self.schema.catalog, branch=snapshot.branch)

    def ensure_indices(self, branch: str | None = None, *, tables: Sequence[str] | None = None) -> IndexReport:
        """Builds missing indexes and extends stale ones as one commit. Answers never depend on it, only their speed.

        `tables` narrows it to some types, given as `node:Person`.
        """
        from omnigraph.write.upkeep import ensure_indices

        named = self._named(branch)
        return ensure_indices(self._storage, lambda: self.schema, named, tables=tables, actor_id=self._actor)

    def optimize(self, branch: str | None = None, *, tables: Sequence[str] | None = None) -> OptimizeReport:
        """Puts the small fragments that many small writes leave together, and brings the indexes up to date."""
        from omnigraph.write.upkeep import optimize

        return optimize(self._storage, lambda: self.schema, self._named(branch), tables=tables, actor_id=self._actor)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Checks everything that can be checked without changing a byte, and reports all of it."""
        from omnigraph.write.verify import verify_graph

        return verify_graph(self._storage, deep=deep)

    def recoveries(self) -> list[RecoveryRecord]:
        """The interrupted writes that were resolved, oldest first."""
        from omnigraph.write.recovery import recoveries

        return recoveries(self._storage)

    def pending_recoveries(self) -> list[Sidecar]:
        """The intents of writes that are not finished: of dead writers, and of those that are at work right now."""
        from omnigraph.write.recovery import pending

        return pending(self._storage)

    # --- history ------------------------------------------------------------------------------------------

    def snapshot(self, branch: str | None = None) -> Snapshot:
        """The newest snapshot of a branch (default: of this handle's)."""
        return history.current_snapshot(self._storage, self._named(branch))

    def commits(self, branch: str | None = None, *, limit: int | None = None) -> list[GraphCommit]:
        """The commits of a branch, inherited and own, newest first."""
        return history.commit_list(self._storage, self._named(branch), limit=limit)

    def commit(self, commit_id: str) -> GraphCommit:
        """A commit by its id, wherever it was made."""
        return history.find_commit(self._storage, commit_id, self._branch)

    def snapshot_at(self, commit_id: str) -> Snapshot:
        """What the graph showed right after a commit."""
        return history.snapshot_at(self._storage, self.commit(commit_id))

    def branches(self) -> list[str]:
        """Every branch, main included, sorted."""
        return history.branch_list(self._storage)

    def create_branch(self, name: str, *, source: str | None = None) -> None:
        """Makes a branch at the head of `source` (default: this handle's branch). Refuses an existing name."""
        history.create_branch(self._storage, name, source=self._named(source))

    def delete_branch(self, name: str) -> None:
        """Deletes a branch. Refuses main, this handle's own branch, and one that others depend on."""
        if normalize_branch(name) == self._branch != MAIN:
            raise Conflict(
                f"cannot delete the currently active branch '{self._branch}'", "delete it from another handle"
            )
        history.delete_branch(self._storage, name)

    def branch(self, name: str, *, create: bool = True) -> Graph:
        """A handle on another branch, made from this handle's head if it is missing."""
        wanted = normalize_branch(name)
        if create and wanted not in self.branches():
            self.create_branch(wanted)
        self._storage.manifest.load(wanted)
        return Graph(self._storage, wanted, self._actor)

    # --- parts --------------------------------------------------------------------------------------------

    def _named(self, branch: str | None) -> str:
        return self._branch if branch is None else normalize_branch(branch)

    def _check_contract(self, main: LoadedManifest) -> None:
        """Every declared type has a live table and every live table a declared type."""
        schema = self.schema
        for text in schema.warnings:
            warnings.warn(f"{self.uri}: {text}", stacklevel=3)
        declared = {str(entity.table_key) for entity in schema.catalog.entities}
        live = {str(pin.table_key) for pin in main.state.pins()}
        if declared != live:
            differing = ", ".join(sorted(declared ^ live))
            raise Corrupt(self.uri, f"the accepted schema and the manifest disagree about: {differing}")


def read_schema(schema: str | os.PathLike[str]) -> tuple[str, str | None]:
    """A schema argument as (text, file): a path, or text that ends in `.pg`, is read; any other text is the schema."""
    if isinstance(schema, str) and ("\n" in schema or not schema.strip().endswith(".pg")):
        return schema, None
    if not isinstance(schema, str | os.PathLike):
        raise BadRequest(f"a schema is text or the path of a file, not {type(schema).__name__}")
    try:
        return Path(schema).read_text(encoding="utf-8"), os.fspath(schema)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"cannot read schema file '{schema}': {error}") from error
