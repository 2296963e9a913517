"""The session: one invocation's flags, its output, and the way from them to an open graph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from omnigraph.cli.catalogue import Capability, CommandFacts, Flag
from omnigraph.cli.output import Output

if TYPE_CHECKING:
    from omnigraph.cli.target import ClusterScope, OperatorConfig, Scope, ServerScope
    from omnigraph.client import RemoteGraph
    from omnigraph.cluster import ServedGraph, ServingSnapshot
    from omnigraph.graph import Graph
    from omnigraph.language import Diagnostic


@dataclass
class Session:
    """Filled while the command line is parsed, read by the command."""

    json: bool = False
    yes: bool = False
    quiet: bool = False
    flags: dict[Flag, str] = field(default_factory=dict)
    facts: CommandFacts | None = None
    """The command that runs; set just before it does."""

    @property
    def output(self) -> Output:
        return Output(self.json)

    @cached_property
    def config(self) -> OperatorConfig:
        """Read once, so that an unknown key is reported once."""
        from omnigraph.cli.target import load_operator_config

        config = load_operator_config(os.environ)
        for key in config.unknown_keys:
            self.output.warn(f"unknown key `{key}` in the operator's config.yaml is ignored")
        return config

    @property
    def capability(self) -> Capability:
        """What the running command needs to reach."""
        return self.facts.capability if self.facts else Capability.LOCAL

    def warn_about(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Say what a compiler noticed and accepted."""
        for diagnostic in diagnostics:
            self.output.warn(diagnostic.render())

    def enter(self, facts: CommandFacts) -> None:
        """Refuse flags that mean nothing to this command, before anything is read."""
        from omnigraph.cli.target import refusal_of

        self.facts = facts
        if reason := refusal_of(facts, self.flags):
            from omnigraph.cli.refusals import FlagNotApplicable

            raise FlagNotApplicable(reason)

    def target(self, uri: str | None, *, offline: str | None = None) -> Target:
        """The graph that this command works on; `offline` names the option that makes a graph unnecessary."""
        from omnigraph.cli.target import ClusterScope, ServerScope

        scope = self._scope(uri, offline)
        if isinstance(scope, ServerScope):
            return self._served(scope)
        if isinstance(scope, ClusterScope):
            from omnigraph.cluster import applied_graph_uri

            return Target(applied_graph_uri(scope.root, scope.graph), self)
        return Target(scope.uri, self)

    def served_target(self, server: str, graph: str | None) -> Target:
        """A graph of a server that an alias names."""
        from omnigraph.cli.target import named_server

        return self._served(named_server(server, graph, self.config))

    def _served(self, scope: ServerScope) -> Target:
        """A graph of a server, or the server itself, which is asked for its graphs when it is opened."""
        from omnigraph.cli.refusals import FlagNotApplicable
        from omnigraph.client import graph_url

        if Flag.AS in self.flags:
            raise FlagNotApplicable(
                "--as does not apply to a server: it knows the caller by the token", "drop --as, or use another token"
            )
        return Target(scope.url if scope.graph is None else graph_url(scope.url, scope.graph), self, is_served=True)

    @property
    def is_served(self) -> bool:
        """Whether a server is addressed, by a flag, a profile or the defaults."""
        from omnigraph.cli.target import ServerScope

        return isinstance(self._scope(), ServerScope)

    def server(self) -> ServerScope:
        """The server that this command works on."""
        from omnigraph.cli.refusals import WrongScope
        from omnigraph.cli.target import ServerScope

        scope = self._scope()
        if not isinstance(scope, ServerScope):
            raise WrongScope("the scope is not a server", "pass --server <name|url>")
        return scope

    def token_for(self, url: str) -> str | None:
        """The token that belongs to this address."""
        from omnigraph.cli.target import token_for

        return token_for(url, self.config.servers, os.environ)

    def _scope(self, uri: str | None = None, offline: str | None = None) -> Scope:
        """What the flags, the profile and the configuration name."""
        from omnigraph.cli.target import Address, resolve_scope

        profile = self.flags.get(Flag.PROFILE) or os.environ.get("OMNIGRAPH_PROFILE")
        named = {flag.value: self.flags.get(flag) for flag in (Flag.STORE, Flag.SERVER, Flag.CLUSTER, Flag.GRAPH)}
        label = self.facts.path if self.facts else ""
        address = Address(uri=uri, profile=profile, **named)
        return resolve_scope(address, self.config, self.capability, label, offline=offline)

    def _cluster(self) -> ClusterScope:
        from omnigraph.cli.refusals import WrongScope
        from omnigraph.cli.target import ClusterScope

        scope = self._scope()
        if not isinstance(scope, ClusterScope):
            raise WrongScope("the scope is not a cluster", "pass --cluster <dir|uri>")
        return scope

    def serving_snapshot(self) -> ServingSnapshot:
        """The applied revision of the cluster that this command works on."""
        from omnigraph.cluster import read_serving_snapshot

        snapshot = read_serving_snapshot(self._cluster().root)
        for warning in snapshot.warnings:
            self.output.warn(str(warning))
        return snapshot

    def applied_graphs(self) -> list[ServedGraph]:
        """The graphs of the cluster; the one that --graph or the profile names, where it does."""
        from omnigraph.cluster import GraphNotApplied

        graphs, wanted = list(self.serving_snapshot().graphs), self._cluster().graph
        if wanted is not None and wanted not in [graph.id for graph in graphs]:
            raise GraphNotApplied(wanted, tuple(graph.id for graph in graphs))
        return [graph for graph in graphs if wanted in (None, graph.id)]


@dataclass(frozen=True)
class Target:
    """A resolved graph address, with the manners that every command keeps towards it."""

    uri: str
    session: Session
    is_served: bool = False
    """Whether a server is between: then the address is that of the graph on it."""

    def actor_of(self, graph: Graph) -> str | None:
        """Who wrote: on a server that is what the token says."""
        return graph.actor if self.is_served else self.actor

    @property
    def actor(self) -> str | None:
        """Who writes: the flag, else the operator's configured name."""
        return self.session.flags.get(Flag.AS) or self.session.config.actor

    def announce(self, verb: str) -> None:
        """Name the target of a write on stderr before it is touched."""
        from omnigraph.cli.target import is_local

        if not self.session.quiet:
            access = "served" if self.is_served else "direct, local" if is_local(self.uri) else "direct, remote"
            self.session.output.note(f"omnigraph {verb} → {self.uri} ({access})")

    def confirm(self, verb: str) -> None:
        """Ask for consent where a destructive command needs it."""
        from omnigraph.cli.target import require_consent

        require_consent(verb, self.uri, yes=self.session.yes, json=self.session.json)

    def open_for_reading(self) -> Graph:
        """A handle without side effects."""
        return self._opened(read_only=True)

    def open_for_writing(self) -> Graph:
        """A handle that writes in the actor's name."""
        return self._opened(read_only=False)

    def _opened(self, *, read_only: bool) -> Graph:
        """The graph; what Python would print as a warning becomes a line like every other one."""
        if self.is_served:
            return self._connected(read_only=read_only)
        from omnigraph.graph import Graph

        actor = None if read_only else self.actor
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", UserWarning)
            bases = self.session.config.blob_bases
            graph = Graph.open(self.uri, read_only=read_only, actor=actor, blob_bases=bases)
        for warning in noticed:
            self.session.output.warn(str(warning.message))
        return graph

    def _connected(self, *, read_only: bool) -> Graph:
        """The graph on its server. It has the verbs of `Graph`, and refuses those that a server does not have."""
        from omnigraph.client import GraphNotNamed, connect, known_graphs

        token = self.session.token_for(self.uri)
        if "/graphs/" not in self.uri:
            found = known_graphs(self.uri, token=token)
            if found or not urlsplit(self.uri).path.strip("/"):
                raise GraphNotNamed(self.uri, tuple(found))
        return cast("Graph", connect(self.uri, token=token, read_only=read_only, is_graph=True))

    def stored(self, graph: Graph) -> Callable[..., Any]:
        """How a stored query of this graph is run."""
        return self.remote(graph).run_stored

    def remote(self, graph: Graph) -> RemoteGraph:
        """The same handle by what it is, for what only a server has."""
        return cast("RemoteGraph", graph)
