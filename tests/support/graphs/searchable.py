"""A graph of documents to search in: built through the write path, its tables opened as the engine opens them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph
from omnigraph.query.search.text import text_columns
from omnigraph.query.search.vectors import vector_columns
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import IndexSpec, StagedEffect, Table, stage_indexes

SCHEMA = """
node Doc {
    slug: String @key
    title: String? @index
    emb: Vector(2)? @index
}
"""
TEXT_INDEX = IndexSpec("title", "INVERTED", "title_idx")
VECTOR_INDEX = IndexSpec("emb", "IVF_FLAT", "emb_idx", (("num_partitions", 1), ("metric", "l2")))


class Documents:
    """Documents by slug, and their table at the newest version."""

    def __init__(self, path: Path | str, rows: Iterable[Mapping[str, Any]] = (), schema: str = SCHEMA) -> None:
        self.graph = Graph.init(str(path), schema, durability="os")
        self.put(rows)

    def put(self, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = [json.dumps({"type": "Doc", "data": dict(row)}).encode() + b"\n" for row in rows]
        if lines:
            self.graph.load(lines, mode="merge")

    def drop(self, slug: str) -> None:
        self.graph.mutate("query d($s: String) { delete Doc where slug = $s }", s=slug)

    def table(self) -> Table:
        storage = self.graph._storage
        [pin] = storage.manifest.load("main").state.pins()
        return storage.tables.open(pin)

    def index(self, *specs: IndexSpec) -> None:
        """Builds indexes over everything that is there, and publishes them."""
        self.publish(stage_indexes(self.table(), specs))

    def publish(self, effect: StagedEffect) -> None:
        """Makes a staged effect visible, past the write path."""
        storage = self.graph._storage
        with storage.leases.hold("main") as lease:
            loaded = storage.manifest.load("main")
            change = storage.table_commits.commit(effect)
            plan = PublishPlan(
                branch="main",
                changes=(change,),
                requirements=(head_of(loaded),),
                identity=CommitIdentity(py={"kind": "x"}),
            )
            publish(storage.manifest, plan, fence=lease.check)

    def slugs(self, row_ids: Any) -> list[str]:
        """The slugs of rows, in their order."""
        rows = self.table().read(["slug", "_rowid"]).to_pylist()
        names = {row["_rowid"]: row["slug"] for row in rows}
        return [names[row_id] for row_id in row_ids.tolist()]

    def scores(self, hits: Any) -> dict[str, float]:
        return dict(zip(self.slugs(hits.row_ids), hits.scores.tolist(), strict=True))


def forget_columns() -> None:
    """As if the process were new: nothing is resident."""
    text_columns.forget()
    vector_columns.forget()
