"""The library of the query tests: the fixture schema, its catalog, and the conformance rows.

The rows in `cases/` are also run by the engines: `body` goes into `query q(<declaration>) { … }`, `params` are its
parameters, `expected` is a bag or sequence of rows, affected counts, or an error with the stage that must raise it
(`compile`, `bind` or `run`); `then` is a read afterwards. `replaced` says why a row has another meaning than before.
`cases/library.jsonl` is the data of the library; the edge ids in it decide ties. `now()` is 2026-01-01T00:00:00Z.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from omnigraph.language.query import CompiledQuery, compile_query
from omnigraph.language.schema import Catalog, compile_schema

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    email: String? @unique
    role: enum(admin, guest, member)?
    tags: [String]?
    score: F64?
    active: Bool?
    born: Date?
    seen: DateTime?
    @range(age, 0..150)
}
node Company { name: String @key  size: I64? }
node Doc { slug: String @key  title: String @index  body: String? @index  emb: Vector(2)? @index  payload: Blob? }
node Note { text: String  rank: U32? }
edge Knows: Person -> Person { since: Date?  weight: I32? }
edge WorksAt: Person -> Company @card(0..1) { title: String? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc { note: String? }
"""

CASES = Path(__file__).parent / "cases"
SECTIONS = {
    "parsing": ("P", 24),
    "type_errors": ("E", 43),
    "match": ("M", 39),
    "traversal": ("X", 33),
    "negation": ("N", 14),
    "return": ("R", 16),
    "order": ("O", 11),
    "search": ("S", 27),
    "mutations": ("U", 50),
}
"""The sections that engines run too, with the letter and the number of their rows."""


def library_catalog() -> Catalog:
    return compile_schema(SCHEMA).catalog


CATALOG = library_catalog()


def load_cases(section: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((CASES / f"{section}.json").read_text(encoding="utf-8"))
    return rows


def language_cases() -> list[dict[str, Any]]:
    return [row for section in SECTIONS for row in load_cases(section)]


def source_of(row: dict[str, Any]) -> str:
    return f"query q({row['declaration']}) {{ {row['body']} }}"


def compiled(body: str, declaration: str = "") -> CompiledQuery:
    """A query of the library, by its body."""
    return compile_query(f"query q({declaration}) {{ {body} }}", CATALOG)
