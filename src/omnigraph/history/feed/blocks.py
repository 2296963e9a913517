"""Blocks: what a commit changed and why, as the feed returns it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from omnigraph.history.diff import EntityChange
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import GraphCommit

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """The commit that made the changes."""

    graph_commit_id: str
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    authored_branch: str
    """The branch that it was made on, which may be an ancestor of the branch that is read."""
    actor_id: str | None
    authored_at: int
    """Microseconds since 1970."""

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "graph_commit_id": self.graph_commit_id,
            "parent_commit_id": self.parent_commit_id,
            "merged_parent_commit_id": self.merged_parent_commit_id,
            "authored_branch": self.authored_branch,
            "actor_id": self.actor_id,
            "authored_at": self.authored_at,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """The changes of one commit, or a part of them. A commit that changed no entity has none."""

    cause: ChangeCause
    changes: tuple[EntityChange, ...]

    def to_json(self) -> dict[str, Json]:
        return {"cause": self.cause.to_json(), "changes": [change.to_json() for change in self.changes]}


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """One page of what a commit changed, compared with its first parent. Iterate it for the changes."""

    cause: ChangeCause
    changes: tuple[EntityChange, ...]
    next_page_token: str | None = None
    """Pass it to the next call. None: this page is the last one."""

    def __iter__(self) -> Iterator[EntityChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def to_json(self) -> dict[str, Json]:
        members = ChangeBlock(self.cause, self.changes).to_json()
        return members if self.next_page_token is None else members | {"next_page_token": self.next_page_token}

    def to_arrow(self) -> pa.Table:
        """One row per change; images are JSON texts."""
        return changes_as_arrow([ChangeBlock(self.cause, self.changes)])

    def _repr_html_(self) -> str:
        return changes_as_html([ChangeBlock(self.cause, self.changes)])


@dataclass(frozen=True, slots=True)
class FeedPage:
    """One page of the feed. Iterate it for the blocks, oldest commit first.

    It ends after a whole commit and has a `cursor`, or within one and has a `next_page_token`.
    """

    blocks: tuple[ChangeBlock, ...]
    next_page_token: str | None = None
    cursor: str | None = None
    """Where the next poll continues. Keep it together with what the blocks changed on your side."""
    caught_up: bool | None = None
    """Whether the page reaches the head that the branch had when the poll began."""

    def __iter__(self) -> Iterator[ChangeBlock]:
        return iter(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "next_page_token": self.next_page_token,
            "cursor": self.cursor,
            "caught_up": self.caught_up,
        }
        present = {name: value for name, value in members.items() if value is not None}
        return {"blocks": [block.to_json() for block in self.blocks], **present}

    def to_arrow(self) -> pa.Table:
        """One row per change, in order; images are JSON texts."""
        return changes_as_arrow(self.blocks)

    def _repr_html_(self) -> str:
        return changes_as_html(self.blocks)


def cause_of(commit: GraphCommit) -> ChangeCause:
    return ChangeCause(
        graph_commit_id=commit.commit_id,
        parent_commit_id=commit.parent_id,
        merged_parent_commit_id=commit.merged_parent_id,
        authored_branch=commit.branch or MAIN,
        actor_id=commit.actor_id,
        authored_at=commit.created_at,
    )


_COLUMNS = ("graph_commit_id", "op", "kind", "type_name", "id", "before", "after")


def _rows(blocks: Sequence[ChangeBlock]) -> Iterator[tuple[str | None, ...]]:
    for block in blocks:
        for each in block.changes:
            images = [None if image is None else _text(image.to_json()) for image in (each.before, each.after)]
            yield block.cause.graph_commit_id, each.op, each.kind, each.type_name, each.id, *images


def changes_as_arrow(blocks: Sequence[ChangeBlock]) -> pa.Table:
    """The changes of several blocks as one table."""
    import pyarrow as pa

    columns = list(zip(*_rows(blocks), strict=True)) or [()] * len(_COLUMNS)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.Table.from_arrays(arrays, names=list(_COLUMNS))


def changes_as_html(blocks: Sequence[ChangeBlock]) -> str:
    """The same as a table of a notebook."""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell or '')}</td>" for cell in row) + "</tr>" for row in _rows(blocks)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(members: Json) -> str:
    return json.dumps(members, ensure_ascii=False)
