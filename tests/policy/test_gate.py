"""The gate: with a policy, every method of `Graph` asks before it acts; without one nothing is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.policy import Action, Decision, PolicyDenied, PolicyRequest, compile_policy, parse_bundle
from policy.library import LIBRARY

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
ADD = "query add($n: String) { insert Person { name: $n } }"
ALL = "query all() { match { $p: Person } return { $p.name } }"

FREE = {
    "allows": "asks, and answers instead of acting",
    "uri": "names the graph, and reads nothing",
    "branch_name": "is what the caller gave",
    "actor": "is what the caller gave",
    "as_actor": "makes a handle that asks for itself",
    "with_policy": "makes a handle behind another policy",
    "close": "drops handles",
    "init": "makes a graph: there is no policy of it yet",
    "open": "takes the policy",
}
"""Public names that ask nothing, and why."""

CALLS: dict[str, tuple[Callable[[Graph, Path], Any], str, str | None, str | None]] = {
    # name: (call, action, branch, target branch)
    "apply_schema": (lambda g, _: g.apply_schema(SCHEMA + "node City { name: String }"), "schema_apply", None, "main"),
    "at": (lambda g, _: g.at("main"), "read", "main", None),
    "authorize": (lambda g, _: g.authorize("change", branch=" main "), "change", "main", None),
    "authorize_load": (lambda g, _: g.authorize_load(" main "), "change", "main", None),
    "baseline_lines": (lambda g, _: g.baseline_lines(), "export", "main", None),
    "baseline": (lambda g, p: g.baseline(p / "b.jsonl"), "export", "main", None),
    "blame": (lambda g, _: g.blame("Person", "Ada"), "read", "main", None),
    "blob": (lambda g, _: g.blob("Person", "Ada", "photo"), "read", "main", None),
    "branch": (lambda g, _: g.branch("main"), "read", "main", None),
    "branch_details": (lambda g, _: g.branch_details(), "read", None, None),
    "branches": (lambda g, _: g.branches(), "read", None, None),
    "changes": (lambda g, _: g.changes(), "read", "main", None),
    "cleanup": (lambda g, _: g.cleanup(keep_versions=1), "admin", None, None),
    "cleanup_staging": (lambda g, _: g.cleanup_staging(), "admin", None, None),
    "clone": (lambda g, p: g.clone(p / "copy.omni", branch="main"), "export", "main", None),
    "commit": (lambda g, _: g.commit("01K0Q6W3Z8S4B6M1T9V2R7N5XD"), "read", None, None),
    "commit_as_of": (lambda g, _: g.commit_as_of("2100-01-01T00:00:00Z"), "read", "main", None),
    "commit_changes": (lambda g, _: g.commit_changes("main"), "read", "main", None),
    "commits": (lambda g, _: g.commits(), "read", "main", None),
    "create_branch": (lambda g, _: g.create_branch(" draft "), "branch_create", "main", "draft"),
    "delete_branch": (lambda g, _: g.delete_branch(" draft "), "branch_delete", None, "draft"),
    "delete_tag": (lambda g, _: g.delete_tag("t"), "branch_delete", None, "t"),
    "diff": (lambda g, _: g.diff("main"), "read", "main", None),
    "ensure_indices": (lambda g, _: g.ensure_indices(), "admin", None, None),
    "entity_at": (lambda g, _: g.entity_at("Person", "Ada", "main"), "read", "main", None),
    "entity_log": (lambda g, _: g.entity_log("Person", "Ada"), "read", "main", None),
    "explain": (lambda g, _: g.explain(ALL), "read", "main", None),
    "export": (lambda g, _: g.export(), "export", "main", None),
    "export_to": (lambda g, p: g.export_to(p / "out"), "export", "main", None),
    "indexes": (lambda g, _: g.indexes(), "read", "main", None),
    "load": (lambda g, _: g.load("x.jsonl", mode="merge", branch=" main "), "change", "main", None),
    "log": (lambda g, _: g.log(), "read", "main", None),
    "merge": (lambda g, _: g.merge(" draft "), "branch_merge", "draft", "main"),
    "mutate": (lambda g, _: g.mutate(ADD, n="Eve", branch=" main "), "change", "main", None),
    "optimize": (lambda g, _: g.optimize(), "admin", None, None),
    "pending_recoveries": (lambda g, _: g.pending_recoveries(), "admin", None, None),
    "plan_schema": (lambda g, _: g.plan_schema(SCHEMA), "read", None, None),
    "query": (lambda g, _: g.query(ALL, branch=" main "), "read", "main", None),
    "recoveries": (lambda g, _: g.recoveries(), "admin", None, None),
    "repair": (lambda g, _: g.repair(), "admin", None, None),
    "restore": (lambda g, _: g.restore("main"), "change", "main", None),
    "restore_schema": (lambda g, _: g.restore_schema("node:Person.age", at="main"), "schema_apply", None, "main"),
    "revert": (lambda g, _: g.revert("main"), "change", "main", None),
    "schema": (lambda g, _: g.schema, "read", None, None),
    "schema_source": (lambda g, _: g.schema_source, "read", None, None),
    "snapshot": (lambda g, _: g.snapshot(), "read", "main", None),
    "snapshot_at": (lambda g, _: g.snapshot_at("GENESIS"), "read", "main", None),
    "suggest_mapping": (lambda g, _: g.suggest_mapping("x.csv"), "read", None, None),
    "tag": (lambda g, _: g.tag("t"), "branch_create", None, "t"),
    "tags": (lambda g, _: g.tags(), "read", None, None),
    "unlock_schema": (lambda g, _: g.unlock_schema(), "schema_apply", None, "main"),
    "upkeep": (lambda g, _: g.upkeep(), "admin", None, None),
    "verify": (lambda g, _: g.verify(), "admin", None, None),
}


class Nobody:
    """Denies everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, PolicyRequest]] = []

    def authorize(self, actor: str, request: PolicyRequest) -> Decision:
        self.asked.append((actor, request))
        return Decision(allowed=False, rule=None, message="nobody may do anything")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph = og.init(tmp_path / "people.omni", schema=SCHEMA)
    graph.mutate(ADD, n="Ada")
    return tmp_path / "people.omni"


def test_every_public_method_is_known_to_this_test() -> None:
    public = {name for name, _ in inspect.getmembers(Graph) if not name.startswith("_")}
    assert public == FREE.keys() | CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_method_asks_before_it_acts(name: str, root: Path, tmp_path: Path) -> None:
    call, action, branch, target = CALLS[name]
    nobody = Nobody()
    files = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    graph = og.open(root, actor="eve", policy=nobody)
    genesis = og.open(root).commits()[-1].commit_id
    if name == "snapshot_at":
        call = lambda g, _: g.snapshot_at(genesis)  # noqa: E731
    with pytest.raises(PolicyDenied):
        call(graph, tmp_path)
    assert nobody.asked == [("eve", PolicyRequest(action=Action(action), branch=branch, target_branch=target))]
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == files, "nothing was written"


def test_who_is_not_known_is_denied(root: Path) -> None:
    graph = og.open(root, policy=compile_policy(parse_bundle(LIBRARY), "people"))
    with pytest.raises(PolicyDenied, match="no actor"):
        graph.mutate(ADD, n="Eve")


def test_http_130_a_policy_decides_for_the_actor(root: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(LIBRARY)
    bo, cy = (og.open(root, actor=actor, policy=tmp_path / "policy.yaml") for actor in ("bo", "cy"))
    with pytest.raises(PolicyDenied, match="policy denied action 'change' on branch 'main' for actor 'bo'"):
        bo.mutate(ADD, n="Eve")
    assert cy.mutate(ADD, n="Eve").commit.actor_id == "cy"
    assert og.open(root).mutate(ADD, n="Kim").affected_nodes == 1


def test_a_padded_name_is_judged_as_the_branch_that_it_names(root: Path) -> None:
    ann = og.open(root, actor="ann", policy=compile_policy(parse_bundle(LIBRARY), "people"))
    with pytest.raises(PolicyDenied):
        ann.mutate(ADD, n="Eve", branch=" main ")


def test_a_load_that_makes_its_branch_needs_both_permissions(root: Path) -> None:
    policy = compile_policy(parse_bundle(LIBRARY), "people")
    ann, bo = (og.open(root, actor=actor, policy=policy) for actor in ("ann", "bo"))
    line = root.parent / "eve.jsonl"
    line.write_text('{"type":"Person","data":{"name":"Eve"}}')
    with pytest.raises(PolicyDenied, match="branch_create"):
        bo.load(line, mode="merge", branch="draft", base="main")
    assert ann.load(line, mode="merge", branch="draft", base="main").branch_created
    with pytest.raises(PolicyDenied, match="'change'"):
        ann.load(line, mode="merge", base="elsewhere")


def test_a_handle_made_from_another_one_asks_too(root: Path) -> None:
    ann = og.open(root, actor="ann", policy=compile_policy(parse_bundle(LIBRARY), "people"))
    draft = ann.create_branch("draft")
    assert draft.mutate(ADD, n="Eve").branch == "draft"
    for handle in (draft.branch("main"), draft.as_actor("bo"), ann.as_actor("bo").branch("draft")):
        with pytest.raises(PolicyDenied):
            handle.mutate(ADD, n="Eve")


def test_a_commit_is_read_with_the_permission_of_its_branch(root: Path) -> None:
    rules = (
        "version: 1\ngroups: {all: [ann]}\nprotected_branches: [main]\n"
        "rules: [{id: r, allow: {actors: {group: all}, actions: [read], branch_scope: protected}}]"
    )
    main = og.open(root)
    draft = main.create_branch("draft").mutate(ADD, n="Eve").commit.commit_id
    ann = og.open(root, actor="ann", policy=compile_policy(parse_bundle(rules), "people"))
    assert len(ann.query(ALL)) == 1
    reads = (lambda: ann.query(ALL, commit=draft), lambda: ann.at(draft), lambda: ann.diff("main", "draft"))
    for read in (*reads, lambda: ann.query(ALL, branch="draft"), lambda: ann.snapshot_at(draft)):
        with pytest.raises(PolicyDenied):
            read()


def test_who_may_not_list_the_names_learns_none_by_misspelling(root: Path) -> None:
    """`ann` may work on main and name what is not there; other branches and the tags are hidden from her."""
    rules = """version: 1
groups: {some: [ann]}
protected_branches: [main]
rules:
  - {id: r, allow: {actors: {group: some}, actions: [read, change], branch_scope: protected}}
  - {id: b, allow: {actors: {group: some}, actions: [read], branches: [hiden]}}
  - {id: t, allow: {actors: {group: some}, actions: [branch_delete, schema_apply], target_branch_scope: any}}
"""
    bare = og.open(root)
    bare.create_branch("hidden")
    bare.tag("hidden-1")
    ann = og.open(root, actor="ann", policy=compile_policy(parse_bundle(rules), "people"))
    asks: list[Callable[[Graph], Any]] = [
        lambda graph: graph.branch("hiden"),
        lambda graph: graph.diff("main", "hiden"),
        lambda graph: graph.at("tag:hiden-1"),
        lambda graph: graph.query(ALL, commit="hiden"),
        lambda graph: graph.log(since="hiden"),
        lambda graph: graph.revert("hiden"),
        lambda graph: graph.delete_tag("hiden-1"),
        lambda graph: graph.restore_schema("node:Gone", at="hiden"),
    ]
    for ask in asks:
        with pytest.raises(og.NotFound, match="hidden"):
            ask(bare)
        with pytest.raises(og.NotFound) as told:
            ask(ann)
        assert "hidden" not in str(told.value)


def test_a_merge_whose_deletion_is_denied_is_done_and_says_so(root: Path) -> None:
    main = og.open(root)
    main.create_branch("draft").mutate(ADD, n="Eve")
    mo = og.open(root, actor="mo", policy=compile_policy(parse_bundle(LIBRARY), "people"))
    result = mo.merge("draft", delete_branch=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert "policy denied action 'branch_delete'" in (result.branch_delete_error or "")
    assert main.branches() == ["draft", "main"]


def test_every_decision_is_told_to_who_listens(root: Path) -> None:
    heard: list[tuple[str, str, bool]] = []
    graph = og.open(root, actor="ann", policy=compile_policy(parse_bundle(LIBRARY), "people"))
    bo = graph.as_actor("bo", on_decision=lambda who, asked, said: heard.append((who, asked.action, said.allowed)))
    bo.query(ALL)
    with pytest.raises(PolicyDenied):
        bo.mutate(ADD, n="Eve")
    assert heard == [("bo", "read", True), ("bo", "change", False)]
