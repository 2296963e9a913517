"""Kùzu and Ladybug: the same Cypher for both. They cannot share a process, so each is a program of its own."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.peers.data import BenchData
from bench.peers.harness import Ask, memory_limit_mb
from bench.peers.workloads import AGE_FROM, CITY, OLD

POOL_PERCENT = 75
"""Of its memory, for pages and intermediate results; as much as these engines take of a machine by themselves."""
SEEDED = "MATCH (p:Person {name: $n})"
MANY = "MATCH (p:Person) WHERE p.name IN $seeds WITH p MATCH (p)"
POINT = f"{SEEDED} RETURN p.name, p.age"
HOP1, HOP2, HOP3 = (
    "-[:Knows]->(f:Person) RETURN f.name, f.age",
    "-[:Knows]->(:Person)-[:Knows]->(g:Person) RETURN count(DISTINCT g)",
    "-[:Knows]->(:Person)-[:Knows]->(:Person)-[:Knows]->(h:Person) RETURN count(*)",
)
REACH = f"{SEEDED}-[:Knows*SHORTEST 1..3]->(g:Person) WHERE g.name <> p.name RETURN count(*)"
AGGREGATE = (
    f"MATCH (p:Person)-[:Knows]->(f:Person) WHERE p.age >= {AGE_FROM} "
    "RETURN p.company, avg(f.age) AS a ORDER BY a DESC LIMIT 10"
)
ANTI = (
    f"MATCH (p:Person) WHERE p.city = '{CITY}' AND NOT EXISTS {{ MATCH (p)-[:Knows]->(f:Person) WHERE f.age > {OLD} }} "
    "RETURN count(*)"
)
TRIANGLES = "MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person)-[:Knows]->(a) RETURN count(*)"


class Cypher:
    """One of the two, by the name of its package."""

    def __init__(self, package: str) -> None:
        self.package = package

    def prepare(self, data: BenchData) -> None:
        path, done = data.store(self.package), data.store(f"{self.package}.done")
        if done.exists():
            return
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        names = data.names.combine_chunks()
        ends = [names.take(pa.array(data.edges[:, side])) for side in (0, 1)]
        pq.write_table(pa.table({"from": ends[0], "to": ends[1]}), data.folder / "knows.parquet")
        people = data.people.select(["name", "age", "city", "company", "about"])
        pq.write_table(people, data.folder / "persons.parquet")
        run = self._connection(data)
        run.execute(
            "CREATE NODE TABLE Person(name STRING PRIMARY KEY, age INT32, city STRING, company STRING, about STRING)"
        )
        run.execute("CREATE REL TABLE Knows(FROM Person TO Person)")
        run.execute(f"COPY Person FROM '{data.folder / 'persons.parquet'}'")
        run.execute(f"COPY Knows FROM '{data.folder / 'knows.parquet'}'")
        run.execute("CHECKPOINT")
        done.touch()

    def open(self, data: BenchData) -> Mapping[str, Ask]:
        connection = self._connection(data)
        names = data.seed_names

        def rows(text: str, **params: Any) -> int:
            """The number of rows, all of them fetched as Arrow."""
            return int(connection.execute(text, params).get_as_arrow(100_000).num_rows)

        def number(text: str, **params: Any) -> int:
            return int(connection.execute(text, params).get_next()[0])

        def aggregate(_: int) -> int:
            found = connection.execute(AGGREGATE).get_as_arrow(100)
            return round(sum(found.column(1).to_pylist()) * 1000)

        def point(n: int) -> int:
            return int(connection.execute(POINT, {"n": names[n % len(names)]}).get_next()[1])

        return {
            "point": point,
            "hop1_one": lambda n: rows(SEEDED + HOP1, n=names[n % 16]),
            "hop1_many": lambda _: rows(MANY + HOP1, seeds=names),
            "hop2_one": lambda n: number(SEEDED + HOP2, n=names[n % 16]),
            "hop2_many": lambda _: number(MANY + HOP2, seeds=names),
            "hop3_one": lambda n: number(SEEDED + HOP3, n=names[n % 16]),
            "hop3_many": lambda _: number(MANY + HOP3, seeds=names),
            "reach": lambda n: number(REACH, n=names[n % 16]),
            "aggregate": aggregate,
            "anti": lambda _: number(ANTI),
            "triangles": lambda _: number(TRIANGLES),
        }

    def _connection(self, data: BenchData) -> Any:
        engine = importlib.import_module(self.package)
        pool = memory_limit_mb() * 1024 * 1024 * POOL_PERCENT // 100
        return engine.Connection(engine.Database(str(data.store(self.package)), buffer_pool_size=pool))
