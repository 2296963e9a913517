"""The validator and the committed view, against a graph on disk and against a naive reading of the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.model.identifiers import TableKey
from omnigraph.storage import open_storage
from omnigraph.storage.tables import IndexSpec, stage_indexes
from omnigraph.storage.tables.columns import table_schema
from omnigraph.write.changes import ChangeSet, Provenance
from omnigraph.write.rules import committed_view
from omnigraph.write.rules.canonical_text import repeats, tuple_codes
from omnigraph.write.rules.committed_view import CommittedView
from omnigraph.write.rules.validation import validate
from support.graphs.committed_graphs import CommittedGraph
from support.graphs.rust_graphs import rust_graph

SCHEMA = """
node P { k: String @key e: String? f: F64? d: Date? @unique(e) @unique(f, d) }
node Q { t: String? }
edge K: P -> P @card(1..2) { w: I32? @unique(src, dst) }
edge L: P -> Q
"""
P, K, L = TableKey("node", "P"), TableKey("edge", "K"), TableKey("edge", "L")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> CommittedGraph:
    return CommittedGraph(tmp_path_factory.mktemp("validation") / "g", SCHEMA)


def person(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "k": name, **more}


def arc(name: str, src: str, dst: str) -> dict[str, Any]:
    return {"id": name, "src": src, "dst": dst}


def fill(graph: CommittedGraph, people: list[Any], arcs: list[Any], links: list[Any], things: list[Any]) -> None:
    contents = (("P", people), ("Q", things), ("K", arcs), ("L", links))
    graph.commit(graph.changes(*(graph.change(name, "overwrite", rows) for name, rows in contents)))


def messages(graph: CommittedGraph, *changes: Any, **options: Any) -> list[str]:
    return [each.message for each in validate(graph.changes(*changes), graph.view(), graph.catalog, **options)]


# --- single rules -----------------------------------------------------------------------------------------


def test_a_value_that_the_same_change_releases_is_free(graph: CommittedGraph) -> None:
    fill(graph, [person("a", e="A")], [], [], [])
    assert messages(graph, graph.change("P", "upsert", [person("a", e="B"), person("b", e="A")])) == []
    assert messages(graph, graph.change("P", "upsert", [person("b", e="A")])) == [
        "@unique violation on P.e: value 'A' held by 'a' and 'b'"
    ]


def test_unique_tuples_of_several_columns_compare_by_canonical_text(graph: CommittedGraph) -> None:
    fill(graph, [person("a", f=-0.0, d=5), person("n", f=None, d=5)], [], [], [])
    assert messages(graph, graph.change("P", "insert", [person("b", f=0.0, d=5)])) == [
        "@unique violation on P.(d, f): value '(5, 0)' held by 'a' and 'b'"
    ]
    assert messages(graph, graph.change("P", "insert", [person("b", f=0.0, d=6), person("c", d=5)])) == []


def test_removed_nodes_strand_retained_edges_and_rewritten_or_removed_ones_not(graph: CommittedGraph) -> None:
    fill(graph, [person("a"), person("b")], [arc("e", "a", "b")], [], [])
    gone = graph.change("P", "delete", removed=["b"])
    assert messages(graph, gone) == ["dst 'b' not found in P: edge K 'e' still needs it"]
    assert messages(graph, gone, graph.change("K", "upsert", [arc("e", "a", "a")])) == []
    assert (
        messages(graph, graph.change("P", "delete", removed=["a", "b"]), graph.change("K", "delete", removed=["e"]))
        == []
    )


def test_an_overwritten_edge_type_is_checked_against_the_new_image_of_its_nodes(graph: CommittedGraph) -> None:
    fill(graph, [person("a"), person("b")], [arc("e", "a", "b")], [], [])
    nodes = graph.change("P", "overwrite", [person("a")])
    assert messages(graph, nodes, graph.change("K", "overwrite", [arc("f", "a", "a")])) == []
    assert messages(graph, nodes, graph.change("K", "overwrite", [arc("f", "a", "b")])) == ["dst 'b' not found in P"]


def test_an_overwrite_that_takes_the_last_edge_of_a_source_breaks_its_minimum(graph: CommittedGraph) -> None:
    fill(graph, [person("a"), person("b")], [arc("e", "a", "b"), arc("f", "b", "b")], [], [])
    assert messages(graph, graph.change("K", "overwrite", [arc("e", "a", "b")])) == [
        "@card violation on edge K: source 'b' has 0 edges (min 1)"
    ]


def test_counts_may_be_taken_on_a_newer_view(graph: CommittedGraph) -> None:
    fill(graph, [person("a"), person("b"), person("c")], [arc("e", "a", "b")], [], [])
    old = graph.view()
    graph.commit(graph.changes(graph.change("K", "insert", [arc("f", "a", "c")])))
    change = graph.changes(graph.change("K", "insert", [arc("g", "a", "a")]))
    assert validate(change, old, graph.catalog) == []
    [found] = validate(change, old, graph.catalog, counts_view=graph.view())
    assert found.message == "@card violation on edge K: source 'a' has 3 edges (max 2)"


def test_a_violation_names_the_line_that_it_comes_from(graph: CommittedGraph) -> None:
    fill(graph, [person("a")], [], [], [])
    change = replace(
        graph.change("K", "insert", [arc("e", "a", "a"), arc("f", "a", "zz")]),
        provenance=Provenance("in.jsonl", (3, 8)),
    )
    [found] = validate(ChangeSet({K: change}), graph.view(), graph.catalog)
    assert found.to_json() == {
        "file": "in.jsonl",
        "line": 8,
        "entity_kind": "edge",
        "type_name": "K",
        "entity_id": "f",
        "property": "dst",
        "value": "zz",
        "rule": "endpoint",
        "message": "dst 'zz' not found in P",
    }


def test_no_more_violations_are_reported_than_asked_for(graph: CommittedGraph) -> None:
    fill(graph, [], [], [], [])
    edges = graph.change("L", "insert", [arc(f"e{number}", "x", "y") for number in range(50)])
    assert len(messages(graph, edges)) == 100
    assert len(messages(graph, edges, max_errors=7)) == 7


# --- against a naive reading of the rules -----------------------------------------------------------------

NAMES = st.sampled_from("abcde")
PEOPLE = st.dictionaries(NAMES, st.fixed_dictionaries({"e": st.sampled_from([None, "X", "Y", "Z"])}), max_size=5)
ARCS = st.dictionaries(st.sampled_from(["e1", "e2", "e3", "e4"]), st.tuples(NAMES, NAMES), max_size=4)
MODES = st.sampled_from([None, "upsert", "overwrite", "delete"])


def naive(people: Any, arcs: Any, new_people: Any, new_arcs: Any, people_mode: Any, arcs_mode: Any) -> set[Any]:
    """Every rule read off the final image, row by row."""
    final_people, final_arcs = final(people, new_people, people_mode), final(arcs, new_arcs, arcs_mode)
    found: set[Any] = set()
    if people_mode in ("upsert", "overwrite"):
        found |= {("@unique", "P", text) for text in clashes(final_people, new_people, lambda row: row["e"])}
    if arcs_mode in ("upsert", "overwrite"):
        found |= {("@unique", "K", f"({b}, {a})") for a, b in clashes(final_arcs, new_arcs, lambda row: row)}
    for name, ends in final_arcs.items():
        found |= {
            ("endpoint", name, column)
            for column, end in zip(("src", "dst"), ends, strict=True)
            if end not in final_people
        }
    for source in touched(arcs, new_arcs, arcs_mode) & final_people.keys():
        count = sum(1 for src, _ in final_arcs.values() if src == source)
        if not 1 <= count <= 2:
            found.add(("@card", source, count))
    return found


def final(old: Any, new: Any, mode: Any) -> dict[str, Any]:
    if mode is None:
        return dict(old)
    if mode == "delete":
        return {name: row for name, row in old.items() if name not in new}
    return dict(new) if mode == "overwrite" else {**old, **new}


def clashes(image: Any, changed: Any, of: Any) -> Iterator[Any]:
    holders = Counter(of(row) for row in image.values())
    return (of(row) for row in changed.values() if of(row) is not None and holders[of(row)] > 1)


def touched(old: Any, new: Any, mode: Any) -> set[str]:
    if mode is None:
        return set()
    lost = old if mode == "overwrite" else {name: old[name] for name in new if name in old}
    gained = {} if mode == "delete" else new
    return {src for src, _ in (*lost.values(), *gained.values())}


def facts(found: list[Any]) -> set[Any]:
    seen: set[Any] = set()
    for each in found:
        if each.rule == "@unique":
            seen.add((each.rule, each.type_name, each.value))
        elif each.rule == "endpoint":
            seen.add((each.rule, each.entity_id, each.property))
        else:
            seen.add((each.rule, each.value, int(each.message.split(" has ")[1].split()[0])))
    return seen


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(people=PEOPLE, arcs=ARCS, new_people=PEOPLE, new_arcs=ARCS, people_mode=MODES, arcs_mode=MODES)
def test_the_validator_finds_what_a_naive_reading_of_the_final_image_finds(
    graph: CommittedGraph, people: Any, arcs: Any, new_people: Any, new_arcs: Any, people_mode: Any, arcs_mode: Any
) -> None:
    arcs = {name: ends for name, ends in arcs.items() if set(ends) <= people.keys()}
    as_people = lambda rows: [person(name, **row) for name, row in rows.items()]  # noqa: E731
    as_arcs = lambda rows: [arc(name, *ends) for name, ends in rows.items()]  # noqa: E731
    fill(graph, as_people(people), as_arcs(arcs), [], [])
    changes = []
    if people_mode is not None:
        changes.append(graph.change("P", people_mode, as_people(new_people), list(new_people)))
    if arcs_mode is not None:
        changes.append(graph.change("K", arcs_mode, as_arcs(new_arcs), list(new_arcs)))
    changes = [change if change.mode == "delete" else replace(change, removed=()) for change in changes]
    found = validate(graph.changes(*changes), graph.view(), graph.catalog, max_errors=1000)
    assert facts(found) == naive(people, arcs, new_people, new_arcs, people_mode, arcs_mode)


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b", ""]), st.sampled_from([None, 0.0, -0.0, 1.5])), max_size=30))
def test_tuples_repeat_exactly_when_their_canonical_texts_do(rows: list[tuple[str | None, float | None]]) -> None:
    later, first = repeats(
        tuple_codes([pa.array([a for a, _ in rows], pa.string()), pa.array([b for _, b in rows], pa.float64())])
    )
    seen: dict[Any, int] = {}
    expected = []
    for row, (a, b) in enumerate(rows):
        if a is not None and b is not None:
            if (a, b) in seen:
                expected.append((row, seen[a, b]))
            seen.setdefault((a, b), row)
    assert list(zip(later.tolist(), first.tolist(), strict=True)) == expected


# --- the committed view -----------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [False, True], ids=["probes", "one pass"])
def test_questions_have_the_same_answers_by_probes_and_by_one_pass(
    graph: CommittedGraph, monkeypatch: pytest.MonkeyPatch, passes: bool
) -> None:
    monkeypatch.setattr(committed_view, "PASS_FROM_KEYS", 1 if passes else 1 << 40)
    monkeypatch.setattr(committed_view, "PROBE_CHUNK_KEYS", 3)
    names = [f"p{number}" for number in range(10)]
    people = [person(name, e=name.upper(), f=float(number), d=number) for number, name in enumerate(names)]
    fill(graph, people, [arc(f"e{number}", names[number], names[0]) for number in range(10)], [], [])
    view = graph.view()
    assert view.ids_present(P, [*names, "zz"]) == set(names)
    assert view.ids_present(TableKey("node", "Nowhere"), names) == set()
    wanted = pa.table({"f": [1.0, 2.0, 3.0, 4.0, 0.0], "d": pa.array([1, 2, 3, 9, None], pa.int32()).cast(pa.date32())})
    assert sorted(view.rows_with(P, ("f", "d"), wanted)["id"].to_pylist()) == ["p1", "p2", "p3"]
    assert sorted(view.edges_at(K, "src", names[:5])["id"].to_pylist()) == [f"e{number}" for number in range(5)]
    assert sorted(view.edges_at(K, "dst", names)["id"].to_pylist()) == [f"e{number}" for number in range(10)]
    assert view.dangling(K, "src", pa.array(names[1:]))["id"].to_pylist() == ["e0"]


def test_every_scalar_type_is_found_by_its_value_with_and_without_an_index(tmp_path: Any) -> None:
    types = {
        "b": "Bool",
        "i": "I32",
        "j": "I64",
        "u": "U32",
        "v": "U64",
        "f": "F32",
        "g": "F64",
        "d": "Date",
        "m": "DateTime",
    }
    body = " ".join(f"{name}: {kind}?" for name, kind in types.items())
    graph = CommittedGraph(tmp_path / "g", f"node A {{ s: String? {body} }}")
    values = {
        "b": True,
        "i": -5,
        "j": 2**62,
        "u": 2**32 - 1,
        "v": 2**64 - 1,
        "f": 0.1,
        "g": -0.0,
        "d": -3,
        "m": 1_767_323_045_678,
    }
    row = {"id": "x", "s": "it's `q`\n", **values}
    graph.commit(graph.changes(graph.change("A", "insert", [row, {"id": "y"}])))
    entity = graph.catalog.node("A")
    assert entity is not None
    wanted = pa.Table.from_pylist([{**row, "g": 0.0}], schema=table_schema(entity))  # -0.0 is stored: the same to us
    pin = next(iter(graph.storage.manifest.load("main").state.pins()))
    specs = [IndexSpec(name, "BTREE", f"{name}_idx") for name in ("s", *types)]
    built = graph.storage.table_commits.commit(stage_indexes(graph.storage.tables.open(pin), specs))
    indexed = CommittedView(graph.storage, {entity.table_key: replace(pin, version=built.table_version)})
    for view in (graph.view(), indexed):
        for name in ("s", *types):
            assert view.rows_with(entity.table_key, (name,), wanted)["id"].to_pylist() == ["x"], name


def test_an_index_is_used_and_an_unreadable_one_counts_as_absent(graph: CommittedGraph) -> None:
    fill(graph, [person("a"), person("b")], [], [], [])
    pins = {pin.table_key: pin for pin in graph.storage.manifest.load("main").state.pins()}
    table = graph.storage.tables.open(pins[P])
    built = graph.storage.table_commits.commit(stage_indexes(table, [IndexSpec("id", "BTREE", "id_idx")]))
    view = CommittedView(graph.storage, {P: replace(pins[P], version=built.table_version)})
    assert view.ids_present(P, ["a", "zz"]) == {"a"}
    with rust_graph("fork-of-fork") as rust:
        storage = open_storage(rust.uri, read_only=True)
        pin = next(pin for pin in storage.manifest.load("b").state.pins() if str(pin.table_key) == "node:Person")
        broken = replace(pin, lineage="b")
        view = CommittedView(storage, {pin.table_key: broken})
        assert view.ids_present(pin.table_key, ["Ada", "Nobody"]) == {"Ada"}
        schema = storage.tables.open(broken).schema
        assert view.stored_rows(pin.table_key, ["Ada"], schema)["id"].to_pylist() == ["Ada"]
