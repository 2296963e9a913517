"""Versions: the methods of `Graph` about its history. Commits, branches, tags and differences."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Self

from omnigraph import history
from omnigraph.graph.handle import Handle
from omnigraph.history import Snapshot
from omnigraph.model.errors import Conflict, TypeNotFound
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.storage.manifest import GraphCommit

if TYPE_CHECKING:
    from omnigraph.history import BranchDetails, EntityLogEntry, LogEntry, PastEntity, PropertyBlame, Reference, Tag
    from omnigraph.history.diff import ChangeFilter, Diff
    from omnigraph.policy import ActionName


SNAPSHOT_SOURCE = "<snapshot>"


class Versions(Handle):
    """What was, and where work goes on beside each other."""

    def snapshot(self, branch: str | None = None) -> Snapshot:
        """The newest snapshot of a branch (default: this handle's).

        >>> graph.snapshot().branch
        'main'

        Raises BranchNotFound.
        """
        named = self._named(branch)
        self._allow("read", branch=named)
        return history.current_snapshot(self._storage, named)

    def commits(self, branch: str | None = None, *, limit: int | None = None) -> list[GraphCommit]:
        """The commits of a branch, newest first, including those from before it was created.

        >>> [commit.actor_id for commit in graph.commits(limit=1)]
        [None]

        Raises BranchNotFound.
        """
        named = self._named(branch)
        self._allow("read", branch=named)
        return history.commit_list(self._storage, named, limit=limit)

    def commit(self, commit_id: str) -> GraphCommit:
        """A commit by its id, on any branch.

        >>> newest = graph.commits(limit=1)[0]
        >>> graph.commit(newest.commit_id) == newest
        True

        Raises CommitNotFound.
        """
        self._allow("read")
        return history.find_commit(self._storage, commit_id, self._branch)

    def commit_as_of(self, moment: str | dt.date, branch: str | None = None) -> GraphCommit:
        """The newest commit of a branch that was made at or before a time.

        The time is RFC 3339 text, a datetime with a time zone, or a date, which means its midnight in UTC.

        >>> graph.commit_as_of("2100-01-01T00:00:00Z") == graph.commits(limit=1)[0]
        True

        Raises CommitNotFound if the branch has no commit that old, and InvalidValue for a text that is not a time.
        """
        from omnigraph.graph.arguments import moment_text

        named = self._named(branch)
        self._allow("read", branch=named)
        return history.commit_as_of(self._storage, named, moment_text(moment))

    def snapshot_at(self, commit_id: str) -> Snapshot:
        """The snapshot that a commit made visible.

        >>> first = graph.commits()[-1]
        >>> sum(table.row_count for table in graph.snapshot_at(first.commit_id).tables)
        0

        Raises CommitNotFound, and HistoricalVersionReclaimed if its files were removed.
        """
        commit = history.find_commit(self._storage, commit_id, self._branch)
        self._allow("read", branch=commit.branch or MAIN)
        return history.snapshot_at(self._storage, commit)

    def branches(self) -> list[str]:
        """The names of all branches, sorted; `main` is among them.

        >>> graph.branches()
        ['main']
        """
        self._allow("read")
        return history.branch_list(self._storage)

    def branch(self, name: str) -> Self:
        """A handle on an existing branch.

        >>> graph.create_branch("draft")
        Graph('.../people.omni', branch='draft')
        >>> graph.branch("draft").branch_name
        'draft'

        Raises BranchNotFound, which suggests the nearest name.
        """
        wanted = normalize_branch(name)
        self._allow("read", branch=wanted)
        self._require_branch(wanted)
        return self._beside(wanted)

    def branch_details(self, names: Sequence[str] | None = None) -> list[BranchDetails]:
        """Branches with their heads, their times, and how many commits they are ahead of and behind `main`.

        >>> [(each.name, each.ahead, each.behind) for each in graph.branch_details()]
        [('main', 0, 0)]

        Raises BranchNotFound for a name that is asked for and missing.
        """
        self._allow("read")
        return history.details_of_branches(self._storage, names)

    def create_branch(self, name: str, *, source: str | None = None) -> Self:
        """Creates a branch at the head of this handle's branch, and returns a handle on it.

        `source` is where it begins instead: another branch, a commit id, a tag, or a time.

        >>> draft = graph.create_branch("draft")
        >>> draft.mutate('query add() { insert Person { name: "Alan" } }').branch
        'draft'

        Raises BranchExists, InvalidBranchName, BranchNotFound or UnknownReference for a missing `source`, and
        OpenedReadOnly.
        """
        wanted = normalize_branch(name)
        if source is None:
            self._allow("branch_create", branch=self._branch, target_branch=wanted)
            history.create_branch(self._storage, wanted, source=self._branch)
        else:
            begin = self._reference(source)
            self._allow("branch_create", branch=_source_branch(begin), target_branch=wanted)
            history.create_branch_from(self._storage, wanted, begin)
        return self._beside(wanted)

    def delete_branch(self, name: str) -> None:
        """Deletes a branch. `main` and this handle's own branch cannot be deleted.

        >>> draft = graph.create_branch("draft")
        >>> graph.delete_branch("draft")
        >>> graph.branches()
        ['main']

        Raises BranchNotFound, BranchHasDependants if another branch was created from it, Conflict and OpenedReadOnly.
        """
        wanted = normalize_branch(name)
        self._allow("branch_delete", target_branch=wanted)
        if wanted == self._branch != MAIN:
            raise Conflict(
                f"cannot delete the currently active branch '{self._branch}'", "delete it from another handle"
            )
        history.delete_branch(self._storage, wanted)

    # --- tags ---------------------------------------------------------------------------------------------

    def tag(self, name: str, commit: str | None = None, *, force: bool = False) -> Tag:
        """Gives a commit a name that stays: by default the head of this handle's branch.

        `commit` is anything that names a commit: its id, a branch, another tag, a time. `force` moves an existing tag.

        >>> graph.tag("release-1").name
        'release-1'

        Raises TagExists, InvalidTagName, UnknownReference and OpenedReadOnly.
        """
        self._allow("branch_create", target_branch=name)
        named = self._readable(commit)
        return history.create_tag(self._storage, name, named.commit_id, actor_id=self._actor, force=force)

    def tags(self) -> list[Tag]:
        """Every tag, sorted by name.

        >>> graph.tags()
        []

        Raises Corrupt for a tag that cannot be read.
        """
        self._allow("read")
        return history.tag_list(self._storage)

    def delete_tag(self, name: str) -> Tag:
        """Removes a tag and returns what it was. The commit stays.

        >>> tag = graph.tag("release-1")
        >>> graph.delete_tag("release-1") == tag
        True

        Raises TagNotFound, which suggests the nearest name, and OpenedReadOnly.
        """
        self._allow("branch_delete", target_branch=name)
        with self._hiding_names():
            return history.delete_tag(self._storage, name)

    # --- differences --------------------------------------------------------------------------------------

    def diff(
        self,
        before: str,
        after: str | None = None,
        *,
        kinds: Iterable[Literal["node", "edge"]] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[Literal["insert", "update", "delete"]] | None = None,
    ) -> Diff:
        """What differs between two commits, entity by entity; `after` is by default the head of this handle's branch.

        Each end is a branch, a tag, a commit id or a time. Only what differs is read.

        >>> draft = graph.create_branch("draft")
        >>> draft.mutate('query add() { insert Person { name: "Alan" } }').affected_nodes
        1
        >>> [(change.op, change.id) for change in graph.diff("main", "draft")]
        [('insert', 'Alan')]

        Raises UnknownReference, TypeNotFound, BadRequest for an unknown kind or operation, and
        HistoricalVersionReclaimed.
        """
        from omnigraph.history.diff import diff_snapshots

        ends = [self._snapshot_of(end) for end in (before, after)]  # asks the policy: hints are for readers
        wanted = self._change_filter(kinds, types, ops)
        return diff_snapshots(self._storage, ends[0], ends[1], wanted)

    def entity_at(self, type_name: str, entity_id: str, at: str) -> PastEntity | None:
        """One entity as a commit showed it, or None. `at` is a branch, a tag, a commit id or a time.

        >>> graph.entity_at("Person", "Nobody", "main") is None
        True

        Raises UnknownReference, TypeNotFound and HistoricalVersionReclaimed.
        """
        return history.entity_at(self._storage, type_name, entity_id, self._readable(at).commit)

    # --- who did what -------------------------------------------------------------------------------------

    def log(
        self,
        at: str | None = None,
        *,
        full: bool = False,
        actor: str | Iterable[str] | None = None,
        kind: str | Iterable[str] | None = None,
        type_name: str | Iterable[str] | None = None,
        entity: tuple[str, str] | None = None,
        message: str | None = None,
        since: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> list[LogEntry]:
        """The commits that a branch, tag or commit contains (default: this handle's branch), newest first.

        It follows first parents; `full` has the commits of merged branches too. `entity` is a type and an id. `since`
        and `before` are times, or commits, branches and tags; `before` the last commit of a page gives the next one.

        >>> [entry.kind for entry in graph.log(limit=1)]
        ['load']

        Raises UnknownReference, TypeNotFound and InvalidValue.
        """
        wanted = history.log_filter(
            actor=actor,
            kind=kind,
            type_name=type_name,
            entity=entity,
            message=message,
            since=since,
            before=before,
        )
        head = self._readable(at).commit
        with self._hiding_names():
            return list(history.log_entries(self._storage, head, wanted, full=full, limit=limit))

    def entity_log(self, type_name: str, entity_id: str, at: str | None = None) -> list[EntityLogEntry]:
        """The changes of one entity since it was inserted, newest first, across merges: who, when, before and after.

        >>> [entry.change.op for entry in graph.entity_log("Person", "Ada")]
        ['insert']

        Raises UnknownReference, TypeNotFound and HistoricalVersionReclaimed.
        """
        head = self._readable(at).commit
        return list(history.entity_changes(self._storage, type_name, entity_id, head))

    def blame(self, type_name: str, entity_id: str, at: str | None = None) -> tuple[PropertyBlame, ...]:
        """For each property of an entity the commit that it has its value from. Empty where there is no such entity.

        >>> [(each.property, each.value) for each in graph.blame("Person", "Ada")]
        [('age', 36), ('name', 'Ada')]

        Raises UnknownReference, TypeNotFound and HistoricalVersionReclaimed.
        """
        head = self._readable(at).commit
        return history.blame(self._storage, type_name, entity_id, head)

    # --- parts --------------------------------------------------------------------------------------------

    def _change_filter(
        self,
        kinds: Iterable[str] | None,
        types: Iterable[str] | None,
        ops: Iterable[str] | None = None,
        *,
        any_types: bool = False,
    ) -> ChangeFilter:
        """A filter of changes; a type that the schema does not have is an error, not an empty answer."""
        from omnigraph.history.diff import change_filter
        from omnigraph.language import did_you_mean

        wanted = change_filter(kinds=kinds, types=types, ops=ops)
        known = [entity.name for entity in self._accepted.catalog.entities]
        for name in sorted(wanted.types or ()):
            if name not in known and not any_types:
                raise TypeNotFound(name, did_you_mean(name, known))
        return wanted

    def _readable(self, text: str | None, action: ActionName = "read") -> Reference:
        """What a text names, if the caller may read it: the branch itself, or the one that the commit was made on."""
        if text is None:
            self._allow(action, branch=self._branch)
            return self._reference(None)
        named = self._reference(text)
        self._allow(action, branch=named.name if named.kind == "branch" else named.commit.branch or MAIN)
        return named

    def _snapshot_of(self, text: str | None) -> Snapshot:
        return history.snapshot_at(self._storage, self._readable(text).commit)


def _source_branch(begin: Reference) -> str:
    """How a policy sees where a branch begins: the name of a branch, or a word for every other commit."""
    return begin.name if begin.kind == "branch" else SNAPSHOT_SOURCE
