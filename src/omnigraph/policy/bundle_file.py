"""Reading a bundle: a policy file to rules, every mistake with the rule that it is in."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from omnigraph.policy.actions import Action, ResourceKind, ScopeKey
from omnigraph.policy.bundle import Bundle, Effect, Rule, Scope
from omnigraph.policy.errors import InvalidPolicy
from omnigraph.policy.strict_yaml import Member, read_document, require_version

SCOPES: tuple[Scope, ...] = ("any", "protected", "unprotected")
SCOPE_MEMBERS: dict[str, ScopeKey] = {"branch_scope": "branch", "target_branch_scope": "target_branch"}
KINDS: tuple[ResourceKind, ...] = ("graph", "server")
BUNDLE = ("version", "kind", "groups", "protected_branches", "rules")
RULE_BODY = ("actors", "actions", *SCOPE_MEMBERS, "branches", "queries")


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Reads a policy file. Raises InvalidPolicy, also for a file that cannot be read."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidPolicy(file=str(path), place="", reason=f"the file cannot be read: {reason}") from error
    return parse_bundle(text, os.fspath(path))


def parse_bundle(text: str | bytes, file: str = "policy") -> Bundle:
    """A bundle from the text of a policy file. Raises InvalidPolicy with the rule that is wrong.

    >>> from omnigraph.policy import parse_bundle
    >>> text = "{version: 1, groups: {all: [ada]}, rules: [{id: r, allow: {actors: {group: all}, actions: [read]}}]}"
    >>> [rule.id for rule in parse_bundle(text).rules]
    ['r']
    """
    members = read_document(text, file).members(BUNDLE, ("version",))
    require_version(members)
    groups = _groups(members["groups"]) if "groups" in members else {}
    protected = members["protected_branches"].texts(non_empty=False) if "protected_branches" in members else ()
    rules = _rules(members["rules"], groups) if "rules" in members else ()
    kind = _kind(members["kind"]) if "kind" in members else None
    return Bundle(groups=groups, protected_branches=frozenset(protected), rules=rules, kind=kind)


def _kind(member: Member) -> ResourceKind:
    word = member.one_of(KINDS)
    return next(kind for kind in KINDS if kind == word)


def _groups(member: Member) -> dict[str, tuple[str, ...]]:
    return {name: actors.texts() for name, actors in member.named().items()}


def _rules(member: Member, groups: dict[str, tuple[str, ...]]) -> tuple[Rule, ...]:
    rules = tuple(_rule(item, groups) for item in member.items())
    for rule_id, count in Counter(rule.id for rule in rules).items():
        if count > 1:
            member.at(f"rule '{rule_id}'").fail("two rules have this id")
    return rules


def _rule(item: Member, groups: dict[str, tuple[str, ...]]) -> Rule:
    members = item.members(("id", "allow", "forbid"), ("id",))
    rule_id = members["id"].text()
    named = item.at(f"rule '{rule_id}'")
    effects: list[Effect] = [effect for effect in ("allow", "forbid") if effect in members]
    if len(effects) != 1:
        named.fail("a rule has either 'allow' or 'forbid'")
    body = members[effects[0]].at(f"rule '{rule_id}'").members(RULE_BODY, ("actors", "actions"))
    actions = _actions(body["actions"].at(f"rule '{rule_id}'"))
    scope, scope_key = _scope(named, body, actions)
    branches = body["branches"].texts() if "branches" in body else ()
    return Rule(
        id=rule_id,
        effect=effects[0],
        groups=_actor_groups(body["actors"].at(f"rule '{rule_id}'"), groups),
        actions=actions,
        scope=scope,
        scope_key=scope_key or (_branch_key(named, actions) if branches else None),
        branches=branches,
        queries=_queries(named, body, actions),
    )


def _actor_groups(actors: Member, groups: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    members = actors.members(("group", "groups"))
    if len(members) != 1:
        actors.fail("'actors' has either 'group' or 'groups'")
    names = (members["group"].text(),) if "group" in members else members["groups"].texts()
    for name in names:
        if name not in groups:
            actors.fail(f"unknown group '{name}'; known are {', '.join(sorted(groups)) or 'none'}")
    _refuse_twice(actors, names, "group")
    return names


def _actions(member: Member) -> tuple[Action, ...]:
    known = [str(action) for action in Action]
    actions = tuple(Action(item.at(member.place).one_of(known)) for item in member.items(non_empty=True))
    _refuse_twice(member, actions, "action")
    if len({action.resource_kind for action in actions}) > 1:
        member.fail("a rule is about graphs or about the server: 'graph_list' stands in a rule of its own")
    return actions


def _refuse_twice(member: Member, names: tuple[str, ...], what: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            member.fail(f"the {what} '{name}' stands there twice")


def _scope(rule: Member, body: dict[str, Member], actions: tuple[Action, ...]) -> tuple[Scope | None, ScopeKey | None]:
    given = [name for name in SCOPE_MEMBERS if name in body]
    if not given:
        return None, None
    if len(given) > 1:
        rule.fail("'branch_scope' and 'target_branch_scope' exclude each other")
    key = SCOPE_MEMBERS[given[0]]
    for action in actions:
        if action.scope_key != key:
            allowed = "no scope" if action.scope_key is None else f"'{action.scope_key}_scope'"
            rule.fail(f"'{given[0]}' does not go with the action '{action}', which takes {allowed}")
    word = body[given[0]].at(rule.place).one_of(SCOPES)
    return next(scope for scope in SCOPES if scope == word), key


def _branch_key(rule: Member, actions: tuple[Action, ...]) -> ScopeKey:
    """Which branch patterns look at: the actions of the rule must agree on it."""
    keys = {action.scope_key for action in actions}
    key = keys.pop()
    if keys or key is None:
        rule.fail("'branches' needs actions that are all about one branch, or all about a target branch")
    return key


def _queries(rule: Member, body: dict[str, Member], actions: tuple[Action, ...]) -> tuple[str, ...]:
    if "queries" not in body:
        return ()
    if actions != (Action.INVOKE_QUERY,):
        rule.fail("'queries' goes with the action 'invoke_query' alone")
    return body["queries"].texts()
