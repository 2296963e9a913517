"""`Graph`: the public Python API, and the one gate that every face goes through.

The write path is imported by the methods that need it: a command that only reads starts in two thirds of the time.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from omnigraph import history
from omnigraph.graph.blobs import Blobs
from omnigraph.graph.change_feed import ChangeFeed
from omnigraph.graph.choices import require_choice
from omnigraph.graph.evolution import Evolution
from omnigraph.graph.gate import Gate, authorizer_of
from omnigraph.graph.maintenance import Maintenance
from omnigraph.graph.merging import Merging
from omnigraph.graph.moving import Moving
from omnigraph.graph.schema_text import compile_schema_text
from omnigraph.model.errors import Corrupt, GraphNotFound, SchemaContractMissing
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.storage import (
    STAGING,
    Address,
    create_graph,
    open_storage,
)
from omnigraph.storage.files import Durability
from omnigraph.storage.manifest import LoadedManifest

if TYPE_CHECKING:
    from omnigraph.embeddings import EmbeddingConfig
    from omnigraph.graph.gate import DecisionListener
    from omnigraph.graph.pinned import PinnedGraph
    from omnigraph.graph.reading import Read, Reader
    from omnigraph.model.progress import ProgressListener
    from omnigraph.pipeline.load import Engine, LoadMode, Source
    from omnigraph.policy import Policy
    from omnigraph.query import Cancellation, Explanation, QueryLimits, QueryResult
    from omnigraph.query.plan import Mode
    from omnigraph.storage.external import BlobBases
    from omnigraph.write import LoadResult, MutationResult
    from omnigraph.write.intake.tabular import Suggestion
    from omnigraph.write.verify import VerifyReport


class Graph(Merging, ChangeFeed, Maintenance, Blobs, Moving, Evolution):
    """A handle on one graph, bound to one branch. It is thread-safe: open it once and share it.

    Get one from `og.init` or `og.open`. It can be used in a `with` statement.

    >>> with og.open("people.omni") as graph:
    ...     graph.query("query all() { match { $p: Person } return { $p.name } order { $p.name } }").rows()
    [{'p.name': 'Ada'}, {'p.name': 'Grace'}]
    """

    # --- open and close -----------------------------------------------------------------------------------

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
        blob_bases: Sequence[str] = (),
    ) -> Self:
        """Creates an empty graph with this schema text; `schema_file` is the name that error messages show.

        >>> graph = og.Graph.init("library.omni", "node Book { title: String @key }")
        >>> graph.branches()
        ['main']

        Raises CompileError for a schema that is not valid, and AlreadyInitialized if there is a graph at this address.
        """
        require_choice("durability", durability, ("full", "os"))
        compiled = compile_schema_text(schema, schema_file)
        storage = open_storage(uri, durability=durability, blob_bases=_bases(blob_bases))
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
        policy: Policy | None = None,
        blob_bases: Sequence[str] = (),
        embedding: EmbeddingConfig | None = None,
    ) -> Self:
        """Opens an existing graph. With `read_only` nothing is changed; otherwise crashed writes are resolved first.

        With a `policy`, a policy file for one, every call is decided for the `actor` before it acts. `blob_bases` are
        the places that external blobs of a write may lie in, `s3://bucket/folder/` or `file:///folder/`. `embedding`
        says who embeds texts for this handle; without it the environment does.

        >>> graph = og.Graph.open("people.omni", read_only=True)
        >>> graph.branch_name
        'main'

        Raises GraphNotFound, BranchNotFound, and FormatTooOld or FormatTooNew for a graph of another format version.
        """
        require_choice("durability", durability, ("full", "os"))
        storage = open_storage(
            uri, durability=durability, read_only=read_only, blob_bases=_bases(blob_bases), embedding=embedding
        )
        main = storage.manifest.load(MAIN)  # the version stamp is checked before anything else
        if not read_only:
            from omnigraph.write.recovery import recover_graph

            storage.objects.require_conditional_puts()
            if recover_graph(storage):
                main = storage.manifest.load(MAIN)
            if storage.objects.has_any(STAGING):
                from omnigraph.storage.bulk import cleanup_staging

                cleanup_staging(storage)
        authorizer = authorizer_of(policy, storage.root.uri)
        graph = cls(storage, normalize_branch(branch), actor, gate=Gate(actor, authorizer))
        graph._check_contract(main)
        if graph._branch != MAIN:
            graph._require_branch(graph._branch)
        return graph

    def close(self) -> None:
        """Drops the cached handles and ends background upkeep. Closing is optional: writes are durable already.

        >>> graph = og.open("people.omni")
        >>> graph.close()
        """
        if self._upkeep is not None:
            self._upkeep.stop()
        self._storage.handles.forget("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Graph({self.uri!r}, branch={self._branch!r})"

    # --- reading ------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        use_index: bool = True,
        **named_params: Any,
    ) -> QueryResult:
        """Runs a read query on one snapshot: the head of a branch, a `commit`, or the branch `as_of` a time.

        Parameters are given as a mapping or by name. `query_name` picks a query of a text that has several. `limits`
        bounds the memory and `timeout` the seconds; `cancellation` ends the query from another thread. `mode` says how
        edges are followed and `use_index` whether search uses indexes: both change the speed, never the answer.

        >>> text = "query age($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
        >>> graph.query(text, name="Ada").rows()
        [{'p.age': 36}]

        Raises CompileError for a text that is not valid, ParameterError, BranchNotFound, CommitNotFound,
        ResourceLimitExceeded, QueryTimeout and QueryCancelled.
        """
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.graph.reading import Read

        options: dict[str, Any] = {"query_name": query_name, "commit": commit, "as_of": as_of, "mode": mode}
        options |= {"limits": limits, "timeout": timeout, "cancellation": cancellation, "use_index": use_index}
        read = Read(
            text=text,
            params=json_params(params, named_params),
            branch=self._named(branch),
            stated=given_options(params, branch=branch, **options),
            **options,
        )
        self._allow_read(read)
        return self._reader.query(lambda: self._accepted, read)

    def explain(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        as_of: str | dt.date | None = None,
        mode: Mode = "auto",
        limits: QueryLimits | None = None,
        timeout: float | None = None,
        analyze: bool = False,
        **named_params: Any,
    ) -> Explanation:
        """The plan of a read query, with estimates. With `analyze` the query runs, and every step shows what it did.

        >>> print(graph.explain("query all() { match { $p: Person } return { $p.name } }").text)
        all...

        Raises what `query` raises.
        """
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.graph.reading import Read

        options: dict[str, Any] = {"query_name": query_name, "commit": commit, "as_of": as_of, "mode": mode}
        options |= {"limits": limits, "timeout": timeout}
        read = Read(
            text=text,
            params=json_params(params, named_params),
            branch=self._named(branch),
            stated=given_options(params, branch=branch, analyze=analyze, **options),
            **options,
        )
        self._allow_read(read)
        return self._reader.explain(lambda: self._accepted, read, analyze=analyze)

    def at(self, commit: str) -> PinnedGraph:
        """The graph as it was right after a commit, for any number of reads. A tag, a branch or a time names one, too.

        >>> before = graph.snapshot().commit_id
        >>> graph.mutate('query add() { insert Person { name: "Alan" } }').affected_nodes
        1
        >>> len(graph.at(before).query("query all() { match { $p: Person } return { $p.name } }"))
        2

        Raises CommitNotFound and UnknownReference.
        """
        from omnigraph.graph.pinned import PinnedGraph

        return PinnedGraph(self, self._readable(commit).commit_id)

    def as_actor(self, actor: str | None, *, on_decision: DecisionListener | None = None) -> Self:
        """The same graph for another caller: it shares what is in memory, and its commits name that actor.

        `on_decision` hears of every decision that the policy makes for the caller.

        >>> graph.as_actor("grace").mutate('query add() { insert Person { name: "Alan" } }').commit.actor_id
        'grace'
        """
        gate = Gate(actor, self._gate.authorizer, on_decision)
        return type(self)(self._storage, self._branch, actor, gate=gate, kept=self._kept)

    def with_policy(self, policy: Policy | None) -> Self:
        """The same graph behind another policy: it shares what is in memory. A server changes its rules with it.

        >>> graph.with_policy(None).allows("change", branch="main")
        True

        Raises InvalidPolicy for a file that is not valid.
        """
        gate = Gate(self._actor, authorizer_of(policy, self.uri))
        return type(self)(self._storage, self._branch, self._actor, gate=gate, kept=self._kept)

    @property
    def _reader(self) -> Reader:
        """Made on the first read: a command that only writes does without the query engine."""
        from omnigraph.graph.reading import Reader

        if self._kept.reader is None:
            self._kept.reader = Reader(self._storage)
        return self._kept.reader

    def _allow_read(self, read: Read) -> None:
        """A read of a commit is one of the branch that the commit was made on."""
        if self._gate.authorizer is None:
            return  # finding the commit twice would cost something
        if read.commit is not None:
            self._readable(read.commit)
        else:
            self._allow("read", branch=read.branch)

    # --- writing ------------------------------------------------------------------------------------------

    def mutate(
        self,
        text: str,
        /,
        params: Mapping[str, Any] | None = None,
        *,
        query_name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        message: str | None = None,
        **named_params: Any,
    ) -> MutationResult:
        """Runs the insert, update and delete statements of a query as one commit, or changes nothing.

        Parameters and `query_name` are as for `query`. With `if_commit` the write happens only if that commit is still
        the head of the branch. With an `idempotency_key` a repeated call returns the commit of the first one instead of
        writing again. `message` is kept with the commit.

        >>> add = "query add($name: String, $age: I32) { insert Person { name: $name, age: $age } }"
        >>> graph.mutate(add, name="Alan", age=41, message="a new person").affected_nodes
        1

        Raises CompileError, ParameterError, ValidationFailed if the change breaks a rule of the schema, KeyConflict if
        an inserted id exists, PreconditionFailed if `if_commit` is not the head, and OpenedReadOnly.
        """
        from omnigraph.graph.arguments import given_options, json_params
        from omnigraph.write.mutation import Mutation, mutate

        options = {"query_name": query_name, "if_commit": if_commit}
        options |= {"idempotency_key": idempotency_key, "message": message}
        named = self._named(branch)
        self._allow("change", branch=named)
        mutation = Mutation(
            text=text,
            params=json_params(params, named_params),
            branch=named,
            actor_id=self._actor,
            stated=given_options(params, branch=branch, **options),
            **options,
        )
        return mutate(self._storage, lambda: self._accepted, mutation)

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
        reject_file: str | Path | None = None,
        dry_run: bool = False,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        message: str | None = None,
        format: str | None = None,  # noqa: A002 - the word of the command line and of Spark
        type: str | None = None,  # noqa: A002
        mapping: Mapping[str, Any] | None = None,
        options: Mapping[str, str] | None = None,
        engine: Engine = "auto",
        spark: Any = None,
        progress: ProgressListener | None = None,
    ) -> LoadResult:
        """Loads records as one commit. Every record is checked, and either all of them become visible or none.

        `mode="append"` refuses existing ids, `merge` replaces them (with `patch`, only the given properties), and
        `overwrite` replaces every type that occurs in the input. A missing branch is created from `base`, if given.

        The source is files, folders, patterns, lines in memory, or a DataFrame. Files are JSON lines, CSV or Parquet by
        their endings, or of a `format`; `type` and `mapping` describe tables. Small inputs run here, others on Spark.

        >>> graph.load(["people.jsonl"], mode="merge").nodes
        {'Person': 2}
        >>> graph.load("people.csv", type="Person", mode="merge").total_entities
        3

        Raises ValidationFailed with the bad records, KeyConflict, InvalidMapping, BranchNotFound, PreconditionFailed,
        JavaMissing or SparkUnreachable where Spark is needed, and LoadInterrupted on Ctrl-C after the commit.
        """
        from omnigraph.pipeline.load import Load, SourceFormat, load

        require_choice("mode", mode, ("append", "merge", "overwrite"))
        require_choice("on_error", on_error, ("fail", "skip"))
        require_choice("engine", engine, ("auto", "local", "spark"))
        if match_edges is not None:
            require_choice("match_edges", match_edges, ("endpoints",))
        named, base_branch = self._named(branch), None if base is None else normalize_branch(base)
        self.authorize_load(named, base_branch)
        request = Load(
            source=source,
            mode=mode,
            branch=named,
            base_branch=base_branch,
            patch=patch,
            match_edges=match_edges,
            on_error=on_error,
            max_errors=max_errors,
            reject_file=None if reject_file is None else Path(reject_file),
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
        return load(self._storage, lambda: self._accepted, request)

    def authorize_load(self, branch: str | None = None, base: str | None = None) -> None:
        """Asks the policy for a load without doing it: it changes a branch, and may make it first.

        >>> graph.authorize_load("draft", base="main")

        Raises PolicyDenied.
        """
        if self._gate.authorizer is None:
            return
        named = self._named(branch)
        if base is not None and named not in history.branch_list(self._storage):
            self._allow("branch_create", branch=normalize_branch(base), target_branch=named)
        self._allow("change", branch=named)

    def suggest_mapping(
        self,
        source: str | Path | Sequence[str | Path],
        *,
        format: str = "csv",  # noqa: A002 — as `load` has it
        type: str | None = None,  # noqa: A002
        options: Mapping[str, str] | None = None,
    ) -> Suggestion:
        """Suggests a mapping for a table from its column names and first rows. Review it, then give it to `load`.

        >>> graph.suggest_mapping("people.csv").mapping
        {'type': 'Person'}

        Raises BadRequest for a file that cannot be read.
        """
        from omnigraph.write.intake.tabular import suggest_for

        paths = [source] if isinstance(source, str | Path) else list(source)
        return suggest_for(paths, format, self.schema.catalog, type_name=type, options=options)

    def cleanup_staging(self) -> list[str]:
        """Removes the staged files of loads that died, and returns the ids of those loads. Running loads are kept.

        >>> graph.cleanup_staging()
        []

        Raises OpenedReadOnly.
        """
        from omnigraph.storage.bulk import cleanup_staging

        self._allow("admin")
        self._storage.require_writable()
        return cleanup_staging(self._storage)

    # --- parts --------------------------------------------------------------------------------------------

    def _check_contract(self, main: LoadedManifest) -> None:
        """Every declared type has a live table and every live table a declared type."""
        try:
            schema = self._accepted
        except SchemaContractMissing:
            from omnigraph.storage.copying import UNFINISHED_CLONE, is_unfinished_clone

            if is_unfinished_clone(self._storage):
                raise GraphNotFound(self.uri, UNFINISHED_CLONE) from None
            raise
        for text in schema.warnings:
            warnings.warn(f"{self.uri}: {text}", stacklevel=3)
        if main.state.head is not None and main.state.head.py.get("schema_ir_hash") not in (None, schema.ir_hash):
            # The files of a change that is published are not in place yet; its schema is kept by the commit's hash.
            schema = history.schema_of(self._storage, history.snapshot_of(main), schema)
        declared = {str(entity.table_key) for entity in schema.catalog.entities}
        live = {str(pin.table_key) for pin in main.state.pins()}
        if declared != live:
            differing = ", ".join(sorted(declared ^ live))
            raise Corrupt(self.uri, f"the accepted schema and the manifest disagree about: {differing}")


def _bases(given: Sequence[str]) -> BlobBases | None:
    """The rules of bases are imported where there are some."""
    if not given:
        return None
    from omnigraph.storage.external import blob_bases

    return blob_bases(given)


def verify(uri: Address, *, deep: bool = True) -> VerifyReport:
    """Checks a whole graph without changing it, also one that is too damaged to be opened.

    >>> og.verify("people.omni").ok
    True

    Raises GraphNotFound, and Unreachable if the storage does not answer. Damage is listed in the report.
    """
    from omnigraph.write.verify import verify_graph

    return verify_graph(open_storage(uri, read_only=True), deep=deep)
