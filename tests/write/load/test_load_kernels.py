"""Loads up to their change set: modes, repeats, patches, edges without ids, and records that are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph.model.errors import KeyConflict
from omnigraph.model.identifiers import TableKey
from omnigraph.write.intake import line_files
from omnigraph.write.load import checks
from omnigraph.write.load.kept_lines import KeptLines
from omnigraph.write.load.prepare import PreparedLoad
from omnigraph.write.rules.violations import ValidationFailed
from support.graphs.committed_graphs import CommittedGraph, edge, node

SCHEMA = """
node P { k: String @key  n: I32?  r: I32  d: I32 @default(5)  b: Blob?  v: Vector(2)?  e: String? @unique(e) }
node Q { t: String? }
edge K: P -> P { w: I32?  x: I32? }
edge U: P -> P { w: I32?  @unique(src, dst) }
edge M: P -> P @card(1..2)
"""
P, Q, K, U = TableKey("node", "P"), TableKey("node", "Q"), TableKey("edge", "K"), TableKey("edge", "U")


@pytest.fixture
def graph(tmp_path: Path) -> CommittedGraph:
    return CommittedGraph(tmp_path / "g", SCHEMA)


def p(name: str, **data: Any) -> dict[str, Any]:
    return node("P", k=name, **{"r": 1, **data})


def said(prepared: PreparedLoad) -> list[str]:
    return [str(each) for each in prepared.violations]


def ids(prepared: PreparedLoad, key: TableKey) -> list[str]:
    rows = prepared.changes.tables[key].rows
    assert rows is not None
    found: list[str] = rows["id"].to_pylist()
    return found


# --- modes and counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "change"), [("append", "insert"), ("merge", "upsert"), ("overwrite", "overwrite")], ids=lambda mode: mode
)
def test_a_load_becomes_one_change_per_type_with_its_lines(graph: CommittedGraph, mode: str, change: str) -> None:
    prepared = graph.prepare(edge("k", "b", "a"), b"\n", p("b"), node("Q"), p("a"), mode=mode)
    assert not prepared.refused
    assert [(str(each.key), each.mode) for each in prepared.changes.changes()] == [
        ("edge:K", change),
        ("node:P", change),
        ("node:Q", change),
    ]
    people = prepared.changes.tables[P]
    assert people.provenance is not None
    assert [people.provenance.place(row) for row in (0, 1)] == [("in.jsonl", 3), ("in.jsonl", 5)]
    assert (prepared.nodes, prepared.edges) == ({"P": 2, "Q": 1}, {"K": 1})


def test_an_empty_load_changes_nothing_and_is_not_refused(graph: CommittedGraph) -> None:
    prepared = graph.prepare(b"", b"  \r\n", mode="overwrite")
    assert prepared.changes.is_empty
    assert not prepared.refused


def test_chunks_do_not_show_in_the_result(graph: CommittedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [p(f"p{number}", n=number) for number in range(10)] + [
        edge("K", f"p{number}", "p0") for number in range(10)
    ]
    whole = graph.prepare(*records)
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 100)
    parts = graph.prepare(*records)
    for key, change in whole.changes.tables.items():
        assert change.rows is not None
        assert change.rows.equals(parts.changes.tables[key].rows)
        other = parts.changes.tables[key].provenance
        assert change.provenance is not None
        assert other is not None
        assert list(change.provenance.lines) == list(other.lines)


def test_the_same_load_generates_the_same_ids(graph: CommittedGraph) -> None:
    assert ids(graph.prepare(node("Q"), node("Q")), Q) == ids(graph.prepare(node("Q"), node("Q")), Q)


def test_appending_an_id_that_exists_is_a_key_conflict_that_names_it(graph: CommittedGraph) -> None:
    graph.load(p("a"), node("Q", id="q"))
    prepared = graph.prepare(p("b"), p("a"), node("Q", id="q"))
    assert said(prepared) == ["line 2: node type 'P' already has id 'a'", "line 3: node type 'Q' already has id 'q'"]
    with pytest.raises(KeyConflict, match="node type 'P' already has id 'a'"):
        prepared.refuse()


# --- twice in one input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_key_or_a_unique_tuple_twice_names_both_lines_in_every_mode(graph: CommittedGraph, mode: str) -> None:
    prepared = graph.prepare(p("a", e="E"), p("b", e="E"), p("a"), mode=mode)
    assert said(prepared) == [
        "line 3: @unique violation on P.k: value 'a' held by 'a' and 'a' (lines 1 and 3)",
        "line 2: @unique violation on P.e: value 'E' held by 'a' and 'b' (lines 1 and 2)",
    ]
    assert prepared.refused


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_an_explicit_id_twice_is_a_key_conflict_where_ids_must_be_new(graph: CommittedGraph, mode: str) -> None:
    prepared = graph.prepare(node("Q", id="q", t="1"), node("Q", id="q", t="2"), mode=mode)
    assert said(prepared) == ["line 2: node type 'Q' already has id 'q' (lines 1 and 2)"]
    with pytest.raises(KeyConflict):
        prepared.refuse()


def test_in_a_merge_the_last_record_of_an_id_wins_in_its_own_place_and_both_are_counted(graph: CommittedGraph) -> None:
    prepared = graph.prepare(node("Q", id="q", t="1"), node("Q", id="r"), node("Q", id="q", t="2"), mode="merge")
    change = prepared.changes.tables[Q]
    assert change.rows is not None
    assert change.rows.to_pylist() == [{"id": "r", "t": None}, {"id": "q", "t": "2"}]
    assert change.provenance is not None
    assert list(change.provenance.lines) == [2, 3]
    assert prepared.nodes == {"Q": 3}


# --- patches ----------------------------------------------------------------------------------------------


def test_without_a_patch_absent_properties_become_null_or_their_default(graph: CommittedGraph) -> None:
    graph.load(p("a", n=1, d=9, b="base64:eHl6", v=[1, 2]))
    graph.load(p("a", r=2), mode="merge")
    [row] = graph.rows("P")
    assert {name: row[name] for name in ("n", "r", "d", "b", "v")} == {"n": None, "r": 2, "d": 5, "b": None, "v": None}


def test_a_patch_keeps_stored_values_and_changes_what_it_states(graph: CommittedGraph) -> None:
    graph.load(p("a", n=1, d=9, b="base64:eHl6", v=[1, 2]), p("b", n=7))
    prepared = graph.load(node("P", k="a", n=None), p("c", n=3), mode="merge", patch=True)
    rows = prepared.changes.tables[P].rows
    assert rows is not None
    images = {row["id"]: row for row in rows.to_pylist()}
    assert images["a"] == {
        "id": "a",
        "k": "a",
        "n": None,
        "r": 1,
        "d": 9,
        "b": {"data": b"xyz", "uri": None},
        "v": [1.0, 2.0],
        "e": None,
    }
    assert (images["c"]["d"], images["c"]["b"]) == (5, None)
    assert [row["n"] for row in graph.rows("P")] == [None, 7, 3]


def test_a_patch_of_a_new_entity_needs_its_required_properties(graph: CommittedGraph) -> None:
    prepared = graph.prepare(p("a"), node("P", k="b"), mode="merge", patch=True)
    assert said(prepared) == ["line 2: P: missing value for non-nullable property 'r'"]


def test_patches_of_one_entity_in_one_input_add_up(graph: CommittedGraph) -> None:
    graph.load(p("a"), edge("K", "a", "a", id="e", w=1, x=1))
    records = [edge("K", "a", "a", id="e", w=2), edge("K", "a", "a", id="e", x=3), edge("K", "a", "a", id="f", x=4)]
    graph.load(*records, mode="merge", patch=True)
    assert [(row["id"], row["w"], row["x"]) for row in graph.rows("K")] == [("e", 2, 3), ("f", None, 4)]


# --- edges without ids ------------------------------------------------------------------------------------


def test_merging_an_edge_without_id_adds_one_unless_its_endpoints_name_it(graph: CommittedGraph) -> None:
    graph.load(p("a"), p("b"), edge("K", "a", "b", id="k"), edge("U", "a", "b", id="u"))
    prepared = graph.prepare(edge("K", "a", "b", w=1), edge("U", "a", "b", w=1), edge("U", "b", "a"), mode="merge")
    assert ids(prepared, K) != ["k"]
    assert ids(prepared, U)[0] == "u"
    assert not prepared.refused
    asked = graph.prepare(edge("K", "a", "b", w=1), mode="merge", match_edges="endpoints")
    assert ids(asked, K) == ["k"]


def test_records_of_the_same_endpoints_mean_the_same_edge(graph: CommittedGraph) -> None:
    graph.load(p("a"), p("b"))
    new = graph.prepare(edge("K", "a", "b", w=1), edge("K", "a", "b", w=2), mode="merge", match_edges="endpoints")
    rows = new.changes.tables[K].rows
    assert rows is not None
    assert rows["w"].to_pylist() == [2]
    named = [edge("K", "a", "b", id="k"), edge("K", "a", "b", w=3)]
    assert ids(graph.prepare(*named, mode="merge", match_edges="endpoints"), K) == ["k"]


def test_an_edge_that_the_input_moves_elsewhere_is_not_found_at_its_old_endpoints(graph: CommittedGraph) -> None:
    graph.load(p("a"), p("b"), edge("K", "a", "b", id="k"))
    moved = [edge("K", "b", "b", id="k"), edge("K", "a", "b")]
    assert len(set(ids(graph.prepare(*moved, mode="merge", match_edges="endpoints"), K))) == 2


def test_endpoints_with_several_edges_name_none(graph: CommittedGraph) -> None:
    graph.load(p("a"), edge("K", "a", "a"), edge("K", "a", "a"))
    prepared = graph.prepare(edge("K", "a", "a", w=1), mode="merge", match_edges="endpoints")
    assert said(prepared) == ["line 1: there are several K edges from 'a' to 'a'; give the id of the one that is meant"]


def test_a_unique_pair_of_endpoints_twice_in_the_input_is_a_violation(graph: CommittedGraph) -> None:
    graph.load(p("a"))
    prepared = graph.prepare(edge("U", "a", "a", w=1), edge("U", "a", "a", w=2), mode="merge")
    assert "@unique violation on U.(dst, src)" in said(prepared)[0]


# --- failing ----------------------------------------------------------------------------------------------


def test_a_failing_load_reports_every_kind_of_fault_of_its_records_at_once(graph: CommittedGraph) -> None:
    prepared = graph.prepare(b"{", p("a", n="7"), p("b", e="E"), p("c", e="E"), edge("K", "zz", "b"))
    assert [each.line for each in prepared.violations] == [1, 2, 4]
    assert prepared.violations_total == 3
    assert [reject.line for reject in prepared.rejected] == [1, 2]
    assert prepared.rejected[0].text == b"{"


def test_endpoints_are_not_judged_beside_records_that_could_not_be_read(graph: CommittedGraph) -> None:
    prepared = graph.prepare(p("a", n="7"), edge("K", "a", "a"))
    assert [each.rule for each in prepared.violations] == ["type"]


def test_violations_are_counted_beyond_what_is_reported(graph: CommittedGraph) -> None:
    prepared = graph.prepare(*(b"{" for _ in range(12)), max_errors=5)
    assert (len(prepared.violations), prepared.violations_total) == (5, 12)
    with pytest.raises(ValidationFailed, match="and 11 more"):
        prepared.refuse()


# --- skipping ---------------------------------------------------------------------------------------------


def test_skipping_leaves_out_what_is_wrong_and_what_depended_on_it(graph: CommittedGraph) -> None:
    records = [
        p("a", e="E"),
        p("b", e="E"),
        b'{"type":"Z"}\r\n',
        p("c", n="x"),
        edge("K", "a", "b"),
        edge("K", "a", "a"),
    ]
    prepared = graph.load(*records, on_error="skip")
    assert [row["id"] for row in graph.rows("P")] == ["a"]
    assert [(row["src"], row["dst"]) for row in graph.rows("K")] == [("a", "a")]
    assert [reject.line for reject in prepared.rejected] == [2, 3, 4, 5]
    assert b'"k": "b"' in prepared.rejected[0].text
    assert [each.rule for each in prepared.rejected[3].violations] == ["endpoint"]
    assert (prepared.nodes, prepared.edges, prepared.violations_total) == ({"P": 1}, {"K": 1}, 4)


def test_skipping_goes_on_until_nothing_more_falls(graph: CommittedGraph) -> None:
    """One edge has no end; without it, the other one leaves its old source with none and has to stay."""
    graph.load(p("a"), p("b"), edge("M", "a", "a", id="m"))
    records = [edge("M", "b", "a", id="m"), edge("M", "a", "zz", id="x")]
    prepared = graph.prepare(*records, mode="merge", on_error="skip")
    assert not prepared.refused
    assert prepared.changes.is_empty
    assert [reject.line for reject in prepared.rejected] == [1, 2]


def test_a_load_that_skipping_cannot_mend_is_refused(graph: CommittedGraph) -> None:
    graph.load(p("a"), p("b"), edge("K", "a", "b"))
    prepared = graph.prepare(p("a"), mode="overwrite", on_error="skip")
    assert prepared.refused
    with pytest.raises(ValidationFailed, match="dst 'b' not found in P"):
        prepared.refuse()


def test_a_load_that_still_falls_apart_after_the_stated_rounds_is_refused(
    graph: CommittedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "SKIP_ROUNDS_MAX", 1)
    assert graph.prepare(edge("K", "zz", "zz"), on_error="skip").refused


def test_an_overwrite_of_which_nothing_is_accepted_empties_no_table(graph: CommittedGraph) -> None:
    graph.load(p("a"))
    graph.load(p("b", n="x"), mode="overwrite", on_error="skip")
    assert [row["id"] for row in graph.rows("P")] == ["a"]


def test_skipping_a_key_that_exists_keeps_the_rest_of_an_append(graph: CommittedGraph) -> None:
    graph.load(p("a"))
    prepared = graph.load(p("a"), p("b"), on_error="skip")
    assert [row["id"] for row in graph.rows("P")] == ["a", "b"]
    assert [each.rule for each in prepared.violations] == ["key_conflict"]


def test_kept_lines_come_back_as_they_were() -> None:
    kept = KeptLines()
    kept.add([1, 4, 9], [b"one\r\n", b"four\n", b"nine"])
    kept.add([2, 3], [b"two\n", b"three\n"])
    assert kept.texts([9, 2, 4, 7]) == {9: b"nine", 2: b"two", 4: b"four"}
