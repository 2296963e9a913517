"""`query` and `explain`: the numbered cases of the contract, the recorded session, and what lies beyond."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
ALL = "query -e 'query all() { match { $b: Book } return { $b.title } order { $b.title } }' --store lib.omni"
BY = """query books_by --query library.gq --params '{"slug":"le-guin"}' --store lib.omni"""
TITLES = ["Solaris", "The Dispossessed", "The Left Hand of Darkness"]


class Reader:
    """A command line in front of the library, with its nine entities."""

    def __init__(self, run: Any, place: Path, operator: Callable[[str], None]) -> None:
        self.run, self.place, self.configure = run, place, operator

    def __call__(self, line: str, exit_code: int = 0) -> Any:
        outcome = self.run(line)
        assert outcome.exit_code == exit_code, f"$ omnigraph {line}\n{outcome.stdout}{outcome.stderr}"
        return outcome

    def json(self, line: str, exit_code: int = 0) -> Any:
        return json.loads(self(f"{line} --json", exit_code).stdout)

    def head(self) -> str:
        return str(self.json("commit list lib.omni")["commits"][0]["graph_commit_id"])


@pytest.fixture
def shelf(omnigraph: Any, library: Path, desk: Path, operator: Callable[[str], None]) -> Reader:
    reader = Reader(omnigraph, desk, operator)
    reader("load --data seed.jsonl --mode append lib.omni")
    return reader


def refused(shelf: Reader, line: str, *words: str, exit_code: int = 1) -> None:
    outcome = shelf(line, exit_code)
    assert outcome.stdout == ""
    assert [word for word in words if word not in outcome.stderr] == [], outcome.stderr


# --- the numbered cases -----------------------------------------------------------------------------------------


def case_31(shelf: Reader) -> None:
    document = shelf.json(ALL)
    assert list(document) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert (document["query_name"], document["row_count"]) == ("all", 3)
    assert document["target"] == {"branch": "main", "snapshot": None}
    assert [list(row) for row in document["rows"]] == [["b.title"]] * 3
    assert document["graph_commit_id"] == shelf.head()


def case_32(shelf: Reader) -> None:
    assert shelf(f"{ALL} --format csv").stdout.splitlines() == ["b.title", *TITLES]
    lines = [json.loads(line) for line in shelf(f"{ALL} --format jsonl").stdout.splitlines()]
    assert lines[0]["kind"] == "metadata"
    assert lines[1:] == [{"b.title": title} for title in TITLES]
    assert shelf(f"{ALL} --format kv").stdout.splitlines()[1:3] == ["row 1", "b.title: Solaris"]
    assert " | " in shelf(f"{BY} --format table").stdout.splitlines()[1]


def case_33(shelf: Reader) -> None:
    shelf.configure("defaults: {output: csv}\n")
    assert shelf(ALL).stdout.splitlines()[0] == "b.title"
    assert '"kind":"metadata"' in shelf(f"{ALL} --format jsonl").stdout


def case_34(shelf: Reader) -> None:
    refused(shelf, "query --query library.gq --store lib.omni", "multiple queries")


def case_35(shelf: Reader) -> None:
    refused(shelf, "query books_by --store lib.omni", "a server is needed")


def case_36(shelf: Reader) -> None:
    refused(shelf, "query --query f -e g --store lib.omni", "cannot be used together", exit_code=2)
    refused(shelf, f"{ALL} --branch a --snapshot b", "--snapshot", "--branch", exit_code=2)
    assert shelf(f"{ALL} --json --format csv", 2).stderr.startswith("error: --json and --format")


def case_37(shelf: Reader) -> None:
    refused(shelf, "query -e '' --store lib.omni", "must not be empty")


def case_38(shelf: Reader) -> None:
    refused(shelf, "query -e 'query q() {}' --store http://h", "use --server http://h")


def case_39(shelf: Reader) -> None:
    refused(shelf, f"{ALL} --graph k", "already a single graph")


def case_40(shelf: Reader) -> None:
    refused(shelf, "query -e 'query q() {}'", "no graph addressed")


def case_41(shelf: Reader) -> None:
    outcome = shelf("query --cluster d -e 'query q() {}'", 1)
    assert "`query` is a data command" in outcome.stderr
    assert "--cluster" in outcome.stderr
    assert outcome.stderr.endswith("does not apply\n")


def case_42(shelf: Reader) -> None:
    refused(shelf, f"{ALL} --as a", "--as", "does not apply")


def case_43(shelf: Reader) -> None:
    refused(shelf, "optimize --server prod", "direct", "--server", "--cluster <dir> --graph <id>")


def case_44(shelf: Reader) -> None:
    refused(shelf, "optimize https://h", "needs direct storage access", "remote server")


CASES: dict[int, Callable[[Reader], None]] = {
    int(name.removeprefix("case_")): case for name, case in list(globals().items()) if name.startswith("case_")
}


@pytest.mark.parametrize("row", [pytest.param(row, id=f"cli-{row}") for row in CASES])
def test_case_of_the_contract(row: int, shelf: Reader) -> None:
    CASES[row](shelf)


def test_rows_of_this_file_are_those_that_the_contract_test_counts_on() -> None:
    assert json.loads((DATA / "tested_elsewhere.json").read_text())["test_query_commands.py"] == sorted(CASES)


# --- the Rust command line, recorded ----------------------------------------------------------------------------

RECORDED = [json.loads(line) for line in (DATA / "recorded_queries.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("record", [pytest.param(record, id=record["command"][10:]) for record in RECORDED])
def test_query_prints_what_was_recorded(record: dict[str, Any], shelf: Reader) -> None:
    outcome = shelf(record["command"].removeprefix("omnigraph "), record["exit"])
    assert scrubbed(outcome.stdout) == scrubbed(record["stdout"])


def scrubbed(text: str) -> list[str]:
    """Lines without ids; the rows of an unordered query in any order, and their number by their count."""
    text = re.sub(r"<ulid \d+>|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<ulid>", text)
    return sorted(re.sub(r"^row \d+$", "row N", line).rstrip(",") for line in text.splitlines())


# --- what is read -----------------------------------------------------------------------------------------------


def test_query_reads_the_named_branch(shelf: Reader) -> None:
    shelf("branch create b --uri lib.omni")
    shelf("""mutate -e 'query add() { insert Book { isbn: "n", title: "New" } }' --store lib.omni --branch b""")
    assert shelf.json(f"{ALL} --branch b")["row_count"] == 4
    assert shelf.json(ALL)["row_count"] == 3
    assert shelf(f"{ALL} --branch b").stdout.startswith("4 rows from branch b via all\n")


def test_query_reads_a_commit_of_the_past(shelf: Reader) -> None:
    head = shelf.head()
    shelf("""mutate -e 'query cut() { delete Book where isbn = "b-sol" }' --store lib.omni""")
    document = shelf.json(f"{ALL} --snapshot {head}")
    assert (document["row_count"], document["target"]) == (3, {"branch": None, "snapshot": head})
    assert document["graph_commit_id"] == head
    assert shelf(f"{ALL} --snapshot {head}").stdout.startswith(f"3 rows from snapshot {head} via all\n")
    assert shelf.json(ALL)["row_count"] == 2


def test_query_reads_the_state_of_a_time(shelf: Reader) -> None:
    assert shelf.json(f"{ALL} --as-of 2999-01-01T00:00:00Z")["row_count"] == 3
    shelf(f"{ALL} --as-of 1999-01-01T00:00:00Z", 1)
    shelf(f"{ALL} --as-of yesterday", 1)


@pytest.mark.parametrize("flags", ["--snapshot 01J9Z8Q5W3V7C2B4N6M8K0H1G3", "--branch nope"])
def test_unknown_commit_or_branch_is_refused(flags: str, shelf: Reader) -> None:
    outcome = shelf(f"{ALL} {flags}", 1)
    assert outcome.stdout == ""
    assert flags.split()[1] in outcome.stderr


def test_query_changes_no_file(shelf: Reader) -> None:
    before = sorted((shelf.place / "lib.omni").rglob("*"))
    shelf(ALL)
    shelf("explain -e 'query all() { match { $b: Book } return { $b.title } }' --store lib.omni --analyze")
    assert sorted((shelf.place / "lib.omni").rglob("*")) == before


def test_params_come_from_a_file_too(shelf: Reader) -> None:
    (shelf.place / "p.json").write_text('{"slug":"lem"}')
    line = "query books_by --query library.gq --params-file p.json --store lib.omni --format csv"
    assert shelf(line).stdout.splitlines()[1:] == ["b-sol,Solaris"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("query books_by --query library.gq --store lib.omni", "slug"),
        ("query books_by --query library.gq --params '{\"slug\":7}' --store lib.omni", "string expected"),
        ('query books_by --query library.gq --params \'{"slug":"lem","slgu":"x"}\' --store lib.omni', "'slgu'"),
        ('explain books_by --query library.gq --params \'{"slug":"lem","slgu":"x"}\' --store lib.omni', "'slug'"),
        (
            'mutate add_author --query library.gq --params \'{"slug":"x","name":"n","nam":"m"}\' --store lib.omni',
            "did you mean 'name'?",
        ),
        ("query nope --query library.gq --store lib.omni", "query 'nope' not found"),
        (
            'query add_author --query library.gq --params \'{"slug":"x","name":"n"}\' --store lib.omni',
            "run it with `mutate`",
        ),
        ("query --query missing.gq --store lib.omni", "missing.gq"),
        ("query -e 'query q() { match { $a: Author } return { $a.nam } }' --store lib.omni", "T6"),
        ("query -e 'query q() { match { $a: Author return { $a.name } }' --store lib.omni", "parse error"),
        (
            'explain add_author --query library.gq --params \'{"slug":"x","name":"n"}\' --store lib.omni',
            "run it with `mutate`",
        ),
    ],
)
def test_query_that_cannot_run_is_refused_with_the_reason(line: str, words: str, shelf: Reader) -> None:
    refused(shelf, line, words)


def test_the_name_of_a_query_is_never_taken_for_a_parameter_of_that_name(shelf: Reader) -> None:
    text = "query find($name: String?) { match { $a: Author } return { $a.slug } }"
    assert shelf.json(f"query find -e '{text}' --store lib.omni")["row_count"] == 2


def test_error_of_the_compiler_has_its_code_in_json(shelf: Reader) -> None:
    line = "query -e 'query q() { match { $a: Ghost } return { $a.name } }' --store lib.omni"
    assert shelf.json(line, 1)["error"]["code"] == "T1"


@pytest.mark.parametrize("timeout", ["0", "-1", "soon"])
def test_timeout_is_a_positive_number(timeout: str, shelf: Reader) -> None:
    shelf(f"{ALL} --timeout {timeout}", 2)


def test_query_within_its_timeout_answers(shelf: Reader) -> None:
    assert shelf.json(f"{ALL} --timeout 60")["row_count"] == 3


def test_query_beyond_its_timeout_is_ended_as_a_limit(shelf: Reader) -> None:
    assert shelf.json(f"{ALL} --timeout 0.000000001", 6)["error"]["code"] == "query_timeout"


def test_table_follows_the_configured_width_and_layout(shelf: Reader) -> None:
    shelf.configure("defaults: {table_max_column_width: 10, table_cell_layout: truncate}\n")
    assert shelf(ALL).stdout.splitlines()[-1] == "The Left …"
    shelf.configure("defaults: {table_max_column_width: 10, table_cell_layout: wrap}\n")
    assert [line.rstrip() for line in shelf(ALL).stdout.splitlines()[-3:]] == ["The Left H", "and of Dar", "kness"]


def test_read_is_a_deprecated_spelling_with_the_same_output(shelf: Reader) -> None:
    old, new = shelf(ALL.replace("query", "read", 1)), shelf(ALL)
    assert old.stdout == new.stdout
    assert ("deprecated" in old.stderr, new.stderr) == (True, "")


# --- explain ----------------------------------------------------------------------------------------------------


def test_explain_shows_the_plan_as_text_and_as_json(shelf: Reader) -> None:
    line = BY.replace("query", "explain", 1)
    text = shelf(line).stdout
    assert "Author" in text
    assert "Wrote" in text
    assert isinstance(shelf.json(line), dict)


def test_explain_analyze_runs_the_query(shelf: Reader) -> None:
    line = BY.replace("query", "explain", 1)
    assert shelf(f"{line} --analyze").stdout != shelf(line).stdout


# --- maintenance ------------------------------------------------------------------------------------------------


def test_optimize_reports_every_table_and_the_manifest_last(shelf: Reader) -> None:
    shelf("""mutate -e 'query add() { insert Book { isbn: "n", title: "New" } }' --store lib.omni""")
    outcome = shelf("optimize lib.omni --json")
    document = json.loads(outcome.stdout)
    assert list(document) == ["uri", "datasets", "commits"]
    assert [one["type_key"] for one in document["datasets"]] == [
        "edge:Cites",
        "edge:Wrote",
        "node:Author",
        "node:Book",
        "__manifest",
    ]
    assert list(document["datasets"][0]) == [
        "type_key",
        "fragments_removed",
        "fragments_added",
        "committed",
        "skipped",
        "published_dataset_version",
        "lance_head_version",
        "pending_indexes",
    ]
    book = document["datasets"][3]
    assert (book["fragments_removed"], book["fragments_added"], book["committed"]) == (2, 1, True)
    assert outcome.stderr == "omnigraph optimize → lib.omni (direct, local)\n"
    assert shelf.json(ALL)["row_count"] == 4


def test_optimize_of_an_optimized_graph_commits_nothing(shelf: Reader) -> None:
    assert shelf("optimize lib.omni").stdout.splitlines()[-1] == "brought 10 indexes up to date"
    head = shelf.head()
    lines = shelf("optimize lib.omni").stdout.splitlines()
    assert lines[0] == "optimize lib.omni — 5 datasets"
    assert lines[-1] == "  dataset '__manifest'                     frags 0 → 0 ✓"
    assert shelf.json("optimize lib.omni")["commits"] == []
    assert shelf.head() == head


def test_condition_on_a_commit_looks_through_an_optimize(shelf: Reader) -> None:
    head = shelf.json(ALL)["graph_commit_id"]
    shelf("optimize lib.omni")
    mutation = """mutate -e 'query add() { insert Book { isbn: "n", title: "New" } }' --store lib.omni"""
    shelf(f"{mutation} --if-commit {head}")


def test_indexes_are_listed_with_what_they_cover(shelf: Reader) -> None:
    shelf("optimize lib.omni")
    found = shelf.json("indexes lib.omni")["indexes"]
    assert {one["type"] for one in found} == {"edge:Cites", "edge:Wrote", "node:Author", "node:Book"}
    assert list(found[0]) == ["type", "column", "kind", "name", "rows", "rows_indexed", "state", "reason"]
    author = next(one for one in found if (one["type"], one["column"]) == ("node:Author", "id"))
    assert (author["kind"], author["rows"], author["rows_indexed"]) == ("BTREE", 2, 2)
    assert shelf("indexes lib.omni").stdout.splitlines()[0].startswith("type ")
