"""Cedar: a compiled bundle that decides requests. The only place that knows cedarpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.policy.actions import ResourceKind
from omnigraph.policy.authorizer import (
    Decision,
    PolicyRequest,
    allowed_message,
    denied_message,
    unknown_actor_message,
)
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar_text import NAMESPACE, SCHEMA, SERVER_ID, entities, policies, policy_id
from omnigraph.policy.errors import InvalidPolicy, PolicyEvaluationFailed

if TYPE_CHECKING:
    import cedarpy


class CedarPolicy:
    """One bundle, compiled for one graph or for the server. Immutable, and safe to share between threads."""

    def __init__(self, bundle: Bundle, graph_id: str, kind: ResourceKind, compiled: _Compiled) -> None:
        self.bundle = bundle
        self.graph_id = graph_id
        self.kind = kind
        self._compiled = compiled
        self._rules = {
            policy_id(rule, action, group): rule.id
            for rule in bundle.rules
            for action in rule.actions
            for group in rule.groups
        }

    @property
    def branch_examples(self) -> tuple[str, ...]:
        """A branch for each pattern of its rules."""
        return tuple({pattern.replace("*", "x"): None for rule in self.bundle.rules for pattern in rule.branches})

    def authorize(self, actor: str, request: PolicyRequest) -> Decision:
        """Decides one request. Who is in no group is denied; otherwise a rule must allow it and none forbid it."""
        if actor not in self.bundle.actors:
            return Decision(allowed=False, rule=None, message=unknown_actor_message(actor, request))
        allowed, reasons = self._compiled.decide(self._cedar_request(actor, request))
        rules = sorted({self._rules[reason] for reason in reasons}, key=str.encode)
        message = allowed_message(actor, request) if allowed else denied_message(actor, request)
        return Decision(allowed=allowed, rule=rules[0] if rules else None, message=message)

    def _cedar_request(self, actor: str, request: PolicyRequest) -> dict[str, Any]:
        resource = {"type": f"{NAMESPACE}::Graph", "id": self.graph_id}
        if request.action.resource_kind == "server":
            resource = {"type": f"{NAMESPACE}::Server", "id": SERVER_ID}
        return {
            "principal": {"type": f"{NAMESPACE}::Actor", "id": actor},
            "action": {"type": f"{NAMESPACE}::Action", "id": str(request.action)},
            "resource": resource,
            "context": self._context(request),
        }

    def _context(self, request: PolicyRequest) -> dict[str, Any]:
        protected = self.bundle.protected_branches
        return {
            "has_branch": request.branch is not None,
            "branch": request.branch or "",
            "has_target_branch": request.target_branch is not None,
            "target_branch": request.target_branch or "",
            "branch_is_protected": request.branch in protected,
            "target_branch_is_protected": request.target_branch in protected,
            "has_query": request.query is not None,
            "query": request.query or "",
        }


class _Compiled:
    """The three handles that cedarpy parses once: asking with text takes fifty times as long."""

    def __init__(self, policy_set: cedarpy.PolicySet, known: cedarpy.Entities, schema: cedarpy.Schema) -> None:
        self._policies, self._entities, self._schema = policy_set, known, schema

    def decide(self, request: dict[str, Any]) -> tuple[bool, list[str]]:
        """Whether Cedar allows a request, and the names of the policies that decided."""
        import cedarpy

        result = cedarpy.is_authorized(request, self._policies, self._entities, self._schema)
        errors = list(result.diagnostics.errors)
        if errors or result.decision not in (cedarpy.Decision.Allow, cedarpy.Decision.Deny):
            reason = "; ".join(map(str, errors)) or f"Cedar answered {result.decision}"
            raise PolicyEvaluationFailed(action=request["action"]["id"], reason=reason)
        named = result.diagnostics.id_annotations_by_reason
        return result.decision is cedarpy.Decision.Allow, list(named.values())


def compile_policy(bundle: Bundle, graph_id: str, *, kind: ResourceKind = "graph", file: str = "policy") -> CedarPolicy:
    """Compiles a bundle for one graph, or for the server, and validates the result strictly against the schema.

    Raises InvalidPolicy for a rule of the other kind, and for what Cedar refuses.
    """
    import cedarpy

    _require_kind(bundle, kind, file)
    text = policies(bundle, graph_id)
    try:
        validated = cedarpy.validate_policies(text, SCHEMA)
        if not validated.validation_passed:
            raise InvalidPolicy(file=file, place="", reason="; ".join(str(error.error) for error in validated.errors))
        schema = cedarpy.Schema.from_str(SCHEMA)
        known = cedarpy.Entities.from_json_str(entities(bundle, graph_id, kind), schema)
        compiled = _Compiled(cedarpy.PolicySet.from_str(text), known, schema)
    except ValueError as error:
        raise InvalidPolicy(file=file, place="", reason=f"Cedar refuses the policy: {error}") from error
    return CedarPolicy(bundle, graph_id, kind, compiled)


def _require_kind(bundle: Bundle, kind: ResourceKind, file: str) -> None:
    """A file is about graphs or about the server; a rule of the other kind belongs into another file."""
    wanted = "server-scoped" if kind == "server" else "per-graph"
    if bundle.kind not in (None, kind):
        reason = f"it says 'kind: {bundle.kind}' and is used as a {wanted} policy"
        raise InvalidPolicy(file=file, place="kind", reason=reason)
    for rule in bundle.rules:
        if rule.resource_kind != kind:
            other = "per-graph" if kind == "server" else "server-scoped"
            actions = ", ".join(action for action in rule.actions)
            reason = f"this is a {wanted} policy, and '{actions}' is {other}: move the rule to a {other} policy file"
            raise InvalidPolicy(file=file, place=f"rule '{rule.id}'", reason=reason)
