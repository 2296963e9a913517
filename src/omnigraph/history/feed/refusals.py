"""Refusals of the change feed: why changes cannot be told, and what to do instead."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.model.errors import BadRequest, Conflict, Gone, Json

_TAKE_A_BASELINE = "take a new baseline with `omnigraph changes baseline --out FILE`, and continue from its cursor"


@dataclass(eq=False)
class ChangeCursorRejected(BadRequest):
    """A cursor or page token that does not belong to this call: damaged, of another graph, branch, commit or filter."""

    reason: str

    def sentence(self) -> str:
        return f"change cursor rejected: {self.reason}"

    @property
    def hint(self) -> str | None:
        return (
            "pass the cursor exactly as it was returned, to the same graph and branch and with the same filter; "
            f"if it is lost, {_TAKE_A_BASELINE}"
        )


@dataclass(eq=False)
class ChangeFeedGap(Gone):
    """The next changes cannot be told any more: the table versions that they are read from were removed."""

    first_unreadable_commit_id: str
    cursor: str | None = None
    """What the caller passed."""

    def sentence(self) -> str:
        return f"change feed gap at commit '{self.first_unreadable_commit_id}': its history was reclaimed"

    @property
    def hint(self) -> str | None:
        return _TAKE_A_BASELINE

    def details(self) -> dict[str, Json]:
        gap: dict[str, Json] = {"first_unreadable_commit_id": self.first_unreadable_commit_id}
        if self.cursor is not None:
            gap["cursor"] = self.cursor
        return {"change_feed_gap": gap}


@dataclass(eq=False)
class CommitHasNoParent(Conflict):
    """The first commit of a graph: there is nothing that it could be compared with."""

    graph_commit_id: str

    def sentence(self) -> str:
        return f"commit '{self.graph_commit_id}' has no first parent, so there are no changes to tell"

    @property
    def hint(self) -> str | None:
        return "it is the first commit of the graph, and the graph was empty; ask for a later one"

    def details(self) -> dict[str, Json]:
        return {"change_diff_refusal": {"reason": "parentless_commit", "graph_commit_id": self.graph_commit_id}}


@dataclass(eq=False)
class ChangeSchemaBoundary(Conflict):
    """A commit that changed the schema: entities before and after it do not have the same properties."""

    graph_commit_id: str
    type_name: str

    def sentence(self) -> str:
        return f"commit '{self.graph_commit_id}' changed the schema of type '{self.type_name}'"

    @property
    def hint(self) -> str | None:
        return f"changes cannot be listed across it; {_TAKE_A_BASELINE}"

    def details(self) -> dict[str, Json]:
        refusal: dict[str, Json] = {"reason": "schema_boundary", "graph_commit_id": self.graph_commit_id}
        return {"change_diff_refusal": refusal | {"type_name": self.type_name}}
