"""A graph of many people, made in seconds: whole columns straight into the table, one index, two commits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.graph import Graph
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import IndexSpec, StagedEffect, Table, stage_append, stage_indexes

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
INSERT = "query add($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
PERSON = TableKey("node", "Person")


def ids_of(count: int) -> pa.Array:
    return pa.array([f"p{number:08d}" for number in range(count)])


def make_graph(uri: str, people: int) -> Graph:
    """A graph with this many people and a BTREE index of their ids."""
    Graph.init(uri, SCHEMA)
    storage = open_storage(uri)
    columns = {"id": ids_of(people), "name": ids_of(people), "age": pa.array(np.arange(people) % 90, pa.int32())}

    def rows(table: Table) -> StagedEffect:
        return stage_append(table, pa.table([columns[name] for name in table.schema.names], schema=table.schema))

    commit(storage, rows)
    commit(storage, lambda table: stage_indexes(table, [IndexSpec("id", "BTREE", "id_idx")]))
    return Graph.open(uri)


def commit(storage: GraphStorage, stage: Callable[[Table], StagedEffect]) -> None:
    """Stages an effect on the people's table of main and publishes it as one commit."""
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        pin = next(pin for pin in loaded.state.pins() if pin.table_key == PERSON)
        change = storage.table_commits.commit(stage(storage.tables.open(pin)))
        plan = PublishPlan(changes=(change,), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(storage.manifest, plan, fence=lease.check)


def deepen_history(uri: str, commits: int) -> None:
    """Adds commits that change nothing, until the graph has this many. Not synced: only their number matters here."""
    storage = open_storage(uri, durability="os")
    with storage.leases.hold("main") as lease:
        for _ in range(commits - len(storage.manifest.load().state.commits)):
            publish(storage.manifest, PublishPlan(identity=CommitIdentity()), fence=lease.check)
