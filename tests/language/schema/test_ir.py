"""The stored form: bytes and hashes of accepted graphs, golden values, table H, and what a broken file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from language.schema.tables import all_ids
from omnigraph.language.schema import (
    InvalidSchemaIR,
    catalog_from_ir,
    compile_schema,
    plan_migration,
    schema_ir_from_json,
    schema_ir_hash,
    schema_ir_to_json,
)
from omnigraph.language.schema.ir_write import float_text
from omnigraph.model.identifiers import TableKey, fnv1a32

_ACCEPTED = Path(__file__).parent / "accepted"
_PEOPLE = "node Person { name: String @key age: I32? } edge Knows: Person -> Person { since: Date? }"
_DOC = """interface Named { name: String @key }
node Doc @description("A doc") implements Named {
    kind: enum(b, a) @index
    score: F64?
    tags: [String]?
    emb: Vector(4)? @embed(name, model="m1")
    @unique(name, kind)
    @range(score, 0.5..)
    @check(name, "^x")
}"""


@pytest.mark.parametrize("graph", ["people", "rich", "branches", "evolved"])
@pytest.mark.parametrize("strict", [True, False])
def test_accepted_schemas_compile_to_the_stored_bytes(graph: str, strict: bool) -> None:
    source = (_ACCEPTED / graph / "_schema.pg").read_bytes().decode()
    stored = (_ACCEPTED / graph / "_schema.ir.json").read_bytes().decode()
    state = json.loads((_ACCEPTED / graph / "__schema_state.json").read_bytes())
    compiled = compile_schema(source, strict=strict)
    assert schema_ir_to_json(compiled.ir, pretty=True) == stored
    assert compiled.ir_hash == state["schema_ir_hash"]
    read = schema_ir_from_json(stored)
    assert read == compiled.ir
    assert schema_ir_hash(read) == state["schema_ir_hash"]
    assert catalog_from_ir(read) == compiled.catalog


def test_golden_hashes() -> None:
    people, doc = compile_schema(_PEOPLE), compile_schema(_DOC)
    assert people.ir_hash == "sha256:8e46adc503b0cbcdeb913b1109f08992bf2297ca125992020c20bfe4fe069343"
    assert doc.ir_hash == "sha256:836294dfb45706806381b04c835957a08a99b8787a41369a8f739bfd9ec8fbef"
    assert [next(iter(c)) for c in json.loads(schema_ir_to_json(doc.ir))["nodes"][0]["constraints"]] == [
        "Check",
        "Index",
        "Key",
        "Range",
        "Unique",
    ]


def test_golden_ids_and_locations() -> None:
    assert (fnv1a32("node:Person"), fnv1a32("edge:Knows")) == (3227219152, 2041814322)
    assert (fnv1a32("node:Person:age"), fnv1a32("node:Person:name")) == (3446138241, 1466009789)
    assert compile_schema(_PEOPLE).catalog.node_types["Person"].table_key.location == "nodes/40d76f1f51639ec0"
    assert TableKey("edge", "Knows").location == "edges/602a25a3bd0b455b"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.5, "0.5"), (100.0, "100.0"), (1e15, "1000000000000000.0"),
        (1e16, "1e+16"), (12345678901234567890.0, "1.2345678901234567e+19"), (1e-5, "0.00001"),
        (-1.23e-5, "-0.0000123"), (1e-6, "1e-6"), (1.23e-7, "1.23e-7"), (1e300, "1e+300"), (0.0001, "0.0001"),
    ],
)  # fmt: skip
def test_floats_are_spelled_as_stored_files_have_them(value: float, text: str) -> None:
    assert float_text(value) == text
    assert float(text) == value


# --- table H ----------------------------------------------------------------------------------------------


def _hash(text: str) -> str:
    return compile_schema(text).ir_hash


def _check_h01() -> None:
    assert _hash("node A { a: I32 b: I32? } node B {}") == _hash("// c\nnode B {} node A { b: I32? /* x */ a: I32 }")


def _check_h02() -> None:
    accepted = compile_schema("node A { a: I32 }")
    hinted = compile_schema('node A @rename_from("Z") { a: I32 @rename_from("z") }')
    assert plan_migration(accepted.ir, hinted).steps == ()
    assert plan_migration(hinted.ir, accepted).steps == ()


def _check_h03() -> None:
    assert _hash("node A { a: I32 b: I32 @key(b, a) }") == _hash("node A { a: I32 b: I32 @key(a, b) }")
    interfaces = "interface A { a: I32 } interface B { b: I32 } "
    assert _hash(interfaces + "node N implements B, A {}") == _hash(interfaces + "node N implements A, B {}")


def _check_h04() -> None:
    assert _hash("node A { v: String @unique }") != _hash("node A { v: String @unique(v) }")


def _check_h05() -> None:
    assert _hash('node A @description("x") {}') != _hash('node A @description("y") {}')


def _check_h10() -> None:
    catalog = compile_schema("node S {} edge S: S -> S").catalog
    assert (catalog.node("S"), catalog.edge("S")) == (catalog.nodes[0], catalog.edges[0])


def _check_h12() -> None:
    assert _hash(_PEOPLE) == _hash(f"// a note\n{_PEOPLE}")


_H_HERE = {
    "H01": _check_h01,
    "H02": _check_h02,
    "H03": _check_h03,
    "H04": _check_h04,
    "H05": _check_h05,
    "H10": _check_h10,
    "H12": _check_h12,
}
_H_ELSEWHERE = {
    **dict.fromkeys(
        ("H06", "H07", "H08", "H09", "H14", "H15"), "never: stable ids do not exist in schema IR version 1"
    ),
    **dict.fromkeys(("H11", "H13"), "storage: the contract check of the three files at open"),
    **dict.fromkeys(
        ("H16", "H17", "H19", "H20", "H21", "H22", "H23", "H24"), "write/evolution: each is tested there by its id"
    ),
    "H18": "model: branch names refuse the lock branch",
}


@pytest.mark.parametrize("row", [pytest.param(row, id=f"schema-{row}") for row in _H_HERE])
def test_canonical_form(row: str) -> None:
    _H_HERE[row]()


def test_every_row_of_the_table_is_here_or_explained() -> None:
    assert set(_H_HERE) | set(_H_ELSEWHERE) == all_ids("H")


# --- broken files -----------------------------------------------------------------------------------------


def _stored() -> dict[str, object]:
    loaded: dict[str, object] = json.loads(schema_ir_to_json(compile_schema(_PEOPLE).ir))
    return loaded


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("ir_version",), 2, "$.ir_version"),
        (("nodes",), {}, "$.nodes"),
        (("nodes", 0, "name"), None, "$.nodes[0].name"),
        (("nodes", 0, "type_id"), True, "$.nodes[0].type_id"),
        (("nodes", 0, "implements"), ["Nope"], "$.nodes[0].implements"),
        (("nodes", 0, "properties", 0, "prop_type", "scalar"), "I128", "$.nodes[0].properties[0].prop_type.scalar"),
        (("nodes", 0, "properties", 0, "prop_type"), [], "$.nodes[0].properties[0].prop_type"),
        (("nodes", 0, "constraints"), [{"Key": ["nope"]}], "$.nodes[0].constraints[0]"),
        (("nodes", 0, "constraints"), [{"Foo": 1}], "$.nodes[0].constraints[0]"),
        (("edges", 0, "to_type"), "Nope", "$.edges[0]"),
        (("edges", 0, "cardinality", "min"), "0", "$.edges[0].cardinality.min"),
    ],
)
def test_a_broken_file_says_where_it_is_broken(path: tuple[str | int, ...], value: object, where: str) -> None:
    stored = _stored()
    target: object = stored
    for part in path[:-1]:
        target = target[part]  # type: ignore[index]
    target[path[-1]] = value  # type: ignore[index]
    with pytest.raises(InvalidSchemaIR) as caught:
        schema_ir_from_json(json.dumps(stored))
    assert caught.value.path == where


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_file_that_is_not_json_says_so(text: str) -> None:
    with pytest.raises(InvalidSchemaIR, match="not JSON"):
        schema_ir_from_json(text)


def test_unknown_keys_are_ignored() -> None:
    stored = _stored()
    stored["later"] = {"x": 1}
    assert schema_ir_from_json(json.dumps(stored)) == compile_schema(_PEOPLE).ir


def test_a_default_that_fits_nothing_has_no_effect() -> None:
    text = 'node A { n: I32 @default("soon") d: Date @default("2026-01-02") }'
    properties = compile_schema(text, strict=False).catalog.node_types["A"].by_name
    assert (properties["n"].default, properties["d"].default) == (None, "2026-01-02")
