"""Changes of one commit: page by page with tokens, or as one stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice

from omnigraph.history.commits import find_commit, manifest_at
from omnigraph.history.diff import ChangeFilter, EntityChange
from omnigraph.history.feed.blocks import ChangeCause, CommitChanges, cause_of
from omnigraph.history.feed.commit_diff import UPKEEP, CommitDiff
from omnigraph.history.feed.continuations import keep_rest, take_rest
from omnigraph.history.feed.filters import plain_filter
from omnigraph.history.feed.limits import PageLimits
from omnigraph.history.feed.paging import Page
from omnigraph.history.feed.refusals import ChangeFeedGap, CommitHasNoParent
from omnigraph.history.feed.tokens import BlockPosition, block_position, commit_scope
from omnigraph.history.snapshots import snapshot_of
from omnigraph.model.errors import BranchNotFound, HistoricalVersionReclaimed
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit


@dataclass(frozen=True, slots=True)
class CommitChangeStream:
    """Everything that a commit changed. The changes are read while they are iterated, once, in bounded memory."""

    cause: ChangeCause
    changes: Iterator[EntityChange]


def commit_changes(
    storage: GraphStorage,
    commit: GraphCommit,
    *,
    wanted: ChangeFilter | None = None,
    page_token: str | None = None,
    limits: PageLimits | None = None,
) -> CommitChanges:
    """One page of what a commit changed, compared with its first parent."""
    wanted = plain_filter(wanted)
    scope = commit_scope(storage.manifest.genesis, commit.commit_id, wanted)
    resume = None if page_token is None else block_position(scope.unseal(page_token, "commit-page"))
    found = take_rest(storage, page_token) or _changes(storage, commit, wanted, resume)
    with telling_gaps(commit.commit_id):
        piece = Page(limits or PageLimits()).take(found, resume)
    assert piece is not None, "an empty page takes any change"
    if piece.stopped_at is None:
        return CommitChanges(cause_of(commit), piece.changes)
    token = scope.seal("commit-page", **piece.stopped_at.members())
    keep_rest(storage, token, piece.rest)
    return CommitChanges(cause_of(commit), piece.changes, token)


def commit_change_stream(
    storage: GraphStorage, commit: GraphCommit, *, wanted: ChangeFilter | None = None
) -> CommitChangeStream:
    """The same without pages. The first change is read at once, so that a refusal comes before it."""

    def told() -> Iterator[EntityChange]:
        with telling_gaps(commit.commit_id):
            yield from _changes(storage, commit, plain_filter(wanted), None)

    found = told()
    return CommitChangeStream(cause_of(commit), chain(list(islice(found, 1)), found))


@contextmanager
def telling_gaps(commit_id: str, cursor: str | None = None) -> Iterator[None]:
    """A version that is gone, or the branch of an inherited commit that is, is a gap at this commit."""
    try:
        yield
    except (HistoricalVersionReclaimed, BranchNotFound) as error:
        raise ChangeFeedGap(commit_id, cursor) from error


def _changes(
    storage: GraphStorage, commit: GraphCommit, wanted: ChangeFilter, resume: BlockPosition | None
) -> Iterator[EntityChange]:
    if commit.parent_id is None:
        raise CommitHasNoParent(commit.commit_id)
    if commit.py.get("kind") in UPKEEP:
        return
    before = manifest_at(storage, find_commit(storage, commit.parent_id, commit.branch or MAIN))
    after = manifest_at(storage, commit, before)
    yield from CommitDiff(storage, commit, snapshot_of(before), snapshot_of(after)).changes(wanted, resume)
