"""DuckDB with the data copied into its own tables: scanning Arrow or Lance tables would be many times slower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bench.peers.data import BenchData
from bench.peers.harness import Ask, main, memory_limit_mb
from bench.peers.workloads import AGE_FROM, CITY, OLD

POOL_PERCENT = 80
"""Of its memory, as this engine takes of a machine by itself."""
ONE = "SELECT id FROM people WHERE name = ?"
MANY = "SELECT id FROM people WHERE name IN (SELECT unnest(?))"
HOP1 = "SELECT f.name, f.age FROM ({seeds}) s JOIN knows k ON k.src = s.id JOIN people f ON f.id = k.dst"
HOP2 = "SELECT count(DISTINCT b.dst) FROM ({seeds}) s JOIN knows a ON a.src = s.id JOIN knows b ON b.src = a.dst"
HOP3 = (
    "SELECT count(*) FROM ({seeds}) s JOIN knows a ON a.src = s.id JOIN knows b ON b.src = a.dst "
    "JOIN knows c ON c.src = b.dst"
)
REACH = """WITH s AS (SELECT id FROM people WHERE name = ?),
one AS (SELECT DISTINCT dst FROM knows, s WHERE src = id),
two AS (SELECT DISTINCT k.dst FROM knows k JOIN one ON k.src = one.dst),
three AS (SELECT DISTINCT k.dst FROM knows k JOIN two ON k.src = two.dst)
SELECT count(*) FROM (FROM one UNION FROM two UNION FROM three) WHERE dst NOT IN (FROM s)"""
AGGREGATE = (
    "SELECT p.company, avg(f.age) AS a FROM people p JOIN knows k ON k.src = p.id JOIN people f ON f.id = k.dst "
    f"WHERE p.age >= {AGE_FROM} GROUP BY p.company ORDER BY a DESC LIMIT 10"
)
ANTI = (
    f"SELECT count(*) FROM people p WHERE p.city = '{CITY}' AND NOT EXISTS "
    f"(FROM knows k JOIN people f ON f.id = k.dst WHERE k.src = p.id AND f.age > {OLD})"
)
TRIANGLES = "SELECT count(*) FROM knows a JOIN knows b ON b.src = a.dst JOIN knows c ON c.src = b.dst AND c.dst = a.src"


class Duck:
    """A database file, made once."""

    def prepare(self, data: BenchData) -> None:
        if data.store("duckdb.done").exists():
            return
        data.store("duckdb").unlink(missing_ok=True)
        connection = self._connection(data)
        connection.execute(
            "CREATE TABLE people AS SELECT row_number() OVER () - 1 AS id, name, age, city, company "
            f"FROM read_parquet('{data.folder / 'people.parquet'}')"
        )
        edges = pa.table({"src": data.edges[:, 0], "dst": data.edges[:, 1]})
        connection.register("edges", edges)
        connection.execute("CREATE TABLE knows AS SELECT src::BIGINT AS src, dst::BIGINT AS dst FROM edges")
        connection.execute("CREATE INDEX people_name ON people(name)")
        connection.close()
        data.store("duckdb.done").touch()

    def open(self, data: BenchData) -> Mapping[str, Ask]:
        connection = self._connection(data)
        names = data.seed_names

        def number(text: str, *params: Any) -> int:
            return int(connection.execute(text, list(params)).fetchall()[0][0])

        def rows(text: str, *params: Any) -> int:
            return int(connection.sql(text, params=list(params)).to_arrow_table().num_rows)

        def aggregate(_: int) -> int:
            return round(sum(row[1] for row in connection.execute(AGGREGATE).fetchall()) * 1000)

        return {
            "point": lambda n: number("SELECT age, name FROM people WHERE name = ?", names[n % len(names)]),
            "hop1_one": lambda n: rows(HOP1.format(seeds=ONE), names[n % 16]),
            "hop1_many": lambda _: rows(HOP1.format(seeds=MANY), names),
            "hop2_one": lambda n: number(HOP2.format(seeds=ONE), names[n % 16]),
            "hop2_many": lambda _: number(HOP2.format(seeds=MANY), names),
            "hop3_one": lambda n: number(HOP3.format(seeds=ONE), names[n % 16]),
            "hop3_many": lambda _: number(HOP3.format(seeds=MANY), names),
            "reach": lambda n: number(REACH, names[n % 16]),
            "aggregate": aggregate,
            "anti": lambda _: number(ANTI),
            "triangles": lambda _: number(TRIANGLES),
        }

    def _connection(self, data: BenchData) -> Any:
        import duckdb

        limit = memory_limit_mb() * POOL_PERCENT // 100
        return duckdb.connect(str(data.store("duckdb")), config={"memory_limit": f"{limit}MB"})


if __name__ == "__main__":
    main(Duck())
