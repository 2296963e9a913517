"""`load`, `mutate` and `export`: the numbered cases of the contract, one test each, and what lies beyond them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.model.identifiers import new_ulid

DATA = Path(__file__).parent / "data"
LOAD = "load --data seed.jsonl --mode append lib.omni"
ADD = (
    """mutate add_author --query library.gq --params '{"slug":"butler","name":"Octavia E. Butler"}' --store lib.omni"""
)
AUTHOR = '{"type":"Author","data":{"slug":"new","name":"n"}}'
BOOKS = [
    '{"type":"Book","data":{"isbn":"b-left","title":"L"}}',
    '{"type":"Book","data":{"isbn":"b-disp","title":"D"}}',
    '{"type":"Book","data":{"isbn":"b-sol","title":"S"}}',
]


class Desk:
    """A command line in front of the library, with its nine entities."""

    def __init__(self, run: Any, place: Path) -> None:
        self.run, self.place = run, place

    def __call__(self, line: str, exit_code: int = 0, stdin: str = "") -> Any:
        outcome = self.run(line, stdin)
        assert outcome.exit_code == exit_code, f"$ omnigraph {line}\n{outcome.stdout}{outcome.stderr}"
        return outcome

    def json(self, line: str, exit_code: int = 0, stdin: str = "") -> Any:
        return json.loads(self(f"{line} --json", exit_code, stdin).stdout)

    def write(self, *lines: str, name: str = "in.jsonl", end: str = "\n") -> str:
        (self.place / name).write_bytes("".join(line + end for line in lines).encode())
        return name

    def load(self, *lines: str, mode: str = "merge", exit_code: int = 0, flags: str = "") -> Any:
        return self(f"load --data {self.write(*lines)} --mode {mode} lib.omni {flags}", exit_code)

    def head(self) -> str:
        return str(self.json("commit list lib.omni")["commits"][0]["graph_commit_id"])

    def entities(self, flags: str = "") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(f"export lib.omni {flags}").stdout.splitlines()]

    def entity(self, kind: str, entity_id: str) -> dict[str, Any]:
        return next(one["data"] for one in self.entities(f"--type {kind}") if one["data"]["id"] == entity_id)


@pytest.fixture
def empty(omnigraph: Any, library: Path, desk: Path) -> Desk:
    return Desk(omnigraph, desk)


@pytest.fixture
def shelf(empty: Desk) -> Desk:
    empty(LOAD)
    return empty


# --- the numbered cases -----------------------------------------------------------------------------------------


def case_11(shelf: Desk) -> None:
    """No mode is a usage error."""
    assert "--mode" in shelf("load --data seed.jsonl lib.omni", 2).stderr


def case_12(empty: Desk) -> None:
    outcome = empty(f"{LOAD} --json")
    document = json.loads(outcome.stdout)
    contract = ["uri", "branch", "mode", "branch_created", "nodes", "edges", "total_entities", "commit"]
    assert list(document) == [*contract, "engine", "files", "bytes", "seconds"]
    assert document["total_entities"] == 9
    assert document["nodes"] == [counted("Author", 2), counted("Book", 3)]
    assert document["edges"] == [counted("Cites", 1), counted("Wrote", 3)]
    assert document["commit"] == empty.json("commit list lib.omni")["commits"][0]
    assert outcome.stderr == "omnigraph load → lib.omni (direct, local)\n"


def counted(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "entities_loaded": count}


def case_13(empty: Desk) -> None:
    assert empty(f"{LOAD} --quiet").stderr == ""


def case_14(shelf: Desk) -> None:
    """Replaced: a key conflict exits 5."""
    before = shelf.entities()
    outcome = shelf(f"{LOAD} --json", 5)
    assert json.loads(outcome.stdout)["error"]["code"] == "key_conflict"
    assert "already has id" in outcome.stderr
    assert shelf.entities() == before


def case_15(shelf: Desk) -> None:
    shelf.load('{"type":"Author","data":{"slug":"lem","name":"S. Lem"}}')
    assert shelf.entity("Author", "lem") == {"id": "lem", "born": None, "name": "S. Lem", "slug": "lem"}


def case_16(shelf: Desk) -> None:
    before = {json.dumps(one) for one in shelf.entities() if one.get("type") != "Book"}
    shelf.load(*BOOKS, mode="overwrite")
    after = shelf.entities()
    assert {json.dumps(one) for one in after if one.get("type") != "Book"} == before
    assert [one["data"]["title"] for one in after if one.get("type") == "Book"] == ["D", "L", "S"]


def case_17(shelf: Desk) -> None:
    before = shelf.entities()
    assert "dst 'b-sol' not found in Book" in shelf.load(*BOOKS[:2], mode="overwrite", exit_code=1).stderr
    assert shelf.entities() == before


def case_18(shelf: Desk) -> None:
    bad = '{"type":"Author","data":{"slug":"x","name":"n"},"branch":"x"}'
    err = shelf.load(BOOKS[0], BOOKS[1], bad, exit_code=1).stderr
    assert "line 3" in err
    assert "'branch'" in err


def case_19(shelf: Desk) -> None:
    head = shelf.head()
    unknown = shelf.load('{"type":"Author","data":{"slug":"x","nam":"n"}}', exit_code=1).stderr
    reserved = shelf.load('{"type":"Author","data":{"slug":"x","name":"n","_rowid":1}}', exit_code=1).stderr
    source = shelf.load('{"edge":"Cites","from":"b-sol","to":"b-sol","data":{"src":"x"}}', exit_code=1).stderr
    assert "nam" in unknown
    assert "_rowid" in reserved
    assert "src" in source
    assert shelf.head() == head


def case_20(shelf: Desk) -> None:
    head = shelf.head()
    shelf.load('{"type":"Author","data":{"slug":"x","slug":"y","name":"n"}}', exit_code=1)
    shelf.load(f"{AUTHOR} {AUTHOR}", exit_code=1)
    shelf.load('{"type":"Author","edge":"Cites","from":"b-sol","to":"b-sol"}', exit_code=1)
    assert shelf.head() == head


def case_21(shelf: Desk) -> None:
    err = shelf.load('{"type":"Author","data":{"slug":"a","id":"b","name":"n"}}', exit_code=1).stderr
    assert "'b'" in err
    assert "key" in err


def case_22(shelf: Desk) -> None:
    err = shelf.load('{"type":"Author","data":{"slug":"a","name":"n","born":"x"}}', exit_code=1).stderr
    assert "born" in err
    assert "integer" in err


def many_authors() -> list[str]:
    return [f'{{"type":"Author","data":{{"slug":"a{place}","name":"n"}}}}' for place in range(8193)]


def case_23(empty: Desk) -> None:
    """Replaced: a load has no limit of rows."""
    assert "8193 entities" in empty.load(*many_authors(), mode="append").stdout


def case_24(empty: Desk) -> None:
    assert "8193 entities" in empty.load(*many_authors(), mode="overwrite").stdout


def case_25(empty: Desk) -> None:
    lines = (empty.place / "seed.jsonl").read_text().splitlines()
    name = empty.write("", *lines[:4], "", " ", *lines[4:], "", end="\r\n")
    assert empty.json(f"load --data {name} --mode append lib.omni")["total_entities"] == 9


def case_26(shelf: Desk) -> None:
    assert "'nope'" in shelf("load --data seed.jsonl --mode merge --branch nope lib.omni", 1).stderr
    assert shelf("branch list --uri lib.omni").stdout == "main\n"


def case_27(shelf: Desk) -> None:
    document = shelf.json("load --data seed.jsonl --mode merge --branch nope --from main lib.omni")
    assert list(document)[:5] == ["uri", "branch", "mode", "base_branch", "branch_created"]
    assert (document["branch_created"], document["base_branch"]) == (True, "main")
    assert document["commit"]["graph_branch"] == "nope"


def case_28(shelf: Desk) -> None:
    head = shelf.head()
    document = shelf.json(f"load --data {shelf.write()} --mode merge lib.omni")
    assert document["total_entities"] == 0
    assert document["commit"]["parent_commit_id"] == head


def case_29(empty: Desk) -> None:
    err = empty("load --data seed.jsonl --mode overwrite s3://b/g.omni", 1).stderr
    assert "refusing" in err
    assert "--yes" in err


def case_46(shelf: Desk) -> None:
    document = shelf.json(f"{ADD} --as act-me")
    assert list(document) == ["branch", "query_name", "affected_nodes", "affected_edges", "actor_id", "commit"]
    assert (document["affected_nodes"], document["affected_edges"], document["actor_id"]) == (1, 0, "act-me")
    assert document["commit"] == shelf.json("commit list lib.omni")["commits"][0]
    assert document["commit"]["actor_id"] == "act-me"


NOBODY = """mutate -e 'query u() { update Author set { born: 1 } where slug = "nobody" }' --store lib.omni"""


def case_47(shelf: Desk) -> None:
    head = shelf.head()
    document = shelf.json(NOBODY)
    assert (document["affected_nodes"], document["affected_edges"], document["commit"]) == (0, 0, None)
    assert shelf.head() == head


def case_48(shelf: Desk) -> None:
    head, stale = shelf.head(), new_ulid()
    document = shelf.json(f"{ADD} --if-commit {stale}", 4)
    assert document["precondition_failure"] == {"expected": stale, "actual": head}
    assert document["error"]["code"] == "precondition_failed"
    assert shelf.head() == head


def case_49(shelf: Desk) -> None:
    outcome = shelf(f"{ADD} --if-commit {new_ulid()}", 4)
    assert outcome.stdout == ""
    assert "precondition failed" in outcome.stderr


def case_65(shelf: Desk) -> None:
    """Replaced: nodes come first."""
    authors = shelf.entities("--type Author")
    assert [(one["type"], one["data"]["id"]) for one in authors] == [("Author", "le-guin"), ("Author", "lem")]
    shelf("export lib.omni --type Nope", 1)
    assert [next(iter(one)) for one in shelf.entities()] == ["type"] * 5 + ["edge"] * 4


def case_66(shelf: Desk) -> None:
    text = shelf("export lib.omni").stdout
    (shelf.place / "backup.jsonl").write_text(text)
    shelf("init --schema library.pg copy.omni")
    shelf("load --data backup.jsonl --mode overwrite copy.omni")
    assert shelf("export copy.omni").stdout == text


CASES: dict[int, Callable[[Desk], None]] = {
    int(name.removeprefix("case_")): case for name, case in list(globals().items()) if name.startswith("case_")
}
ON_AN_EMPTY_GRAPH = {12, 13, 23, 24, 25, 29}


@pytest.mark.parametrize("row", [pytest.param(row, id=f"cli-{row}") for row in CASES])
def test_case_of_the_contract(row: int, request: pytest.FixtureRequest) -> None:
    CASES[row](request.getfixturevalue("empty" if row in ON_AN_EMPTY_GRAPH else "shelf"))


def test_rows_of_this_file_are_those_that_the_contract_test_counts_on() -> None:
    assert json.loads((DATA / "tested_elsewhere.json").read_text())["test_write_commands.py"] == sorted(CASES)


# --- load -------------------------------------------------------------------------------------------------------


def test_load_reads_stdin(empty: Desk) -> None:
    text = (empty.place / "seed.jsonl").read_text()
    assert empty.json("load --data - --mode append lib.omni", stdin=text)["total_entities"] == 9


def test_load_of_a_missing_file_names_it(shelf: Desk) -> None:
    assert "missing.jsonl" in shelf("load --data missing.jsonl --mode append lib.omni", 1).stderr


def test_every_violation_is_reported_with_its_line(shelf: Desk) -> None:
    lines = ['{"type":"Author","data":{"slug":"x"}}', AUTHOR, '{"type":"Nope"}', '{"type":"Book","data":{"title":5}}']
    outcome = shelf(f"load --data {shelf.write(*lines)} --mode merge lib.omni --json", 1)
    error = json.loads(outcome.stdout)["error"]
    assert {violation["line"] for violation in error["details"]["violations"]} == {1, 3, 4}
    assert error["details"]["violations_total"] == len(error["details"]["violations"])
    plain = shelf.load(*lines, exit_code=1)
    assert [text for text in ("line 1", "line 3", "line 4") if text not in plain.stderr] == []
    assert plain.stdout == ""


def test_max_errors_bounds_what_is_shown_and_not_what_is_counted(shelf: Desk) -> None:
    name = shelf.write(*['{"type":"Nope"}'] * 5)
    details = shelf.json(f"load --data {name} --mode merge lib.omni --max-errors 2", 1)["error"]["details"]
    assert (len(details["violations"]), details["violations_total"]) == (2, 5)


def test_skip_loads_the_sound_records_and_keeps_the_others(shelf: Desk) -> None:
    bad = '{"type":"Author","data":{"slug":"x"}}'
    name = shelf.write(AUTHOR, bad)
    flags = "--on-error skip --reject-file rejects.jsonl"
    outcome = shelf(f"load --data {name} --mode merge lib.omni {flags} --json")
    document = json.loads(outcome.stdout)
    assert (document["total_entities"], document["rejected"], len(document["violations"])) == (1, 1, 1)
    assert "warning: rejected: in.jsonl, line 2" in outcome.stderr
    assert (shelf.place / "rejects.jsonl").read_text() == f"{bad}\n"
    assert "rejected 1 records" in shelf.load(AUTHOR, bad, flags=flags).stdout


def test_dry_run_checks_everything_and_writes_nothing(shelf: Desk) -> None:
    before = sorted((shelf.place / "lib.omni").rglob("*"))
    outcome = shelf.load(AUTHOR, flags="--dry-run")
    counts = "1 entities across 1 node types and 0 edge types"
    assert outcome.stdout == f"checked lib.omni on branch main with merge: {counts}; nothing was written\n"
    assert outcome.stderr == ""
    document = shelf.json(f"load --data {shelf.write(AUTHOR)} --mode merge lib.omni --dry-run")
    assert (document["dry_run"], document["commit"]) == (True, None)
    shelf.load(*BOOKS[:2], mode="overwrite", flags="--dry-run", exit_code=1)
    assert sorted((shelf.place / "lib.omni").rglob("*")) == before


def test_patch_keeps_what_a_record_leaves_out(shelf: Desk) -> None:
    shelf.load('{"type":"Author","data":{"slug":"lem","name":"S. Lem"}}', flags="--patch")
    assert shelf.entity("Author", "lem")["born"] == 1921


def test_matched_edges_are_replaced_and_not_doubled(shelf: Desk) -> None:
    edge = '{"edge":"Wrote","from":"lem","to":"b-sol","data":{"year":1962}}'
    shelf.load(edge, flags="--match-edges endpoints")
    assert sorted(one["data"]["year"] for one in shelf.entities("--type Wrote")) == [1962, 1969, 1974]
    shelf.load(edge)
    assert len(shelf.entities("--type Wrote")) == 4


@pytest.mark.parametrize("flags", ["--patch", "--match-edges endpoints"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_merge_options_need_merge(flags: str, mode: str, shelf: Desk) -> None:
    assert "--mode merge" in shelf(f"load --data seed.jsonl --mode {mode} lib.omni {flags}", 2).stderr


@pytest.mark.parametrize(
    "flags",
    ["--mode upsert", "--mode merge --on-error ignore", "--mode merge --max-errors 0", "--mode merge --match-edges x"],
)
def test_wrong_choice_is_a_usage_error(flags: str, shelf: Desk) -> None:
    shelf(f"load --data seed.jsonl {flags} lib.omni", 2)


def test_load_takes_a_condition_a_key_and_words(shelf: Desk) -> None:
    name = shelf.write(AUTHOR)
    line = f"load --data {name} --mode merge lib.omni"
    head = shelf.head()
    assert shelf.json(f"{line} --if-commit {new_ulid()}", 4)["precondition_failure"]["actual"] == head
    first = shelf.json(f"{line} --if-commit {head} --idempotency-key k --message 'one more'")
    again = shelf.json(f"{line} --if-commit {head} --idempotency-key k --message 'one more'")
    assert first["commit"] == again["commit"]
    assert shelf.head() == first["commit"]["graph_commit_id"]


def test_failed_load_leaves_no_branch_behind(shelf: Desk) -> None:
    shelf.load('{"type":"Nope"}', flags="--branch b --from main", exit_code=1)
    assert shelf("branch list --uri lib.omni").stdout == "main\n"


def test_forked_branch_is_told_on_a_line_of_its_own(shelf: Desk) -> None:
    assert shelf.load(AUTHOR, flags="--branch b --from main").stdout.splitlines()[1] == "created branch b from main"


def test_overwrite_of_a_local_graph_needs_no_consent(shelf: Desk) -> None:
    shelf.load(*BOOKS, mode="overwrite")


# --- mutate -----------------------------------------------------------------------------------------------------


def test_mutate_names_its_target_and_its_actor(shelf: Desk) -> None:
    outcome = shelf(f"{ADD} --as act-me")
    assert outcome.stdout == "changed main via add_author: 1 nodes, 0 edges\nactor_id: act-me\n"
    assert outcome.stderr == "omnigraph mutate → lib.omni (direct, local)\n"
    assert shelf(f"{NOBODY} --quiet").stderr == ""


def test_mutate_writes_the_named_branch_alone(shelf: Desk) -> None:
    shelf("branch create b --uri lib.omni")
    assert shelf.json(f"{ADD} --branch b")["commit"]["graph_branch"] == "b"
    assert [len(shelf.entities(f"--type Author --branch {branch}")) for branch in ("b", "main")] == [3, 2]


def test_params_come_from_a_file_too(shelf: Desk) -> None:
    (shelf.place / "p.json").write_text('{"slug":"x","name":"n"}')
    shelf("mutate add_author --query library.gq --params-file p.json --store lib.omni")
    assert shelf.entity("Author", "x")["name"] == "n"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("[]", "JSON object"),
        ("{", "not JSON"),
        ('{"slug":1,"slug":2}', "duplicate member 'slug'"),
        ('{"slug":NaN}', "NaN"),
    ],
)
def test_params_that_are_no_object_are_refused(params: str, words: str, shelf: Desk) -> None:
    outcome = shelf(f"mutate add_author --query library.gq --params '{params}' --store lib.omni", 1)
    assert words in outcome.stderr
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    "line",
    ["mutate --query a.gq -e b --store lib.omni", "mutate -e b --params {} --params-file p --store lib.omni", "mutate"],
)
def test_sources_that_exclude_each_other_are_usage_errors(line: str, shelf: Desk) -> None:
    shelf(line, 2)


def test_stored_query_on_a_store_needs_a_server(shelf: Desk) -> None:
    assert "server" in shelf("mutate add_author --store lib.omni", 1).stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mutate -e '' --store lib.omni", "must not be empty"),
        ("mutate --query missing.gq --store lib.omni", "missing.gq"),
        ("mutate --query library.gq --store lib.omni", "books_by"),
        ('mutate books_by --query library.gq --params \'{"slug":"x"}\' --store lib.omni', "books_by"),
        ("mutate -e 'query q() { insert Author { slug: \"x\" } }' --store lib.omni", "T12"),
        (
            'mutate -e \'query q() { insert Wrote { from: "lem", to: "nope" } }\' --store lib.omni',
            "dst 'nope' not found in Book",
        ),
    ],
)
def test_query_that_cannot_run_is_refused_with_the_reason(line: str, words: str, shelf: Desk) -> None:
    head = shelf.head()
    assert words in shelf(line, 1).stderr
    assert shelf.head() == head


# --- export -----------------------------------------------------------------------------------------------------


def test_export_of_an_unknown_type_offers_the_nearest(shelf: Desk) -> None:
    outcome = shelf("export lib.omni --type author", 1)
    assert outcome.stdout == ""
    assert "'author'" in outcome.stderr
    assert "did you mean 'Author'?" in outcome.stderr


def test_export_flag_of_old_changes_nothing_and_warns(shelf: Desk) -> None:
    old, new = shelf("export lib.omni --jsonl"), shelf("export lib.omni")
    assert old.stdout == new.stdout
    assert ("deprecated" in old.stderr, new.stderr) == (True, "")
    assert "--jsonl" not in shelf("export --help").stdout


def test_export_writes_dates_as_text_on_request(empty: Desk) -> None:
    (empty.place / "days.pg").write_text("node Day { on: Date @key\n  at: DateTime? }\n")
    empty("init --schema days.pg days.omni")
    name = empty.write('{"type":"Day","data":{"on":"2024-02-29","at":"2024-02-29T12:00:00Z"}}')
    empty(f"load --data {name} --mode append days.omni")
    raw = json.loads(empty("export days.omni").stdout)["data"]
    iso = json.loads(empty("export days.omni --dates iso").stdout)["data"]
    assert raw == {"id": "19782", "at": 1709208000000, "on": 19782}
    assert iso == {"id": "19782", "at": "2024-02-29T12:00:00.000Z", "on": "2024-02-29"}


def test_reader_that_leaves_early_ends_an_export_quietly(shelf: Desk, desk: Path) -> None:
    import subprocess
    import sys

    shelf.load(*(f'{{"type":"Author","data":{{"slug":"a{place}","name":"{"n" * 200}"}}}}' for place in range(5000)))
    script = f"{sys.executable} -m omnigraph.cli export lib.omni | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=desk, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


# --- verify -----------------------------------------------------------------------------------------------------


def test_verify_of_a_sound_graph_says_so(shelf: Desk) -> None:
    counts = "1 branch(es), 4 table version(s), 9 row(s)"
    assert shelf("verify lib.omni").stdout == (
        f"OK    verified lib.omni: {counts} (0 error(s), 0 warning(s), 0 info item(s))\n"
    )
    document = shelf.json("verify --store lib.omni --shallow")
    assert (document["ok"], document["deep"], document["uri"], document["findings"]) == (True, False, "lib.omni", [])


def test_verify_reports_a_graph_that_cannot_be_opened(shelf: Desk) -> None:
    (shelf.place / "lib.omni" / "_schema.pg").write_text("node Other { a: String @key }\n")
    shelf("snapshot lib.omni", 1)
    outcome = shelf("verify lib.omni --json", 1)
    assert [finding["code"] for finding in json.loads(outcome.stdout)["findings"]] == ["schema_contract"]
    assert outcome.stderr == "error: verify found 1 error(s) in 'lib.omni'\n"


def test_verify_of_no_graph_is_refused(shelf: Desk) -> None:
    assert shelf.json("verify nowhere.omni", 1)["error"]["code"] == "graph_not_found"
