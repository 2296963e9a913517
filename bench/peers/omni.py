"""OmniGraph: the questions as query text, through `Graph.query`, every time from the text on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bench.peers.data import DIMENSION, BenchData
from bench.peers.harness import Ask, main
from bench.peers.workloads import AGE_FROM, CITY, OLD, TEXTS
from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, head_of, publish
from omnigraph.storage.tables import Table, stage_append

POINT = "query point($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
ONE, MANY = "$p: Person { name: $n }", "$p: Person $p.name in $seeds"
HOP1 = "$p knows $f } return { $f.name, $f.age } }"
HOP2 = "$p knows $f $f knows $g } return { count(distinct $g) as n } }"
HOP3 = "$p knows $f $f knows $g $g knows $h } return { count($h) as n } }"
REACH = "query reach($n: String) { match { $p: Person { name: $n } $p knows{1,3} $g } return { count($g) as n } }"
AGGREGATE = f"""query aggregate() {{
    match {{ $p: Person $p.age >= {AGE_FROM} $p knows $f }}
    return {{ $p.company, avg($f.age) as a }} order {{ a desc }} limit 10
}}"""
ANTI = f"""query anti() {{
    match {{ $p: Person {{ city: "{CITY}" }} not {{ $p knows $f $f.age > {OLD} }} }} return {{ count($p) as n }}
}}"""
TRIANGLES = "query triangles() { match { $a: Person $a knows $b $b knows $c $c knows $a } return { count($a) as n } }"
TEXT = """query text($t: String) {
    match { $p: Person } return { $p.name, bm25($p.about, $t) as score } order { score } limit 10
}"""
VECTOR = f"""query vector($v: Vector({DIMENSION})) {{
    match {{ $p: Person }} return {{ $p.name }} order {{ nearest($p.emb, $v) }} limit 10
}}"""
HYBRID = f"""query hybrid($t: String, $v: Vector({DIMENSION})) {{
    match {{ $p: Person }} return {{ $p.name }} order {{ rrf(nearest($p.emb, $v), bm25($p.about, $t)) }} limit 10
}}"""


SCHEMA = f"""node Person {{
    name: String @key
    age: I32? @index
    city: String?
    company: String?
    about: String? @index
    emb: Vector({DIMENSION})? @index
}}
edge Knows: Person -> Person
"""


class OmniGraph:
    """A graph that is filled with whole columns in one commit, then indexed."""

    def prepare(self, data: BenchData) -> None:
        if data.store("omnigraph.done").exists():
            return
        uri = data.store("omnigraph")
        shutil.rmtree(uri, ignore_errors=True)
        Graph.init(str(uri), SCHEMA, durability="os")
        fill(str(uri), {"Person": _people(data), "Knows": _knows(data)})
        Graph.open(str(uri)).ensure_indices()
        data.store("omnigraph.done").touch()

    def open(self, data: BenchData) -> Mapping[str, Ask]:
        graph = Graph.open(str(data.store("omnigraph")), read_only=True)
        names = data.seed_names

        def number(text: str, **params: Any) -> int:
            return int(graph.query(text, params)[0]["n"])

        def rows(text: str, **params: Any) -> int:
            return int(graph.query(text, params).to_arrow().num_rows)

        def point(n: int) -> int:
            return int(graph.query(POINT, n=names[n % len(names)])[0]["p.age"])

        def aggregate(_: int) -> int:
            return round(sum(row["a"] for row in graph.query(AGGREGATE)) * 1000)

        def one(hops: str) -> str:
            return f"query one($n: String) {{ match {{ {ONE} {hops}"

        def many(hops: str) -> str:
            return f"query many($seeds: [String]) {{ match {{ {MANY} {hops}"

        vectors = [[float(x) for x in row] for row in data.question_vectors]
        return {
            "point": point,
            "hop1_one": lambda n: rows(one(HOP1), n=names[n % 16]),
            "hop1_many": lambda _: rows(many(HOP1), seeds=names),
            "hop2_one": lambda n: number(one(HOP2), n=names[n % 16]),
            "hop2_many": lambda _: number(many(HOP2), seeds=names),
            "hop3_one": lambda n: number(one(HOP3), n=names[n % 16]),
            "hop3_many": lambda _: number(many(HOP3), seeds=names),
            "reach": lambda n: number(REACH, n=names[n % 16]),
            "aggregate": aggregate,
            "anti": lambda _: number(ANTI),
            "triangles": lambda _: number(TRIANGLES),
            "text": lambda n: len(graph.query(TEXT, t=TEXTS[n % len(TEXTS)])) and None,
            "vector": lambda n: len(graph.query(VECTOR, v=vectors[n % 32])) and None,
            "hybrid": lambda n: len(graph.query(HYBRID, t=TEXTS[n % len(TEXTS)], v=vectors[n % 32])) and None,
        }


def fill(uri: str, rows: dict[str, pa.Table]) -> None:
    """Appends whole tables to an empty graph as one commit. The data are sound as they are made, nothing is checked."""
    storage = open_storage(uri, durability="os")
    with storage.leases.hold("main") as lease:
        loaded = storage.manifest.load()
        changes = []
        for pin in loaded.state.pins():
            table: Table = storage.tables.open(pin)
            given = rows[pin.table_key.type_name]
            ordered = pa.table([given[name] for name in table.schema.names], schema=table.schema)
            changes.append(storage.table_commits.commit(stage_append(table, ordered)))
        plan = PublishPlan(changes=tuple(changes), requirements=(head_of(loaded),), identity=CommitIdentity())
        publish(storage.manifest, plan, fence=lease.check)


def _people(data: BenchData) -> pa.Table:
    return data.people.append_column("id", data.people["name"])


def _knows(data: BenchData) -> pa.Table:
    names = data.names.combine_chunks()
    source, target = (names.take(pa.array(data.edges[:, side])) for side in (0, 1))
    ids = pa.array([f"e{number:09d}" for number in range(len(data.edges))])
    return pa.table({"id": ids, "src": source, "dst": target})


if __name__ == "__main__":
    main(OmniGraph())
