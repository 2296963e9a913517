"""The change feed: the methods of `Graph` that tell programs what commits changed, one page at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from omnigraph.graph.versions import Versions

if TYPE_CHECKING:
    from omnigraph.history.feed import Baseline, CommitChanges, FeedPage, PageLimits


class ChangeFeed(Versions):
    """A feed that keeps no state: the caller keeps a cursor, and continues from it whenever it likes."""

    def changes(
        self,
        branch: str | None = None,
        *,
        start: str | None = None,
        cursor: str | None = None,
        page_token: str | None = None,
        kinds: Iterable[Literal["node", "edge"]] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[Literal["insert", "update", "delete"]] | None = None,
        limits: PageLimits | None = None,
        any_types: bool = False,
    ) -> FeedPage:
        """One page of what the commits of a branch changed, oldest first, from a position on.

        The position is `start` ("now", which is the default, "beginning", or "after:" and a commit id), the `cursor` of
        an earlier page, or its `next_page_token`. Keep the cursor of the last page that you have dealt with. With
        `any_types` a type that the schema does not have selects nothing, instead of being an error.

        >>> cursor = graph.changes().cursor
        >>> graph.mutate('query add() { insert Person { name: "Alan" } }').affected_nodes
        1
        >>> page = graph.changes(cursor=cursor)
        >>> [(change.op, change.id) for block in page.blocks for change in block.changes]
        [('insert', 'Alan')]

        Raises ChangeCursorRejected, ChangeFeedGap if files that are needed were removed, ChangeSchemaBoundary, and
        BranchNotFound.
        """
        from omnigraph.history.feed import changes

        named = self._named(branch)
        self._allow("read", branch=named)
        return changes(
            self._storage,
            named,
            start=start,
            cursor=cursor,
            page_token=page_token,
            wanted=self._change_filter(kinds, types, ops, any_types=any_types),
            limits=limits,
        )

    def commit_changes(
        self,
        commit: str,
        *,
        kinds: Iterable[Literal["node", "edge"]] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[Literal["insert", "update", "delete"]] | None = None,
        page_token: str | None = None,
        limits: PageLimits | None = None,
        any_types: bool = False,
    ) -> CommitChanges:
        """One page of what a commit changed against its first parent. `commit` is an id, a branch, a tag or a time.

        With `any_types` a type that the schema does not have selects nothing, instead of being an error.

        >>> done = graph.mutate('query add() { insert Person { name: "Alan" } }')
        >>> [(change.op, change.id) for change in graph.commit_changes(done.commit_id).changes]
        [('insert', 'Alan')]

        Raises UnknownReference, CommitNotFound, CommitHasNoParent, ChangeSchemaBoundary and ChangeFeedGap.
        """
        from omnigraph.history.feed import commit_changes

        named = self._readable(commit).commit
        wanted = self._change_filter(kinds, types, ops, any_types=any_types)
        return commit_changes(self._storage, named, wanted=wanted, page_token=page_token, limits=limits)

    def baseline(
        self,
        path: str | os.PathLike[str],
        branch: str | None = None,
        *,
        kinds: Iterable[Literal["node", "edge"]] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[Literal["insert", "update", "delete"]] | None = None,
    ) -> Baseline:
        """Writes the state of a branch to a file as JSON lines, and returns the cursor from which the feed continues.

        The file has the whole state, or what it had before. `ops` does not narrow it: it binds the cursor, which the
        feed accepts with the same filter only.

        >>> graph.changes(cursor=graph.baseline("people.jsonl").resume_cursor).blocks
        ()

        Raises BadRequest for a file that cannot be written, and BranchNotFound.
        """
        from omnigraph.history.feed import install_baseline

        named = self._named(branch)
        self._allow("export", branch=named)
        wanted = self._change_filter(kinds, types, ops)
        return install_baseline(self._storage, self._catalog_of(named), path, named, wanted=wanted)

    def baseline_lines(
        self,
        branch: str | None = None,
        *,
        kinds: Iterable[Literal["node", "edge"]] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[Literal["insert", "update", "delete"]] | None = None,
    ) -> Iterator[bytes]:
        """The state of a branch as JSON lines, and a last line with the cursor; without that line it is not complete.

        >>> list(graph.baseline_lines())[-1][:12]
        b'{"baseline":'

        Raises BranchNotFound and TypeNotFound.
        """
        from omnigraph.history.feed import baseline_lines

        named = self._named(branch)
        self._allow("export", branch=named)
        wanted = self._change_filter(kinds, types, ops)
        return baseline_lines(self._storage, self._catalog_of(named), named, wanted=wanted)
