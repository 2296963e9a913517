"""The frame: help, lazy imports, streams, global flags on both sides of the command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.catalogue import COMMANDS, FAMILIES, Flag
from omnigraph.cli.deprecations import REWRITES, modern

HEAVY = ("numpy", "pyarrow", "lance", "obstore", "ruamel", "omnigraph.graph", "omnigraph.language", "omnigraph.storage")

PROBE = """
import sys
from omnigraph.cli.main import run
sys.argv = ["omnigraph", *sys.argv[1:]]
try:
    run()
except SystemExit as end:
    assert end.code in (0, None), end.code
print(sorted(name for name in sys.modules if name in HEAVY), file=sys.stderr)
"""


LIGHT = ["--help", "--version", "-v", "version", "help"]
LIGHT += [f"{name} --help" for name in ("branch", "init", "load", "mutate", "export", "verify")]


@pytest.mark.parametrize("line", LIGHT)
def test_command_without_a_graph_imports_nothing_heavy(line: str, desk: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {HEAVY!r}\n{PROBE}", *line.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


UNASKED = (
    "omnigraph.language.query.format",
    "omnigraph.language.schema.plan",
    "omnigraph.history.export.json_export",
    "pandas",
)


def test_a_query_imports_no_part_that_it_does_not_ask(library: Path) -> None:
    words = ["query", "--store", "lib.omni", "-e", "query q() { match { $a: Author } return { count($a) as n } }"]
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {UNASKED!r}\n{PROBE}", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_help_lists_the_commands_in_order_and_the_legend(omnigraph: Any) -> None:
    out = omnigraph("--help").stdout
    places = [out.index(f"\n  {family.name} ") for family in FAMILIES]
    assert places == sorted(places)
    legend = out[out.index("COMMANDS BY CAPABILITY") :]
    assert [word for word in ("data", "direct (storage-native)", "local") if word not in legend] == []
    assert "  check" not in out
    assert "ingest" not in out


@pytest.mark.parametrize("words", ["", "branch", "branch create", "version", "schema get"])
def test_help_command_shows_the_same_page_as_the_flag(words: str, omnigraph: Any) -> None:
    assert omnigraph(f"help {words}").stdout == omnigraph(f"{words} --help").stdout


@pytest.mark.parametrize("line", ["help frobnicate", "help version now", "branch", "branch frob", "schema plan x"])
def test_unusable_command_line_exits_2_with_an_empty_stdout(line: str, omnigraph: Any) -> None:
    outcome = omnigraph(line)
    assert (outcome.exit_code, outcome.stdout) == (2, "")


def test_close_misspelling_is_answered_with_the_right_word(omnigraph: Any) -> None:
    assert "did you mean 'snapshot'?" in omnigraph("snapshto").stderr


@pytest.mark.parametrize(
    "line",
    [
        "--store lib.omni branch list",
        "branch --store lib.omni list",
        "branch list --store lib.omni",
        "--store elsewhere branch list --store lib.omni",
    ],
)
def test_global_flag_is_legal_before_and_after_the_command_and_the_later_one_wins(
    line: str, omnigraph: Any, library: Path
) -> None:
    assert omnigraph(line).stdout == "main\n"


def test_quiet_drops_the_target_line_and_nothing_else(omnigraph: Any, library: Path) -> None:
    loud = omnigraph("branch create one --store lib.omni")
    assert loud.stderr == "omnigraph branch create → lib.omni (direct, local)\n"
    quiet = omnigraph("--quiet branch create two --store lib.omni")
    assert (quiet.stderr, quiet.stdout) == ("", "created branch two from main\n")


def test_target_line_says_remote_for_other_stores(omnigraph: Any) -> None:
    err = omnigraph("branch delete x --store s3://b/g.omni").stderr
    assert err.startswith("omnigraph branch delete → s3://b/g.omni (direct, remote)\n")


@pytest.mark.parametrize(("old", "new"), REWRITES)
def test_deprecated_spelling_means_the_new_one_and_warns(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    argv, warning = modern([*old, "--query", "q.gq"])
    assert argv == [*new, "--query", "q.gq"]
    assert warning is not None
    assert new[0] in warning


def test_deprecated_word_counts_only_at_the_start() -> None:
    assert modern(["--quiet", "check"]) == (["--quiet", "check"], None)
    assert modern([]) == ([], None)


def test_schema_get_is_a_silent_second_name(omnigraph: Any, library: Path) -> None:
    got, shown = omnigraph("schema get lib.omni"), omnigraph("schema show lib.omni")
    assert got == shown
    assert got.stderr == ""


# --- in a process of its own ------------------------------------------------------------------------------------


def test_result_and_errors_go_to_their_own_streams(omnigraph_process: Any) -> None:
    refused = omnigraph_process("branch list --uri nowhere.omni")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: ")
    assert "Traceback" not in refused.stderr
    assert "\x1b" not in refused.stderr


def test_json_is_utf8_in_any_locale(omnigraph_process: Any, desk: Path) -> None:
    outcome = omnigraph_process("format --check --json bücher.pg", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert outcome.exit_code == 1
    assert "bücher.pg" in json.loads(outcome.stdout)["error"]["message"]


@pytest.mark.parametrize(("no_color", "painted"), [("", True), ("1", False)])
def test_only_a_terminal_without_no_color_sees_colours(no_color: str, painted: bool, desk: Path) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "omnigraph.cli", "frobnicate"],
        stderr=follower,
        env=os.environ | {"NO_COLOR": no_color},
    )
    process.wait()
    os.close(follower)
    seen = os.read(leader, 4096).decode()
    os.close(leader)
    assert ("\x1b[31merror:\x1b[0m" in seen) == painted
    assert "frobnicate" in seen


QUERY = "-e 'query q() { match { $b: Book } return { $b.title } }'"


@pytest.mark.parametrize(
    ("line", "spelling"),
    [
        (f"query lib.omni {QUERY}", "--store lib.omni"),
        (f"explain s3://bucket/lib {QUERY}", "--store s3://bucket/lib"),
        ("mutate ./lib --query library.gq", "--store ./lib"),
        ("branch list lib.omni", "--store lib.omni"),
        ("branch create draft lib.omni", "--store lib.omni"),
        ("snapshot --uri lib.omni", "--store lib.omni"),
    ],
)
def test_a_graph_that_is_named_in_the_wrong_place_gets_the_right_spelling(
    line: str, spelling: str, omnigraph: Any
) -> None:
    outcome = omnigraph(line)
    assert outcome.exit_code == 2
    assert f"give the graph with {spelling}" in outcome.stderr


def test_every_help_page_says_in_the_same_words_how_a_graph_is_given(omnigraph: Any) -> None:
    ways = {
        path: [text for text in omnigraph(f"{path} --help").stdout.splitlines() if text.startswith("The graph is")]
        for path, facts in COMMANDS.items()
        if Flag.STORE in facts.legal
    }
    sentences = {way for found in ways.values() for way in found}
    assert [path for path, found in ways.items() if len(found) != 1] == []
    assert sentences == {
        "The graph is given with --store URI.",
        "The graph is given as URI or with --store URI.",
        "The graph is given with --uri URI or with --store URI.",
    }
