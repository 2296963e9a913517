"""Table V: plans from an accepted to a desired schema; and the rules behind single steps."""

from __future__ import annotations

from typing import Any

import pytest

from language.schema.tables import all_ids, params, rows
from omnigraph.language import CompileError
from omnigraph.language.schema import MigrationPlan, compile_schema, plan_migration


def plan(accepted: str, desired: str, **options: bool) -> MigrationPlan:
    return plan_migration(compile_schema(accepted).ir, compile_schema(desired), **options)


def steps(made: MigrationPlan) -> list[str]:
    return [f"{step.kind} {step.code}" if step.code else step.kind for step in made.steps]


@pytest.mark.parametrize("row", params("V"))
def test_plan_has_exactly_these_steps(row: dict[str, Any]) -> None:
    if isinstance(row["plan"], str):
        with pytest.raises(CompileError) as caught:
            plan(row["accepted"], row["desired"])
        assert caught.value.first.stage == row["plan"]
        assert caught.value.first.position is not None
        return
    made = plan(row["accepted"], row["desired"])
    assert steps(made) == row["plan"]
    assert made.supported == (not any(step.startswith("unsupported_change") for step in row["plan"]))


def test_every_row_of_the_table_is_here() -> None:
    assert {row["id"] for row in rows("V")} == all_ids("V")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("F32", "F64", ["change_property_type OG-CD-101"]),
        ("U32", "U64?", ["change_property_type OG-CD-101"]),
        ("I32", "F64", ["change_property_type OG-CD-101"]),
        ("I32?", "I64", ["change_property_type OG-MF-104"]),
        ("I64", "I32", ["unsupported_change OG-MF-106"]),
        ("I32", "U32", ["unsupported_change OG-MF-106"]),
        ("String", "[String]", ["unsupported_change OG-MF-106"]),
        ("[I32]", "[I64]", ["unsupported_change OG-MF-106"]),
        ("[I32]", "[I32]?", ["change_property_type OG-CD-101"]),
        ("enum(a, b)", "enum(b, c)", ["unsupported_change OG-MF-106"]),
        ("enum(a)?", "enum(a, b)", ["extend_enum", "change_property_type OG-MF-104"]),
    ],
)
def test_a_type_change_is_lossless_or_refused(before: str, after: str, expected: list[str]) -> None:
    assert steps(plan(f"node P {{ a: {before} }}", f"node P {{ a: {after} }}")) == expected


def test_a_key_member_never_changes_how_it_is_spelled_in_ids() -> None:
    made = plan("node P { a: F32 @key }", "node P { a: F64 @key }")
    assert steps(made) == ["unsupported_change OG-MF-106"]
    assert steps(plan("node P { a: I32 @key }", "node P { a: I64 @key }")) == ["change_property_type OG-CD-101"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("@range(n, 0..9)", "@range(n, 0..10)", ["remove_constraint OG-CD-101", "add_constraint OG-CD-101"]),
        ("@range(n, 0..9)", "@range(n, 1..9)", ["remove_constraint OG-CD-101", "add_constraint OG-MF-107"]),
        ("@range(n, 0..9)", "@range(n, 0.0..9.0)", []),
        ("@unique(s)", "@unique(s, n)", ["remove_constraint OG-CD-101", "add_constraint OG-CD-101"]),
        ("@unique(s, n)", "@unique(n)", ["remove_constraint OG-CD-101", "add_constraint OG-MF-107"]),
        ('@check(s, "a")', '@check(s, "b")', ["remove_constraint OG-CD-101", "add_constraint OG-MF-107"]),
        ("@index(s)", "@index(n)", ["remove_constraint OG-CD-101", "add_constraint"]),
        ("", "@key(s)", ["unsupported_change"]),
    ],
)
def test_a_constraint_that_old_rows_satisfy_anyway_needs_no_scan(before: str, after: str, expected: list[str]) -> None:
    body = "node P {{ s: String n: I32 {} }}"
    assert steps(plan(body.format(before), body.format(after))) == expected


@pytest.mark.parametrize(
    ("before", "after", "code", "tier"),
    [
        ("0..1", "0..2", "OG-CD-101", "safe"),
        ("1..2", "0..", "OG-CD-101", "safe"),
        ("0..2", "0..1", "OG-MF-107", "validated"),
        ("0..", "0..5", "OG-MF-107", "validated"),
        ("0..2", "1..3", "OG-MF-107", "validated"),
    ],
)
def test_a_wider_cardinality_is_safe_and_a_tighter_one_validated(before: str, after: str, code: str, tier: str) -> None:
    text = "node A {{}} edge E: A -> A @card({})"
    (step,) = plan(text.format(before), text.format(after)).steps
    assert (step.kind, step.code, step.tier) == ("change_cardinality", code, tier)


def test_a_required_property_with_a_default_is_supported() -> None:
    made = plan("node P { k: String @key }", "node P { k: String @key n: I32 @default(7) }")
    assert made.to_json() == {
        "supported": True,
        "steps": [
            {
                "kind": "add_property",
                "type_kind": "node",
                "type_name": "P",
                "property_name": "n",
                "property_type": {"scalar": "I32", "nullable": False, "list": False, "enum_values": None},
                "default": "7",
                "tier": "safe",
            }
        ],
    }


def test_changing_a_default_is_metadata() -> None:
    made = plan("node P { n: I32 @default(7) }", "node P { n: I32 @default(8) }")
    assert steps(made) == ["update_property_metadata"]


def test_consent_to_data_loss_makes_every_drop_hard() -> None:
    before, after = "node P { a: String b: String } node Q {} edge E: P -> P", "node P { a: String }"
    soft, hard = plan(before, after), plan(before, after, allow_data_loss=True)
    assert [(s.to_json()["mode"], s.tier, s.code) for s in soft.steps] == [
        ("soft", "destructive", "OG-DS-104"),
        ("soft", "destructive", "OG-DS-102"),
        ("soft", "destructive", "OG-DS-103"),
    ]
    assert {s.to_json()["mode"] for s in hard.steps} == {"hard"}


def test_a_plan_reads_like_the_contract() -> None:
    made = plan(
        "node Author { born: I32? gone: Date? } node Book {}",
        "node Author { born: String? } node Book { pages: I32? }",
    )
    lines = made.render().splitlines()
    assert lines[0].startswith("- unsupported change on node:Author.born [OG-MF-106, destructive]: ")
    assert lines[1] == "- drop property 'Author.gone' of node 'Author' (soft mode) [OG-DS-104, destructive]"
    assert lines[2] == "- add property 'Book.pages' (I32?) on node 'Book'"
    assert plan("", "").render() == "no schema changes"


def test_every_step_kind_has_a_tier_last_and_a_readable_line() -> None:
    before = """interface I { x: String } interface J { x: String }
        node A @description("a") implements I { k: String @key s: enum(a) n: I32 @index old: String? }
        node Old {} node Gone {} edge E: A -> A @card(0..1)"""
    after = """interface I { x: String } interface J { x: String } interface New {}
        node A @description("b") implements J {
            k: String @key @description("c") s: enum(a, b) n: I64 older: String? @rename_from("old") m: F32? @unique }
        node Young @rename_from("Old") {} edge E: A -> A @card(0..2) @pii"""
    made = plan(before, after)
    assert {step.kind for step in made.steps} == {
        "add_type", "rename_type", "drop_type", "update_type_metadata", "change_cardinality", "change_implements",
        "add_property", "rename_property", "extend_enum", "change_property_type", "update_property_metadata",
        "add_constraint", "remove_constraint", "unsupported_change",
    }  # fmt: skip
    for step in made.steps:
        keys = [key for key in step.to_json() if key != "code"]
        assert (keys[0], keys[-1]) == ("kind", "tier")
        assert "<" not in step.line()


def test_ignored_hints_and_swaps_are_warned_about() -> None:
    stale = plan("node P { k: String }", 'node P @rename_from("Zed") { k: String @rename_from("zz") }')
    assert [d.code for d in stale.warnings] == ["IgnoredExactMatchRenameHint"] * 2
    swap = plan("node P { a: I32 b: I32 }", 'node P { a: I32 @rename_from("b") b: I32 @rename_from("a") }')
    assert swap.steps == ()
    assert [d.code for d in swap.warnings] == ["IgnoredRenameSwap"] * 2


def test_a_hint_that_was_followed_once_may_stay_in_the_text() -> None:
    text = 'node Human @rename_from("Person") { name: String @key }'
    made = plan(text, text)
    assert (made.steps, made.warnings) == ((), ())


def test_a_hint_on_an_interface_does_not_trouble_a_new_node() -> None:
    accepted = "interface I { x: String } node A implements I {}"
    desired = 'interface I { z: String @rename_from("x") } node A implements I {} node B implements I {}'
    assert steps(plan(accepted, desired)) == ["rename_property", "rename_property", "add_type"]


def test_a_wrong_hint_says_what_is_wrong_and_where() -> None:
    with pytest.raises(CompileError) as caught:
        plan("node Person { a: String }", 'node H @rename_from("Persn") { a: String }')
    first = caught.value.first
    assert first.headline.startswith("schema identity resolution failed: ")
    assert first.hint == "did you mean 'Person'?"
    assert first.position is not None
    assert (first.position.line, first.position.column) == (1, 8)
