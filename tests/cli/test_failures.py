"""Errors at the surface: one table of exit codes, one plain line, one JSON form."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from omnigraph.cli.exit_codes import EXIT_CODES, exit_code_of
from omnigraph.cli.failures import error_document, report_bug, report_refusal
from omnigraph.cli.output import Output
from omnigraph.language.diagnostics import CompileError, Diagnostic, Position
from omnigraph.model import errors

MADE: list[tuple[errors.OmniGraphError, int]] = [
    (errors.InvalidRoot("x"), 1),
    (errors.GraphNotFound("g"), 1),
    (errors.AlreadyInitialized("g"), 1),
    (errors.HistoricalVersionReclaimed("p", 3), 1),
    (errors.Corrupt("p", "r"), 1),
    (errors.OutcomeUnknown("publish", "timeout"), 1),
    (errors.InitializationIndeterminate("g", "timeout"), 1),
    (errors.Denied("no"), 3),
    (errors.PreconditionFailed("main", "a", "b"), 4),
    (errors.KeyConflict("node:Book", "b"), 5),
    (errors.ReadSetChanged("head"), 5),
    (errors.ExpectedVersionMismatch("node:Book", 1, 2), 5),
    (errors.RowLevelCasContention("main", 5), 5),
    (errors.ResourceLimitExceeded("rows", 1, 2), 6),
    (errors.RecoveryRequired("op", "r"), 7),
    (errors.Unreachable("s3"), 8),
    (errors.LeaseTimeout("main"), 8),
]


@pytest.mark.parametrize(("error", "code"), [pytest.param(*row, id=type(row[0]).__name__) for row in MADE])
def test_error_has_its_exit_code(error: errors.OmniGraphError, code: int) -> None:
    assert exit_code_of(error) == code


def test_every_family_has_a_row_in_the_table() -> None:
    listed = {family for family, _, _ in EXIT_CODES}
    families = {
        member
        for _, member in inspect.getmembers(errors, inspect.isclass)
        if issubclass(member, errors.OmniGraphError) and errors.OmniGraphError in member.__bases__
    }
    assert families - listed == set()


def test_no_row_hides_a_later_one() -> None:
    order = [family for family, _, _ in EXIT_CODES]
    hidden = [
        later.__name__ for place, later in enumerate(order) if any(issubclass(later, early) for early in order[:place])
    ]
    assert hidden == []


def test_plain_error_is_one_line_and_its_hint(capsys: Any) -> None:
    assert report_refusal(errors.BranchNotFound("x"), Output(json=False)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: branch 'x' not found\nhint: list the branches with `omnigraph branch list`\n"


def test_json_error_has_code_message_hint_and_details_on_stdout_and_one_line_on_stderr(capsys: Any) -> None:
    report_refusal(errors.KeyConflict("node:Book", "b-sol"), Output(json=True))
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "error": {
            "code": "key_conflict",
            "message": "node type 'Book' already has id 'b-sol'",
            "hint": "use merge mode to replace existing entities",
            "details": {"table_key": "node:Book", "id": "b-sol"},
        }
    }
    assert captured.err == "error: node type 'Book' already has id 'b-sol'\n"


def test_error_without_facts_omits_hint_and_details() -> None:
    assert error_document(errors.InvalidRoot("no storage")) == {
        "error": {"code": "invalid_root", "message": "no storage"}
    }


def test_lost_precondition_keeps_its_sibling_object() -> None:
    document = error_document(errors.PreconditionFailed("main", "a", "b"))
    assert document["precondition_failure"] == {"expected": "a", "actual": "b"}


def compile_error() -> CompileError:
    return CompileError(
        (
            Diagnostic(
                severity="error",
                stage="type",
                code="T6",
                message="Person has no property 'agee'",
                hint="did you mean 'age'?",
                file="q.gq",
                position=Position(3, 12),
                source_line="  return { $p.agee }",
            ),
        )
    )


def test_compile_error_is_shown_with_its_source_line(capsys: Any) -> None:
    report_refusal(compile_error(), Output(json=False))
    assert capsys.readouterr().err.splitlines()[0] == "type error: T6: Person has no property 'agee'"


def test_compile_error_carries_the_compilers_code_and_every_diagnostic() -> None:
    body: Any = error_document(compile_error())["error"]
    assert body["code"] == "T6"
    assert body["details"]["diagnostics"][0]["line"] == 3


def test_unplanned_error_keeps_its_traceback_and_exits_1(capsys: Any) -> None:
    with pytest.raises(KeyError) as caught:
        _ = {}["boom"]
    assert report_bug(caught.value, Output(json=True)) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == "internal"
    assert "Traceback" in captured.err
    assert "unexpected KeyError" in captured.err


@pytest.mark.parametrize("line", ["frobnicate --json", "init --json", "branch --json", "snapshot --nope --json"])
def test_usage_error_is_json_too_when_asked(line: str, omnigraph: Any) -> None:
    outcome = omnigraph(line)
    assert outcome.exit_code == 2
    assert json.loads(outcome.stdout)["error"]["code"] == "usage"


def test_json_after_a_double_dash_is_an_argument(omnigraph: Any) -> None:
    outcome = omnigraph("version -- --json")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
