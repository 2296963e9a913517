"""Blobs: the method of `Graph` that reads one Blob value. Queries never return them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph import history
from omnigraph.graph.versions import Versions
from omnigraph.model.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.history import Blob


class Blobs(Versions):
    """Values that are too large for rows."""

    def blob(
        self,
        type: str,  # noqa: A002 - the word of the command line
        id: str,  # noqa: A002
        property: str,  # noqa: A002
        *,
        branch: str | None = None,
        at: str | None = None,
    ) -> Blob:
        """One Blob value: its size, tag and kind, and a way to its bytes. No byte is read until you ask for it.

        `at` is a commit, a tag or a time; otherwise the head of the branch is read. A type is `Book`, or `node:Book`
        where a node type and an edge type have the same name.

        >>> cover = library.blob("Book", "b1", "cover")
        >>> cover.kind, cover.size
        ('managed', 11)

        Raises BlobNotFound for an entity that is not there or has no value, InvalidBlobSelector for a type or property
        that is not there or holds no blob, BranchNotFound, UnknownReference, and HistoricalVersionReclaimed.
        """
        if at is not None and branch is not None:
            raise BadRequest("a blob is read from a branch or at a commit, not both", "pass branch= or at=")
        snapshot = self.snapshot(branch) if at is None else self._snapshot_of(at)
        return history.find_blob(self._storage, snapshot, type, id, property, pinned=at is not None)
