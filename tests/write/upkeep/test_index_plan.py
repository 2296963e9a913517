"""Which indexes a schema asks for, and what is done about those that are there."""

from __future__ import annotations

import pytest

from omnigraph.language.schema import compile_schema
from omnigraph.storage.indexes.builds import ExistingIndex
from omnigraph.storage.tables import IndexSpec
from omnigraph.write.rules import check_pattern
from omnigraph.write.upkeep.index_plan import (
    EXACT_VECTORS_MAX,
    LOOKUP_ROWS_MIN,
    SEGMENTS_MAX,
    SUBSTRING_ROWS_MIN,
    plan_indexes,
    wanted_indexes,
)

SCHEMA = """
node Doc {
    slug: String @key
    title: String? @index
    kind: enum(memo, report)? @index
    pages: I32? @index
    day: Date? @index
    email: String? @unique
    number: I64? @unique
    tags: [String]?
    emb: Vector(4)? @index
    plain: String?
    @index(title, pages)
}
node Plain { name: String? }
edge Cites: Doc -> Doc { weight: F64? }
"""
CATALOG = compile_schema(SCHEMA, check_pattern=check_pattern).catalog
DOC, PLAIN, CITES = CATALOG.node_types["Doc"], CATALOG.node_types["Plain"], CATALOG.edge_types["Cites"]


def named(rows: int) -> dict[str, tuple[str, str]]:
    return {spec.name: (spec.column, spec.kind) for spec in wanted_indexes(DOC, rows)}


SMALL = {
    "id_idx": ("id", "BTREE"),
    "slug_idx": ("slug", "INVERTED"),
    "title_idx": ("title", "INVERTED"),
    "kind_idx": ("kind", "BTREE"),
    "pages_idx": ("pages", "BTREE"),
    "day_idx": ("day", "BTREE"),
    "number_idx": ("number", "BTREE"),
    "emb_idx": ("emb", "IVF_FLAT"),
    "title_btree_idx": ("title", "BTREE"),
}
"""`title` has one for words, and one for equality as a member of the index over two properties."""


def test_names_and_kinds_are_those_that_the_format_knows() -> None:
    assert named(10) == SMALL


def test_indexed_texts_get_an_index_for_parts_of_them_when_a_search_would_be_slow() -> None:
    assert "NGRAM" not in {kind for _, kind in named(SUBSTRING_ROWS_MIN - 1).values()}
    grams = {name: column for name, (column, kind) in named(SUBSTRING_ROWS_MIN).items() if kind == "NGRAM"}
    assert grams == {"title_ngram_idx": "title"}, "neither keys, nor enums, nor what is only unique"
    assert {spec.kind for spec in wanted_indexes(CITES, 10**9)} == {"BTREE"}


def test_texts_get_an_index_for_equality_when_the_table_is_large() -> None:
    assert named(LOOKUP_ROWS_MIN) == SMALL | {"email_btree_idx": ("email", "BTREE")}


def test_properties_of_edges_are_indexed_as_those_of_nodes_are() -> None:
    text = """
    node A { name: String @key }
    edge Meets: A -> A {
        since: Date? @index
        place: String? @index
        ticket: I64? @unique
        seat: String?
        row: I32?
        mood: Vector(2)? @index
        @index(seat, row)
        @unique(src, dst)
    }
    """
    meets = compile_schema(text, check_pattern=check_pattern).catalog.edge_types["Meets"]
    assert {spec.name: spec.kind for spec in wanted_indexes(meets, 10)} == {
        "id_idx": "BTREE",
        "src_idx": "BTREE",
        "dst_idx": "BTREE",
        "since_idx": "BTREE",
        "place_idx": "INVERTED",
        "ticket_idx": "BTREE",
        "mood_idx": "IVF_FLAT",
        "seat_btree_idx": "BTREE",
        "row_idx": "BTREE",
    }


def test_vectors_are_approximated_beyond_the_stated_number() -> None:
    [exact] = [spec for spec in wanted_indexes(DOC, EXACT_VECTORS_MAX) if spec.column == "emb"]
    [approximate] = [spec for spec in wanted_indexes(DOC, EXACT_VECTORS_MAX + 1) if spec.column == "emb"]
    assert (exact.kind, dict(exact.parameters)) == ("IVF_FLAT", {"num_partitions": 1, "metric": "l2"})
    assert (approximate.kind, dict(approximate.parameters)) == ("IVF_RQ", {"num_partitions": 244, "metric": "l2"})


def test_edges_and_types_without_declarations_get_their_identifiers_alone() -> None:
    assert [spec.name for spec in wanted_indexes(CITES, 10**6)] == ["id_idx", "src_idx", "dst_idx"]
    assert [spec.name for spec in wanted_indexes(PLAIN, 10**6)] == ["id_idx"]


ID = IndexSpec("id", "BTREE", "id_idx")


def index(fragments: set[int], segments: int = 1, name: str = "id_idx", kind: str = "BTREE") -> ExistingIndex:
    return ExistingIndex(name, ("id",), kind, frozenset(fragments), tuple(f"u{i}" for i in range(segments)))


# what is there, fragments with their rows, broken → (action, over which, taking the place of the old one)
PLANS = [
    ("nothing-there", [], {0: 5, 1: 5}, (), [("build", (0, 1), True)]),
    ("no-rows", [], {}, (), []),
    ("up-to-date", [index({0, 1})], {0: 5, 1: 5}, (), []),
    ("fragments-that-are-gone-do-not-matter", [index({0, 1, 7})], {0: 5, 1: 5}, (), []),
    ("new-fragments-are-a-new-segment", [index({0})], {0: 9, 1: 5, 2: 3}, (), [("extend", (1, 2), False)]),
    ("more-new-than-old", [index({0})], {0: 5, 1: 5}, (), [("rebuild", (0, 1), True)]),
    ("nothing-old-left", [index({3})], {4: 5}, (), [("rebuild", (4,), True)]),
    ("too-many-segments", [index({0}, SEGMENTS_MAX)], {0: 90, 1: 1}, (), [("rebuild", (0, 1), True)]),
    ("broken", [index({0})], {0: 5}, ("id_idx",), [("rebuild", (0,), True)]),
    ("another-kind-is-another-index", [index({0}, name="x", kind="BITMAP")], {0: 5}, (), [("build", (0,), True)]),
]


@pytest.mark.parametrize(
    ("existing", "fragments", "broken", "expected"), [row[1:] for row in PLANS], ids=[row[0] for row in PLANS]
)
def test_the_plan(
    existing: list[ExistingIndex], fragments: dict[int, int], broken: list[str], expected: object
) -> None:
    works = plan_indexes([ID], existing, fragments, broken)
    assert [(work.action, work.build.fragments, work.build.replaces) for work in works] == expected
    assert [work.rows for work in works] == [sum(fragments[n] for n in work.build.fragments) for work in works]


def test_a_text_index_is_built_anew_when_rows_were_rewritten_and_others_are_extended() -> None:
    wanted = [ID, IndexSpec("t", "INVERTED", "t_idx")]
    there = [index({0}), ExistingIndex("t_idx", ("t",), "INVERTED", frozenset({0}), ("u",))]
    for rewritten, actions in (([], ["extend", "extend"]), ([1], ["extend", "rebuild"]), ([0], ["extend", "extend"])):
        works = plan_indexes(wanted, there, {0: 9, 1: 1}, rewritten=rewritten)
        assert [work.action for work in works] == actions


def test_an_index_is_extended_under_the_name_that_it_has() -> None:
    [work] = plan_indexes([ID], [index({0}, name="by_other_hands")], {0: 9, 1: 1})
    assert work.build.spec.name == "by_other_hands"


def test_a_name_that_is_taken_by_another_index_is_not_taken_over() -> None:
    [work] = plan_indexes([ID], [ExistingIndex("id_idx", ("other",), "BTREE", frozenset({0}), ("u",))], {0: 9})
    assert work.build.spec.name == "id_btree_idx"


def test_an_exact_vector_index_makes_way_for_the_approximate_one() -> None:
    spec = IndexSpec("emb", "IVF_RQ", "emb_idx")
    [work] = plan_indexes([spec], [ExistingIndex("emb_idx", ("emb",), "IVF_FLAT", frozenset({0}), ("u",))], {0: 9})
    assert (work.build.spec.name, work.build.replaces) == ("emb_idx", True)
