"""Tables L, T, A, I and E: what compiles, what does not, and which stage refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from language.schema.tables import all_ids, params, rows
from omnigraph.language import CompileError
from omnigraph.language.schema import (
    Annotation,
    Cardinality,
    Catalog,
    CompiledSchema,
    Embed,
    RangeRule,
    compile_schema,
    inert_hints,
)

_TABLES = ("L", "T", "A", "I", "E")


@pytest.mark.parametrize("row", [param for table in _TABLES for param in params(table)])
def test_schema_compiles_or_is_refused_by_the_right_stage(row: dict[str, Any]) -> None:
    if row["expect"] == "accepted":
        compiled = compile_schema(row["schema"])
        assert compile_schema(compiled.source, strict=False).ir_hash == compiled.ir_hash
        return
    with pytest.raises(CompileError) as caught:
        compile_schema(row["schema"])
    first = caught.value.first
    assert first.stage == row["expect"], caught.value.render()
    assert first.span is not None
    assert first.position is not None


def test_every_row_of_the_tables_is_here() -> None:
    for table in _TABLES:
        assert {row["id"] for row in rows(table)} == all_ids(table)


def _names(catalog: Catalog, node: str) -> list[str]:
    return [prop.name for prop in catalog.node_types[node].properties]


# What an accepted row must mean, beyond being accepted.
_MEANINGS: dict[str, Callable[[Catalog], bool]] = {
    "L01": lambda c: c == Catalog(),
    "L03": lambda c: list(c.node_types) == ["A", "B"],
    "L11": lambda c: _names(c, "A") == ["edge", "enum", "node"],
    "L13": lambda c: c.node_types["A"].annotations == (Annotation("description", 'line\n"q"\\'),),
    "T10": lambda c: c.node_types["A"].by_name["v"].type.dimension == 2**31 - 1,
    "T15": lambda c: c.node_types["A"].by_name["s"].type.enum_values == ("-", "2fa", "_x", "phase-1"),
    "A01": lambda c: c.node_types["P"].key == ("email",) and ("email",) in c.node_types["P"].indices,
    "A04": lambda c: c.node_types["P"].key == ("a", "b"),
    "A06": lambda c: c.node_types["P"].key == ("a",),
    "A16": lambda c: c.node_types["P"].unique == (("a", "b"),),
    "A21": lambda c: c.node_types["P"].indices == (("a",), ("v",)),
    "A24": lambda c: c.node_types["P"].indices == (("a", "b"),),
    "A26": lambda c: c.node_types["P"].ranges == (RangeRule("n", 0, 120),),
    "A27": lambda c: c.node_types["P"].ranges == (RangeRule("n", -40.5, 60.0),),
    "A28": lambda c: c.node_types["P"].ranges == (RangeRule("n", 1, None),),
    "A34": lambda c: c.node_types["P"].checks[0].pattern == "[A-Z]{3}-[0-9]+",
    "A38": lambda c: c.node_types["D"].by_name["v"].embed == Embed("t"),
    "A39": lambda c: c.node_types["D"].by_name["v"].embed == Embed("t", "m/x"),
    "A52": lambda c: (
        c.node_types["D"].by_name["a"].annotations
        == (Annotation("flag"), Annotation("n", "3"), Annotation("pii", "high", (("owner", "ops"),)))
    ),
    "I01": lambda c: _names(c, "P") == ["age", "name"],
    "I03": lambda c: c.node_types["P"].key == ("name",),
    "I06": lambda c: c.node_types["P"].key is None,
    "I09": lambda c: _names(c, "P") == ["x"],
    "E01": lambda c: c.edge_types["K"].cardinality == Cardinality(0, None),
    "E04": lambda c: c.edge_types["K"].cardinality == Cardinality(0, 1),
    "E05": lambda c: c.edge_types["K"].cardinality == Cardinality(1, None),
    "E10": lambda c: (c.edge_types["K"].unique, c.edge_types["K"].indices) == ((("dst", "src"),), (("dst",),)),
    "E22": lambda c: "S" in c.node_types and "S" in c.edge_types,
}


@pytest.mark.parametrize("row_id", [pytest.param(row_id, id=f"schema-{row_id}-meaning") for row_id in _MEANINGS])
def test_accepted_schema_means_what_the_row_says(row_id: str) -> None:
    row = next(row for row in rows(row_id[0]) if row["id"] == row_id)
    assert _MEANINGS[row_id](compile_schema(row["schema"]).catalog)


def test_rename_hints_of_a_new_graph_are_reported_and_inert() -> None:
    compiled = compile_schema('node D @rename_from("User") { a: String @rename_from(old) }')
    assert [(d.code, d.position and d.position.column) for d in inert_hints(compiled)] == [
        ("IgnoredExactMatchRenameHint", 8),
        ("IgnoredExactMatchRenameHint", 41),
    ]


def test_a_compiled_schema_is_a_value() -> None:
    one, two = (compile_schema("node A { a: String }") for _ in range(2))
    assert isinstance(one, CompiledSchema)
    assert one == two
    assert len({one, two}) == 1
