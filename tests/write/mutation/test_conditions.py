"""Conditions of mutations: they select what the same condition selects in a query, whatever is compared with what."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.graph import Graph
from omnigraph.language.query import bind_params, compile_query
from omnigraph.language.query.ir import MutationIR
from omnigraph.model.identifiers import TableKey
from omnigraph.model.types import INTEGER_BOUNDS, Scalar
from omnigraph.model.values import format_date, format_datetime, to_single
from omnigraph.query.plan import Mode
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write import ChangeSet, TableChange
from omnigraph.write.commit import Prepared, WriteRequest, write
from omnigraph.write.mutation import MutationRun

SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
SCHEMA = (
    "node Thing {\n  name: String @key\n" + "".join(f"  {each.lower()}: {each}? @index\n" for each in SCALARS) + "}\n"
)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
MODES: tuple[Mode, ...] = ("csr", "indexed")

INTEGERS = [-(2**63), -(2**31), -1, 0, 1, 2**31 - 1, 2**32 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**64 - 1]
NEGATIVE_NAN = math.copysign(math.nan, -1.0)
FLOATS = [0.0, -0.0, 0.1, to_single(0.1), -0.1, 1.0, 16777217.0, 2.0**53, 3.4e38, 1e300, -1e300, 5e-324, 1e-45]
STORED: dict[str, list[Any]] = {
    "String": ["", "a", "A", "ä", "it's", "b%"],
    "Bool": [True, False],
    **{
        name: [each for each in INTEGERS if INTEGER_BOUNDS[Scalar(name)][0] <= each <= INTEGER_BOUNDS[Scalar(name)][1]]
        for name in ("I32", "I64", "U32", "U64")
    },
    "F32": [*sorted({to_single(each) for each in FLOATS}), -0.0, math.nan, NEGATIVE_NAN, math.inf, -math.inf],
    "F64": [*FLOATS, math.nan, NEGATIVE_NAN, math.inf, -math.inf],
    "Date": [-719162, -1, 0, 1, 20_000, 2932896],
    "DateTime": [-62135596800000, -1, 0, 1, 86_400_000, 253402300799999],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """One row per stored value and one of nulls, in two fragments; with floats that no intake accepts."""
    graph = Graph.init(str(tmp_path_factory.mktemp("conditions") / "g"), SCHEMA, durability="os")
    rows = [{"name": "nothing"}]
    for scalar, values in STORED.items():
        rows += [{"name": f"{scalar} {place}", scalar.lower(): value} for place, value in enumerate(values)]
    _store(graph, rows[::2])
    graph.ensure_indices()
    _store(graph, rows[1::2])  # not in the indexes yet
    yield graph
    graph.close()


def _store(graph: Graph, rows: list[dict[str, Any]]) -> None:
    """Commits rows unchecked, as another program might have."""
    key = TableKey("node", "Thing")
    schema = table_schema(graph.schema.catalog.node_types["Thing"])
    whole = [dict.fromkeys(schema.names) | row | {"id": row["name"]} for row in rows]
    change = TableChange(key, "upsert", pa.Table.from_pylist(whole, schema=schema))
    request = WriteRequest(
        branch="main", kind="mutation", writer_kind="Mutation", prepare=lambda base: Prepared(ChangeSet({key: change}))
    )
    write(graph._storage, request, lambda: graph.schema)


@st.composite
def constants(draw: st.DrawFn, scalar: str) -> Any:
    """A plain value that may stand beside a property of this type."""
    if scalar in ("String", "Bool"):
        return draw(st.sampled_from(STORED[scalar]))
    if scalar == "Date":
        return format_date(draw(st.sampled_from(STORED[scalar])))
    if scalar == "DateTime":
        return format_datetime(draw(st.sampled_from(STORED[scalar])))
    near = [value + step for value in INTEGERS for step in (-1, 0, 1)]
    whole = st.sampled_from([value for value in near if -(2**63) <= value < 2**64])
    return draw(st.one_of(st.sampled_from(FLOATS), whole, st.floats(allow_nan=False, allow_infinity=False)))


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], str]:
    """The property, the condition after it, the parameters, and their declaration."""
    scalar = draw(st.sampled_from(SCALARS))
    name = scalar.lower()
    word = draw(st.sampled_from((*OPERATORS, "in", "is null", "is not null")))
    if word.startswith("is"):
        return name, word, {}, ""
    several = draw(st.lists(constants(scalar), max_size=4)) if word == "in" else [draw(constants(scalar))]
    if draw(st.booleans()):
        declared = _declared(scalar, several)
        given: Any = several if word == "in" else several[0]
        given = None if draw(st.integers(0, 7)) == 0 else given
        return name, f"{word} $p", {"p": given}, f"$p: {f'[{declared}]' if word == 'in' else declared}?"
    texts = [_literal(each, scalar) for each in several]
    if word == "in":
        return name, f"in [{', '.join(texts)}]", {}, ""
    return name, f"{word} {'null' if draw(st.integers(0, 7)) == 0 else texts[0]}", {}, ""


def _declared(scalar: str, values: list[Any]) -> str:
    """The type of a parameter that holds these values."""
    if not Scalar(scalar).is_numeric:
        return scalar
    if any(isinstance(value, float) for value in values):
        return "F64"
    return "U64" if all(value >= 0 for value in values) else "I64" if all(v < 2**63 for v in values) else "F64"


def _literal(value: Any, scalar: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        quoted = '"' + value + '"'
        return f"{scalar.lower()}({quoted})" if scalar in ("Date", "DateTime") else quoted
    return format(value, ".400f") if isinstance(value, float) else str(value)


def queried(graph: Graph, name: str, test: str, declared: str, params: dict[str, Any], mode: Mode) -> list[str]:
    text = f"query q({declared}) {{ match {{ $t: Thing\n $t.{name} {test} }} return {{ $t.name }} }}"
    return sorted(row["t.name"] for row in graph.query(text, params, mode=mode))


def mutated(graph: Graph, statement: str, declared: str, params: dict[str, Any]) -> ChangeSet:
    """What a mutation would change; nothing is written."""
    catalog = graph.schema.catalog
    compiled = compile_query(f"query m({declared}) {{ {statement} }}", catalog)
    assert isinstance(compiled.ir, MutationIR)
    pins = {pin.table_key: pin for pin in graph.snapshot().tables}
    return MutationRun(graph._storage, pins, catalog, bind_params(compiled.params, params)).run(compiled.ir).changes


def _removed(changes: ChangeSet) -> list[str]:
    change = changes.tables.get(TableKey("node", "Thing"))
    return [] if change is None else sorted(change.removed)


def _written(changes: ChangeSet) -> list[str]:
    change = changes.tables.get(TableKey("node", "Thing"))
    return [] if change is None or change.rows is None else sorted(change.rows["id"].to_pylist())


@settings(max_examples=250)
@given(case=conditions())
@example(case=("f32", "in [0.1]", {}, ""))
@example(case=("f32", "in $p", {"p": [0.1, 1.0]}, "$p: [F64]"))
@example(case=("f32", "= 0.1", {}, ""))
@example(case=("f64", "= 0.0", {}, ""))
@example(case=("f64", "> 0.0", {}, ""))
@example(case=("f32", "< 0.0", {}, ""))
@example(case=("f32", ">= 0", {}, ""))
@example(case=("f32", "> 1000.0", {}, ""))
@example(case=("f64", "!= 0.0", {}, ""))
@example(case=("f64", "in [0.0]", {}, ""))
@example(case=("i64", "< 9007199254740993.0", {}, ""))
@example(case=("u64", "in [-1, 18446744073709551615]", {}, ""))
@example(case=("bool", "< true", {}, ""))
def test_a_mutation_selects_what_a_query_with_the_same_condition_finds(
    graph: Graph, case: tuple[str, str, dict[str, Any], str]
) -> None:
    name, test, params, declared = case
    found = {mode: queried(graph, name, test, declared, params, mode) for mode in MODES}
    assert found["csr"] == found["indexed"]
    assert _removed(mutated(graph, f"delete Thing where {name} {test}", declared, params)) == found["csr"]
    update = f'update Thing set {{ string: "new" }} where {name} {test}'
    assert _written(mutated(graph, update, declared, params)) == found["csr"]


@pytest.mark.parametrize("test", ["in [0.1]", "= 0.1", "< 0.2", "is not null", "in $p"])
def test_a_statement_tests_what_the_query_itself_wrote_by_the_same_rules(graph: Graph, test: str) -> None:
    insert = 'insert Thing { name: "fresh", f32: 0.1 }'
    update = f'update Thing set {{ string: "new" }} where f32 {test}'
    declared, params = ("$p: [F64]", {"p": [0.1]}) if "$p" in test else ("", {})
    expected = {*queried(graph, "f32", test, declared, params, "csr"), "fresh"}
    changes = mutated(graph, f"{insert}\n{update}", declared, params)
    rows = changes.tables[TableKey("node", "Thing")].rows
    assert rows is not None
    written = dict(zip(rows["id"].to_pylist(), rows["string"].to_pylist(), strict=True))
    assert written == dict.fromkeys(expected, "new")


def test_edges_are_selected_by_their_ends_and_their_properties(tmp_path: Path) -> None:
    schema = "node N { k: String @key }\nedge Link: N -> N { ratio: F32? }\n"
    graph = Graph.init(str(tmp_path / "g"), schema, durability="os")
    graph.load(
        [
            b'{"type": "N", "data": {"k": "a"}}',
            b'{"type": "N", "data": {"k": "b"}}',
            b'{"edge": "Link", "from": "a", "to": "b", "data": {"ratio": 0.1}}',
            b'{"edge": "Link", "from": "b", "to": "a", "data": {}}',
        ],
        mode="append",
    )
    for test, count in (('from = "a"', 1), ('to in ["a", "b"]', 2), ("ratio in [0.1]", 1), ("ratio is null", 1)):
        pins = {pin.table_key: pin for pin in graph.snapshot().tables}
        compiled = compile_query(f"query m() {{ delete Link where {test} }}", graph.schema.catalog)
        assert isinstance(compiled.ir, MutationIR)
        run = MutationRun(graph._storage, pins, graph.schema.catalog, bind_params((), {}))
        assert run.run(compiled.ir).affected_edges == count, test


@pytest.mark.parametrize("mode", MODES)
def test_a_number_beyond_an_f32_key_is_no_key_and_no_error(tmp_path: Path, mode: Mode) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node N { k: F32 @key }\n", durability="os")
    graph.load([b'{"type": "N", "data": {"k": 0.5}}'], mode="append")
    text = "query q($k: F64) { match { $n: N\n $n.k = $k } return { $n.k } }"
    assert [list(graph.query(text, k=value, mode=mode)) for value in (0.5, 1e300)] == [[{"n.k": 0.5}], []]
