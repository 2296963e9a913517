"""The Rust command line, recorded: what it says of merges and of changed entities, ours says with the same keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

RECORDED = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "recorded_history.jsonl").read_text().splitlines()
]
ADDED = ("commit", "stats", "conflicts", "conflicts_total", "dry_run")
"""Members that a merge has here and not there; they come last."""
ADD = """mutate add_author --query library.gq --params '{"slug":"SLUG","name":"NAME"}' --store lib.omni"""


@pytest.fixture
def merged(omnigraph: Any, library: Path) -> str:
    """The graph of the recorded session; returns its merge."""
    for line in (
        "load --data seed.jsonl --mode append lib.omni",
        "load --data seed.jsonl --mode merge lib.omni",
        "branch create review/new --store lib.omni",
        ADD.replace("SLUG", "butler").replace("NAME", "Octavia E. Butler") + " --branch review/new --as act-me",
        ADD.replace("SLUG", "dick").replace("NAME", "Philip K. Dick"),
    ):
        assert omnigraph(line).exit_code == 0
    done = omnigraph("branch merge review/new --store lib.omni --json")
    return str(json.loads(done.stdout)["commit"])


@pytest.mark.parametrize("record", [pytest.param(each, id=each["command"]) for each in RECORDED])
def test_history_is_told_as_it_was_recorded(record: dict[str, Any], omnigraph: Any, merged: str) -> None:
    outcome = omnigraph(record["command"].removeprefix("omnigraph ").replace("<ulid 6>", merged))
    assert outcome.exit_code == record["exit"], outcome.stderr
    if not record["command"].endswith("--json"):
        assert lines_of(outcome.stdout) == lines_of(record["stdout"])
        return
    ours, theirs = json.loads(outcome.stdout), json.loads(record["stdout"].replace("<micros>", "0"))
    assert [name for name in ours if name not in ADDED] == list(theirs)
    assert settled({name: value for name, value in ours.items() if name not in ADDED}) == settled(theirs)


def lines_of(text: str) -> list[str]:
    """Without ids and times, in no order: here properties are sorted by name."""
    text = re.sub(r"<ulid \d+>|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<ulid>", text)
    text = re.sub(r"(?<=authored_at: )\S+", "<micros>", text)
    return sorted(re.sub(r"(?<=cursor: ).+", "<cursor>", text).splitlines())


def settled(value: Any) -> Any:
    """The same without what differs from graph to graph; members of an object keep their order, properties do not."""
    if isinstance(value, dict):
        members = {name: _volatile(name, settled(member)) for name, member in value.items()}
        if "properties" in members:
            members["properties"].sort()
        return list(members.items())
    if isinstance(value, list):
        return sorted((settled(member) for member in value), key=repr)
    return value


def _volatile(name: str, value: Any) -> Any:
    if name in ("cursor", "resume_cursor", "authored_at") or name.endswith("commit_id"):
        return f"<{name}>"
    return "<id>" if name == "id" and (str(value).startswith(("<", "01")) or len(str(value)) == 43) else value
