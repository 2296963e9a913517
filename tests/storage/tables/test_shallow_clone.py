"""Scratch copies: what is written through one lies in the staging area, and nobody else notices."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.storage import OneOf
from omnigraph.storage.bulk.area import staging_area
from omnigraph.storage.bulk.shallow_clone import scratch_copy
from omnigraph.storage.bulk.staged_files import stage_bulk_upsert
from omnigraph.storage.tables.table import Table
from support.graphs.people import fx, people


def person_table(graph: Graph, branch: str = "main") -> Table:
    pins = graph._storage.manifest.load(branch).state.pins()
    return graph._storage.tables.open(next(pin for pin in pins if pin.table_key.type_name == "Person"))


def files(table: Table) -> set[str]:
    return {
        os.path.join(folder, name)
        for kind in ("data", "_deletions", "_indices", "_versions")
        for folder, _, names in os.walk(Path(table.uri) / kind)
        for name in names
    }


def test_readers_of_a_table_are_not_disturbed_while_copies_of_it_are_made(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    table, ended, failures = person_table(graph), threading.Event(), list[BaseException]()

    def read() -> None:
        while not ended.is_set():
            try:
                table.count(OneOf("id", ("Bob",)))
            except Exception as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with staging_area(graph._storage, "copies") as area:
        for number in range(60):
            scratch_copy(table, area.files, f"copy/{number}")
        area.remove()
    ended.set()
    for reader in readers:
        reader.join()
    assert failures == []


@pytest.mark.parametrize("branch", ["main", "draft"])
def test_a_merge_adds_to_the_table_only_what_was_noted_before(tmp_path: Path, branch: str) -> None:
    graph = fx(tmp_path / "g")
    if branch != "main":
        graph.create_branch(branch).mutate('query i() { insert Person { name: "Eve" } }')
    table = person_table(graph, branch)
    before, known = files(table), people(graph.branch(branch) if branch != "main" else graph)
    rows = pa.Table.from_batches(list(table.scan())).slice(0, 2)
    with staging_area(graph._storage, "merge") as area:
        stage_bulk_upsert(area, table, table.schema, iter(rows.to_batches()))
        added = files(table) - before
        assert {os.path.relpath(path, table.uri) for path in added} == area.moved[table.pin.path]
        area.remove()
    assert files(table) == before, "nothing was committed, so nothing stays"
    assert people(graph.branch(branch) if branch != "main" else graph) == known
    assert graph.verify().ok
