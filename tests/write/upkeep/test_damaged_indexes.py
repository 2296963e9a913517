"""An index proposes, it never fails: whatever became of its files, reads and writes do what they do without it."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Corrupt
from omnigraph.query.plan.steps import Mode
from omnigraph.query.resident.cache import resident_cache
from omnigraph.storage import GraphStorage, OneOf, open_storage
from omnigraph.storage.indexes.builds import existing_indexes, why_broken
from omnigraph.storage.lance import session as lance_session
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.storage.restore import lineage_head, version_row
from omnigraph.storage.tables import existing_ids, stage_delete, stage_upsert
from omnigraph.write.rules.committed_view import CommittedView
from support.graphs.people import lines
from support.graphs.rust_graphs import rust_graph
from support.graphs.searchable import forget_columns

SCHEMA = """
node Person { name: String @key  age: I32? @index  bio: String? @index  face: Vector(2)? @index }
edge Knows: Person -> Person { weight: I32? }
"""
MODES: tuple[Mode, ...] = ("indexed", "auto", "csr")
PEOPLE = 12


def person(number: int) -> dict[str, Any]:
    bio = f"a garden of roses{number}"
    return {"type": "Person", "data": {"name": f"p{number}", "age": number, "bio": bio, "face": [float(number), 0.5]}}


def knows(one: int, other: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{one}", "to": f"p{other}", "data": {"weight": one}}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with every kind of index that is built."""
    path = tmp_path_factory.mktemp("sound") / "g"
    graph = Graph.init(str(path), SCHEMA, durability="os")
    people = [person(number) for number in range(PEOPLE)]
    graph.load(lines(*people, *(knows(number, (number + 1) % PEOPLE) for number in range(PEOPLE))), mode="append")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_SUBSTRING_INDEX_ROWS", "1")
        assert not graph.ensure_indices().pending
    return path


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing is in memory, least of all an index that was read while it was sound."""
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OMNIGRAPH_SUBSTRING_INDEX_ROWS", "1")
    monkeypatch.setattr(lance_session, "_session", None)
    resident_cache().clear()
    forget_columns()
    yield
    resident_cache().clear()
    forget_columns()


def cut(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def garble(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(bytes(byte ^ 0x5A for byte in data[:64]) + data[64:])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b"") and None,
    "cut": cut,
    "garbled": garble,
}
INDEXES = {
    ("edge:Knows", "src", "BTREE"): ("page_data.lance", "page_lookup.lance"),
    ("edge:Knows", "dst", "BTREE"): ("page_lookup.lance",),
    ("node:Person", "id", "BTREE"): ("page_data.lance", "page_lookup.lance"),
    ("node:Person", "age", "BTREE"): ("page_data.lance", "page_lookup.lance"),
    ("node:Person", "bio", "INVERTED"): (
        "metadata.lance",
        "part_0_docs.lance",
        "part_0_invert.lance",
        "part_0_tokens.lance",
    ),
    ("node:Person", "bio", "NGRAM"): ("ngram_postings.lance",),
    ("node:Person", "face", "IVF_FLAT"): ("auxiliary.idx", "index.idx"),
}
CASES = [
    pytest.param(which, file, damage, id=f"{which[1]}-{which[2]}-{file.partition('.')[0]}-{damage}")
    for which, files in INDEXES.items()
    for file in files
    for damage in DAMAGES
]


def damaged(sound: Path, copy: Path, which: tuple[str, str, str], file: str, damage: str) -> Graph:
    shutil.copytree(sound, copy)
    graph = Graph.open(str(copy))
    type_key, column, kind = which
    [pin] = [pin for pin in graph.snapshot().tables if str(pin.table_key) == type_key]
    [index] = [
        index
        for index in graph._storage.tables.open(pin).handle.describe_indices()
        if (list(index.field_names), str(index.index_type).upper()) == ([column], kind)
    ]
    [segment] = index.segments
    DAMAGES[damage](copy / pin.location / "_indices" / str(segment.uuid) / file)
    return graph


@pytest.mark.parametrize(("which", "file", "damage"), CASES)
def test_whatever_became_of_an_index_reads_and_writes_do_as_without_it(
    sound: Path, tmp_path: Path, which: tuple[str, str, str], file: str, damage: str
) -> None:
    graph = damaged(sound, tmp_path / "g", which, file, damage)
    check_reads(graph)
    check_writes(graph)


def rows(graph: Graph, match: str, mode: Mode = "auto", rest: str = "") -> list[str]:
    found = graph.query(f"query q() {{ match {{ {match} }} return {{ $p.name }} {rest} }}", mode=mode)
    return sorted((row["p.name"] for row in found.rows()), key=lambda name: int(name[1:]))


def check_reads(graph: Graph) -> None:
    for mode in MODES:
        assert rows(graph, '$p: Person { name: "p3" }', mode) == ["p3"]
        assert rows(graph, "$p: Person { age: 4 }", mode) == ["p4"]
        assert rows(graph, "$p: Person $p.age >= 9", mode) == ["p9", "p10", "p11"]
        assert rows(graph, '$p: Person $p.bio contains "roses11"', mode) == ["p11"]
        assert rows(graph, '$f: Person { name: "p3" } $f knows $p', mode) == ["p4"]
        assert rows(graph, '$f: Person { name: "p3" } $p knows $f', mode) == ["p2"]
    for _ in range(2):  # by the index, then from memory
        assert rows(graph, '$p: Person search($p.bio, "roses5")') == ["p5"]
        assert rows(graph, "$p: Person", rest='order { bm25($p.bio, "roses6") desc } limit 1') == ["p6"]
        assert rows(graph, "$p: Person", rest="order { nearest($p.face, [7.0, 0.5]) } limit 1") == ["p7"]


def check_writes(graph: Graph) -> None:
    graph.mutate('query i() { insert Knows { from: "p0", to: "p5", weight: 77 } }')
    graph.mutate('query u() { update Person set { age: 50 } where name = "p1" }')
    graph.mutate("query u() { update Person set { age: 51 } where age = 2 }")
    graph.mutate('query i() { insert Person { name: "p99", age: 99 } }')
    graph.load(lines(person(3) | {"data": person(3)["data"] | {"age": 52}}, person(40), knows(40, 3)), mode="merge")
    graph.mutate('query d() { delete Person where name = "p8" }')
    graph.mutate('query d() { delete Knows where from = "p10" }')
    records = [json.loads(line) for line in graph.export()]
    ages = {each["data"]["name"]: each["data"]["age"] for each in records if "type" in each}
    expected = {f"p{number}": number for number in range(PEOPLE) if number != 8}
    assert ages == expected | {"p1": 50, "p2": 51, "p3": 52, "p99": 99, "p40": 40}
    pairs = sorted((int(each["from"][1:]), int(each["to"][1:])) for each in records if "edge" in each)
    ring = [(number, (number + 1) % PEOPLE) for number in range(PEOPLE) if number not in (7, 8, 10)]
    assert pairs == sorted([*ring, (0, 5), (40, 3)])


SHOWN = [case for case in CASES if case.values[2] != "garbled"]


@pytest.mark.parametrize(("which", "file", "damage"), SHOWN[::4])
def test_a_damaged_index_is_shown_as_broken_and_built_anew(
    sound: Path, tmp_path: Path, which: tuple[str, str, str], file: str, damage: str
) -> None:
    graph = damaged(sound, tmp_path / "g", which, file, damage)
    states = {(one.type, one.column, one.kind): one.state for one in graph.indexes()}
    assert states.pop(which) == "broken"
    assert set(states.values()) == {"ready"}
    graph.optimize()
    assert {one.state for one in graph.indexes()} == {"ready"}
    check_reads(graph)


def test_a_damaged_index_is_told_once(sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = damaged(sound, tmp_path / "g", ("node:Person", "age", "BTREE"), "page_lookup.lance", "missing")
    with caplog.at_level(logging.WARNING, "omnigraph"):
        for _ in range(3):
            assert rows(graph, "$p: Person { age: 4 }", "indexed") == ["p4"]
            graph.mutate("query u() { update Person set { age: 51 } where age = 51 }")
    told = [record.getMessage() for record in caplog.records if "age_idx" in record.getMessage()]
    assert len(told) == 1
    assert "node:Person" in told[0]
    assert "omnigraph optimize" in told[0]


def test_rows_that_are_damaged_are_not_taken_for_a_damaged_index(
    sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(sound, tmp_path / "g")
    graph = Graph.open(str(tmp_path / "g"))
    [pin] = [pin for pin in graph.snapshot().tables if str(pin.table_key) == "node:Person"]
    [file] = (tmp_path / "g" / pin.location / "data").iterdir()
    cut(file)
    with pytest.raises(Corrupt), caplog.at_level(logging.WARNING, "omnigraph"):
        rows(graph, "$p: Person { age: 4 }", "indexed")
    assert not [record for record in caplog.records if "index" in record.getMessage()]


@pytest.mark.parametrize(
    ("which", "file", "search"),
    [
        (("node:Person", "bio", "INVERTED"), "metadata.lance", 'order { bm25($p.bio, "roses6") desc } limit 1'),
        (("node:Person", "face", "IVF_FLAT"), "index.idx", "order { nearest($p.face, [6.0, 0.5]) } limit 1"),
    ],
)
def test_a_search_tells_of_a_damaged_index_too(
    sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, which: tuple[str, str, str], file: str, search: str
) -> None:
    graph = damaged(sound, tmp_path / "g", which, file, "garbled")
    with caplog.at_level(logging.WARNING, "omnigraph"):
        for _ in range(3):
            forget_columns()
            assert rows(graph, "$p: Person", rest=search) == ["p6"]
    assert len([record for record in caplog.records if f"{which[1]}_idx" in record.getMessage()]) == 1


def test_the_fork_of_a_fork_of_earlier_releases_has_damaged_indexes_and_does_all_the_same() -> None:
    """Its indexes name files at the wrong base."""
    with rust_graph("fork-of-fork") as rust:
        storage = open_storage(rust.uri)
        pins = {pin.table_key: pin for pin in storage.manifest.load("b").state.pins()}
        person = next(key for key in pins if key.kind == "node")
        table = storage.tables.open(replace(pins[person], lineage="b", incarnation=None))
        indexes = existing_indexes(table)
        assert len(indexes) == 2
        assert all(why_broken(table, index) is not None for index in indexes)
        assert table.count(OneOf("id", ("Ada", "Nobody"))) == 1
        assert existing_ids(table, ["Ada", "Nobody"]) == {"Ada"}
        assert stage_delete(table, OneOf("id", ("Ada",)))[1] == 1
        assert stage_upsert(table, table.read(predicate=OneOf("id", ("Ada",)))).kind == "upsert"
        view = CommittedView(storage, {person: table.pin})
        assert view.ids_present(person, ["Ada", "Nobody"]) == {"Ada"}
        assert view.stored_rows(person, ["Ada"], table.schema)["id"].to_pylist() == ["Ada"]


def show_own_people(storage: GraphStorage) -> None:
    """The branch shows the fork of a fork that its first write to the table made, as that write would have."""
    location = storage.manifest.load("b").state.locations["node:Person"]
    version = lineage_head(storage, location, "b")
    assert version is not None
    row = version_row(storage, "node:Person", location, "b", version)
    publish(storage.manifest, PublishPlan(branch="b", changes=(row,), identity=CommitIdentity(actor_id=None)))


def test_an_edge_is_inserted_and_a_node_deleted_on_a_branch_of_a_branch_of_earlier_releases() -> None:
    with rust_graph("fork-of-fork") as rust:
        show_own_people(open_storage(rust.uri))
        graph = Graph.open(rust.uri)
        graph.mutate('query i() { insert Knows { from: "Ada", to: "Eve" } }', branch="b")
        graph.mutate('query d() { delete Person where name = "Bela" }', branch="b")
        records = [json.loads(line) for line in graph.export("b")]
        assert {record["data"]["name"] for record in records if "type" in record} == {"Ada", "Chen", "Dana Ünal", "Eve"}
        assert {(each["from"], each["to"]) for each in records if "edge" in each} == {("Ada", "Eve"), ("Chen", "Chen")}
