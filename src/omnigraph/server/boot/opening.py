"""Opening a generation: every graph with its policy and stored queries. One that cannot be served is left out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from omnigraph.embeddings import config_from_profile
from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError, sentence_of
from omnigraph.policy import (
    Action,
    Authorizer,
    CedarPolicy,
    ReadOnlyAuthorizer,
    compile_policy,
    parse_bundle,
)
from omnigraph.server.app import GRAPH_ID, RESERVED_IDS
from omnigraph.server.boot.launch import BootRefused
from omnigraph.server.observe import event
from omnigraph.server.serving import PolicyText, ServedGraph, Serving
from omnigraph.server.state import Generation, RoutedGraph
from omnigraph.server.stored_queries import stored_queries

OPEN_AT_ONCE = 4


def open_generation(
    serving: Serving, *, is_open: bool, require_all: bool, before: Generation | None = None
) -> Generation:
    """Opens every graph; those that were open before keep what they have in memory.

    Raises BootRefused if nothing can be served, or not everything that must be.
    """
    _require_distinct(serving)
    server_policy = _compiled(serving.server_policy, "", "server") if serving.server_policy is not None else None
    with ThreadPoolExecutor(OPEN_AT_ONCE, thread_name_prefix="open") as pool:
        opened = list(pool.map(lambda served: _try_open(served, is_open, before), serving.graphs))
    graphs = {each.graph_id: each for each in opened if isinstance(each, RoutedGraph)}
    failed = {
        served.graph_id: each for served, each in zip(serving.graphs, opened, strict=True) if isinstance(each, str)
    }
    skipped = {**serving.skipped, **failed}
    for graph_id, reason in skipped.items():
        event("graph skipped", level=logging.WARNING, graph=graph_id, reason=reason)
    if skipped and require_all:
        raise BootRefused(
            f"these graphs cannot be served: {', '.join(f'{name}: {why}' for name, why in skipped.items())}"
        )
    if not graphs and len(skipped) == 1:
        raise BootRefused("; ".join(skipped.values()))
    if not graphs:
        raise BootRefused("no graph can be served", "the log has the reason of each")
    _require_distinct_roots(graphs)
    policies = {served.graph_id: _policy_of_skipped(served) for served in serving.graphs if served.graph_id in failed}
    return Generation(serving, graphs, skipped, server_policy, policies)


def _require_distinct(serving: Serving) -> None:
    ids = [served.graph_id for served in serving.graphs]
    for name in ids:
        if ids.count(name) > 1:
            raise BootRefused(f"two graphs have the id '{name}'")


def _require_distinct_roots(graphs: Mapping[str, RoutedGraph]) -> None:
    seen: dict[str, str] = {}
    for routed in graphs.values():
        other = seen.setdefault(routed.bare.uri, routed.graph_id)
        if other != routed.graph_id:
            raise BootRefused(f"graphs '{other}' and '{routed.graph_id}' are the same one")


def _try_open(served: ServedGraph, is_open: bool, before: Generation | None) -> RoutedGraph | str:
    """The graph, or why it cannot be served."""
    try:
        return _opened(served, is_open, before)
    except OmniGraphError as error:
        return sentence_of(error)
    except Exception as error:  # noqa: BLE001 - one broken graph must not keep the others from being served
        return f"{type(error).__name__}: {error}"


def _opened(served: ServedGraph, is_open: bool, before: Generation | None) -> RoutedGraph:
    if GRAPH_ID.fullmatch(served.graph_id) is None or served.graph_id in RESERVED_IDS:
        raise BootRefused(f"'{served.graph_id}' is not a graph id", "ids are 1 to 64 letters, digits and '-'")
    known = None if before is None else before.graphs.get(served.graph_id)
    bare = _handle(served) if known is None or not _is_same(known.served, served) else known.bare
    stored = stored_queries(served.graph_id, served.queries, bare.schema.catalog)
    policy = _authorizer(served, is_open)
    event("graph routed", graph=served.graph_id, stored_queries=len(stored))
    return RoutedGraph(
        graph_id=served.graph_id,
        graph=bare.with_policy(policy),
        bare=bare,
        served=served,
        stored=stored,
        lists_what_may_run=isinstance(policy, CedarPolicy) and _tells_queries_apart(policy),
    )


def _handle(served: ServedGraph) -> Graph:
    """The graph for writing, with what the revision allows and provides. The key of a provider is a variable of this
    process: without it the graph could not embed, and is not served."""
    embedding = config_from_profile(served.embedding) if served.embedding else None
    return Graph.open(served.uri, blob_bases=served.blob_bases, embedding=embedding)


def _is_same(one: ServedGraph, other: ServedGraph) -> bool:
    """Whether one handle does for both: they differ at most in their queries and policies."""
    return (one.uri, one.blob_bases, one.embedding) == (other.uri, other.blob_bases, other.embedding)


def _authorizer(served: ServedGraph, is_open: bool) -> Authorizer | None:
    """What decides: the policy of the graph, reads alone where callers are known but no policy is, or nothing."""
    if served.policy is not None:
        return _compiled(served.policy, served.graph_id, "graph")
    return None if is_open else ReadOnlyAuthorizer()


def _compiled(policy: PolicyText, graph_id: str, kind: str) -> CedarPolicy:
    bundle = parse_bundle(policy.text, file=policy.name)
    return compile_policy(bundle, graph_id, kind="server" if kind == "server" else "graph", file=policy.name)


def _tells_queries_apart(policy: CedarPolicy) -> bool:
    return any(rule.queries and Action.INVOKE_QUERY in rule.actions for rule in policy.bundle.rules)


def _policy_of_skipped(served: ServedGraph) -> Authorizer | None:
    """Who may know that a graph is there although it cannot be served; nobody without a policy."""
    if served.policy is None:
        return None
    try:
        return _compiled(served.policy, served.graph_id, "graph")
    except OmniGraphError:
        return None
