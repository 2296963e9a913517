"""Scope resolution: from what the command line and the configuration say to the one thing a command works on. Pure.

Read downwards: `resolve_scope` chooses, `_admitted` checks the choice against what the command can do.
"""

from __future__ import annotations

from omnigraph.cli.catalogue import Capability
from omnigraph.cli.refusals import AddressConflict, InvalidProfile, NoGraphAddressed, UndeclaredName, WrongScope
from omnigraph.cli.target.operator_config import OperatorConfig, Profile
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What the caller named; `profile` is the flag, else the environment's choice."""

    uri: str | None = None
    store: str | None = None
    server: str | None = None
    cluster: str | None = None
    graph: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class ServerScope:
    """A server by its base URL, and maybe one of its graphs."""

    url: str
    graph: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterScope:
    """A cluster by its storage root, and maybe one of its graphs."""

    root: str
    graph: str | None = None


@dataclass(frozen=True, slots=True)
class StoreScope:
    """The storage of one graph."""

    uri: str


Scope = ServerScope | ClusterScope | StoreScope


def resolve_scope(
    address: Address, config: OperatorConfig, capability: Capability, label: str, *, offline: str | None = None
) -> Scope:
    """The scope of a command, or the reason why there is none; `offline` names an option that makes it unnecessary."""
    scope = _chosen(address, config, capability)
    if scope is None:
        raise _nothing_addressed(capability, label, offline)
    return _admitted(scope, capability, label)


# --- what is named ------------------------------------------------------------------------------------------


def _chosen(address: Address, config: OperatorConfig, capability: Capability) -> Scope | None:
    _refuse_two_targets(address)
    if address.cluster is not None:
        return ClusterScope(config.clusters.get(address.cluster, address.cluster), address.graph)
    if address.server is not None:
        return named_server(address.server, address.graph, config)
    direct = address.uri if address.uri is not None else address.store
    if direct is not None:
        return _store(direct, address.graph)
    if capability is Capability.CONTROL:
        return _cluster_of_profile(address, config)
    if address.profile:
        return _bound(address.profile, _profile(address.profile, config), address.graph, config)
    if config.defaults.server is not None:
        return named_server(config.defaults.server, address.graph or config.defaults.default_graph, config)
    if config.defaults.store is not None:
        return _store(config.defaults.store, address.graph)
    return None


def _refuse_two_targets(address: Address) -> None:
    named = {
        "a positional URI or --uri": address.uri,
        "--store": address.store,
        "--server": address.server,
        "--cluster": address.cluster,
    }
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise AddressConflict(f"{' and '.join(given)} are mutually exclusive", "pass only one of them")


def named_server(name: str, graph: str | None, config: OperatorConfig) -> ServerScope:
    """A declared server by its name, or any by its address."""
    url = name if "://" in name else config.servers.get(name)
    if url is None:
        raise UndeclaredName(
            f"unknown server '{name}'; declared servers: {_listed(config.servers)}",
            "declare it under `servers:` in config.yaml, or pass a URL",
        )
    return ServerScope(url.rstrip("/"), graph)


def _store(uri: str, graph: str | None) -> StoreScope:
    if graph is not None:
        raise AddressConflict(
            f"--graph '{graph}' does not apply to a store scope: '{uri}' is already a single graph", "drop --graph"
        )
    return StoreScope(uri)


def _profile(name: str, config: OperatorConfig) -> Profile:
    profile = config.profiles.get(name)
    if profile is None:
        raise UndeclaredName(f"unknown profile '{name}'; declared profiles: {_listed(config.profiles)}")
    return profile


def _bound(name: str, profile: Profile, graph: str | None, config: OperatorConfig) -> Scope:
    bindings = [kind for kind in ("server", "cluster", "store") if getattr(profile, kind) is not None]
    if len(bindings) != 1:
        found = " and ".join(bindings) or "nothing"
        raise InvalidProfile(f"profile '{name}' must bind exactly one of server, cluster, store; it binds {found}")
    chosen = graph or profile.default_graph
    if profile.server is not None:
        return named_server(profile.server, chosen, config)
    if profile.cluster is not None:
        return ClusterScope(config.clusters.get(profile.cluster, profile.cluster), chosen)
    if profile.store is None:
        raise InvalidProfile(f"profile '{name}' binds nothing")
    return _store(profile.store, chosen)


def _cluster_of_profile(address: Address, config: OperatorConfig) -> Scope | None:
    """Control commands take a cluster-bound profile; any other profile, and the defaults, count as absent."""
    if not address.profile:
        return None
    profile = _profile(address.profile, config)
    return _bound(address.profile, profile, address.graph, config) if profile.cluster is not None else None


def _listed(names: object) -> str:
    return ", ".join(sorted(names)) if isinstance(names, dict) and names else "none"


# --- what the command can work on ------------------------------------------------------------------------------


def _admitted(scope: Scope, capability: Capability, label: str) -> Scope:
    match scope, capability:
        case ServerScope(url=url), Capability.DIRECT:
            raise WrongScope(
                f"`{label}` needs direct storage access, and the scope is the server '{url}'",
                "pass --store <uri>, or --cluster <dir> --graph <id>",
            )
        case ClusterScope(), Capability.ANY:
            raise WrongScope(
                f"a cluster scope is not valid for graph data commands such as `{label}`",
                "pass --server <name|url> or --store <uri>",
            )
        case ClusterScope(), Capability.SERVED:
            raise WrongScope(
                f"`{label}` requires a server, and the scope is a cluster",
                "pass --server <name|url>; the graphs of a cluster are shown by cluster status",
            )
        case StoreScope(), Capability.DECLARED:
            raise _nothing_addressed(capability, label, None)
        case StoreScope(), Capability.SERVED:
            raise WrongScope(f"`{label}` requires a server, and the scope is a store", "pass --server <name|url>")
        case StoreScope(uri=uri), _ if uri.startswith(("http://", "https://")):
            raise _remote_store(uri, capability, label)
        case ServerScope(url=url), Capability.SERVED:
            return ServerScope(url)
        case _:
            return scope


def _nothing_addressed(capability: Capability, label: str, offline: str | None) -> NoGraphAddressed:
    if capability is Capability.SERVED:
        return NoGraphAddressed(f"`{label}` needs a server scope", "pass --server <name|url> or --profile <name>")
    if capability is Capability.CONTROL:
        return NoGraphAddressed(f"`{label}` needs a cluster", "pass --cluster <dir|uri> or a cluster profile")
    if capability is Capability.DECLARED:
        ways = "pass --server <name|url> --graph <id>, or --cluster <dir|uri>, or a profile of one"
        return NoGraphAddressed(f"`{label}` needs a server or a cluster", ways)
    ways = f"pass {offline}, " if offline else "pass "
    ways += "--store <uri>"
    if capability is Capability.ANY:
        ways += ", --server <name|url>"
    return NoGraphAddressed(
        "no graph addressed", f"{ways}, --profile <name>, or set defaults.store in the operator's config.yaml"
    )


def _remote_store(uri: str, capability: Capability, label: str) -> WrongScope:
    if capability is Capability.DIRECT:
        return WrongScope(
            f"`{label}` needs direct storage access, and the target '{uri}' is a remote server",
            "pass the storage URI of the graph",
        )
    return WrongScope(f"'{uri}' is a server, not the storage of a graph", f"use --server {uri}")
