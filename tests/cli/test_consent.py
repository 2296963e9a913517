"""Destructive commands: who is asked, who is refused, who may go on."""

from __future__ import annotations

import io
from typing import Any

import pytest

from omnigraph.cli.refusals import ConfirmationRequired
from omnigraph.cli.target.consent import Decision, decide, is_local, require_consent


@pytest.mark.parametrize(
    ("local", "yes", "json", "terminal", "decision"),
    [
        (True, False, True, False, "proceed"),
        (True, False, False, True, "proceed"),
        (False, True, True, False, "proceed"),
        (False, True, False, True, "proceed"),
        (False, False, True, True, "refuse"),
        (False, False, False, False, "refuse"),
        (False, False, True, False, "refuse"),
        (False, False, False, True, "ask"),
    ],
)
def test_gate_follows_its_table(local: bool, yes: bool, json: bool, terminal: bool, decision: Decision) -> None:
    assert decide(local=local, yes=yes, json=json, terminal=terminal) == decision


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("lib.omni", True),
        ("/a/b", True),
        ("file:///a", True),
        ("s3://b/g", False),
        ("http://h", False),
        ("gs://b", False),
    ],
)
def test_only_paths_and_file_urls_are_local(uri: str, local: bool) -> None:
    assert is_local(uri) == local


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["y\n", "YES\n", "  yes  \n"])
def test_yes_at_the_prompt_goes_on(answer: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    require_consent("branch delete", "s3://b/g", yes=False, json=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "s3://b/g" in captured.err


@pytest.mark.parametrize("answer", ["", "n\n", "yep\n", "\n"])
def test_anything_else_at_the_prompt_stops(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    with pytest.raises(ConfirmationRequired):
        require_consent("branch delete", "s3://b/g", yes=False, json=False)


def test_script_is_refused_and_told_about_yes(omnigraph: Any) -> None:
    outcome = omnigraph("branch delete x --store s3://b/g.omni")
    assert outcome.exit_code == 1
    assert outcome.stdout == ""
    assert "branch delete" in outcome.stderr
    assert "--yes" in outcome.stderr
