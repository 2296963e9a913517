"""Version control on the command line: merge, diff, tags, restore, revert, the change feed, interrupted writes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.graphs.rust_graphs import rust_graph

Document = Callable[[str], Any]


@pytest.fixture
def document(omnigraph: Any, library: Path) -> Document:
    """The JSON of a command that succeeds on a library with data."""
    assert omnigraph("load --data seed.jsonl --mode append lib.omni").exit_code == 0

    def run(line: str) -> Any:
        outcome = omnigraph(f"{line} --store lib.omni --json")
        assert outcome.exit_code == 0, outcome.stderr
        return json.loads(outcome.stdout)

    return run


@pytest.fixture
def born(omnigraph: Any, document: Document) -> Callable[..., str]:
    """Change when Lem was born, on a branch; returns the commit."""

    def change(year: int, branch: str = "main") -> str:
        text = f'query set() {{ update Author set {{ born: {year} }} where slug = "lem" }}'
        return str(document(f"mutate -e '{text}' --branch {branch}")["commit"]["graph_commit_id"])

    return change


@pytest.fixture
def conflict(document: Document, born: Callable[..., str]) -> None:
    """Branch `b` and main both changed the same author."""
    document("branch create b")
    born(1900, "b")
    born(1950)


def add_author(document: Document, slug: str, branch: str = "main") -> str:
    line = f"""mutate add_author --query library.gq --params '{{"slug":"{slug}","name":"N"}}' --branch {branch}"""
    return str(document(line)["commit"]["graph_commit_id"])


# --- merge ------------------------------------------------------------------------------------------------


def test_merge_of_a_branch_that_is_ahead_is_a_fast_forward(document: Document) -> None:
    """`cli-60`"""
    document("branch create b")
    add_author(document, "butler", "b")
    merged = document("branch merge b")
    assert (merged["source"], merged["target"], merged["outcome"]) == ("b", "main", "fast_forward")
    assert "branch_deleted" not in merged
    assert merged["stats"]["inserts"] == 1
    assert document("commit list")["commits"][0]["graph_commit_id"] == merged["commit"]


def test_merge_whose_source_cannot_be_deleted_succeeds_and_warns(omnigraph: Any, document: Document) -> None:
    """`cli-61`"""
    document("branch create b")
    document("branch create c --from b")
    outcome = omnigraph("branch merge b --delete-branch --store lib.omni --json")
    merged = json.loads(outcome.stdout)
    assert outcome.exit_code == 0
    assert (merged["outcome"], merged["branch_deleted"]) == ("already_up_to_date", False)
    assert "warning:" in outcome.stderr
    assert merged["branch_delete_error"] in outcome.stderr
    assert "'b' was not deleted" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        pytest.param("branch merge b --into b", "bad_request", "distinct", id="into-itself"),
        pytest.param("branch merge nope", "branch_not_found", "'nope' not found", id="unknown-source"),
        pytest.param("merge b --into nope", "branch_not_found", "'nope' not found", id="unknown-target"),
        pytest.param("merge b --on-conflict mine", "bad_request", "unknown on_conflict 'mine'", id="unknown-side"),
        pytest.param("merge b --resolve missing.json", "unreadable_file", "missing.json", id="no-such-file"),
        pytest.param("merge b --resolve library.pg", "unreadable_file", "not valid JSON", id="not-json"),
        pytest.param("merge b --resolve object.json", "unreadable_file", "a JSON list", id="not-a-list"),
        pytest.param("merge b --resolve other.json", "invalid_resolution", "lem", id="names-no-conflict"),
    ],
)
def test_merge_that_cannot_be_understood_changes_nothing(
    line: str, code: str, text: str, omnigraph: Any, document: Document, desk: Path
) -> None:
    """`cli-62`"""
    (desk / "object.json").write_text("{}")
    entry = {"entity_kind": "node", "type_name": "Author", "entity_id": "lem", "take": "ours"}
    (desk / "other.json").write_text(json.dumps([entry]))
    document("branch create b")
    add_author(document, "butler", "b")
    before = document("commit list")
    outcome = omnigraph(f"{line} --store lib.omni --json")
    error = json.loads(outcome.stdout)["error"]
    assert (outcome.exit_code, error["code"]) == (1, code)
    assert text in error["message"] + str(error.get("hint"))
    assert document("commit list") == before


def test_conflicts_are_listed_with_all_sides_and_the_target_stays(
    omnigraph: Any, document: Document, conflict: None
) -> None:
    """`cli-63`: conflicts exit 5 here"""
    before = document("commit list")
    outcome = omnigraph("branch merge b --store lib.omni")
    assert (outcome.exit_code, outcome.stdout) == (5, "")
    assert outcome.stderr.splitlines()[1:4] == [
        "conflict: divergent_update node Author lem",
        "          base  ours  theirs",
        "    born  1921  1950  1900",
    ]
    told = omnigraph("branch merge b --store lib.omni --json")
    error = json.loads(told.stdout)["error"]
    assert (told.exit_code, error["code"], error["details"]["conflicts_total"]) == (5, "merge_conflicts", 1)
    found = error["details"]["conflicts"][0]
    assert (found["kind"], found["type_name"], found["entity_id"]) == ("divergent_update", "Author", "lem")
    assert [found[side]["properties"]["born"] for side in ("base", "target", "source")] == [1921, 1950, 1900]
    assert document("commit list") == before


def test_dry_run_shows_the_conflicts_on_stdout_and_exits_as_the_merge_would(
    omnigraph: Any, document: Document, conflict: None
) -> None:
    before = document("commit list")
    outcome = omnigraph("merge b --dry-run --store lib.omni")
    assert outcome.exit_code == 5
    assert outcome.stdout.startswith("conflict: divergent_update node Author lem\n")
    assert "would have 1 conflict" in outcome.stderr
    told = json.loads(omnigraph("merge b --dry-run --store lib.omni --json").stdout)
    assert (told["dry_run"], told["commit"], told["conflicts_total"]) == (True, None, 1)
    assert document("commit list") == before


@pytest.mark.parametrize(
    ("option", "year"),
    [
        ("--on-conflict theirs", 1900),
        ("--on-conflict ours", 1950),
        ("--on-conflict divergent_update=theirs --on-conflict delete_vs_update=ours", 1900),
        ("--resolve decided.json", 1925),
    ],
)
def test_options_of_a_merge_decide_its_conflicts(
    option: str, year: int, document: Document, conflict: None, desk: Path
) -> None:
    entry = {"entity_kind": "node", "type_name": "Author", "entity_id": "lem", "properties": {"born": 1925}}
    (desk / "decided.json").write_text(json.dumps([entry]))
    merged = document(f"merge b {option} --message 'decided' --delete-branch")
    assert (merged["outcome"], merged["branch_deleted"]) == ("merged", True)
    text = 'query one() { match { $a: Author { slug: "lem" } } return { $a.born as born } }'
    assert document(f"query -e '{text}'")["rows"] == [{"born": year}]


@pytest.mark.parametrize(
    "line",
    [
        "merge b --on-conflict ours --on-conflict divergent_update=theirs",
        "merge b --on-conflict a=ours --on-conflict a=ours",
    ],
)
def test_sides_for_everything_and_for_a_kind_cannot_be_mixed(line: str, omnigraph: Any) -> None:
    outcome = omnigraph(f"{line} --store lib.omni")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--on-conflict" in outcome.stderr


def test_merge_says_in_one_line_what_it_did(omnigraph: Any, document: Document) -> None:
    document("branch create b")
    add_author(document, "butler", "b")
    would = omnigraph("merge b --dry-run --store lib.omni")
    assert would.stdout == "would merge b into main (fast-forward): 1 inserted, 0 updated, 0 deleted\n"
    assert would.stderr == ""
    done = omnigraph("merge b --delete-branch --store lib.omni")
    first, second = done.stdout.splitlines()
    assert first.startswith("merged b into main (fast-forward) as commit 01")
    assert (second, done.stderr) == ("deleted branch b", "omnigraph merge → lib.omni (direct, local)\n")


# --- diff -------------------------------------------------------------------------------------------------


@pytest.fixture
def draft(omnigraph: Any, document: Document, born: Callable[..., str]) -> None:
    """Branch `draft` inserted an author, changed one, and deleted a book with its edges."""
    document("branch create draft")
    born(1900, "draft")
    add_author(document, "butler", "draft")
    document("""mutate -e 'query gone() { delete Book where isbn = "b-sol" }' --branch draft""")


def test_diff_shows_what_is_new_gone_and_changed_with_its_properties(omnigraph: Any, draft: None) -> None:
    shown = omnigraph("diff main draft --kind node --store lib.omni")
    assert shown.stdout.splitlines() == [
        "+ node Author butler",
        "    name  N",
        "    slug  butler",
        "~ node Author lem",
        "    born  1921 -> 1900",
        "- node Book b-sol",
        "    isbn   b-sol",
        "    title  Solaris",
    ]
    edges = omnigraph("branch diff main draft --kind edge --type Wrote --store lib.omni").stdout.splitlines()
    assert edges[0].startswith("- edge Wrote 01")
    assert edges[0].endswith("  lem -> b-sol")
    assert edges[1] == "    year  1961"


def test_diff_counts_by_type_with_stat(omnigraph: Any, document: Document, draft: None) -> None:
    assert omnigraph("diff main draft --stat --store lib.omni").stdout.splitlines() == [
        "node Author  +1 ~1 -0",
        "node Book    +0 ~0 -1",
        "edge Cites   +0 ~0 -1",
        "edge Wrote   +0 ~0 -1",
        "1 inserted, 1 updated, 3 deleted",
    ]
    counted = document("diff main draft --stat")
    assert sorted(counted) == ["from", "stats", "to"]
    assert counted["stats"]["deletes"] == 3


def test_json_of_a_diff_is_what_the_graph_returns_byte_for_byte(omnigraph: Any, draft: None) -> None:
    with og.open("lib.omni", read_only=True) as graph:
        whole = graph.diff("main", "draft").to_json()
        nothing = graph.diff("main", "main").to_json()
    assert omnigraph("diff main draft --store lib.omni --json").stdout == _pretty(whole)
    assert omnigraph("diff main --store lib.omni --json").stdout == _pretty(nothing)


def test_diff_shows_days_and_times_as_people_write_them(omnigraph: Any, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "dates.omni", schema="node Event { name: String @key  on: Date?  at: DateTime? }")
    draft = graph.create_branch("draft")
    add = 'query add($d: Date, $t: DateTime) { insert Event { name: "first", on: $d, at: $t } }'
    draft.mutate(add, d="1972-03-02", t="1972-03-02T08:30:00Z")
    shown = omnigraph(f"diff main draft --store {tmp_path}/dates.omni").stdout.splitlines()
    assert shown[1:] == ["    at    1972-03-02T08:30:00.000Z", "    name  first", "    on    1972-03-02"]


def test_diff_of_equal_states_says_so(omnigraph: Any, document: Document) -> None:
    assert omnigraph("diff main --store lib.omni").stdout == "no differences\n"
    assert omnigraph("diff main --stat --store lib.omni").stdout == "no differences\n"


def test_diff_of_an_unknown_name_suggests_the_nearest(omnigraph: Any, draft: None) -> None:
    outcome = omnigraph("diff main drft --store lib.omni --json")
    error = json.loads(outcome.stdout)["error"]
    assert (outcome.exit_code, error["code"]) == (1, "unknown_reference")
    assert "did you mean 'draft'" in error["hint"]


def test_diff_has_colours_for_a_person_only(omnigraph: Any, draft: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.cli.formats import changes

    def always(text: str, color: str, _stream: object) -> str:
        return f"<{color}>{text}</>"

    plain = omnigraph("diff main draft --store lib.omni").stdout
    assert "\x1b" not in plain
    monkeypatch.setattr(changes, "paint", always)
    lines = omnigraph("diff main draft --kind node --store lib.omni").stdout.splitlines()
    assert lines[0] == "<32>+ node Author butler</>"
    assert lines[3:6] == [
        "<33>~ node Author lem</>",
        "    born  <31>1921</> -> <32>1900</>",
        "<31>- node Book b-sol</>",
    ]


def test_value_cannot_send_control_characters_to_the_terminal(omnigraph: Any, document: Document) -> None:
    params = json.dumps({"slug": "x", "name": "a\x1b[2Jb\nc"})
    document("branch create draft")
    document(f"mutate add_author --query library.gq --params '{params}' --branch draft")
    shown = omnigraph("diff main draft --store lib.omni").stdout
    assert r"    name  a\x1b[2Jb\nc" in shown.splitlines()


def test_long_value_of_a_diff_is_cut_and_whole_in_json(omnigraph: Any, document: Document) -> None:
    long = "x" * 500
    document("branch create draft")
    document(f"""mutate add_author --query library.gq --params '{{"slug":"y","name":"{long}"}}' --branch draft""")
    lines = omnigraph("diff main draft --store lib.omni").stdout.splitlines()
    assert lines[1].endswith("x…")
    assert max(map(len, lines)) <= 120
    assert document("diff main draft")["changes"][0]["after"]["properties"]["name"] == long


# --- tags, restore, revert ----------------------------------------------------------------------------------


def test_tag_names_a_commit_wherever_one_is_asked_for(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    made = document("tag create release-1")
    assert document("tag list")["tags"] == [made]
    head = born(1900)
    assert document("diff release-1 main --stat")["stats"]["updates"] == 1
    text = 'query one() { match { $a: Author { slug: "lem" } } return { $a.born as born } }'
    assert document(f"query -e '{text}' --snapshot release-1")["rows"] == [{"born": 1921}]
    taken = omnigraph("tag create release-1 --store lib.omni --json")
    assert (taken.exit_code, json.loads(taken.stdout)["error"]["code"]) == (1, "tag_exists")
    assert document("tag create release-1 --force")["commit_id"] == head
    assert omnigraph("tag list --store lib.omni").stdout == f"release-1 {head}\n"
    assert document("tag delete release-1")["commit_id"] == head
    assert document("tag list") == {"tags": []}
    missing = omnigraph("tag delete release-1 --store lib.omni --json")
    assert (missing.exit_code, json.loads(missing.stdout)["error"]["code"]) == (1, "tag_not_found")


def test_restore_brings_an_earlier_state_back_as_a_new_commit(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    document("tag create before")
    born(1900)
    add_author(document, "butler")
    looked = omnigraph("restore before --dry-run --store lib.omni")
    assert looked.stdout.endswith(": 0 inserted, 1 updated, 1 deleted\n")
    assert looked.stdout.startswith("would restore main to ")
    done = document("restore before --message 'back again'")
    assert done["commit"] == document("commit list")["commits"][0]["graph_commit_id"]
    assert document("diff before main --stat")["stats"]["types"] == []
    again = omnigraph("restore before --store lib.omni")
    assert again.stdout == f"main already has the entities of commit {done['restored_commit_id']}\n"


def test_revert_takes_back_one_commit_and_keeps_later_ones(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    changed = born(1900)
    add_author(document, "butler")
    done = document(f"revert {changed}")
    assert (done["reverted"], done["stats"]["updates"], done["branch"]) == ([changed], 1, "main")
    again = omnigraph(f"revert {changed} --store lib.omni")
    assert (again.exit_code, again.stdout) == (0, f"nothing of {changed} is left to revert on main\n")


def test_revert_of_what_was_changed_again_is_a_conflict_that_options_decide(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    changed = born(1900)
    born(1950)
    outcome = omnigraph(f"revert {changed} --store lib.omni --json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["error"]["code"]) == (5, "revert_conflicts")
    shown = omnigraph(f"revert {changed} --dry-run --store lib.omni")
    assert shown.exit_code == 5
    assert "    born  1900  1950  1921" in shown.stdout.splitlines()
    assert document(f"revert {changed} --on-conflict theirs")["stats"]["updates"] == 1


def test_revert_of_a_merge_needs_a_mainline(omnigraph: Any, document: Document, conflict: None) -> None:
    merge = document("merge b --on-conflict theirs")["commit"]
    before = document("commit list")
    outcome = omnigraph(f"revert {merge} --store lib.omni --json")
    error = json.loads(outcome.stdout)["error"]
    assert (outcome.exit_code, error["code"]) == (1, "cannot_revert")
    assert "--mainline 1" in error["hint"]
    assert document("commit list") == before
    assert document(f"revert {merge} --mainline 1")["stats"]["updates"] == 1


@pytest.mark.parametrize("verb", ["restore", "revert"])
@pytest.mark.parametrize("name", ["nope", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_undo_of_an_unknown_commit_changes_nothing(verb: str, name: str, omnigraph: Any, document: Document) -> None:
    before = document("commit list")
    outcome = omnigraph(f"{verb} {name} --store lib.omni --json")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["error"]["code"] in ("unknown_reference", "commit_not_found")
    assert document("commit list") == before


# --- what commits changed -----------------------------------------------------------------------------------


def test_first_commit_has_no_changes_to_show(omnigraph: Any, document: Document) -> None:
    """`cli-68`"""
    genesis = document("commit list")["commits"][-1]["graph_commit_id"]
    outcome = omnigraph(f"commit changes {genesis} --store lib.omni --json")
    error = json.loads(outcome.stdout)["error"]
    assert outcome.exit_code == 1
    assert "no first parent" in error["message"]
    assert error["details"]["change_diff_refusal"]["reason"] == "parentless_commit"
    assert omnigraph(f"commit changes {genesis} --store lib.omni").stdout == ""


def test_changes_of_a_commit_are_one_document_whatever_the_size_of_a_page(omnigraph: Any, document: Document) -> None:
    """`cli-69`"""
    head = document("commit list")["commits"][0]["graph_commit_id"]
    small = omnigraph(f"commit changes {head} --limit 1 --store lib.omni --json")
    with og.open("lib.omni", read_only=True) as graph:
        whole = graph.commit_changes(head).to_json()
    assert small.stdout == _pretty(whole)
    assert (len(json.loads(small.stdout)["changes"]), sorted(json.loads(small.stdout))) == (9, ["cause", "changes"])


def test_page_token_shows_one_page_and_the_token_of_the_next(omnigraph: Any, document: Document) -> None:
    head = document("commit list")["commits"][0]["graph_commit_id"]
    with og.open("lib.omni", read_only=True) as graph:
        token = graph.commit_changes(head, limits=og.PageLimits(max_changes=4)).next_page_token
    page = document(f"commit changes {head} --limit 4 --page-token {token}")
    assert (len(page["changes"]), "next_page_token" in page) == (4, True)
    shown = omnigraph(f"commit changes {head} --limit 4 --page-token {page['next_page_token']} --store lib.omni")
    assert "next_page_token" not in shown.stdout
    assert sum(line.startswith("insert ") for line in shown.stdout.splitlines()) == 1


def test_changes_of_a_commit_name_what_differs_for_people(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    changed = born(1900)
    shown = omnigraph(f"commit changes {changed} --store lib.omni").stdout.splitlines()
    assert shown[:2] == [f"commit: {changed}", "branch: main"]
    assert shown[-2:] == ["update node Author lem", "  born: 1921 -> 1900"]
    seed = document("commit list")["commits"][1]["graph_commit_id"]
    loaded = omnigraph(f"commit changes {seed} --type Cites --type Author --store lib.omni").stdout.splitlines()
    assert [line for line in loaded if not line.startswith("insert edge")][-5:] == [
        "insert node Author lem",
        "  + born: 1921",
        "  + name: Stanislaw Lem",
        "  + slug: lem",
        "  b-disp -> b-sol",
    ]


@pytest.mark.parametrize("limit", [0, 8193])
def test_page_of_changes_has_a_size_that_is_allowed(limit: int, omnigraph: Any, library: Path) -> None:
    outcome = omnigraph(f"commit changes x --limit {limit} --uri lib.omni")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "1<=x<=8192" in outcome.stderr


def test_poll_continues_from_its_cursor(omnigraph: Any, document: Document) -> None:
    """`cli-70`"""
    first = document("changes poll --start beginning")
    assert [len(block["changes"]) for block in first["blocks"]] == [9]
    second = document(f"changes poll --cursor {first['cursor']}")
    assert (second["blocks"], second["caught_up"]) == ([], True)
    commit = add_author(document, "butler")
    third = document(f"changes poll --cursor {second['cursor']} --op insert --op update --op delete")
    assert [block["cause"]["graph_commit_id"] for block in third["blocks"]] == [commit]
    shown = omnigraph(f"changes poll --cursor {third['cursor']} --store lib.omni").stdout.splitlines()
    assert shown == ["(no new commits)", f"cursor: {third['cursor']}", "caught_up: true"]


def test_poll_with_small_pages_gives_whole_commits(document: Document) -> None:
    add_author(document, "butler")
    whole = document("changes poll --start beginning")
    paged = document("changes poll --start beginning --limit 3")
    assert (paged["blocks"][0], paged["caught_up"]) == (whole["blocks"][0], False)
    assert document(f"changes poll --cursor {paged['cursor']}")["blocks"] == whole["blocks"][1:]


def test_poll_takes_one_position_only(omnigraph: Any, library: Path) -> None:
    """`cli-71`"""
    outcome = omnigraph("changes poll --cursor c --start now --uri lib.omni")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--cursor and --start" in outcome.stderr
    unknown = omnigraph("changes poll --start yesterday --uri lib.omni")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    damaged = omnigraph("changes poll --cursor damaged --uri lib.omni --json")
    assert (damaged.exit_code, json.loads(damaged.stdout)["error"]["code"]) == (1, "change_cursor_rejected")


def test_baseline_is_a_whole_file_and_a_cursor_or_nothing(omnigraph: Any, document: Document, desk: Path) -> None:
    """`cli-72`"""
    made = document("changes baseline --out lib.jsonl --op insert")
    content = (desk / "lib.jsonl").read_bytes()
    assert content.decode() == omnigraph("export --store lib.omni").stdout
    assert made["resume_cursor"].encode() not in content
    assert stat.S_IMODE((desk / "lib.jsonl").stat().st_mode) == 0o600
    assert document(f"changes poll --cursor {made['resume_cursor']} --op insert")["blocks"] == []
    failed = omnigraph("changes baseline --out lib.jsonl --branch nope --store lib.omni")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert (desk / "lib.jsonl").read_bytes() == content
    assert sorted(path.name for path in desk.glob("*lib.jsonl*")) == ["lib.jsonl", "lib.jsonl.lock"]


# --- branches, commits and the log --------------------------------------------------------------------------


def test_branch_begins_at_a_branch_a_tag_a_commit_or_a_time(document: Document, born: Callable[..., str]) -> None:
    document("tag create before")
    seed = document("commit list")["commits"][0]["graph_commit_id"]
    born(1900)
    for name, source in {"a": "before", "b": seed, "c": "main"}.items():
        assert document(f"branch create {name} --from {source}")["from"] == source
    heads = {each["name"]: each["head"] for each in document("branch list --details")["details"]}
    assert heads["a"] == heads["b"] == seed
    assert heads["c"] == heads["main"]


def test_details_of_branches_say_how_far_they_are_from_main(omnigraph: Any, document: Document, conflict: None) -> None:
    add_author(document, "butler", "b")
    told = document("branch list --details")
    assert told["branches"] == ["b", "main"] == document("branch list")["branches"]
    assert [(each["source"], each["ahead"], each["behind"]) for each in told["details"]] == [
        ("main", 2, 1),
        (None, 0, 0),
    ]
    shown = omnigraph("branch list --details --store lib.omni").stdout.splitlines()
    assert [line.split()[0] for line in shown if "+" not in line] == ["name", "b", "main"]


def test_branch_with_a_tag_is_not_deleted(omnigraph: Any, document: Document) -> None:
    document("branch create b")
    add_author(document, "butler", "b")
    document("tag create keep --commit b")
    outcome = omnigraph("branch delete b --store lib.omni --json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["error"]["code"]) == (1, "branch_is_tagged")
    assert document("branch list") == {"branches": ["b", "main"]}


def test_commits_are_listed_in_pages_and_by_actor_and_time(document: Document) -> None:
    first = add_author(document, "butler")
    second = str(
        document("mutate --as act-ada -e 'query g() { delete Book where isbn = \"b-sol\" }'")["commit"][
            "graph_commit_id"
        ]
    )
    whole = ids(document("commit list"))
    assert whole[:2] == [second, first]
    assert ids(document(f"commit list --before {whole[0]} --limit 2")) == whole[1:3]
    assert ids(document(f"commit list --since {first}")) == [second]
    assert ids(document("commit list --actor act-ada")) == [second]
    assert ids(document("commit list --since 2100-01-01T00:00:00Z")) == []
    assert ids(document("commit list --before 2100-01-01T00:00:00Z")) == whole


def test_log_has_kinds_and_messages_and_can_be_narrowed_to_them(omnigraph: Any, document: Document) -> None:
    text = """mutate -e 'query g() { delete Book where isbn = "b-sol" }' --message 'Fewer books' --as act-ada"""
    commit = document(text)["commit"]["graph_commit_id"]
    newest = document("log")["commits"][0]
    assert (newest["kind"], newest["message"], newest["actor_id"]) == ("mutation", "Fewer books", "act-ada")
    for option in ("--kind mutation", "--message fewer", "--actor act-ada", "--limit 1"):
        assert ids(document(f"log {option}")) == [commit]
    assert len(document("log --type Book")["commits"]) == 2
    assert len(document("log --type Author")["commits"]) == 1
    shown = omnigraph("log --limit 1 --store lib.omni").stdout.split(" ", 2)
    assert (shown[0], shown[2]) == (commit, "main mutation actor=act-ada Fewer books\n")


@pytest.mark.parametrize("option", ["--full", "--graph"])
def test_full_log_draws_what_merges_brought(option: str, omnigraph: Any, document: Document, conflict: None) -> None:
    document("merge b --on-conflict theirs")
    lines = omnigraph(f"log {option} --store lib.omni").stdout.splitlines()
    assert [(line.split("01")[0].rstrip(), line.rsplit(" ", 1)[-1]) for line in lines] == [
        ("*", "merge"),
        ("|\\", "|\\"),
        ("* |", "mutation"),
        ("| *", "mutation"),
        ("|/", "|/"),
        ("*", "load"),
        ("*", "init"),
    ]
    assert len(document("log")["commits"]) == 4
    assert len(document("log --full")["commits"]) == 5


def test_log_of_an_entity_shows_who_changed_which_property_also_across_merges(
    omnigraph: Any, document: Document, born: Callable[..., str]
) -> None:
    document("branch create b")
    text = 'query set() { update Author set { born: 1900 } where slug = "lem" }'
    document(f"mutate -e '{text}' --branch b --as act-ada")
    add_author(document, "butler")
    document("merge b")
    shown = omnigraph("log --entity Author lem --store lib.omni").stdout.splitlines()
    assert shown[0].endswith(" b mutation actor=act-ada")
    assert [line for line in shown if line.startswith("    ")] == [
        "    born: 1921 -> 1900",
        "    + born: 1921",
        "    + name: Stanislaw Lem",
        "    + slug: lem",
    ]
    told = document("log --entity Author lem --actor act-ada")["commits"]
    assert [(each["op"], each["after"]["properties"]["born"]) for each in told] == [("update", 1900)]
    assert told[0]["merged_by"] == document("commit list")["commits"][0]["graph_commit_id"]
    blamed = document("log --entity Author lem --blame")["properties"]
    assert [(each["property"], each["value"], each["actor_id"]) for each in blamed] == [
        ("born", 1900, "act-ada"),
        ("name", "Stanislaw Lem", None),
        ("slug", "lem", None),
    ]


def test_blame_is_of_one_entity(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("log --blame --store lib.omni")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--entity TYPE ID" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("log nope", "unknown_reference"),
        ("log --type Nope", "type_not_found"),
        ("log --entity Nope x", "type_not_found"),
        ("log --since yesterday", "unknown_reference"),
        ("branch create x --from nope", "unknown_reference"),
        ("commit list --branch nope --actor a", "branch_not_found"),
        ("commit changes nope", "unknown_reference"),
    ],
)
def test_unknown_name_in_a_question_about_history_is_refused(
    line: str, code: str, omnigraph: Any, library: Path
) -> None:
    outcome = omnigraph(f"{line} --store lib.omni --json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["error"]["code"]) == (1, code)


@pytest.mark.parametrize(
    ("commits", "drawn"),
    [
        pytest.param([("c", ["b"]), ("b", ["a"]), ("a", [])], ["* c", "* b", "* a"], id="one-line"),
        pytest.param(
            [("m", ["a", "b"]), ("b", ["r"]), ("a", ["r"]), ("r", [])],
            ["* m", "|\\", "| * b", "* | a", "|/", "* r"],
            id="one-merge",
        ),
        pytest.param(
            [("n", ["m", "c"]), ("m", ["a", "b"]), ("c", ["r"]), ("b", ["r"]), ("a", ["r"]), ("r", [])],
            ["* n", "|\\", "* | m", "|\\ \\", "| | * c", "| * | b", "* | | a", "|_|/", "|/", "* r"],
            id="two-branches",
        ),
    ],
)
def test_graph_of_commits_is_drawn_with_a_lane_for_each_line_of_work(
    commits: list[tuple[str, list[str]]], drawn: list[str]
) -> None:
    from omnigraph.cli.formats import commit_graph_lines

    assert list(commit_graph_lines((name, parents, name) for name, parents in commits)) == drawn


# --- interrupted writes -------------------------------------------------------------------------------------


def test_graph_without_interrupted_writes_has_none_to_list(omnigraph: Any, document: Document) -> None:
    assert document("recoveries") == {"pending": [], "resolved": []}
    assert omnigraph("recoveries lib.omni").stdout == "no write of this graph was ever interrupted\n"


def test_interrupted_merge_is_listed_before_and_after_it_is_resolved(omnigraph: Any, desk: Path) -> None:
    with rust_graph("crash-merge") as interrupted:
        uri = interrupted.uri
        waiting = json.loads(omnigraph(f"recoveries {uri} --json").stdout)["pending"]
        assert [(each["writer_kind"], each["branch"]) for each in waiting] == [("BranchMerge", "main")]
        operation = waiting[0]["operation_id"]
        assert omnigraph(f"recoveries {uri}").stdout.startswith(f"pending {operation} writer=BranchMerge branch=main")
        assert omnigraph(f"tag create after --store {uri}").exit_code == 0  # any command that writes resolves it
        done = json.loads(omnigraph(f"recoveries {uri} --json").stdout)
        assert done["pending"] == []
        found = [(each["operation_id"], each["recovery_kind"]) for each in done["resolved"]]
        assert found == [(operation, "RolledForward")]
        shown = omnigraph(f"recoveries {uri}").stdout
        assert shown.startswith(f"RolledForward {operation} writer=BranchMerge commit=01")


def ids(listed: Any) -> list[str]:
    return [commit["graph_commit_id"] for commit in listed["commits"]]


def _pretty(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
