"""The log: the commits that a branch or a commit contains, newest first, as far as somebody reads on.

Along first parents it is the history of one branch. The full log has what merges brought too, also from branches that
are deleted by now. Filters are asked commit by commit, so the first entries come at once however long the history is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import islice

from omnigraph.history.changed_types import ChangedTypes, is_named
from omnigraph.history.entity_log import entity_changes
from omnigraph.history.kept_commits import KeptCommit, find_kept_commit
from omnigraph.history.known_commits import KnownCommits, parents_of
from omnigraph.history.names import is_moment
from omnigraph.history.references import resolve
from omnigraph.model.errors import BadRequest, CommitNotFound, Json
from omnigraph.model.identifiers import MAIN, TableKey, is_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import parse_datetime
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit of the log."""

    commit_id: str
    parents: tuple[str, ...]
    """The first parent first."""
    branch: str
    created_at: int
    """Microseconds since the epoch."""
    actor_id: str | None
    kind: str | None
    """load, mutation, merge, restore, revert, optimize, … or init; None when its writer did not say."""
    message: str | None
    version: int | None
    """Of `__manifest`; None when its branch is deleted: then its rows cannot be read any more."""
    py: Mapping[str, Json] = field(default_factory=dict, hash=False)

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1

    def to_json(self) -> dict[str, Json]:
        """The members of a commit object, then what the log adds."""
        first, second = (*self.parents, None, None)[:2]
        return {
            "graph_commit_id": self.commit_id,
            "graph_branch": None if self.branch == MAIN else self.branch,
            "graph_manifest_version": self.version,
            "parent_commit_id": first,
            "merged_parent_commit_id": second,
            "actor_id": self.actor_id,
            "created_at": self.created_at,
            "kind": self.kind,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which commits are wanted. None stands for all."""

    actors: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    types: frozenset[str] | None = None
    """Commits that changed entities of one of these types."""
    entity: tuple[str, str] | None = None
    """Commits that changed this entity: the name of its type, and its id."""
    message: str | None = None
    """Commits whose message has this text in it, in upper or lower case."""
    since: str | None = None
    """A time: commits from then on. A commit, branch or tag: commits that it does not contain."""
    before: str | None = None
    """A time: commits from before it. A commit, branch or tag: commits further down in this log, for the next page."""


def log_filter(
    *,
    actor: str | Iterable[str] | None = None,
    kind: str | Iterable[str] | None = None,
    type_name: str | Iterable[str] | None = None,
    entity: tuple[str, str] | None = None,
    message: str | None = None,
    since: str | None = None,
    before: str | None = None,
) -> LogFilter:
    """A filter from what a caller wrote: one word, or several of which any will do."""
    return LogFilter(
        actors=_words(actor),
        kinds=_words(kind),
        types=_words(type_name),
        entity=entity,
        message=message,
        since=since,
        before=before,
    )


def _words(given: str | Iterable[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    return frozenset([given] if isinstance(given, str) else given)


def log_entries(
    storage: GraphStorage,
    head: GraphCommit,
    wanted: LogFilter | None = None,
    *,
    full: bool = False,
    limit: int | None = None,
) -> Iterator[LogEntry]:
    """The commits that `head` contains, newest first: along first parents, or all of them if `full`."""
    if limit is not None and limit < 0:
        raise BadRequest(f"a log cannot have {limit} entries", "use a limit of 0 or more")
    log = _Log(storage, head, _resolved(storage, head, wanted or LogFilter()), full)
    return islice(log.entries(), limit)


def kind_of(commit: GraphCommit | KeptCommit) -> str | None:
    """What kind of write a commit was, as far as that is known."""
    kind = commit.py.get("kind")
    if isinstance(kind, str):
        return kind
    parents = commit.parents if isinstance(commit, KeptCommit) else parents_of(commit)
    return {0: "init", 2: "merge"}.get(len(parents))


def _resolved(storage: GraphStorage, head: GraphCommit, wanted: LogFilter) -> LogFilter:
    """The filter with commit ids where names of branches and tags stood. Times stay."""
    branch = head.branch or MAIN
    ends = [
        text if text is None or is_moment(text) else _commit_id(storage, text, branch)
        for text in (wanted.since, wanted.before)
    ]
    return replace(wanted, since=ends[0], before=ends[1])


def _commit_id(storage: GraphStorage, text: str, branch: str) -> str:
    """A log shows commits of deleted branches too, so these may be named."""
    try:
        return resolve(storage, text, branch).commit_id
    except CommitNotFound:
        if find_kept_commit(storage, text) is None:
            raise
        return text


class _Log:
    def __init__(self, storage: GraphStorage, head: GraphCommit, wanted: LogFilter, full: bool) -> None:
        self._storage = storage
        self._head = head
        self._wanted = wanted
        self._full = full
        self._loaded = storage.manifest.load(head.branch or MAIN)
        self._known = KnownCommits(storage, [self._loaded])
        self._moved: dict[str, ChangedTypes] = {}
        self._kept: dict[str, KeptCommit] = {}

    def entries(self) -> Iterator[LogEntry]:
        found = self._by_entity() if self._wanted.entity is not None else self._walk()
        for entry in self._page(found):
            if self._fits(entry):
                yield entry

    # --- walks --------------------------------------------------------------------------------------------

    def _walk(self) -> Iterator[LogEntry]:
        """Children before parents, the younger first: a parent is never taken for younger than its child."""
        start = self._entry(self._head.commit_id)
        if start is None:
            raise CommitNotFound(self._head.commit_id)
        waiting, seen = [(-start.created_at, start.commit_id, start)], {start.commit_id}
        while waiting:
            at, _, entry = heapq.heappop(waiting)
            yield entry
            for parent_id in entry.parents if self._full else entry.parents[:1]:
                parent = None if parent_id in seen else self._entry(parent_id)
                if parent is not None:
                    seen.add(parent_id)
                    heapq.heappush(waiting, (max(at, -parent.created_at), parent_id, parent))

    def _by_entity(self) -> Iterator[LogEntry]:
        type_name, entity_id = self._wanted.entity or ("", "")
        changes = entity_changes(self._storage, type_name, entity_id, self._head, first_parents=not self._full)
        return (_entry_of(change.commit) for change in changes)

    def _entry(self, commit_id: str) -> LogEntry | None:
        """The commit of a live branch, else what is kept of a deleted one. None: another program deleted it."""
        own = self._loaded.state.commits.get(commit_id)
        if own is not None:
            return _entry_of(own)
        kept = find_kept_commit(self._storage, commit_id)
        if kept is not None:
            self._kept[commit_id] = kept
            return _kept_entry(kept)
        elsewhere = self._known.commit(commit_id)
        return None if elsewhere is None else _entry_of(elsewhere)

    # --- filters ------------------------------------------------------------------------------------------

    def _page(self, entries: Iterator[LogEntry]) -> Iterator[LogEntry]:
        """What comes after the commit that the last page ended with, and is not contained in that of `since`."""
        before, since = self._wanted.before, self._wanted.since
        if before is not None and is_ulid(before):
            entries = _after(entries, before)
        if since is None or not is_ulid(since):
            return entries
        older = self._contained_in(since)
        return (entry for entry in entries if not older(entry.commit_id))

    def _contained_in(self, commit_id: str) -> Callable[[str], bool]:
        known: set[str] = set()
        waiting = [commit_id]
        while waiting:
            current = waiting.pop()
            if current not in known:
                known.add(current)
                waiting.extend(self._known.graph.parents(current))
        return known.__contains__

    def _fits(self, entry: LogEntry) -> bool:
        wanted = self._wanted
        return (
            (wanted.actors is None or entry.actor_id in wanted.actors)
            and (wanted.kinds is None or entry.kind in wanted.kinds)
            and (wanted.message is None or wanted.message.lower() in (entry.message or "").lower())
            and self._is_in_time(entry)
            and (wanted.types is None or self._changes_type(entry, wanted.types))
        )

    def _is_in_time(self, entry: LogEntry) -> bool:
        since, before = (_microseconds(text) for text in (self._wanted.since, self._wanted.before))
        return (since is None or entry.created_at >= since) and (before is None or entry.created_at < before)

    def _changes_type(self, entry: LogEntry, types: frozenset[str]) -> bool:
        kept = self._kept.get(entry.commit_id)
        if kept is not None:
            return kept.types is None or any(is_named(TableKey.parse(each), types) for each in kept.types)
        loaded = self._loaded
        if entry.commit_id not in loaded.state.commits:
            loaded = self._storage.manifest.load(entry.branch)
        if loaded.branch not in self._moved:
            self._moved[loaded.branch] = ChangedTypes(self._storage, loaded, types)
        return self._moved[loaded.branch].has(loaded.state.commits[entry.commit_id])


def _after(entries: Iterator[LogEntry], commit_id: str) -> Iterator[LogEntry]:
    for entry in entries:
        if entry.commit_id == commit_id:
            yield from entries
            return
    raise CommitNotFound(commit_id)


def _microseconds(text: str | None) -> int | None:
    return None if text is None or is_ulid(text) else parse_datetime(text) * 1000


def _entry_of(commit: GraphCommit) -> LogEntry:
    return LogEntry(
        commit_id=commit.commit_id,
        parents=parents_of(commit),
        branch=commit.branch or MAIN,
        created_at=commit.created_at,
        actor_id=commit.actor_id,
        kind=kind_of(commit),
        message=_text(commit.py.get("message")),
        version=commit.version,
        py=commit.py,
    )


def _kept_entry(commit: KeptCommit) -> LogEntry:
    return LogEntry(
        commit_id=commit.commit_id,
        parents=commit.parents,
        branch=commit.branch,
        created_at=commit.created_at,
        actor_id=commit.actor_id,
        kind=kind_of(commit),
        message=_text(commit.py.get("message")),
        version=None,
        py=commit.py,
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
