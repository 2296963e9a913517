"""What a load or a mutation says about itself, as a process: what happened is told, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.storage.failpoints import Point, armed

SEED = ["load", "--data", "seed.jsonl", "--mode", "append", "lib.omni"]
TESTS = str(Path(__file__).parents[1])
AUTHOR = '{"type":"Author","data":{"slug":"new","name":"n"}}\n'
BAD = '{"type":"Author","data":{"slug":"x"}}\n'
ADD = """mutate -e 'query q() { insert Author { slug: "a", name: "n" } }' --store lib.omni --idempotency-key k"""


@pytest.fixture
def shelf(omnigraph: Any, library: Path) -> Any:
    assert omnigraph(" ".join(SEED)).exit_code == 0
    return omnigraph


def head(branch: str = "main") -> str:
    return str(Graph.open("lib.omni", read_only=True).snapshot(branch).commit_id)


def interrupted(point: Point, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line with a Ctrl-C at this place."""
    paths = os.pathsep.join([TESTS, os.environ["PYTHONPATH"]])
    command = [sys.executable, "-m", "support.processes.interrupted_command", point, *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False)


# --- Ctrl-C -----------------------------------------------------------------------------------------------


def test_ctrl_c_while_indexes_are_built_prints_the_result_and_keeps_the_branch(library: Path) -> None:
    done = interrupted(Point.INDEX_BUILT, *SEED, "--branch", "b", "--from", "main", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["commit"]["graph_commit_id"] == head("b")
    assert (document["total_entities"], document["branch_created"]) == (9, True)
    assert "indexes are not built: interrupted" in document["warnings"][0]
    assert "warning: the load is done; its indexes are not built: interrupted" in done.stderr
    assert done.stderr.count("indexes are not built") == 1
    assert "error" not in done.stderr


def test_ctrl_c_after_the_publish_names_the_command_that_builds_the_indexes(library: Path) -> None:
    done = interrupted(Point.PUBLISH_AFTER, *SEED)
    assert done.returncode == 0, done.stderr
    assert "9 entities" in done.stdout
    assert "`omnigraph optimize` builds them" in done.stderr


def test_ctrl_c_before_the_commit_says_interrupted_and_leaves_nothing(library: Path) -> None:
    before = head()
    done = interrupted(Point.MUTATION_STAGED, *SEED, "--branch", "b", "--from", "main")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("error: interrupted\n")
    graph = Graph.open("lib.omni")
    assert (graph.branches(), graph.snapshot().commit_id) == (["main"], before)


# --- output that nobody takes -----------------------------------------------------------------------------


def into_nowhere(words: list[str], place: str) -> subprocess.CompletedProcess[str]:
    """The command line with a stdout that fails: a pipe without a reader, a full disk, or none at all."""
    if place == "closed":
        return subprocess.run(["bash", "-c", '"$@" >&-', "-", *command_line(words)], stderr=-1, text=True, check=False)
    if place == "full":
        with open("/dev/full", "w") as full:
            return subprocess.run(command_line(words), stdout=full, stderr=-1, text=True, check=False)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(command_line(words), stdout=writing, stderr=-1, text=True, check=False)
    finally:
        os.close(writing)


def command_line(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "omnigraph.cli", *words]


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
@pytest.mark.parametrize("place", ["pipe", "full"])
def test_a_load_whose_result_nobody_takes_says_on_stderr_that_it_is_done(
    library: Path, place: str, json_flag: list[str]
) -> None:
    done = into_nowhere([*SEED, *json_flag], place)
    assert done.returncode == 0, done.stderr
    assert f"the load is done, as commit {head()}; its result could not be written: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_mutation_whose_result_nobody_takes_says_on_stderr_that_it_is_done(library: Path) -> None:
    words = ["mutate", "-e", 'query q() { insert Author { slug: "a", name: "n" } }', "--store", "lib.omni"]
    done = into_nowhere(words, "pipe")
    assert done.returncode == 0, done.stderr
    assert f"the mutation is done, as commit {head()}; its result could not be written: broken pipe" in done.stderr


def test_a_load_without_any_stdout_is_done(library: Path) -> None:
    before = head()
    done = into_nowhere(SEED, "closed")
    assert done.returncode == 0, done.stderr
    assert head() != before


# --- repeats ----------------------------------------------------------------------------------------------


def test_a_repeated_load_says_that_it_was_done_before_and_what_it_did(shelf: Any, desk: Path) -> None:
    (desk / "in.jsonl").write_text(AUTHOR)
    line = "load --data in.jsonl --mode merge lib.omni --idempotency-key k"
    first = json.loads(shelf(f"{line} --json").stdout)
    again = json.loads(shelf(f"{line} --json").stdout)
    assert "replayed" not in first
    assert again["replayed"] is True
    assert [again[name] for name in ("nodes", "total_entities", "commit")] == [
        first[name] for name in ("nodes", "total_entities", "commit")
    ]
    told, commit = shelf(line).stdout, first["commit"]["graph_commit_id"]
    assert "1 entities across 1 node types" in told
    assert f"already done: commit {commit} has this idempotency key; nothing was written again\n" in told


def test_a_repeated_mutation_says_that_it_was_done_before_and_what_it_did(shelf: Any) -> None:
    first, again = (json.loads(shelf(f"{ADD} --json").stdout) for _ in range(2))
    assert again == {**first, "replayed": True}
    assert "1 nodes, 0 edges\nalready done: commit " in shelf(ADD).stdout


# --- branches and rejects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["", " --json"])
def test_a_failed_load_says_that_its_branch_stays_and_why(shelf: Any, desk: Path, flag: str) -> None:
    other = Graph.open("lib.omni")
    (desk / "in.jsonl").write_text('{"edge":"Cites","from":"b-sol","to":"b-sol"}\n')

    def overtake() -> None:
        other.mutate('query q() { insert Author { slug: "a", name: "n" } }', branch="b")

    with armed(Point.MUTATION_STAGED, overtake):
        outcome = shelf(f"load --data in.jsonl --mode overwrite --branch b --from main lib.omni{flag}")
    assert outcome.exit_code == 5
    sentence = f"branch 'b', which was created for this load, is kept: commit {head('b')} was made on it"
    if flag:
        assert json.loads(outcome.stdout)["error"]["notes"] == [sentence]
    else:
        assert f"note: {sentence}\n" in outcome.stderr


def test_rejects_are_mended_and_loaded_again_in_one_file(library: Path, omnigraph_process: Any, desk: Path) -> None:
    rejects = desk / "rejects.jsonl"
    rejects.write_text(AUTHOR + BAD)
    line = "load --data rejects.jsonl --reject-file rejects.jsonl --mode append lib.omni"
    assert omnigraph_process(line).exit_code == 1
    assert rejects.read_text() == AUTHOR + BAD
    assert omnigraph_process(f"{line} --on-error skip").exit_code == 0
    assert rejects.read_text() == BAD
    rejects.write_text(BAD.replace('"x"', '"x","name":"n"'))
    assert omnigraph_process(line).exit_code == 0
    assert not rejects.exists()
    assert len(list(Graph.open("lib.omni", read_only=True).export())) == 2


def test_rejects_from_stdin_that_fail_again_are_still_there(library: Path, desk: Path) -> None:
    rejects = desk / "rejects.jsonl"
    rejects.write_text(AUTHOR + BAD)
    words = ["load", "--data", "-", "--reject-file", "rejects.jsonl", "--mode", "append", "lib.omni"]
    with rejects.open() as stdin:
        done = subprocess.run(command_line(words), stdin=stdin, capture_output=True, check=False)
    assert done.returncode == 1
    assert rejects.read_text() == AUTHOR + BAD
