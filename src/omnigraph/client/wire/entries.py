"""Entries: commits, snapshots, tags, the log, branches, stored queries, as the API tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.history import LogEntry, Snapshot, Tag
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import parse_datetime
from omnigraph.storage.manifest import GraphCommit, TablePin

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServedGraphInfo:
    """A graph that a server has."""

    graph_id: str
    uri: str

    def to_json(self) -> dict[str, Json]:
        return {"graph_id": self.graph_id, "uri": self.uri}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQueryInfo:
    """A stored query of a server: what it is called, what it is for, and its parameters as the catalogue has them."""

    name: str
    tool_name: str
    mutation: bool
    params: tuple[Document, ...]
    description: str | None = None
    instruction: str | None = None

    @classmethod
    def of(cls, entry: Document) -> StoredQueryInfo:
        return cls(
            name=entry["name"],
            tool_name=entry.get("tool_name") or entry["name"],
            mutation=entry["mutation"],
            params=tuple(entry["params"]),
            description=entry.get("description"),
            instruction=entry.get("instruction"),
        )

    def to_json(self) -> dict[str, Json]:
        """As the command line lists it."""
        from omnigraph.language.query import listed_query

        params: list[Json] = [_param(each) for each in self.params]
        notes = {"description": self.description, "instruction": self.instruction}
        return listed_query(self.name, self.tool_name, mutation=self.mutation, params=params, **notes)


def _param(entry: Document) -> dict[str, Json]:
    return {"name": entry["name"], "type": entry.get("type") or _kind(entry), "nullable": entry["nullable"]}


def _kind(entry: Document) -> str:
    """What a server says that does not tell the declared type."""
    if entry.get("vector_dim") is not None:
        return f"{entry['kind']}({entry['vector_dim']})"
    return f"[{entry['item_kind']}]" if entry.get("item_kind") is not None else str(entry["kind"])


@dataclass(frozen=True, slots=True)
class RemoteExplanation:
    """The plan of a query, as the server explains it."""

    text: str
    plan: Document

    @property
    def query_name(self) -> str:
        return str(self.plan.get("query_name", ""))

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Json]:
        return dict(self.plan)


@dataclass(frozen=True, slots=True)
class BranchDetailsInfo:
    """A branch and where it stands, as the server tells it: name, head, times, ahead and behind."""

    document: Document

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def commit_id(self) -> str | None:
        head = self.document.get("head")
        return None if head is None else str(head)

    @property
    def ahead(self) -> int:
        return int(self.document["ahead"])

    @property
    def behind(self) -> int:
        return int(self.document["behind"])

    def to_json(self) -> dict[str, Json]:
        return dict(self.document)


def commit_of(document: Document) -> GraphCommit:
    return GraphCommit(
        commit_id=document["graph_commit_id"],
        branch=document.get("graph_branch"),
        version=document["graph_manifest_version"],
        parent_id=document.get("parent_commit_id"),
        merged_parent_id=document.get("merged_parent_commit_id"),
        actor_id=document.get("actor_id"),
        created_at=document["created_at"],
    )


def log_entry_of(document: Document) -> LogEntry:
    parents = (document.get("parent_commit_id"), document.get("merged_parent_commit_id"))
    return LogEntry(
        commit_id=document["graph_commit_id"],
        parents=tuple(parent for parent in parents if parent is not None),
        branch=document.get("graph_branch") or MAIN,
        created_at=document["created_at"],
        actor_id=document.get("actor_id"),
        kind=document.get("kind"),
        message=document.get("message"),
        version=document.get("graph_manifest_version"),
    )


def snapshot_of(document: Document, commit: GraphCommit | None) -> Snapshot:
    pins = tuple(
        TablePin(
            TableKey(each["entity_kind"], each["type_name"]),
            each["dataset_path"],
            each["published_dataset_version"],
            each.get("native_dataset_branch"),
            each["entity_count"],
        )
        for each in document["datasets"]
    )
    return Snapshot(document["graph_branch"], document["graph_manifest_version"], commit, pins)


def tag_of(document: Document) -> Tag:
    made = document.get("created_at")
    return Tag(
        document["name"],
        document["commit_id"],
        parse_datetime(made) * 1000 if isinstance(made, str) else 0,
        document.get("actor_id"),
    )
