"""Decisions: who may do what, by which rule, and how the answer reads."""

from __future__ import annotations

import threading

import pytest

from omnigraph.policy import (
    Action,
    PolicyCase,
    PolicyRequest,
    ReadOnlyAuthorizer,
    compile_policy,
    parse_bundle,
    read_cases,
    run_cases,
)
from policy.library import LIBRARY, SERVER

LIBRARY_POLICY = compile_policy(parse_bundle(LIBRARY), "library")

DECISIONS = [
    # who, action, branch, target, rule that allows it (None: denied)
    ("ann", "read", "main", None, "read-all"),
    ("ann", "read", None, None, "read-all"),
    ("bo", "change", "drafts", None, None),
    ("ann", "change", "drafts", None, "draft-write"),
    ("ann", "change", "main", None, None),
    ("ann", "change", None, None, None),
    ("cy", "change", "main", None, "main-write"),
    ("cy", "change", "drafts", None, "draft-write"),
    ("ann", "branch_create", "main", "review/7", "draft-refs"),
    ("ann", "branch_create", "main", "main", None),
    ("ann", "branch_delete", None, "main", None),
    ("ann", "branch_merge", "drafts", "main", None),
    ("mo", "branch_merge", "drafts", "main", "merge"),
    ("bo", "export", "main", None, None),
    ("cy", "export", "main", None, "dump"),
    ("iv", "invoke_query", None, None, "run-only"),
    ("ann", "invoke_query", None, None, "run"),
    ("bo", "invoke_query", None, None, None),
    ("cy", "schema_apply", None, "main", "migrate"),
    ("cy", "schema_apply", None, "drafts", None),
    ("cy", "admin", None, None, None),
    ("iv", "read", "main", None, None),
    ("zed", "read", "main", None, None),
]


@pytest.mark.parametrize(("actor", "action", "branch", "target", "rule"), DECISIONS)
def test_the_example_decides(actor: str, action: str, branch: str | None, target: str | None, rule: str | None) -> None:
    request = PolicyRequest(action=Action(action), branch=branch, target_branch=target)
    decision = LIBRARY_POLICY.authorize(actor, request)
    assert (decision.allowed, decision.rule) == (rule is not None, rule)


def test_a_denial_names_the_action_the_branches_and_the_actor() -> None:
    request = PolicyRequest(action=Action.BRANCH_MERGE, branch="drafts", target_branch="main")
    assert LIBRARY_POLICY.authorize("ann", request).message == (
        "policy denied action 'branch_merge' on branch 'drafts' targeting branch 'main' for actor 'ann'"
    )
    unknown = LIBRARY_POLICY.authorize("zed", PolicyRequest(action=Action.READ, branch="main"))
    assert unknown.message == "policy denied action 'read' for unknown actor 'zed'"
    allowed = LIBRARY_POLICY.authorize("ann", PolicyRequest(action=Action.READ))
    assert allowed.message == "policy allowed action 'read' for actor 'ann'"


def policy_of(rules: str, protected: str = "[main]") -> object:
    text = f"version: 1\ngroups: {{all: [ann, bo], few: [bo]}}\nprotected_branches: {protected}\nrules:\n{rules}"
    return compile_policy(parse_bundle(text), "g")


def asks(policy: object, actor: str, action: str, **where: str) -> tuple[bool, str | None]:
    decision = policy.authorize(actor, PolicyRequest(action=Action(action), **where))
    return decision.allowed, decision.rule


def test_the_first_rule_in_byte_order_is_the_one_that_is_named() -> None:
    rules = "".join(
        f"  - {{id: {name}, allow: {{actors: {{group: all}}, actions: [read]}}}}\n" for name in ("b", "a", "Z")
    )
    assert asks(policy_of(rules), "ann", "read") == (True, "Z")


def test_what_is_forbidden_is_denied_whatever_else_allows_it() -> None:
    rules = (
        "  - {id: yes, allow: {actors: {group: all}, actions: [change]}}\n"
        "  - {id: no, forbid: {actors: {group: few}, actions: [change], branch_scope: protected}}\n"
    )
    policy = policy_of(rules)
    assert asks(policy, "ann", "change", branch="main") == (True, "yes")
    assert asks(policy, "bo", "change", branch="main") == (False, "no")
    assert asks(policy, "bo", "change", branch="drafts") == (True, "yes")


def test_a_pattern_narrows_a_rule_to_branches_that_fit_it() -> None:
    policy = policy_of("  - {id: r, allow: {actors: {group: all}, actions: [change], branches: ['review/*', 'x']}}\n")
    answers = {
        name: asks(policy, "ann", "change", branch=name)[0] for name in ("review/7", "review/", "x", "xy", "main")
    }
    assert answers == {"review/7": True, "review/": True, "x": True, "xy": False, "main": False}
    assert asks(policy, "ann", "change") == (False, None)


def test_a_pattern_of_merges_looks_at_the_target() -> None:
    policy = policy_of("  - {id: r, allow: {actors: {group: all}, actions: [branch_merge], branches: ['next/*']}}\n")
    assert asks(policy, "ann", "branch_merge", branch="a", target_branch="next/1")[0]
    assert not asks(policy, "ann", "branch_merge", branch="next/1", target_branch="main")[0]


def test_a_pattern_and_a_scope_must_both_fit() -> None:
    rules = (
        "  - {id: r, allow: {actors: {group: all}, actions: [change], branch_scope: unprotected, branches: ['r*']}}\n"
    )
    policy = policy_of(rules, "[release]")
    assert asks(policy, "ann", "change", branch="review") == (True, "r")
    assert asks(policy, "ann", "change", branch="release") == (False, None)


def test_a_rule_may_name_several_groups() -> None:
    rule = "{id: r, allow: {actors: {groups: [a, b]}, actions: [read]}}"
    text = f"version: 1\ngroups: {{a: [ann], b: [bo], c: [cy]}}\nrules: [{rule}]"
    policy = compile_policy(parse_bundle(text), "g")
    assert [asks(policy, actor, "read") for actor in ("ann", "bo", "cy")] == [(True, "r"), (True, "r"), (False, None)]


def test_a_rule_on_stored_queries_may_name_them() -> None:
    policy = policy_of("  - {id: r, allow: {actors: {group: all}, actions: [invoke_query], queries: [safe]}}\n")
    assert asks(policy, "ann", "invoke_query", query="safe")[0]
    assert not asks(policy, "ann", "invoke_query", query="other")[0]
    assert not asks(policy, "ann", "invoke_query")[0]


@pytest.mark.parametrize(
    "name", ['quo"te', "back\\slash", "ünïcode", "'); permit(principal,action,resource); //", "a*b"]
)
def test_names_are_data_and_never_policy_text(name: str) -> None:
    import json

    text = json.dumps(
        {
            "version": 1,
            "groups": {name: [name]},
            "protected_branches": [name],
            "rules": [
                {"id": name, "allow": {"actors": {"group": name}, "actions": ["change"], "branch_scope": "protected"}}
            ],
        }
    )
    policy = compile_policy(parse_bundle(text), name)
    assert asks(policy, name, "change", branch=name) == (True, name)
    assert asks(policy, name, "change", branch="x") == (False, None)
    assert asks(policy, name, "read", branch=name) == (False, None)


def test_the_server_has_a_policy_of_its_own() -> None:
    policy = compile_policy(parse_bundle(SERVER), "root", kind="server")
    assert asks(policy, "cy", "graph_list") == (True, "list")
    assert asks(policy, "bo", "graph_list") == (False, None)


def test_without_a_policy_known_callers_may_read_and_no_more() -> None:
    authorizer = ReadOnlyAuthorizer()
    decisions = {action: authorizer.authorize("ann", PolicyRequest(action=action)) for action in Action}
    assert {action for action, decision in decisions.items() if decision.allowed} == {Action.READ}
    assert "default-deny" in decisions[Action.CHANGE].message


def test_threads_share_a_policy() -> None:
    wrong: list[object] = []

    def ask() -> None:
        answers = {asks(LIBRARY_POLICY, "ann", "change", branch="drafts") for _ in range(50)}
        wrong.extend(answers - {(True, "draft-write")})

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cases_that_are_decided_otherwise_are_listed() -> None:
    cases = read_cases(
        "version: 1\ncases:\n"
        "  - {id: ok, actor: ann, action: change, branch: drafts, expect: allow}\n"
        "  - {id: off, actor: ann, action: change, branch: main, expect: allow}\n"
        "  - {id: merge, actor: ann, action: branch_merge, target_branch: main, expect: deny}\n"
    )
    assert [type(case) for case in cases] == [PolicyCase] * 3
    assert [str(mismatch) for mismatch in run_cases(LIBRARY_POLICY, cases)] == ["off: expected Allow but got deny"]
