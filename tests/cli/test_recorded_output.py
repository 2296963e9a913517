"""The Rust command line, recorded: the same commands here print the same lines, keys and key order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
RECORDED = [json.loads(line) for line in (DATA / "recorded.jsonl").read_text().splitlines()]

VOLATILE = {
    "graph_commit_id": "an id",
    "graph_branch": "commit list of a branch that has commits of its own waits for writes",
    "graph_manifest_version": "the recorded graph has loads between the commands",
    "parent_commit_id": "an id",
    "merged_parent_commit_id": "waits for merge",
    "actor_id": "waits for writes",
    "created_at": "a time",
    "dataset_path": "storage format 4 names tables by a hash",
    "published_dataset_version": "the recorded graph has loads between the commands",
    "entity_count": "waits for load",
}
"""Keys whose values cannot be equal, with the reason."""

OWN_WORDS = {
    "omnigraph schema plan --schema bad.pg lib.omni": "the planner says why in its own sentence",
}
"""Commands of which only the first two lines are shared."""

ADDED = {"tier", "code", "tables", "blocking_branches", "pinning_tags", "ignored_hints"}
"""Keys that every step of a plan has here and not there."""

RENAMED = {"b.isbn": "isbn", "b.title": "title"}
"""Lint names the columns as the rows of a query do."""

SETUP = {
    "omnigraph snapshot nowhere.omni": (),
    "omnigraph frobnicate": (),
    "omnigraph version": (),
    "omnigraph --version": (),
}
"""Commands that need no graph; all others run on the library."""


def identify(record: dict[str, Any]) -> str:
    return f"{record['command'].removeprefix('omnigraph ')} -> {record['exit']}"


@pytest.mark.parametrize("record", [pytest.param(record, id=identify(record)) for record in RECORDED])
def test_command_prints_what_was_recorded(record: dict[str, Any], omnigraph: Any, request: Any) -> None:
    command = record["command"]
    prepare(record, omnigraph, request)
    if "<ulid 6>" in command:
        head = json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"][0]["graph_commit_id"]
        command = command.replace("<ulid 6>", head)
    outcome = omnigraph(command.removeprefix("omnigraph "))
    assert outcome.exit_code == record["exit"], outcome.stderr
    assert echo_of(outcome.stderr) == echo_of(record["stderr"])
    if record["command"] in OWN_WORDS:
        assert scrubbed_text(outcome.stdout)[:2] == scrubbed_text(record["stdout"])[:2]
        return
    if record["command"].endswith("--json"):
        assert scrubbed_json(outcome.stdout) == scrubbed_json(record["stdout"])
    elif "commit show" in record["command"]:
        assert set(scrubbed_text(outcome.stdout)) < set(scrubbed_text(record["stdout"]))
    else:
        assert scrubbed_text(outcome.stdout) == scrubbed_text(record["stdout"])


def prepare(record: dict[str, Any], omnigraph: Any, request: Any) -> None:
    """Bring the graph to the state that the recorded command met."""
    command = record["command"]
    fresh = command.startswith("omnigraph init") and record["exit"] == 0
    if command in SETUP or fresh:
        return
    request.getfixturevalue("library")
    made = []
    if "branch list" in command or "branch delete other" in command:
        made = ["other", "review/new"]
    elif "review/new" in command and (record["exit"] == 1 or "commit list" in command):
        made = ["review/new"]
    for name in made:
        assert omnigraph(f"branch create {name} --store lib.omni").exit_code == 0


def echo_of(stderr: str) -> list[str]:
    """Of stderr only the naming of the write target is shared; the error's words are our own."""
    return [line for line in stderr.splitlines() if line.startswith("omnigraph ")]


def scrubbed_text(text: str) -> list[str]:
    """Lines without ids, numbers and the version, each kept once."""
    text = re.sub(r"<ulid \d+>|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<ulid>", text)
    text = re.sub(r"(?<=created_at: )(<micros>|\d+)", "<micros>", text)
    text = re.sub(r"(graph_manifest_version\W+|published_dataset_version=|entities=)\d+", r"\1N", text)
    text = re.sub(r"(internal[-_]schema\w*:?) [46]", r"\1 N", text)
    text = re.sub(r"(?m)^omnigraph [\d.]+$", "omnigraph <version>", text)
    text = re.sub(r" \[OG-\w+-\d+, \w+\]$", "", text, flags=re.MULTILINE)
    return list(dict.fromkeys(text.splitlines()))


def scrubbed_json(text: str) -> Any:
    """Keys in their order, values unless they are volatile, equal list members once."""
    return scrub(json.loads(re.sub(r"<micros>", "0", text), object_pairs_hook=list))


def scrub(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(member, tuple) for member in value):
        return [
            (key, "<volatile>" if key in VOLATILE else settled(key, scrub(v))) for key, v in value if key not in ADDED
        ]
    if isinstance(value, list):
        members: list[Any] = []
        for member in value:
            cleaned = scrub(member)
            if cleaned not in members:
                members.append(cleaned)
        return members
    return value


def settled(key: str, value: Any) -> Any:
    """Values that the rulings changed."""
    if key == "internal_schema_version":
        return "<schema version>"
    return RENAMED.get(value, value) if key == "name" else value
