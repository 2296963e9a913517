"""`omnigraph format`: files in place, a check for scripts, stdin to stdout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.commands.format import language_of

UGLY = "node   Person{name:String @key}\n"


def formatted(omnigraph: Any, text: str) -> str:
    return str(omnigraph("format -", stdin=text).stdout)


def test_files_are_rewritten_in_place_and_named(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    outcome = omnigraph("format ugly.pg")
    assert (outcome.exit_code, outcome.stdout) == (0, "reformatted ugly.pg\n")
    assert (desk / "ugly.pg").read_text() == formatted(omnigraph, UGLY) != UGLY


def test_formatting_twice_changes_nothing_more(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    omnigraph("format ugly.pg library.gq")
    again = omnigraph("format ugly.pg library.gq")
    assert (again.exit_code, again.stdout) == (0, "")


def test_check_lists_what_would_change_changes_nothing_and_exits_1(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    omnigraph("format library.pg")
    outcome = omnigraph("format --check ugly.pg library.pg")
    assert (outcome.exit_code, outcome.stdout) == (1, "would reformat ugly.pg\n")
    assert (desk / "ugly.pg").read_text() == UGLY


def test_check_of_clean_files_exits_0(omnigraph: Any, desk: Path) -> None:
    omnigraph("format library.pg")
    assert omnigraph("format --check library.pg").exit_code == 0


def test_json_names_every_file_and_whether_it_changed(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    omnigraph("format library.pg")
    outcome = omnigraph("format --check --json ugly.pg library.pg")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout) == {
        "files": [{"path": "ugly.pg", "changed": True}, {"path": "library.pg", "changed": False}]
    }


def test_no_file_changes_when_one_does_not_compile(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    outcome = omnigraph("format ugly.pg unparsable.gq")
    assert outcome.exit_code == 1
    assert "unparsable.gq" in outcome.stderr
    assert (desk / "ugly.pg").read_text() == UGLY


def test_mode_of_a_file_survives(omnigraph: Any, desk: Path) -> None:
    (desk / "ugly.pg").write_text(UGLY)
    (desk / "ugly.pg").chmod(0o640)
    omnigraph("format ugly.pg")
    assert (desk / "ugly.pg").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in desk.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("line", ["format", "format notes.txt", "format - library.pg"])
def test_unusable_arguments_are_usage_errors(line: str, omnigraph: Any, desk: Path) -> None:
    (desk / "notes.txt").write_text("")
    assert omnigraph(line).exit_code == 2


def test_missing_file_is_named(omnigraph: Any) -> None:
    outcome = omnigraph("format nowhere.pg")
    assert outcome.exit_code == 1
    assert "nowhere.pg" in outcome.stderr


def test_file_that_is_not_text_is_refused_by_name(omnigraph: Any, desk: Path) -> None:
    (desk / "bytes.pg").write_bytes(b"node \xff")
    outcome = omnigraph("format bytes.pg")
    assert outcome.exit_code == 1
    assert "bytes.pg" in outcome.stderr
    assert "UTF-8" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("query q() {", "gq"),
        ("\n// a comment\n/* another\n one */ query q() {", "gq"),
        ("node Person {", "pg"),
        ("// query\nnode Person {", "pg"),
        ("", "pg"),
    ],
)
def test_language_of_stdin_is_told_by_its_first_word(text: str, language: str) -> None:
    assert language_of("-", text) == language
