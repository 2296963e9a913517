"""The change feed: what the commits of a branch changed, oldest first, from wherever the caller stopped last.

A poll captures the head of the branch and walks the first parents from there back to the position that it was given.
The graph keeps nothing about its readers: the cursor that a page ends with is all that it takes to continue.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.history.commits import manifest_at
from omnigraph.history.diff import ChangeFilter, EntityChange
from omnigraph.history.feed.blocks import ChangeBlock, FeedPage, cause_of
from omnigraph.history.feed.commit_diff import UPKEEP, CommitDiff
from omnigraph.history.feed.commit_pages import telling_gaps
from omnigraph.history.feed.continuations import keep_rest, take_rest
from omnigraph.history.feed.filters import plain_filter
from omnigraph.history.feed.limits import PageLimits
from omnigraph.history.feed.paging import Page, Piece
from omnigraph.history.feed.refusals import ChangeCursorRejected, ChangeFeedGap, ChangeSchemaBoundary
from omnigraph.history.feed.tokens import BlockPosition, TokenScope, block_position, feed_scope, text_of
from omnigraph.history.snapshots import snapshot_of
from omnigraph.model.errors import BadRequest, Corrupt
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest


def changes(
    storage: GraphStorage,
    branch: str = MAIN,
    *,
    start: str | None = None,
    cursor: str | None = None,
    page_token: str | None = None,
    wanted: ChangeFilter | None = None,
    limits: PageLimits | None = None,
) -> FeedPage:
    """One page of the feed of a branch, from one position: `start`, `cursor` or `page_token`.

    `start` is `now` (nothing that exists already, the default), `beginning`, or `after:` and a commit id.
    """
    if sum(position is not None for position in (start, cursor, page_token)) > 1:
        raise BadRequest("pass one of start, cursor and page_token", "a cursor already says where the feed continues")
    wanted = plain_filter(wanted)
    loaded = storage.manifest.load(normalize_branch(branch))
    scope = feed_scope(storage.manifest.genesis, loaded, wanted)
    walk = _walk(loaded, scope, start=start, cursor=cursor, page_token=page_token)
    try:
        return _Poll(storage, loaded, scope, wanted, cursor).page(walk, limits or PageLimits())
    finally:  # what was read, and what was missed, is of the branch only if that is still the same one
        if loaded.state.incarnation is not None:
            storage.manifest.require(loaded.state.incarnation)


def changes_in_whole_blocks(
    storage: GraphStorage,
    branch: str = MAIN,
    *,
    start: str | None = None,
    cursor: str | None = None,
    wanted: ChangeFilter | None = None,
    limits: PageLimits | None = None,
) -> FeedPage:
    """One poll, page after page until it has a cursor. A commit that was split over pages is one block again."""
    page = changes(storage, branch, start=start, cursor=cursor, wanted=wanted, limits=limits)
    blocks = list(page.blocks)
    while page.next_page_token is not None:
        page = changes(storage, branch, page_token=page.next_page_token, wanted=wanted, limits=limits)
        rest = page.blocks[0]
        blocks[-1] = ChangeBlock(rest.cause, (*blocks[-1].changes, *rest.changes))
        blocks += page.blocks[1:]
    return FeedPage(tuple(blocks), None, page.cursor, page.caught_up)


def cursor_at_head(storage: GraphStorage, loaded: LoadedManifest, wanted: ChangeFilter) -> str:
    """The cursor of a reader who knows everything up to the head."""
    scope = feed_scope(storage.manifest.genesis, loaded, plain_filter(wanted))
    return _cursor(scope, _head(loaded).commit_id)


def _cursor(scope: TokenScope, after_commit_id: str) -> str:
    return scope.seal("feed-cursor", after_commit_id=after_commit_id)


# --- which commits ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Walk:
    """The commits that a poll goes through."""

    after: GraphCommit
    """The last one that the reader knows completely."""
    commits: tuple[GraphCommit, ...]
    """Those behind it, oldest first, up to the cut."""
    cut: str
    """The head when the poll began."""
    page_token: str | None = None
    resume: BlockPosition | None = None
    """Where to continue within the first of them, and the token that says so."""


def _walk(
    loaded: LoadedManifest, scope: TokenScope, *, start: str | None, cursor: str | None, page_token: str | None
) -> _Walk:
    if page_token is not None:
        return _continued(loaded, scope, page_token)
    head = _head(loaded)
    if cursor is not None:
        return _walk_from(loaded, head, text_of(scope.unseal(cursor, "feed-cursor"), "after_commit_id"))
    if start is None or start == "now":
        return _Walk(head, (), head.commit_id)
    if start == "beginning":
        return _walk_from(loaded, head, None)
    word, colon, commit_id = start.partition(":")
    if word != "after" or not colon or not commit_id:
        raise BadRequest(f"unknown start '{start}'", "use now, beginning, or after:<commit id>")
    return _walk_from(loaded, head, commit_id)


def _continued(loaded: LoadedManifest, scope: TokenScope, page_token: str) -> _Walk:
    """The rest of an earlier poll: up to its cut, whatever was committed since."""
    members = scope.unseal(page_token, "feed-page")
    cut = loaded.state.commits.get(text_of(members, "cut_commit_id"))
    if cut is None:
        raise _not_on_branch(loaded, text_of(members, "cut_commit_id"))
    walk = _walk_from(loaded, cut, text_of(members, "after_commit_id"))
    if not walk.commits or walk.commits[0].commit_id != text_of(members, "current_commit_id"):
        raise ChangeCursorRejected("the commit that it names does not follow the one before it")
    return _Walk(walk.after, walk.commits, walk.cut, page_token, block_position(members))


def _walk_from(loaded: LoadedManifest, cut: GraphCommit, after: str | None) -> _Walk:
    """From the cut back to a commit along first parents; None stands for the first commit of the graph."""
    commits: list[GraphCommit] = []
    commit = cut
    while commit.commit_id != after:
        if commit.parent_id is None:
            if after is None:
                break
            raise _not_on_branch(loaded, after)
        commits.append(commit)
        commit = _parent(loaded, commit)
    return _Walk(commit, tuple(reversed(commits)), cut.commit_id)


def _parent(loaded: LoadedManifest, commit: GraphCommit) -> GraphCommit:
    parent = loaded.state.commits.get(commit.parent_id or "")
    if parent is None:
        raise Corrupt(MANIFEST, f"the first parent of commit {commit.commit_id} is not on branch '{loaded.branch}'")
    return parent


def _not_on_branch(loaded: LoadedManifest, commit_id: str) -> ChangeCursorRejected:
    return ChangeCursorRejected(f"commit '{commit_id}' is not among the first parents of branch '{loaded.branch}'")


def _head(loaded: LoadedManifest) -> GraphCommit:
    if loaded.state.head is None:
        raise Corrupt(MANIFEST, f"branch '{loaded.branch}' has no commit")
    return loaded.state.head


# --- what they changed ------------------------------------------------------------------------------------


class _Poll:
    """One call of the feed: reads block by block until its page is full."""

    def __init__(
        self,
        storage: GraphStorage,
        loaded: LoadedManifest,
        scope: TokenScope,
        wanted: ChangeFilter,
        cursor: str | None,
    ) -> None:
        self._storage = storage
        self._loaded = loaded
        self._scope = scope
        self._wanted = wanted
        self._cursor = cursor
        self._known: tuple[str, LoadedManifest] | None = None
        """The manifest of the commit that was read last: the next one is read on top of it."""

    def page(self, walk: _Walk, limits: PageLimits) -> FeedPage:
        room, blocks, after = Page(limits), list[ChangeBlock](), walk.after
        for commit in walk.commits[: limits.max_commits]:
            if room.is_full:
                break
            try:
                piece = self._piece(room, walk, commit)
            except (ChangeFeedGap, ChangeSchemaBoundary):
                if not blocks:
                    raise
                break  # the next poll begins with this commit, and says so
            if piece is None:
                break
            blocks.append(ChangeBlock(cause_of(commit), piece.changes))
            if piece.stopped_at is not None:
                token = self._page_token(walk, after, commit, piece.stopped_at)
                keep_rest(self._storage, token, piece.rest)
                return FeedPage(tuple(blocks), token)
            after = commit
        cursor = _cursor(self._scope, after.commit_id)
        return FeedPage(tuple(blocks), None, cursor, caught_up=after.commit_id == walk.cut)

    def _piece(self, room: Page, walk: _Walk, commit: GraphCommit) -> Piece | None:
        """What the page takes of a commit; a page token continues the first one."""
        is_first = commit is walk.commits[0]
        resume = walk.resume if is_first else None
        found = take_rest(self._storage, walk.page_token) if is_first else None
        with telling_gaps(commit.commit_id, self._cursor):
            return room.take(found or self._changes(commit, resume), resume)

    def _page_token(self, walk: _Walk, after: GraphCommit, current: GraphCommit, stopped_at: BlockPosition) -> str:
        return self._scope.seal(
            "feed-page",
            after_commit_id=after.commit_id,
            cut_commit_id=walk.cut,
            current_commit_id=current.commit_id,
            **stopped_at.members(),
        )

    def _changes(self, commit: GraphCommit, resume: BlockPosition | None) -> Iterator[EntityChange]:
        if commit.py.get("kind") in UPKEEP:
            return
        before, after = self._manifest(_parent(self._loaded, commit)), self._manifest(commit)
        found = CommitDiff(self._storage, commit, snapshot_of(before), snapshot_of(after))
        yield from found.changes(self._wanted, resume)

    def _manifest(self, commit: GraphCommit) -> LoadedManifest:
        if self._known is None or self._known[0] != commit.commit_id:
            older = None if self._known is None else self._known[1]
            self._known = commit.commit_id, manifest_at(self._storage, commit, older)
        return self._known[1]
