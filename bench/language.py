"""Speed of the query compiler: parse, check and lower a 50-line query. Budget: 5 ms warm.

Run: PYTHONPATH=src python bench/language.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from omnigraph.language.query import compile_query, format_query, parse_queries
from omnigraph.language.schema import Catalog, compile_schema

SCHEMA = """
node Person { name: String @key  age: I32?  email: String?  role: enum(admin, guest, member)?  tags: [String]?
              born: Date?  seen: DateTime? }
node Company { name: String @key  size: I64? }
node Doc { slug: String @key  title: String @index  emb: Vector(4)? @index }
edge Knows: Person -> Person { since: Date?  weight: I32? }
edge WorksAt: Person -> Company { title: String? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc { note: String? }
"""

QUERY = """query colleagues(
    $name: String,
    $role: String?,
    $after: Date,
    $sizes: [I64],
    $text: String,
    $n: I64
)
    @description("Documents that reach a person through colleagues and friends")
    @instruction("Use it to find what to read next")
{
    match {
        // the reader
        $me: Person { name: $name }
        $me worksAt $company
        $company.size in $sizes
        $peer worksAt $company
        $peer.age >= 18
        $peer.born > $after
        $peer.name != $name
        $peer $tie:<knows> $friend
        $tie.weight >= 2
        $friend knows{1,3} $author
        $author wrote $doc
        $doc cites{1,} $source
        search($doc.title, $text)
        or {
            $role is null
            $author.role = $role
            {
                $author.tags contains "staff"
                $author.email is not null
            }
        }
        maybe {
            $author worksAt $employer
            $employer.size > 10
        }
        not {
            $me wrote $doc
        }
        not {
            $me knows $author
            $author.seen < datetime("2024-01-01T00:00:00Z")
        }
    }
    return {
        $doc.slug as slug,
        $doc.title as title,
        $author.name as author,
        $employer.name as employer,
        distance($me knows{1,6} $author) as hops,
        nearest($doc.emb, [0.1, 0.2, 0.3, 0.4]) as score,
    }
    order { nearest($doc.emb, [0.1, 0.2, 0.3, 0.4]), $author.name }
    limit $n
}
"""


def median_ms(work: Callable[[], object], runs: int = 200) -> float:
    for _ in range(20):
        work()
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def main() -> None:
    catalog: Catalog = compile_schema(SCHEMA).catalog
    print(f"{QUERY.count(chr(10))} lines, {len(QUERY)} characters")
    print(f"parse               {median_ms(lambda: parse_queries(QUERY)):7.2f} ms")
    print(f"parse, check, lower {median_ms(lambda: compile_query(QUERY, catalog)):7.2f} ms   (budget 5 ms)")
    print(f"format              {median_ms(lambda: format_query(QUERY)):7.2f} ms")


if __name__ == "__main__":
    main()
