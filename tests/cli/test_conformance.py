"""The numbered cases of the contract, one test each; those of commands to come are listed with the reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph as package

ROWS = 139
DATA = Path(__file__).parent / "data"
PRESENT, ABSENT = object(), object()


@dataclass(frozen=True)
class Step:
    """One command line and what it must show."""

    line: str
    exit_code: int
    out: tuple[str, ...] = ()
    err: tuple[str, ...] = ()
    out_is: str | None = None
    document: dict[str, Any] = field(default_factory=dict)
    """Dotted paths into the JSON on stdout."""


@dataclass(frozen=True)
class Case:
    """One row of the contract."""

    row: int
    steps: tuple[Step, ...]
    graph: bool = False
    """Whether `lib.omni` exists before the first step."""
    config: str | None = None
    files: tuple[str, ...] = ()
    """Files to create first, empty."""
    exist: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    replaced: str = ""
    """Why the row means something else here."""


INIT = "init --schema library.pg new/dir/g.omni"
LINT = "lint --schema library.pg --query"

CASES = (
    Case(
        1,
        (
            Step("-v", 0, out_is=f"omnigraph {package.__version__}\n"),
            Step("--version", 0, out_is=f"omnigraph {package.__version__}\n"),
        ),
    ),
    Case(2, (Step("version", 0, out_is=f"omnigraph {package.__version__}\ninternal-schema 4\n"),), replaced="schema 4"),
    Case(3, (Step("", 2, out_is="", err=("Usage",)), Step("frobnicate", 2, out_is="", err=("Usage", "frobnicate")))),
    Case(
        5,
        (Step(INIT, 0, out_is="initialized new/dir/g.omni\n"),),
        exist=("new/dir/g.omni/_schema.pg", "new/dir/g.omni/__manifest"),
    ),
    Case(6, (Step(INIT, 0), Step(INIT, 1, out_is="", err=("already initialized",)))),
    Case(7, (Step("init --force --schema next.pg lib.omni", 1, err=("already initialized",)),), graph=True),
    Case(8, (Step("init --schema missing.pg g", 1, out_is="", err=("missing.pg",)),), missing=("g",)),
    Case(
        9,
        (Step("init --schema library.pg --store x g.omni", 1, err=("direct", "--store", "does not apply")),),
        missing=("g.omni",),
    ),
    Case(
        10,
        (Step("init --schema library.pg c/graphs/sneaky.omni", 1, err=("cluster apply",)),),
        files=("c/__cluster/state.json",),
        missing=("c/graphs",),
    ),
    Case(
        30,
        (
            Step(
                "branch delete x --store s3://b/g.omni --json",
                1,
                err=("refusing", "s3://b/g.omni"),
                document={"error.code": "confirmation_required"},
            ),
            Step("branch delete x --store s3://b/g.omni --json --yes", 1, document={"error.code": "invalid_root"}),
        ),
    ),
    Case(
        51,
        (
            Step(
                "check --schema library.pg --query library.gq", 0, out=("OK    query `books_by`",), err=("deprecated",)
            ),
            Step("query lint --schema library.pg --query library.gq", 0, out=("OK",), err=("deprecated",)),
            Step("query check --schema library.pg --query library.gq", 0, out=("OK",), err=("deprecated",)),
            Step(
                """change add_author --query library.gq --params '{"slug":"a","name":"n"}' --store lib.omni""",
                0,
                out_is="changed main via add_author: 1 nodes, 0 edges\n",
                err=("deprecated",),
            ),
            Step(
                """read books_by --query library.gq --params '{"slug":"a"}' --store lib.omni --format csv""",
                0,
                out_is="b.isbn,b.title\n",
                err=("deprecated",),
            ),
        ),
        graph=True,
    ),
    Case(
        52,
        (
            Step(
                f"{LINT} library.gq --json",
                0,
                document={"status": "ok", "results.0.operation": PRESENT, "results.1.operation": PRESENT},
            ),
        ),
    ),
    Case(53, (Step(f"{LINT} update.gq --json", 0, document={"warnings": 1, "findings.0.code": "L201"}),)),
    Case(
        54,
        (
            Step(
                f"{LINT} unknown_property.gq --json",
                1,
                document={"status": "error", "results.0.operation": ABSENT, "results.0.error": PRESENT},
                err=("unknown_property.gq",),
            ),
        ),
    ),
    Case(
        55,
        (Step(f"{LINT} unparsable.gq --json", 1, document={"findings.0.code": "Q000", "queries_processed": 0}),),
    ),
    Case(56, (Step("lint --query library.gq", 1, err=("no graph addressed", "--schema")),)),
    Case(
        57,
        (
            Step("branch create b --store lib.omni --json", 0, document={"from": "main", "name": "b"}),
            Step("branch create a --store lib.omni", 0),
            Step("branch list --store lib.omni --json", 0, document={"branches": ["a", "b", "main"]}),
        ),
        graph=True,
    ),
    Case(
        58,
        (
            Step("branch create a --store lib.omni", 0),
            Step("branch create main --store lib.omni", 1, err=("main",)),
            Step("branch create a --store lib.omni", 1, err=("'a' already exists",)),
            Step("branch create a/b --store lib.omni", 1, err=("'a/b'", "'a'")),
        ),
        graph=True,
    ),
    Case(59, (Step("branch delete main --store lib.omni", 1, out_is="", err=("main",)),), graph=True),
    Case(
        64,
        (
            Step("load --data seed.jsonl --mode append lib.omni", 0),
            Step(
                "snapshot lib.omni --json",
                0,
                document={
                    "graph_branch": "main",
                    "internal_schema_version": 4,
                    "datasets.3.type_name": "Book",
                    "datasets.4": ABSENT,
                    "datasets.2.entity_count": 2,
                },
            ),
            Step("snapshot lib.omni", 0, out=("node type 'Author'", "entities=2")),
        ),
        graph=True,
        replaced="schema 4",
    ),
    Case(77, (Step("schema plan --schema next.pg lib.omni --json", 0, document={"supported": True}),), graph=True),
    Case(
        78,
        (
            Step(
                "schema plan --schema wider.pg lib.omni --json",
                0,
                document={"supported": True, "steps.0.kind": "change_property_type"},
            ),
            Step("schema apply --schema wider.pg lib.omni --json", 0, document={"applied": True}),
        ),
        graph=True,
        replaced="I32 to I64 is supported",
    ),
    Case(
        79,
        (
            Step("schema apply --schema next.pg lib.omni", 0, out=("applied: yes",), err=("schema apply → lib.omni",)),
            Step("schema apply --schema library.pg lib.omni --json", 0, document={"steps.1.mode": "soft"}),
            Step("schema apply --schema next.pg lib.omni", 0),
            Step(
                "schema apply --schema library.pg lib.omni --allow-data-loss --json",
                0,
                document={"uri": "lib.omni", "supported": True, "applied": True, "steps.1.mode": "hard"},
            ),
        ),
        graph=True,
    ),
    Case(
        80,
        (
            Step("schema apply --schema next.pg lib.omni", 0),
            Step("branch create feature --uri lib.omni", 0),
            Step("schema apply --schema library.pg lib.omni", 1, err=("feature", "merge or delete them first")),
            Step(
                "schema apply --schema library.pg lib.omni --json",
                1,
                document={"error.code": "schema_blocked_by_branches"},
            ),
        ),
        graph=True,
        replaced="what adds, relaxes, renames or describes goes with branches; a drop does not",
    ),
    Case(
        81,
        (
            Step("schema apply --schema library.pg lib.omni", 0, out=("applied: no", "no schema changes")),
            Step("schema apply --schema library.pg lib.omni --json", 0, document={"applied": False, "step_count": 0}),
        ),
        graph=True,
    ),
    Case(
        89,
        (Step("branch list", 1, err=("binds one entity",)),),
        config="defaults: {server: s, store: lib.omni}\nservers: {s: {url: http://h}}\n",
    ),
    Case(
        90,
        (Step("branch list --uri lib.omni", 0, out_is="main\n", err=("warning", "operator.color")),),
        graph=True,
        config="operator: {color: red}\n",
    ),
)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"cli-{case.row}") for case in CASES])
def test_case_of_the_contract(
    case: Case, omnigraph: Any, desk: Path, operator: Any, request: pytest.FixtureRequest
) -> None:
    for name in case.files:
        (desk / name).parent.mkdir(parents=True, exist_ok=True)
        (desk / name).touch()
    if case.graph:
        request.getfixturevalue("library")
    if case.config is not None:
        operator(case.config)
    for step in case.steps:
        check(step, omnigraph(step.line))
    assert [name for name in case.exist if not (desk / name).exists()] == []
    assert [name for name in case.missing if (desk / name).exists()] == []


def test_case_67_commit_list_is_newest_first_and_show_gives_the_same_object(omnigraph: Any, library: Path) -> None:
    """`cli-67`"""
    listed = json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"]
    assert [commit["graph_manifest_version"] for commit in listed] == sorted(
        (commit["graph_manifest_version"] for commit in listed), reverse=True
    )
    shown = omnigraph(f"commit show {listed[0]['graph_commit_id']} --uri lib.omni --json")
    assert json.loads(shown.stdout) == listed[0]


def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    later = [row for rows in json.loads((DATA / "later.json").read_text()).values() for row in rows]
    tested = [case.row for case in CASES] + [67]
    elsewhere = [row for rows in json.loads((DATA / "tested_elsewhere.json").read_text()).values() for row in rows]
    assert sorted(later + tested + elsewhere) == list(range(1, ROWS + 1))


def check(step: Step, outcome: Any) -> None:
    shown = f"$ omnigraph {step.line}\nstdout: {outcome.stdout}\nstderr: {outcome.stderr}"
    assert outcome.exit_code == step.exit_code, shown
    assert step.out_is is None or outcome.stdout == step.out_is, shown
    assert [text for text in step.out if text not in outcome.stdout] == [], shown
    assert [text for text in step.err if text not in outcome.stderr] == [], shown
    document = json.loads(outcome.stdout) if step.document else None
    for path, expected in step.document.items():
        actual = at(document, path)
        assert actual is not ABSENT if expected is PRESENT else actual == expected, f"{path}\n{shown}"


def at(document: Any, path: str) -> Any:
    for word in path.split("."):
        if isinstance(document, list):
            if int(word) >= len(document):
                return ABSENT
            document = document[int(word)]
        elif word in document:
            document = document[word]
        else:
            return ABSENT
    return document
