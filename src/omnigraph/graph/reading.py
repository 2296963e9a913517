"""Running a read on a graph: compile, bind, pick the snapshot, execute."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph import history
from omnigraph.graph.arguments import moment_text
from omnigraph.graph.choices import require_choice
from omnigraph.history import Snapshot
from omnigraph.language.query import bind_params, compile_call
from omnigraph.model.errors import BadRequest, Corrupt, EmbeddingNotConfigured, HistoricalVersionReclaimed, Json
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import format_datetime
from omnigraph.query import Cancellation, Explanation, QueryEngine, QueryLimits, QueryOptions, QueryResult, ReadRequest
from omnigraph.query.plan import Mode
from omnigraph.storage import AcceptedSchema, GraphStorage

if TYPE_CHECKING:
    from omnigraph.embeddings import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A read as a caller asks for it: of a branch, of a commit, or of a branch at a time."""

    text: str
    params: Mapping[str, Json]
    query_name: str | None = None
    branch: str = "main"
    commit: str | None = None
    as_of: str | dt.date | None = None
    mode: Mode = "auto"
    limits: QueryLimits | None = None
    """None: what the environment says."""
    timeout: float | None = None
    cancellation: Cancellation | None = None
    use_index: bool = True
    stated: frozenset[str] = frozenset()
    """Options that could be taken for parameters: see `arguments.given_options`."""

    @property
    def options(self) -> QueryOptions:
        limits = self.limits or QueryLimits.from_environment()
        if self.timeout is not None:
            limits = replace(limits, timeout_seconds=self.timeout)
        return QueryOptions(mode=self.mode, limits=limits, cancellation=self.cancellation, use_index=self.use_index)

    def __post_init__(self) -> None:
        require_choice("mode", self.mode, ("auto", "indexed", "csr"))
        if self.commit is not None and self.as_of is not None:
            raise BadRequest("pass commit or as_of, not both", "a commit already says which state is read")


class Reader:
    """The reads of one graph."""

    def __init__(self, storage: GraphStorage) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self.engine = QueryEngine(storage, self._embedding_client)

    def query(self, schema: Callable[[], AcceptedSchema], read: Read) -> QueryResult:
        request = self._request(schema, read)
        try:
            return self.engine.run(request)
        except (Corrupt, HistoricalVersionReclaimed):
            self._require_still(request.snapshot)
            raise

    def explain(self, schema: Callable[[], AcceptedSchema], read: Read, *, analyze: bool) -> Explanation:
        return self.engine.explain(self._request(schema, read), analyze=analyze)

    def _require_still(self, snapshot: Snapshot) -> None:
        """Missing files are not damage if the graph or the branch was replaced while it was read."""
        self._storage.manifest.load(MAIN)
        for pin in snapshot.tables:
            if pin.incarnation is not None:
                self._storage.manifest.require(pin.incarnation)

    def _request(self, schema: Callable[[], AcceptedSchema], read: Read) -> ReadRequest:
        live = schema()  # before the snapshot: files that were edited by hand are told first
        snapshot, asked = self._snapshot(read)
        catalog = history.schema_of(self._storage, snapshot, live, is_head=asked is None).catalog
        compiled = compile_call(read.text, catalog, "read", query_name=read.query_name, stated=read.stated)
        now = format_datetime(time.time_ns() // 1_000_000)
        return ReadRequest(
            query=compiled,
            bound=bind_params(compiled.params, read.params, now=now),
            snapshot=snapshot,
            catalog=catalog,
            options=read.options,
            asked_commit=asked,
        )

    def _snapshot(self, read: Read) -> tuple[Snapshot, str | None]:
        """The snapshot to read, and the requested commit, if any."""
        if read.commit is not None:
            commit = history.resolve(self._storage, read.commit, read.branch).commit
            return history.snapshot_at(self._storage, commit), commit.commit_id
        if read.as_of is not None:
            commit = history.commit_as_of(self._storage, read.branch, moment_text(read.as_of))
            return history.snapshot_at(self._storage, commit), commit.commit_id
        return history.current_snapshot(self._storage, read.branch), None

    def _embedding_client(self) -> Embedder:
        """Made on first need and kept: a graph that never embeds needs no key."""
        with self._lock:
            if self._embedder is None:
                from omnigraph.embeddings import embedder_from_environment, embedder_of

                chosen = self._storage.embedding
                self._embedder = embedder_from_environment() if chosen is None else embedder_of(chosen)
                if self._embedder is None:
                    raise EmbeddingNotConfigured(
                        "openai-compatible",
                        "this query embeds a text, and nobody chose a provider",
                        "set OMNIGRAPH_EMBED_PROVIDER (openai, openai-compatible, gemini, mock, offline) and its key "
                        "where the graph is opened; for a graph on a server that is the server's environment",
                    )
            return self._embedder
