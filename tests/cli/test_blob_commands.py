"""`blob`, `clone` and what is new of `export`, as a person types them. The rows of the contract have their ids."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Omnigraph
from omnigraph.graph import Graph
from support.graphs.library import SCHEMA, book, exports, fill

COVER = "node Book b1 cover --store shelf.omni"


@pytest.fixture
def shelf(desk: Path) -> Graph:
    graph = Graph.init("shelf.omni", SCHEMA, durability="os")
    fill(graph)
    return graph


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"blob get {COVER}", "hello world"),
        (f"blob get {COVER} --offset 1 --length 3", "ell"),
        (f"blob get {COVER} --offset 6", "world"),
        (f"blob get {COVER} --length 99", "hello world"),
        ("blob get node Book b2 cover --store shelf.omni", ""),
    ],
)
def test_cli_73_get_writes_exactly_the_bytes_that_are_asked_for(
    line: str, shown: str, shelf: Graph, omnigraph: Omnigraph
) -> None:
    outcome = omnigraph(line)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, shown, "")


def test_cli_73_a_file_is_written_and_one_for_an_empty_value_is_emptied(
    shelf: Graph, omnigraph: Omnigraph, desk: Path
) -> None:
    (desk / "out").write_text("before")
    assert omnigraph(f"blob get {COVER} --out out").exit_code == 0
    assert (desk / "out").read_bytes() == b"hello world"
    assert omnigraph("blob get node Book b2 cover --store shelf.omni --out out").exit_code == 0
    assert (desk / "out").read_bytes() == b""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"blob get {COVER} --length 0", "--length 0"),
        (f"blob get {COVER} --offset 18446744073709551615 --length 1", "largest possible"),
        (f"blob get {COVER} --offset 11", "not satisfiable"),
        ("blob get node Book b2 cover --store shelf.omni --offset 0", "not satisfiable"),
        ("blob get node Book zz cover --store shelf.omni", "Blob cell not found"),
        ("blob get node Book b3 cover --store shelf.omni", "Blob cell not found"),
    ],
)
def test_cli_74_what_cannot_be_read_writes_no_byte_and_keeps_the_file(
    line: str, told: str, shelf: Graph, omnigraph: Omnigraph, desk: Path
) -> None:
    (desk / "out").write_text("before")
    for more in ("", " --out out"):
        outcome = omnigraph(line + more)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert told in outcome.stderr
    assert (desk / "out").read_text() == "before"
    assert sorted(path.name for path in desk.iterdir() if path.name.endswith(".tmp")) == []


def test_cli_74_length_0_is_refused_before_the_graph_is_looked_for(omnigraph: Omnigraph) -> None:
    outcome = omnigraph("blob get node Book b1 cover --store nowhere.omni --length 0")
    assert "--length 0" in outcome.stderr


def test_cli_75_stat_shows_size_and_tag_of_a_managed_value_and_no_address(shelf: Graph, omnigraph: Omnigraph) -> None:
    document = json.loads(omnigraph(f"blob stat {COVER} --json").stdout)
    resolved = document["target"].pop("resolved_snapshot")
    assert resolved.startswith("manifest:main:v")
    assert len(document.pop("etag")) == 34
    assert document == {
        "selector": {"entity": "node", "type": "Book", "id": "b1", "property": "cover"},
        "kind": "managed",
        "size": 11,
        "target": {},
    }
    commit = shelf.snapshot().commit_id
    pinned = json.loads(omnigraph(f"blob stat {COVER} --snapshot {commit} --json").stdout)
    assert pinned["target"] == {"snapshot": commit, "resolved_snapshot": commit}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("blob stat node Book b3 cover --store shelf.omni", "Blob cell not found"),
        ("blob stat node Book b1 title --store shelf.omni", "invalid Blob selector"),
        (f"blob stat {COVER} --branch nope", "Blob read failed"),
        (f"blob stat {COVER} --snapshot 01ARZ3NDEKTSV4RRFFQ69G5FAV", "Blob cell not found"),
    ],
)
def test_cli_75_a_null_a_text_and_a_missing_branch_or_commit_have_their_fixed_sentences(
    line: str, told: str, shelf: Graph, omnigraph: Omnigraph
) -> None:
    outcome = omnigraph(f"{line} --json")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["error"]["message"] == told


def test_cli_76_a_fifth_word_is_refused(shelf: Graph, omnigraph: Omnigraph) -> None:
    outcome = omnigraph("blob stat node Book b1 cover shelf.omni")
    assert outcome.exit_code == 2
    assert "unexpected extra argument" in outcome.stderr


def test_an_external_value_is_shown_and_not_followed(
    shelf: Graph, omnigraph: Omnigraph, operator: Callable[[str], None], desk: Path
) -> None:
    (desk / "outside").mkdir()
    (desk / "outside" / "a").write_bytes(b"bytes")
    record = book("x", cover=f"file://{desk}/outside/a").decode()
    refused = omnigraph("load --data - --mode append shelf.omni", stdin=record)
    assert (refused.exit_code, "denied by the blob policy" in refused.stderr) == (1, True)
    operator(f"external_blobs:\n  allow:\n    - file://{desk}/outside/\n")
    assert omnigraph("init --schema new.pg --force new.omni").exit_code == 1
    (desk / "new.pg").write_text(SCHEMA)
    assert omnigraph("init --schema new.pg new.omni").exit_code == 0
    assert omnigraph("load --data - --mode overwrite new.omni", stdin=record).exit_code == 0
    outcome = omnigraph("blob get node Book x cover --store new.omni")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert f"file://{desk}/outside/a" in outcome.stderr
    assert "blob stat" in outcome.stderr
    assert omnigraph("blob stat node Book x cover --store new.omni").stdout.endswith(f"uri: file://{desk}/outside/a\n")
    assert omnigraph("load --data - --mode merge shelf.omni", stdin=record).exit_code == 0
    assert omnigraph("blob get node Book x cover --store shelf.omni").stdout == "bytes"


def test_a_wrong_list_of_bases_is_told_with_its_place(
    shelf: Graph, omnigraph: Omnigraph, operator: Callable[[str], None]
) -> None:
    operator("external_blobs:\n  allow: [1]\n")
    assert "external_blobs.allow must be a list" in omnigraph("snapshot shelf.omni").stderr
    operator("external_blobs:\n  allow: [https://host/]\n")
    assert "not an s3:// or file:// address" in omnigraph("snapshot shelf.omni").stderr


# --- export and clone -------------------------------------------------------------------------------------


def test_an_export_with_its_line_is_imported_and_a_broken_one_is_not(
    shelf: Graph, omnigraph: Omnigraph, desk: Path
) -> None:
    (desk / "new.pg").write_text(SCHEMA)
    text = omnigraph("export shelf.omni --manifest").stdout
    (desk / "whole.jsonl").write_text(text)
    (desk / "part.jsonl").write_text(text.partition("\n")[2])
    assert omnigraph("init --schema new.pg new.omni").exit_code == 0
    refused = omnigraph("load --data part.jsonl --mode overwrite new.omni --json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["error"]["code"] == "export_damaged"
    assert omnigraph("load --data whole.jsonl --mode overwrite new.omni").exit_code == 0
    assert omnigraph("export new.omni").stdout == omnigraph("export shelf.omni").stdout


def test_an_export_of_a_snapshot_and_options_that_exclude_each_other(shelf: Graph, omnigraph: Omnigraph) -> None:
    shelf.tag("first")
    shelf.mutate('query q() { insert Book { isbn: "z" } }')
    assert len(omnigraph("export shelf.omni --snapshot first").stdout.splitlines()) == 9
    assert len(omnigraph("export shelf.omni").stdout.splitlines()) == 10
    for line in ("export shelf.omni --snapshot first --branch main", "export shelf.omni --manifest --output out"):
        assert omnigraph(line).exit_code == 2


def test_clone_makes_another_graph_and_tells_what_it_has(shelf: Graph, omnigraph: Omnigraph) -> None:
    shelf.create_branch("draft").mutate('query q() { insert Book { isbn: "z" } }')
    document = json.loads(omnigraph("clone shelf.omni copies/one.omni --history --json").stdout)
    assert (document["branches"], document["commits"], document["history"]) == (["draft", "main"], 3, True)
    assert exports(Graph.open("copies/one.omni")) == exports(shelf)
    shown = omnigraph("clone two.omni --store shelf.omni --branch draft").stdout
    assert "1 branches, 1 commits, 10 entities on main" in shown
    again = omnigraph("clone shelf.omni two.omni --json")
    assert (again.exit_code, json.loads(again.stdout)["error"]["code"]) == (1, "clone_target_exists")


@pytest.mark.parametrize(
    "line", ["clone", "clone a b c", "clone shelf.omni x --snapshot main --history", "clone shelf.omni x --as me"]
)
def test_clone_refuses_what_it_cannot_mean(line: str, shelf: Graph, omnigraph: Omnigraph, desk: Path) -> None:
    assert omnigraph(line).exit_code in (1, 2)
    assert not (desk / "x").exists()


@pytest.mark.parametrize("line", ["export shelf.omni", f"blob get {COVER}"])
def test_a_full_disk_behind_stdout_is_an_error_of_ours(line: str, shelf: Graph, desk: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "omnigraph.cli", *line.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: cannot write 'stdout': no space left on device\n")
