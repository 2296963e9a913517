"""The damage trial: what a graph answers and does with one index file damaged, beside the same graph without indexes.

A graph is packed once, unpacked for each trial where it was made (branches hold absolute paths), and one file of one
index is damaged. Then the whole script of reads and writes runs on it. The reference is the same script with every
index file gone.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.query.resident.cache import resident_cache
from omnigraph.storage.lance import session as lance_session
from omnigraph.storage.tables import damaged_indexes
from omnigraph.write.rules import ValidationFailed
from support.graphs.people import lines
from support.graphs.rust_graphs import rust_graph
from support.graphs.searchable import forget_columns

SCHEMA = """
node Person { name: String @key  age: I32? @index  bio: String? @index  face: Vector(2)? @index }
edge Knows: Person -> Person { weight: I32? @index }
"""
PEOPLE = 12
RUST = ("people", "rich", "branches", "evolved", "fork-of-fork")


def cut(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def garble_at(share: float) -> Callable[[Path], None]:
    """Other bytes of the same length, at some place of the file."""

    def garble(file: Path) -> None:
        data = bytearray(file.read_bytes())
        start = int(max(0, len(data) - 64) * share)
        data[start : start + 64] = bytes(byte ^ 0x5A for byte in data[start : start + 64])
        file.write_bytes(data)

    return garble


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "cut": cut,
    "garbled": garble_at(0.0),
    "garbled-inside": garble_at(0.4),
    "garbled-at-end": garble_at(1.0),
}


@contextmanager
def new_process(cache: Path) -> Iterator[None]:
    """Nothing is remembered: no index, no row, no judgement of an index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_CACHE_DIR", str(cache))
        patch.setenv("OMNIGRAPH_SUBSTRING_INDEX_ROWS", "1")
        patch.setattr(lance_session, "_session", None)
        patch.setattr(damaged_indexes, "_health", damaged_indexes.IndexHealth())
        _forget()
        yield
        _forget()


def _forget() -> None:
    resident_cache().clear()
    forget_columns()


# --- graphs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """A graph to be damaged: where it lies, and how it gets there unharmed."""

    name: str
    path: Path
    place: Callable[[], Any]

    def index_files(self) -> list[str]:
        with self.place():
            found = self.path.glob("**/_indices/**/*")
            return sorted(str(file.relative_to(self.path)) for file in found if file.is_file())


def ours(folder: Path) -> Subject:
    """Every kind of index, on main, on a branch that owns its tables, and on a branch of that one that inherits."""
    path, archive = folder / "g", folder / "g.tar"
    with new_process(folder / "cache"):
        _make(path)
    with tarfile.open(archive, "w") as packed:
        packed.add(path, "g")

    @contextmanager
    def place() -> Iterator[Path]:
        shutil.rmtree(path, ignore_errors=True)
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        yield path

    return Subject("ours", path, place)


def _make(path: Path) -> None:
    graph = Graph.init(str(path), SCHEMA, durability="os")
    everybody = [_person(number) for number in range(PEOPLE)]
    graph.load(lines(*everybody, *(_knows(number, (number + 1) % PEOPLE) for number in range(PEOPLE))), mode="append")
    graph.ensure_indices()
    draft = graph.create_branch("draft")
    draft.load(lines(*(_person(number) for number in range(20, 26)), _knows(20, 21)), mode="append")
    draft.ensure_indices()
    draft.create_branch("deep")


def _person(number: int) -> dict[str, Any]:
    face = [float(number), 0.5]
    data = {"name": f"p{number}", "age": number, "bio": f"a garden of roses{number}", "face": face}
    return {"type": "Person", "data": data}


def _knows(one: int, other: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{one}", "to": f"p{other}", "data": {"weight": one}}


def rust(name: str) -> Subject:
    with rust_graph(name) as found:
        path = found.path
    return Subject(name, path, lambda: rust_graph(name))


def subject(name: str, folder: Path) -> Subject:
    return ours(folder) if name == "ours" else rust(name)


# --- the script -------------------------------------------------------------------------------------------

Told = list[Any]
"""What was answered, and what every branch shows in the end."""


def script(graph: Graph, branches: list[str]) -> Told:
    told: Told = []
    for branch in branches:
        told.append(
            _ours_read(graph, branch) if "Person" in graph.schema.catalog.node_types and _is_ours(graph) else []
        )
        told.append(_read(graph, branch))
    for branch in branches:
        _write(graph, branch)
        told.append(_shown(graph, branch))
    for branch in [each for each in branches if each != "main"]:
        graph.merge(branch, into="main", on_conflict="theirs")
    told += [_shown(graph, branch) for branch in branches]
    return told


def _is_ours(graph: Graph) -> bool:
    return "face" in graph.schema.catalog.node_types["Person"].by_name


def _ours_read(graph: Graph, branch: str) -> Told:
    """Every way to an index that the language has."""
    found: Told = []
    for mode in ("indexed", "auto", "csr"):
        for match in (
            '$p: Person { name: "p3" }',
            "$p: Person { age: 4 }",
            "$p: Person $p.age >= 9",
            '$p: Person { age: 21 } $p.bio contains "roses21"',
            '$p: Person $p.bio contains "roses11"',
            '$f: Person { name: "p3" } $f knows $p',
            '$f: Person { name: "p3" } $p knows $f',
        ):
            found.append(_names(graph, branch, match, mode=mode))
    for _ in range(2):
        found.append(_names(graph, branch, '$p: Person search($p.bio, "roses5")'))
        found.append(_names(graph, branch, "$p: Person", 'order { bm25($p.bio, "roses6") desc } limit 1'))
        found.append(_names(graph, branch, "$p: Person", "order { nearest($p.face, [7.0, 0.5]) } limit 3"))
    return found


def _names(graph: Graph, branch: str, match: str, rest: str = "", mode: Any = "auto") -> list[str]:
    text = f"query q() {{ match {{ {match} }} return {{ $p.name }} {rest} }}"
    return sorted(str(row["p.name"]) for row in graph.query(text, branch=branch, mode=mode).rows())


def _read(graph: Graph, branch: str) -> Told:
    """Of any graph: every node by its key, and every text by a word of it."""
    found: Told = []
    for node in graph.schema.catalog.nodes:
        for record in _records(graph, branch, node.name)[:6]:
            for mode in ("indexed", "auto"):
                match = _match(node, record)
                if match is not None:
                    text = f"query q() {{ match {{ $x: {node.name} {{ {match} }} }} return {{ count($x) as n }} }}"
                    found.append(graph.query(text, branch=branch, mode=mode).rows())
    return found


def _match(node: Any, record: dict[str, Any]) -> str | None:
    if node.key is None:
        return None
    values = [record["data"][member] for member in node.key]
    if not all(isinstance(value, str | int) for value in values):
        return None
    return ", ".join(
        f"{member}: {json.dumps(value, ensure_ascii=False)}" for member, value in zip(node.key, values, strict=True)
    )


def _write(graph: Graph, branch: str) -> None:
    """A node and an edge are inserted, a node is updated and one is deleted with its edges, a load is merged."""
    for node in graph.schema.catalog.nodes:
        records = _records(graph, branch, node.name)
        if node.key is None or not records or not all(isinstance(records[0]["data"][each], str) for each in node.key):
            continue
        first, last = records[0], records[-1]
        fresh = {**first["data"], **{member: f"new-{member}" for member in node.key}}
        fresh.pop("id", None)
        inserted = [] if node.unique else [{"type": node.name, "data": fresh}]
        graph.load(lines(*inserted, first), mode="merge", branch=branch)
        if len(records) > 2:
            match = _match(node, last)
            where = " and ".join(
                f"{each.partition(':')[0]} ={each.partition(':')[2]}" for each in str(match).split(", ")
            )
            if " and " not in where:
                graph.mutate(f"query d() {{ delete {node.name} where {where} }}", branch=branch)
    for edge in graph.schema.catalog.edges:
        found = _records(graph, branch, edge.name)
        if found:
            again = {**found[0], "data": {k: v for k, v in found[0].get("data", {}).items() if k != "id"}}
            again.pop("id", None)
            with suppress(ValidationFailed):  # a rule of the schema: the same with and without indexes
                graph.load(lines(again), mode="merge", branch=branch)
    if "Person" in graph.schema.catalog.node_types and _is_ours(graph):
        graph.mutate('query i() { insert Knows { from: "p0", to: "p5", weight: 77 } }', branch=branch)
        graph.mutate("query u() { update Person set { age: 51 } where age = 2 }", branch=branch)
        graph.mutate('query d() { delete Knows where from = "p10" }', branch=branch)


def _records(graph: Graph, branch: str, name: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in graph.export(branch, types=[name])]
    return [record for record in found if record.get("type") == name or record.get("edge") == name]


def _shown(graph: Graph, branch: str) -> list[str]:
    """Every entity, without the generated ids of edges."""
    shown = []
    for line in graph.export(branch):
        record = json.loads(line)
        if "edge" in record:
            record.pop("id", None)
            record.get("data", {}).pop("id", None)
        shown.append(json.dumps(record, sort_keys=True))
    return sorted(shown)


# --- a trial ----------------------------------------------------------------------------------------------


def reference(subject: Subject, cache: Path) -> Told:
    """The script with no index file at all."""
    with subject.place():
        for file in [file for file in subject.path.glob("**/_indices/**/*") if file.is_file()]:
            file.unlink()
        with new_process(cache):
            graph = Graph.open(str(subject.path), durability="os")
            return script(graph, graph.branches())


def trial(subject: Subject, file: str, damage: str, expected: Told, cache: Path) -> str | None:
    """What is wrong after one file was damaged; None when nothing is.

    Other bytes of the same length may give other answers where no error betrays them: then `verify` names the index.
    """
    with subject.place():
        DAMAGES[damage](subject.path / file)
        segment = Path(file).parts[Path(file).parts.index("_indices") + 1]
        with new_process(cache):
            graph = Graph.open(str(subject.path), durability="os")
            named = _index_of(graph, segment)
            garbled = damage.startswith("garbled")
            noticed = _noticed(graph, named) if garbled and named else True
            told = script(graph, graph.branches())
    if told != expected and not (garbled and named):
        return f"{subject.name} {file} {damage}: other answers than without indexes"
    return None if noticed else f"{subject.name} {file} {damage}: verify says nothing of {named}"


def _index_of(graph: Graph, segment: str) -> str | None:
    """The name of the index that has a segment, if any branch uses it."""
    for branch in graph.branches():
        for pin in graph.snapshot(branch).tables:
            for index in graph._storage.tables.open(pin).handle.describe_indices():
                if any(str(each.uuid) == segment for each in index.segments):
                    return str(index.name)
    return None


def _noticed(graph: Graph, name: str) -> bool:
    return any(f"index {name}" in finding.where for finding in graph.verify().findings)
