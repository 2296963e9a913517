"""Version control that is asked for what cannot be: one clear error with a code, from Python and from the command line,
and not one file of the graph is another one afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.model.errors import OmniGraphError

NO_CONFLICT = {"entity_kind": "node", "type_name": "Author", "entity_id": "lem", "take": "ours"}
ADD = 'query add() { insert Author { slug: "%s", name: "N" } }'


@dataclass(frozen=True)
class World:
    """A graph with a branch that is ahead and one that was merged, and a commit that is of another graph."""

    graph: og.Graph
    foreign: str
    merge: str
    first: str
    head: str


@dataclass(frozen=True)
class Case:
    """The same mistake, made in two ways."""

    code: str
    text: str
    python: Callable[[World], object]
    line: str
    """`{foreign}` and the other members of the world stand for commits."""


CASES = {
    "merge-of-an-unknown-branch": Case(
        "branch_not_found", "'drafd'", lambda world: world.graph.merge("drafd"), "merge drafd"
    ),
    "merge-into-an-unknown-branch": Case(
        "branch_not_found", "'nope'", lambda world: world.graph.merge("draft", into="nope"), "merge draft --into nope"
    ),
    "delete-of-an-unknown-branch": Case(
        "branch_not_found", "'nope'", lambda world: world.graph.delete_branch("nope"), "branch delete nope --yes"
    ),
    "diff-with-an-unknown-name": Case(
        "unknown_reference", "drafd", lambda world: list(world.graph.diff("main", "drafd")), "diff main drafd"
    ),
    "restore-to-an-unknown-name": Case(
        "unknown_reference", "nope", lambda world: world.graph.restore("nope"), "restore nope"
    ),
    "restore-on-an-unknown-branch": Case(
        "branch_not_found",
        "'nope'",
        lambda world: world.graph.branch("nope").restore("main"),
        "restore main --branch nope",
    ),
    "revert-on-an-unknown-branch": Case(
        "branch_not_found",
        "'nope'",
        lambda world: world.graph.branch("nope").revert(world.head),
        "revert {head} --branch nope",
    ),
    "log-of-an-unknown-name": Case("unknown_reference", "nope", lambda world: world.graph.log("nope"), "log nope"),
    "tag-of-an-unknown-name": Case(
        "unknown_reference", "nope", lambda world: world.graph.tag("v1", "nope"), "tag create v1 --commit nope"
    ),
    "branch-from-an-unknown-name": Case(
        "unknown_reference",
        "nope",
        lambda world: world.graph.create_branch("new", source="nope"),
        "branch create new --from nope",
    ),
    "diff-with-a-commit-of-another-graph": Case(
        "commit_not_found", "{foreign}", lambda world: list(world.graph.diff(world.foreign)), "diff {foreign} main"
    ),
    "restore-to-a-commit-of-another-graph": Case(
        "commit_not_found", "{foreign}", lambda world: world.graph.restore(world.foreign), "restore {foreign}"
    ),
    "revert-of-a-commit-of-another-graph": Case(
        "commit_not_found", "{foreign}", lambda world: world.graph.revert(world.foreign), "revert {foreign}"
    ),
    "revert-of-a-range-of-another-graph": Case(
        "commit_not_found",
        "{foreign}",
        lambda world: world.graph.revert(f"{world.foreign}..{world.head}"),
        "revert {foreign}..{head}",
    ),
    "tag-of-a-commit-of-another-graph": Case(
        "commit_not_found",
        "{foreign}",
        lambda world: world.graph.tag("v1", world.foreign),
        "tag create v1 --commit {foreign}",
    ),
    "branch-from-a-commit-of-another-graph": Case(
        "commit_not_found",
        "{foreign}",
        lambda world: world.graph.create_branch("new", source=world.foreign),
        "branch create new --from {foreign}",
    ),
    "changes-of-a-commit-of-another-graph": Case(
        "commit_not_found",
        "{foreign}",
        lambda world: world.graph.commit_changes(world.foreign),
        "commit changes {foreign}",
    ),
    "show-of-a-commit-of-another-graph": Case(
        "commit_not_found", "{foreign}", lambda world: world.graph.commit(world.foreign), "commit show {foreign}"
    ),
    "resolution-of-a-merge-that-names-no-conflict": Case(
        "invalid_resolution",
        "'lem'",
        lambda world: world.graph.merge("draft", resolve=[NO_CONFLICT]),
        "merge draft --resolve other.json",
    ),
    "resolution-of-a-revert-that-names-no-conflict": Case(
        "invalid_resolution",
        "'lem'",
        lambda world: world.graph.revert(world.head, resolve=[NO_CONFLICT]),
        "revert {head} --resolve other.json",
    ),
    "merge-into-itself": Case(
        "bad_request", "distinct", lambda world: world.graph.merge("draft", into="draft"), "merge draft --into draft"
    ),
    "merge-of-main-into-main": Case("bad_request", "distinct", lambda world: world.graph.merge("main"), "merge main"),
    "revert-of-a-merge-without-a-mainline": Case(
        "cannot_revert", "mainline", lambda world: world.graph.revert(world.merge), "revert {merge}"
    ),
    "mainline-of-a-commit-that-is-no-merge": Case(
        "cannot_revert",
        "not a merge",
        lambda world: world.graph.revert(world.head, mainline=1),
        "revert {head} --mainline 1",
    ),
    "revert-of-the-first-commit": Case(
        "cannot_revert", "first commit", lambda world: world.graph.revert(world.first), "revert {first}"
    ),
    "revert-of-a-range-that-runs-backwards": Case(
        "cannot_revert",
        "first parents",
        lambda world: world.graph.revert(f"{world.head}..{world.merge}"),
        "revert {head}..{merge}",
    ),
}


@pytest.fixture
def world(omnigraph: Any, library: Path, desk: Path) -> World:
    assert omnigraph("load --data seed.jsonl --mode append lib.omni").exit_code == 0
    graph = og.open(str(desk / "lib.omni"))
    other = og.init(str(desk / "other.omni"), (desk / "library.pg").read_text())
    foreign = other.mutate(ADD % "strugatsky").commit_id
    graph.create_branch("done").mutate(ADD % "butler")
    merge = graph.merge("done").commit_id
    graph.create_branch("draft").mutate(ADD % "russ")
    head = graph.mutate(ADD % "tiptree").commit_id
    (desk / "other.json").write_text(json.dumps([NO_CONFLICT]))
    assert foreign is not None
    assert merge is not None
    assert head is not None
    return World(graph, foreign, merge, graph.commits()[-1].commit_id, head)


def files(uri: str) -> dict[str, bytes]:
    """Everything that is stored, apart from the files that locks are taken on."""
    found = (Path(folder) / name for folder, _, names in os.walk(uri) for name in names)
    return {str(path.relative_to(uri)): path.read_bytes() for path in found if "__leases" not in path.parts}


def filled(text: str, world: World) -> str:
    return text.format(foreign=world.foreign, merge=world.merge, first=world.first, head=world.head)


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_told_with_a_code_and_changes_nothing(name: str, world: World, omnigraph: Any) -> None:
    case = CASES[name]
    before = files(world.graph.uri)
    with pytest.raises(OmniGraphError) as raised:
        case.python(world)
    assert raised.value.code == case.code
    assert filled(case.text, world) in str(raised.value)
    outcome = omnigraph(f"{filled(case.line, world)} --store lib.omni --json")
    error = json.loads(outcome.stdout)["error"]
    assert (outcome.exit_code, error["code"]) == (1, case.code)
    assert filled(case.text, world) in error["message"] + str(error.get("hint"))
    assert len(outcome.stderr.strip().splitlines()) <= 3, "one error, its hint, and what the command was about to do"
    assert files(world.graph.uri) == before
