"""Policy files: what is refused, and that the message names the rule or the member that is wrong."""

from __future__ import annotations

import pytest

from omnigraph.policy import Action, InvalidPolicy, compile_policy, parse_bundle, read_bundle, read_cases
from policy.library import LIBRARY, SERVER

HEAD = "version: 1\ngroups: {g: [ann]}\nprotected_branches: [main]\nrules:\n"
BODY = "{actors: {group: g}, actions: [read]}"
CASE = "{id: a, actor: ann, action: read, expect: allow}"


def rule(body: str, rule_id: str = "r") -> str:
    return f"{HEAD}  - {{id: {rule_id}, allow: {{actors: {{group: g}}, {body}}}}}\n"


REFUSED = {
    "http-128-unknown member": ("version: 1\nrulez: []\n", "unknown member 'rulez'"),
    "http-128-unknown member of a rule": (rule("actions: [read], scope: any"), "unknown member 'scope'"),
    "http-128-duplicate rule id": (
        rule("actions: [read]") + rule("actions: [read]").split("rules:\n")[1],
        "two rules have this id",
    ),
    "http-128-unknown group": (rule("actions: [read]").replace("group: g", "group: h"), "rule 'r': unknown group 'h'"),
    "http-128-both scopes": (
        rule("actions: [read], branch_scope: any, target_branch_scope: any"),
        "rule 'r': 'branch_scope' and",
    ),
    "http-128-branch_scope on branch_merge": (
        rule("actions: [branch_merge], branch_scope: any"),
        "rule 'r': 'branch_scope' does not go",
    ),
    "http-128-branch_scope on invoke_query": (rule("actions: [invoke_query], branch_scope: any"), "takes no scope"),
    "http-128-graph_list mixed with read": (rule("actions: [graph_list, read]"), "rule 'r': a rule is about graphs or"),
    "scope on a server action": (
        rule("actions: [graph_list], branch_scope: any"),
        "rule 'r': 'branch_scope' does not go",
    ),
    "another version": ("version: 2\n", "version: expected 1, got 2"),
    "true is no version": ("version: true\n", "version: expected 1"),
    "no version": ("groups: {}\n", "'version' is missing"),
    "blank actor": ("version: 1\ngroups: {g: ['  ']}\n", "groups.'g'[0]: the text is blank"),
    "blank group": ("version: 1\ngroups: {' ': [a]}\n", "the text is blank"),
    "empty group": ("version: 1\ngroups: {g: []}\n", "groups.'g': the list is empty"),
    "blank branch": ("version: 1\nprotected_branches: ['']\n", "protected_branches[0]: the text is blank"),
    "blank rule id": (rule("actions: [read]", "' '"), "the text is blank"),
    "no actions": (rule("actions: []"), "rule 'r': the list is empty"),
    "an action twice": (rule("actions: [read, read]"), "rule 'r': the action 'read' stands there twice"),
    "unknown action": (rule("actions: [write]"), "rule 'r': unknown value 'write'"),
    "unknown scope": (rule("actions: [read], branch_scope: some"), "rule 'r': unknown value 'some'"),
    "allow and forbid": (f"{HEAD}  - {{id: r, allow: {BODY}, forbid: {BODY}}}", "either 'allow' or 'forbid'"),
    "neither allow nor forbid": (HEAD + "  - {id: r}", "rule 'r': a rule has either"),
    "group and groups": (
        rule("actions: [read]").replace("{group: g}", "{group: g, groups: [g]}"),
        "either 'group' or 'groups'",
    ),
    "queries of another action": (
        rule("actions: [read], queries: [q]"),
        "'queries' goes with the action 'invoke_query' alone",
    ),
    "patterns of mixed actions": (
        rule("actions: [read, branch_merge], branches: ['a/*']"),
        "rule 'r': 'branches' needs actions",
    ),
    "patterns of an action without a branch": (
        rule("actions: [admin], branches: ['a/*']"),
        "rule 'r': 'branches' needs actions",
    ),
    "a member twice": ("version: 1\nversion: 1\n", "not valid YAML"),
    "no YAML": ("version: [1\n", "not valid YAML"),
    "a list instead of a file": ("- 1\n", "expected a mapping, got a list"),
    "text instead of a list": (rule("actions: read"), "expected a list, got text"),
    "a control character": ('version: 1\ngroups: {g: ["a\\u0007b"]}\n', "control characters"),
    "an empty file": ("", "expected a mapping, got nothing"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_is_not_valid_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        parse_bundle(text, "policy.yaml")
    assert message in str(refused.value)
    assert str(refused.value).startswith("policy.yaml: ")


def test_a_rule_of_a_graph_does_not_go_into_the_policy_of_the_server() -> None:
    with pytest.raises(InvalidPolicy, match="per-graph") as refused:
        compile_policy(parse_bundle(rule("actions: [read]")), "root", kind="server")
    assert "rule 'r'" in str(refused.value)


def test_a_rule_of_the_server_does_not_go_into_the_policy_of_a_graph() -> None:
    with pytest.raises(InvalidPolicy, match="server-scoped"):
        compile_policy(parse_bundle(SERVER), "library")


def test_the_example_of_the_manual_compiles() -> None:
    policy = compile_policy(parse_bundle(LIBRARY), "library")
    assert policy.bundle.actors == {"ann", "bo", "cy", "mo", "iv"}
    assert policy.bundle.rules[2].actions == (Action.BRANCH_CREATE, Action.BRANCH_DELETE)


def test_a_file_that_cannot_be_read_says_so(tmp_path) -> None:
    with pytest.raises(InvalidPolicy, match="cannot be read"):
        read_bundle(tmp_path / "missing.yaml")


CASES = {
    "unknown member": (
        "version: 1\ncases: [{id: a, actor: ann, action: read, expect: allow, why: x}]",
        "unknown member 'why'",
    ),
    "two cases of one id": (f"version: 1\ncases: [{CASE}, {CASE}]", "two cases have this id"),
    "blank actor": ("version: 1\ncases: [{id: a, actor: '', action: read, expect: allow}]", "the text is blank"),
    "unknown expectation": (
        "version: 1\ncases: [{id: a, actor: ann, action: read, expect: maybe}]",
        "unknown value 'maybe'",
    ),
    "no cases": ("version: 1", "'cases' is missing"),
}


@pytest.mark.parametrize(("text", "message"), CASES.values(), ids=CASES.keys())
def test_a_file_of_tests_that_is_not_valid_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        read_cases(text)
    assert message in str(refused.value)
