"""The catalogue: every command as data — its place in the help, its capability, the flags it takes, its module.

A new command is one row in `FAMILIES`, one row per subcommand in `COMMANDS`, and a module under `commands/`.
"""

from __future__ import annotations

from enum import StrEnum

from omnigraph.model.late_dataclass import dataclass


class Capability(StrEnum):
    """What a command needs to reach; the value is the word that people read."""

    ANY = "data"
    SERVED = "served"
    DIRECT = "direct (storage-native)"
    CONTROL = "cluster control"
    DECLARED = "server or cluster"
    LOCAL = "local"


class Flag(StrEnum):
    """The global scope flags, in the order in which they are checked."""

    SERVER = "server"
    CLUSTER = "cluster"
    GRAPH = "graph"
    STORE = "store"
    AS = "as"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Family:
    """One word after `omnigraph`: a command, or a group of commands."""

    name: str
    summary: str
    room: str = ""
    """The folder of `commands` that its module is in, if it is in one."""

    @property
    def module(self) -> str:
        """Where its click object `command` lives."""
        return f"omnigraph.cli.commands.{self.room}.{self.name}" if self.room else f"omnigraph.cli.commands.{self.name}"


@dataclass(frozen=True, slots=True)
class CommandFacts:
    """One runnable command: what it needs and which global scope flags mean something to it."""

    path: str
    """The words after `omnigraph`: `branch create`."""
    capability: Capability
    legal: frozenset[Flag]
    label: str
    """How messages name it: one word for some families, two for others."""


FAMILIES: tuple[Family, ...] = (
    Family("query", "Ask a graph a question."),
    Family("explain", "Show the plan of a query."),
    Family("mutate", "Insert, update and delete entities with a query."),
    Family("alias", "Run a stored query by a short name.", "served"),
    Family("load", "Load entities from files or tables as one commit."),
    Family("branch", "Create, list, compare, merge and delete branches."),
    Family("merge", "Merge a branch into another one as one commit."),
    Family("diff", "Show what differs between two branches, tags, commits or times."),
    Family("restore", "Give a branch the entities of an earlier commit again."),
    Family("revert", "Take back what a commit changed, as a new commit."),
    Family("tag", "Create, list and delete tags."),
    Family("snapshot", "Show the tables that a branch makes visible."),
    Family("export", "Write the entities of a branch as JSON lines, Parquet or CSV."),
    Family("blob", "Read Blob values: their bytes, or their size, kind and tag."),
    Family("clone", "Make another graph of this one, at a new path or s3:// address."),
    Family("commit", "List and show commits, and what they changed."),
    Family("log", "Show the commits of a branch, newest first."),
    Family("changes", "Follow what the commits of a branch change."),
    Family("schema", "Show the accepted schema and change it."),
    Family("graphs", "List the graphs of a server.", "served"),
    Family("init", "Create an empty graph from a schema."),
    Family("optimize", "Merge small files and bring the indexes up to date.", "upkeep"),
    Family("repair", "Show and publish what another program did to the tables.", "upkeep"),
    Family("cleanup", "Remove old versions of the tables, for good.", "upkeep"),
    Family("indexes", "Show the indexes of a branch and how much they cover.", "upkeep"),
    Family("verify", "Check a whole graph without changing it.", "upkeep"),
    Family("recoveries", "List the interrupted writes of a graph.", "upkeep"),
    Family("serve", "Serve one graph over HTTP.", "served"),
    Family("lint", "Check a query file against a schema."),
    Family("queries", "List and check stored queries.", "served"),
    Family("policy", "Check, test and explain policies.", "served"),
    Family("mcp", "Serve a graph to agents, as tools of the Model Context Protocol.", "served"),
    Family("login", "Keep the token of a server.", "served"),
    Family("logout", "Forget the token of a server.", "served"),
    Family("profile", "List and show the profiles of the configuration.", "served"),
    Family("format", "Rewrite schema and query files in the standard style."),
    Family("version", "Show the release and its storage format."),
    Family("help", "Show the help of a command."),
)
"""In the order of `omnigraph --help`."""

_READ = frozenset({Flag.SERVER, Flag.GRAPH, Flag.STORE, Flag.PROFILE})
_WRITE = _READ | {Flag.AS}
_MAINTENANCE = frozenset({Flag.CLUSTER, Flag.GRAPH, Flag.STORE, Flag.PROFILE})
_CONTROL = frozenset({Flag.CLUSTER, Flag.GRAPH, Flag.PROFILE})
_NONE: frozenset[Flag] = frozenset()


def _facts(path: str, capability: Capability, legal: frozenset[Flag], label: str | None = None) -> CommandFacts:
    return CommandFacts(path, capability, legal, label or path)


COMMANDS: dict[str, CommandFacts] = {
    facts.path: facts
    for facts in (
        _facts("query", Capability.ANY, _READ),
        _facts("explain", Capability.ANY, _READ),
        _facts("mutate", Capability.ANY, _WRITE),
        _facts("load", Capability.ANY, _WRITE),
        _facts("branch create", Capability.ANY, _WRITE, "branch"),
        _facts("branch list", Capability.ANY, _READ, "branch"),
        _facts("branch delete", Capability.ANY, _WRITE, "branch"),
        _facts("branch merge", Capability.ANY, _WRITE, "branch"),
        _facts("branch diff", Capability.ANY, _READ, "branch"),
        _facts("merge", Capability.ANY, _WRITE),
        _facts("diff", Capability.ANY, _READ),
        _facts("restore", Capability.ANY, _WRITE),
        _facts("revert", Capability.ANY, _WRITE),
        _facts("tag create", Capability.ANY, _WRITE),
        _facts("tag list", Capability.ANY, _READ),
        _facts("tag delete", Capability.ANY, _WRITE),
        _facts("snapshot", Capability.ANY, _READ),
        _facts("export", Capability.ANY, _READ),
        _facts("blob get", Capability.ANY, _READ),
        _facts("blob stat", Capability.ANY, _READ),
        _facts("clone", Capability.DIRECT, _MAINTENANCE),
        _facts("commit list", Capability.ANY, _READ, "commit"),
        _facts("commit show", Capability.ANY, _READ, "commit"),
        _facts("commit changes", Capability.ANY, _READ, "commit"),
        _facts("log", Capability.ANY, _READ),
        _facts("changes poll", Capability.ANY, _READ),
        _facts("changes baseline", Capability.ANY, _READ),
        _facts("schema show", Capability.ANY, _READ),
        _facts("schema plan", Capability.DIRECT, frozenset({Flag.STORE, Flag.PROFILE})),
        _facts("schema apply", Capability.ANY, _WRITE),
        _facts("schema restore", Capability.ANY, _WRITE),
        _facts("schema unlock", Capability.DIRECT, frozenset({Flag.STORE, Flag.PROFILE})),
        _facts("graphs list", Capability.SERVED, frozenset({Flag.SERVER, Flag.PROFILE})),
        _facts("init", Capability.DIRECT, _NONE),
        _facts("optimize", Capability.DIRECT, _MAINTENANCE),
        _facts("repair", Capability.DIRECT, _MAINTENANCE),
        _facts("cleanup", Capability.DIRECT, _MAINTENANCE),
        _facts("indexes", Capability.ANY, _READ),
        _facts("verify", Capability.DIRECT, _MAINTENANCE),
        _facts("recoveries", Capability.DIRECT, _MAINTENANCE),
        _facts("serve", Capability.DIRECT, frozenset({Flag.STORE, Flag.PROFILE})),
        _facts("lint", Capability.DIRECT, _MAINTENANCE),
        _facts("queries list", Capability.DECLARED, _CONTROL | {Flag.SERVER}),
        _facts("queries validate", Capability.CONTROL, _CONTROL),
        _facts("policy validate", Capability.CONTROL, _CONTROL, "policy"),
        _facts("policy test", Capability.CONTROL, _CONTROL, "policy"),
        _facts("policy explain", Capability.CONTROL, _CONTROL, "policy"),
        _facts("mcp", Capability.ANY, _WRITE),
        _facts("alias", Capability.LOCAL, _NONE),
        _facts("profile list", Capability.LOCAL, _NONE, "profile"),
        _facts("profile show", Capability.LOCAL, _NONE, "profile"),
        _facts("login", Capability.LOCAL, _NONE),
        _facts("logout", Capability.LOCAL, _NONE),
        _facts("format", Capability.LOCAL, _NONE),
        _facts("version", Capability.LOCAL, _NONE),
        _facts("help", Capability.LOCAL, _NONE),
    )
}

ALIASES: dict[str, str] = {"schema get": "schema show"}
"""Silent second names of commands. They do not show up in the help."""


def facts_of(path: str) -> CommandFacts:
    """The facts of a command by the words that were typed."""
    return COMMANDS[ALIASES.get(path, path)]


def legend() -> list[tuple[str, list[str]]]:
    """The capabilities that have commands, each with its commands; a family of one capability is one entry."""
    order = {family.name: place for place, family in enumerate(FAMILIES)}
    rows = []
    for capability in Capability:
        paths = sorted(
            (facts.path for facts in COMMANDS.values() if facts.capability is capability),
            key=lambda path: order[path.split()[0]],
        )
        if paths:
            rows.append((capability.value, _fold(paths)))
    return rows


def _fold(paths: list[str]) -> list[str]:
    """`branch create`, `branch list` become `branch *` when no other capability has a part of the family."""
    folded: list[str] = []
    for path in paths:
        family = path.split()[0]
        members = [known for known in COMMANDS if known.split()[0] == family]
        entry = f"{family} *" if len(members) > 1 and all(member in paths for member in members) else path
        if entry not in folded:
            folded.append(entry)
    return folded
