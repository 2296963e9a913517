"""The Rust command line, recorded: its session of writes, replayed here, prints the same lines, keys and key order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

RECORDED = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "recorded_writes.jsonl").read_text().splitlines()
]

BAD = {
    "bad": '{"type":"Author","data":{"slug":"x","nam":"n"}}',
    "bad2": '{"type":"Author","data":{"slug":"x","name":"n"},"x":1}',
    "bad3": '{"type":"Author","data":{"slug":"x","name":5}}',
    "bad4": '{"edge":"Wrote","from":"nobody","to":"b-sol"}',
}

EXITS = {"already has this id": 5}
"""Errors that have a number of their own here."""

ADDED = ("engine", "files", "bytes", "seconds")
"""Members that this command line adds to a document."""

ONLY_THERE = ("butler",)
"""What the recorded session merged into main meanwhile."""


def test_recorded_session_of_writes_prints_the_same_here(omnigraph: Any, library: Path, desk: Path) -> None:
    for name, line in BAD.items():
        (desk / f"{name}.jsonl").write_text(line + "\n")
    for record in RECORDED:
        line = record["command"].removeprefix("omnigraph ").replace("<ulid 15>", "01J9Z8Q5W3V7C2B4N6M8K0H1G3")
        if branch := re.search(r"--branch (\S+)", line):
            assert omnigraph(f"branch create {branch.group(1)} --store lib.omni").exit_code == 0
        outcome = omnigraph(line)
        wanted = next((code for words, code in EXITS.items() if words in record["stderr"]), record["exit"])
        assert outcome.exit_code == wanted, f"{line}\n{outcome.stderr}"
        if "export" in line:
            assert exported(outcome.stdout) == exported(record["stdout"]), line
        elif line.endswith("--json") and record["exit"] == 0:
            ours = [member for member in ordered(outcome.stdout) if member[0] not in ADDED]
            assert ours == ordered(record["stdout"]), line
        elif record["exit"] == 0:
            assert outcome.stdout == record["stdout"], line
        elif record["exit"] == 4:
            assert list(json.loads(outcome.stdout)) == list(json.loads(record["stdout"])), line
        else:
            assert outcome.stdout == "", line


def exported(text: str) -> list[str]:
    """The lines without generated ids, in no order: here nodes come first."""
    lines = re.sub(r"<ulid \d+>|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<ulid>", text).splitlines()
    return sorted(line for line in lines if not any(word in line for word in ONLY_THERE))


def ordered(text: str) -> Any:
    """Keys in their order; ids, times and versions have to be there, whatever they are."""
    text = re.sub(r"<micros>", "0", text)
    return json.loads(text, object_pairs_hook=lambda members: [(key, scrubbed(key, value)) for key, value in members])


def scrubbed(key: str, value: Any) -> Any:
    volatile = ("graph_commit_id", "parent_commit_id", "created_at", "graph_manifest_version")
    return "<volatile>" if key in volatile and value is not None else value
