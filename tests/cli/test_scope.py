"""Scope resolution: every row of the rules, as a table. No disk, no process."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.cli.catalogue import Capability
from omnigraph.cli.refusals import AddressConflict, InvalidProfile, NoGraphAddressed, UndeclaredName, WrongScope
from omnigraph.cli.target.operator_config import Defaults, OperatorConfig, Profile
from omnigraph.cli.target.scope import Address, ClusterScope, ServerScope, StoreScope, resolve_scope
from omnigraph.model.errors import OmniGraphError

ANY, SERVED, DIRECT, CONTROL = Capability.ANY, Capability.SERVED, Capability.DIRECT, Capability.CONTROL

CONFIG = OperatorConfig(
    servers={"prod": "http://h/base/"},
    clusters={"corp": "s3://corp/library"},
    profiles={
        "served": Profile(server="prod", default_graph="books"),
        "bare": Profile(server="prod"),
        "declared": Profile(cluster="corp", default_graph="books"),
        "literal": Profile(cluster="./cluster"),
        "local": Profile(store="lib.omni"),
        "greedy": Profile(store="lib.omni", default_graph="books"),
        "both": Profile(server="prod", store="lib.omni"),
        "empty": Profile(),
    },
)
BY_SERVER = OperatorConfig(servers=CONFIG.servers, defaults=Defaults(server="prod", default_graph="books"))
BY_STORE = OperatorConfig(defaults=Defaults(store="lib.omni"), profiles=CONFIG.profiles, servers=CONFIG.servers)

RESOLVED: list[Any] = [
    # what is named on the command line
    ("a positional URI", ANY, {"uri": "lib.omni"}, CONFIG, StoreScope("lib.omni")),
    ("--store", ANY, {"store": "s3://b/g"}, CONFIG, StoreScope("s3://b/g")),
    ("--server by name", ANY, {"server": "prod"}, CONFIG, ServerScope("http://h/base")),
    ("--server by URL", ANY, {"server": "https://h/"}, CONFIG, ServerScope("https://h")),
    ("--server and --graph", ANY, {"server": "prod", "graph": "g"}, CONFIG, ServerScope("http://h/base", "g")),
    ("--cluster by name", DIRECT, {"cluster": "corp"}, CONFIG, ClusterScope("s3://corp/library")),
    ("--cluster verbatim", DIRECT, {"cluster": "./c", "graph": "g"}, CONFIG, ClusterScope("./c", "g")),
    # what a profile names
    ("a server profile", ANY, {"profile": "served"}, CONFIG, ServerScope("http://h/base", "books")),
    ("--graph over the profile", ANY, {"profile": "served", "graph": "g"}, CONFIG, ServerScope("http://h/base", "g")),
    ("a cluster profile", DIRECT, {"profile": "declared"}, CONFIG, ClusterScope("s3://corp/library", "books")),
    ("a literal cluster profile", DIRECT, {"profile": "literal"}, CONFIG, ClusterScope("./cluster")),
    ("a store profile", DIRECT, {"profile": "local"}, CONFIG, StoreScope("lib.omni")),
    ("the command line over a profile", ANY, {"uri": "x", "profile": "served"}, CONFIG, StoreScope("x")),
    ("a profile over the defaults", ANY, {"profile": "bare"}, BY_STORE, ServerScope("http://h/base")),
    ("an empty profile name is none", ANY, {"profile": ""}, BY_STORE, StoreScope("lib.omni")),
    # what the defaults name
    ("defaults.server", ANY, {}, BY_SERVER, ServerScope("http://h/base", "books")),
    ("--graph over defaults.default_graph", ANY, {"graph": "g"}, BY_SERVER, ServerScope("http://h/base", "g")),
    ("defaults.store", DIRECT, {}, BY_STORE, StoreScope("lib.omni")),
    # served and control commands
    ("served: the graph is dropped", SERVED, {"profile": "served"}, CONFIG, ServerScope("http://h/base")),
    ("control: --cluster", CONTROL, {"cluster": "corp"}, CONFIG, ClusterScope("s3://corp/library")),
    ("control: a cluster profile", CONTROL, {"profile": "literal"}, CONFIG, ClusterScope("./cluster")),
]

REFUSED: list[Any] = [
    ("two primitives", ANY, {"uri": "a", "store": "b"}, CONFIG, AddressConflict, ("--store", "mutually exclusive")),
    (
        "all primitives",
        ANY,
        {"uri": "a", "store": "b", "server": "c", "cluster": "d"},
        CONFIG,
        AddressConflict,
        ("--cluster",),
    ),
    ("store and --graph", ANY, {"store": "a", "graph": "g"}, CONFIG, AddressConflict, ("already a single graph",)),
    ("URI and --graph", ANY, {"uri": "a", "graph": "g"}, CONFIG, AddressConflict, ("already a single graph",)),
    (
        "defaults.store and --graph",
        ANY,
        {"graph": "g"},
        BY_STORE,
        AddressConflict,
        ("does not apply to a store scope",),
    ),
    ("store profile and --graph", ANY, {"profile": "local", "graph": "g"}, CONFIG, AddressConflict, ("store scope",)),
    ("store profile with a default graph", ANY, {"profile": "greedy"}, CONFIG, AddressConflict, ("store scope",)),
    ("unknown server", ANY, {"server": "nope"}, CONFIG, UndeclaredName, ("'nope'", "prod")),
    ("unknown profile", ANY, {"profile": "nope"}, CONFIG, UndeclaredName, ("'nope'", "served")),
    ("profile with two bindings", ANY, {"profile": "both"}, CONFIG, InvalidProfile, ("'both'", "server and store")),
    ("profile with no binding", ANY, {"profile": "empty"}, CONFIG, InvalidProfile, ("'empty'", "nothing")),
    # scope x capability
    (
        "server x direct",
        DIRECT,
        {"profile": "served"},
        CONFIG,
        WrongScope,
        ("direct storage access", "--store", "--cluster"),
    ),
    ("default server x direct", DIRECT, {}, BY_SERVER, WrongScope, ("direct storage access",)),
    ("cluster x any", ANY, {"profile": "declared"}, CONFIG, WrongScope, ("not valid for graph data", "--store")),
    ("cluster x served", SERVED, {"profile": "declared"}, CONFIG, WrongScope, ("requires a server", "--server")),
    ("store x served", SERVED, {"profile": "local"}, CONFIG, WrongScope, ("requires a server",)),
    ("none x any", ANY, {}, CONFIG, NoGraphAddressed, ("no graph addressed", "--store", "--server", "--profile")),
    ("none x direct", DIRECT, {}, CONFIG, NoGraphAddressed, ("no graph addressed", "--store")),
    ("none x served", SERVED, {}, CONFIG, NoGraphAddressed, ("needs a server scope",)),
    ("none x control", CONTROL, {}, CONFIG, NoGraphAddressed, ("needs a cluster",)),
    ("server profile x control", CONTROL, {"profile": "served"}, CONFIG, NoGraphAddressed, ("needs a cluster",)),
    ("store default x control", CONTROL, {}, BY_STORE, NoGraphAddressed, ("needs a cluster",)),
    # a server where storage is expected
    ("http URI x any", ANY, {"uri": "http://h"}, CONFIG, WrongScope, ("--server http://h",)),
    (
        "http URI x direct",
        DIRECT,
        {"store": "https://h"},
        CONFIG,
        WrongScope,
        ("direct storage access", "remote server"),
    ),
]


@pytest.mark.parametrize(
    ("capability", "named", "config", "expected"), [pytest.param(*row[1:], id=row[0]) for row in RESOLVED]
)
def test_scope_is_chosen(capability: Capability, named: dict[str, str], config: OperatorConfig, expected: Any) -> None:
    assert resolve_scope(Address(**named), config, capability, "verb") == expected


@pytest.mark.parametrize(
    ("capability", "named", "config", "family", "words"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_scope_is_refused(
    capability: Capability,
    named: dict[str, str],
    config: OperatorConfig,
    family: type[OmniGraphError],
    words: tuple[str, ...],
) -> None:
    with pytest.raises(family) as caught:
        resolve_scope(Address(**named), config, capability, "verb")
    said = f"{caught.value} {caught.value.hint}"
    assert [word for word in words if word not in said] == []
