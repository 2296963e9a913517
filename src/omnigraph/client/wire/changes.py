"""Changes: entities that differ, blocks and pages of the feed, and a diff that came over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.history import Snapshot
from omnigraph.history.diff import DiffStats, Endpoints, EntityChange, Image, TypeStats
from omnigraph.history.feed import ChangeBlock, ChangeCause, CommitChanges, FeedPage
from omnigraph.model.errors import Json
from omnigraph.storage.manifest import GraphCommit

Document = Mapping[str, Any]


class RemoteDiff:
    """What differs between two commits. It has the changes that the server sent; the statistics count all of them."""

    def __init__(
        self,
        before: Snapshot,
        after: Snapshot,
        changes: tuple[EntityChange, ...],
        stats: DiffStats,
        is_cut: bool,
    ) -> None:
        self.before, self.after, self.stats, self.is_cut = before, after, stats, is_cut
        self._changes = changes

    def __iter__(self) -> Iterator[EntityChange]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def is_empty(self) -> bool:
        return not self.stats.total

    def to_json(self) -> dict[str, Json]:
        ends = {name: _end(each) for name, each in (("from", self.before), ("to", self.after))}
        return {**ends, "changes": [each.to_json() for each in self], "stats": self.stats.to_json()}


def _end(snapshot: Snapshot) -> Json:
    return {"commit": snapshot.commit_id, "branch": snapshot.branch}


def remote_diff(document: Document) -> RemoteDiff:
    ends = [_snapshot(document[name]) for name in ("from", "to")]
    changes = tuple(change_of(each) for each in document["changes"])
    return RemoteDiff(ends[0], ends[1], changes, stats_of(document["stats"]), bool(document.get("truncated")))


def _snapshot(end: Document) -> Snapshot:
    """One end of a diff: the API names its commit and tells nothing of its tables."""
    commit = GraphCommit(
        commit_id=end["commit"],
        branch=end.get("branch"),
        version=0,
        parent_id=None,
        merged_parent_id=None,
        actor_id=None,
        created_at=0,
    )
    return Snapshot(end.get("branch") or "main", 0, commit, ())


def stats_of(document: Document) -> DiffStats:
    return DiffStats(
        tuple(
            TypeStats(each["kind"], each["type_name"], each["inserts"], each["updates"], each["deletes"])
            for each in document["types"]
        )
    )


def image_of(document: Document | None) -> Image | None:
    if document is None:
        return None
    ends = document.get("endpoints")
    return Image(document["properties"], None if ends is None else Endpoints(ends["from"], ends["to"]))


def change_of(document: Document) -> EntityChange:
    return EntityChange(
        document["kind"],
        document["type"]["name"],
        document["type"]["id"],
        document["id"],
        document["op"],
        image_of(document.get("before")),
        image_of(document.get("after")),
    )


def _cause(document: Document) -> ChangeCause:
    return ChangeCause(
        document["graph_commit_id"],
        document.get("parent_commit_id"),
        document.get("merged_parent_commit_id"),
        document["authored_branch"],
        document.get("actor_id"),
        document["authored_at"],
    )


def commit_changes_of(document: Document) -> CommitChanges:
    changes = tuple(change_of(each) for each in document["changes"])
    return CommitChanges(_cause(document["cause"]), changes, document.get("next_page_token"))


def feed_page_of(document: Document) -> FeedPage:
    blocks = tuple(
        ChangeBlock(_cause(each["cause"]), tuple(change_of(change) for change in each["changes"]))
        for each in document["blocks"]
    )
    return FeedPage(blocks, document.get("next_page_token"), document.get("cursor"), document.get("caught_up"))
