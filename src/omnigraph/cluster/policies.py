"""Applied policies: each with its file and what it is bound to, the graphs of the cluster or the cluster itself."""

from __future__ import annotations

from collections.abc import Collection

from omnigraph.cluster.diagnostics import ClusterDiagnostic, failed
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.payloads import policy_path, read_payload
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.objects import ObjectStore

CLUSTER_BINDING = "cluster"


class NoSuchPolicy(BadRequest):
    """No applied policy is the one that was asked for, or several are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPayload:
    """A policy file as it was applied. A reader compiles it for what it is bound to."""

    name: str
    source: str
    digest: str
    applies_to: tuple[str, ...]
    """`cluster`, or `graph.<id>` for each of its graphs."""

    @property
    def is_for_server(self) -> bool:
        return CLUSTER_BINDING in self.applies_to


def read_policies(
    store: ObjectStore, ledger: Ledger, served: Collection[str], wrong: list[ClusterDiagnostic]
) -> tuple[PolicyPayload, ...]:
    """The policies of what is served; a policy of other graphs alone is left out."""
    policies = []
    for name, resource in ledger.policies.items():
        address = f"policy.{name}"
        if not resource.applies_to:
            wrong.append(failed("policy_bindings_missing", address, "the ledger does not say what it applies to"))
            continue
        if bad := [binding for binding in resource.applies_to if not _is_binding(binding)]:
            wrong.append(failed("wrong_kind_reference", address, f"'{bad[0]}' is neither cluster nor graph.<id>"))
            continue
        source = read_payload(store, policy_path(name, resource.digest), resource.digest, wrong)
        bound = tuple(
            each for each in resource.applies_to if each == CLUSTER_BINDING or each.removeprefix("graph.") in served
        )
        if source is not None and bound:
            policies.append(PolicyPayload(name=name, source=source, digest=resource.digest, applies_to=bound))
    wrong += _shared_bindings(policies)
    return tuple(policies)


def _is_binding(text: str) -> bool:
    return text == CLUSTER_BINDING or (text.startswith("graph.") and len(text) > len("graph."))


def _shared_bindings(policies: list[PolicyPayload]) -> list[ClusterDiagnostic]:
    """What two policies are bound to at once."""
    first: dict[str, str] = {}
    wrong = []
    for policy in policies:
        for binding in policy.applies_to:
            other = first.setdefault(binding, policy.name)
            if other != policy.name:
                message = f"'{binding}' has the policies '{other}' and '{policy.name}'"
                wrong.append(failed("duplicate_policy_binding", f"policy.{policy.name}", message))
    return wrong


def choose_policy(
    policies: Collection[PolicyPayload], *, name: str | None = None, graph: str | None = None, server: bool = False
) -> PolicyPayload:
    """The one policy that is meant: by its name, that of the server, that of a graph, or the only one.

    A graph without a policy of its own has that of the cluster. Raises NoSuchPolicy.
    """
    listed = ", ".join(f"'{each.name}' ({', '.join(each.applies_to)})" for each in policies) or "none"
    if name is not None:
        found, asked = [each for each in policies if each.name == name], f"named '{name}'"
    elif server:
        found, asked = [each for each in policies if each.is_for_server], "of the server"
    elif graph is not None:
        own = [each for each in policies if f"graph.{graph}" in each.applies_to]
        found, asked = own or [each for each in policies if each.is_for_server], f"of graph '{graph}'"
    else:
        found, asked = list(policies), "to choose by itself"
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchPolicy(f"the cluster has no policy {asked}; applied are: {listed}")
    raise NoSuchPolicy(
        f"the cluster has several policies: {listed}", "pass --bundle <name>, --graph <id> or --server-scope"
    )
