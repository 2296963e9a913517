"""Cedar text: a bundle as Cedar policies, entities and schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from omnigraph.policy.actions import Action, ResourceKind
from omnigraph.policy.bundle import Bundle, Rule

SERVER_ID = "root"
NAMESPACE = "Omnigraph"

SCHEMA = """
namespace Omnigraph {
  type RequestContext = {
    has_branch: Bool, branch: String,
    has_target_branch: Bool, target_branch: String,
    branch_is_protected: Bool, target_branch_is_protected: Bool,
    has_query: Bool, query: String
  };
  entity Group;
  entity Actor in [Group];
  entity Graph;
  entity Server;
  action "read", "export", "change", "schema_apply", "branch_create",
         "branch_delete", "branch_merge", "admin", "invoke_query"
    appliesTo { principal: Actor, resource: Graph, context: RequestContext };
  action "graph_list"
    appliesTo { principal: Actor, resource: Server, context: RequestContext };
}
"""


def policy_id(rule: Rule, action: Action, group: str) -> str:
    """The name of one Cedar policy. A rule with one group has the name that the contract gives it."""
    suffix = "" if len(rule.groups) == 1 else f":{group}"
    return f"{rule.id}:{action}{suffix}"


def policies(bundle: Bundle, graph_id: str) -> str:
    """One Cedar policy for each action and group of each rule."""
    texts = (
        _policy(rule, action, group, graph_id)
        for rule in bundle.rules
        for action in rule.actions
        for group in rule.groups
    )
    return "\n".join(texts)


def _policy(rule: Rule, action: Action, group: str, graph_id: str) -> str:
    resource = f'Server::"{SERVER_ID}"' if action.resource_kind == "server" else f"Graph::{quoted(graph_id)}"
    conditions = list(_conditions(rule))
    when = f" when {{ {' && '.join(conditions)} }}" if conditions else ""
    return (
        f"@id({quoted(policy_id(rule, action, group))})\n"
        f"{'permit' if rule.effect == 'allow' else 'forbid'} (\n"
        f"  principal in {NAMESPACE}::Group::{quoted(group)},\n"
        f"  action == {NAMESPACE}::Action::{quoted(action)},\n"
        f"  resource == {NAMESPACE}::{resource}\n"
        f"){when};\n"
    )


def _conditions(rule: Rule) -> Iterator[str]:
    key = rule.scope_key
    if rule.scope == "any":
        yield "true"
    elif rule.scope is not None:
        yield f"context.has_{key} && context.{key}_is_protected" + ("" if rule.scope == "protected" else " == false")
    if rule.branches:
        yield f"context.has_{key} && ({' || '.join(_fits(key, pattern) for pattern in rule.branches)})"
    if rule.queries:
        yield f"context.has_query && ({' || '.join(f'context.query == {quoted(name)}' for name in rule.queries)})"


def _fits(key: str | None, pattern: str) -> str:
    return f"context.{key} like {quoted(pattern)}"


def quoted(text: str) -> str:
    """A Cedar string. Names with control characters never come here: the reader of bundles refuses them."""
    return json.dumps(text, ensure_ascii=False)


def entities(bundle: Bundle, graph_id: str, kind: ResourceKind) -> str:
    """The entities of a bundle as Cedar's JSON: groups, actors with their groups, and the resource."""
    listed = [_entity("Group", name) for name in sorted(bundle.groups)]
    listed += [_entity("Actor", actor, bundle.groups_of(actor)) for actor in sorted(bundle.actors)]
    listed.append(_entity("Server", SERVER_ID) if kind == "server" else _entity("Graph", graph_id))
    return json.dumps(listed)


def _entity(kind: str, name: str, groups: list[str] | None = None) -> dict[str, object]:
    parents = [{"type": f"{NAMESPACE}::Group", "id": group} for group in groups or []]
    return {"uid": {"type": f"{NAMESPACE}::{kind}", "id": name}, "attrs": {}, "parents": parents}
