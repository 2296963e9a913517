"""A small library with all that a move may lose: blobs of every kind, vectors, parallel edges, branches, tags."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph

SCHEMA = """
node Book { isbn: String @key  title: String? @index  cover: Blob?  about: Vector(2)?  tags: [String]?  printed: Date? }
node Note { text: String }
edge Cites: Book -> Book { page: I32?  scan: Blob? }
"""
LARGE = b"x" * 300_000


def record(kind: str, name: str, data: dict[str, Any], **ends: str) -> bytes:
    return json.dumps({kind: name, **ends, "data": data}).encode()


def book(isbn: str, **data: Any) -> bytes:
    return record("type", "Book", {"isbn": isbn, **data})


def cites(one: str, other: str, **data: Any) -> bytes:
    return record("edge", "Cites", data, **{"from": one, "to": other})


def base64_of(data: bytes) -> str:
    return f"base64:{base64.b64encode(data).decode()}"


def fill(graph: Graph, folder: Path | None = None) -> None:
    """Books b1 to b5 and edges; with a folder that the handle allows, b4 refers to a file in it."""
    outside = None
    if folder is not None:
        (folder / "b4.bin").write_bytes(b"external bytes")
        outside = f"file://{folder}/b4.bin"
    graph.load(
        [
            book("b1", cover=base64_of(b"hello world"), about=[1.5, -2.0], tags=["a", "b"], printed="2020-02-29"),
            book("b2", cover="base64:", tags=[]),
            book("b3"),
            book("b4", cover=outside),
            book("b5", cover=base64_of(LARGE)),
            record("type", "Note", {"id": "n1", "text": "über\n"}),
            cites("b1", "b2", page=1),
            cites("b1", "b2", page=1, scan=base64_of(b"scan")),
            cites("b3", "b3"),
        ],
        mode="overwrite",
    )


def with_history(graph: Graph) -> None:
    """Commits on main and on branches of branches, a merge, upkeep, a tag, a branch that nobody wrote."""
    draft = graph.create_branch("draft")
    draft.mutate('query q() { insert Book { isbn: "d1", title: "draft" } }', message="a draft")
    graph.mutate('query q() { update Book set { title: "first" } where isbn = "b1" }')
    graph.tag("first")
    draft.mutate('query q() { delete Book where isbn = "b2" }')
    deeper = draft.create_branch("deeper")
    deeper.mutate('query q() { insert Book { isbn: "e1" } insert Cites { from: "b1", to: "e1" } }')
    graph.optimize()
    draft.optimize()
    graph.merge("draft", into="main")
    draft.mutate('query q() { insert Book { isbn: "d2", title: "later" } }')
    graph.create_branch("idle")


def exports(graph: Graph) -> dict[str, list[bytes]]:
    """By branch, what an export shows."""
    return {branch: list(graph.export(branch)) for branch in graph.branches()}


def logs(graph: Graph) -> dict[str, list[tuple[Any, ...]]]:
    """By branch, every commit with what identifies it."""
    return {
        branch: [
            (each.commit_id, each.created_at, each.actor_id, each.parent_id, each.merged_parent_id, dict(each.py))
            for each in graph.commits(branch)
        ]
        for branch in graph.branches()
    }


def pasts(graph: Graph) -> dict[str, list[bytes]]:
    """By commit, what it showed."""
    ids = {each.commit_id for branch in graph.branches() for each in graph.commits(branch)}
    return {commit: list(graph.at(commit).export()) for commit in sorted(ids)}
