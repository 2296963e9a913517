"""The operator's own configuration: `config.yaml` in `$OMNIGRAPH_HOME` or `~/.omnigraph`. Absent means empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from omnigraph.cli.refusals import InvalidOperatorConfig
from omnigraph.model.late_dataclass import dataclass

OUTPUT_FORMATS = ("table", "kv", "csv", "jsonl", "json")
CELL_LAYOUTS = ("truncate", "wrap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a command takes when neither the command line nor a profile says otherwise."""

    output: str = "table"
    table_max_column_width: int = 80
    table_cell_layout: str = "truncate"
    server: str | None = None
    store: str | None = None
    default_graph: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named scope. That it binds exactly one thing is checked when it is used, not when it is read."""

    server: str | None = None
    cluster: str | None = None
    store: str | None = None
    default_graph: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A short name for a stored query of a server."""

    server: str
    query: str
    graph: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorConfig:
    """Everything in `config.yaml`, and its unknown keys."""

    actor: str | None = None
    defaults: Defaults = field(default_factory=Defaults)
    servers: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    blob_bases: tuple[str, ...] = ()
    """Where external blobs of a write may lie: `external_blobs.allow`."""
    unknown_keys: tuple[str, ...] = ()


def operator_home(environ: Mapping[str, str]) -> Path | None:
    """Where the operator's files are, or None on a machine without a home directory."""
    try:
        configured = environ.get("OMNIGRAPH_HOME")
        return Path(configured).expanduser() if configured else Path.home() / ".omnigraph"
    except RuntimeError:
        return None


def load_operator_config(environ: Mapping[str, str]) -> OperatorConfig:
    """Read `config.yaml`. The YAML library is imported only when there is a file."""
    home = operator_home(environ)
    path = home / "config.yaml" if home else None
    if path is None:
        return OperatorConfig()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return OperatorConfig()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOperatorConfig(f"cannot read '{path}': {error}") from error
    return read_operator_config(text, str(path))


def read_operator_config(text: str, path: str) -> OperatorConfig:
    """The configuration that a YAML text means. Wrong shapes are refused, unknown keys are kept for a warning."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise InvalidOperatorConfig(f"'{path}' is not valid YAML: {' '.join(str(error).split())}") from error
    return _Reader(path).config(document)


Kind = Literal["string", "integer", "map", "list"]
_PYTHON: dict[Kind, type] = {"string": str, "integer": int, "map": dict, "list": list}
_ALIAS_KEYS: dict[str, Kind] = {
    "server": "string",
    "graph": "string",
    "query": "string",
    "args": "list",
    "params": "map",
    "format": "string",
}


class _Reader:
    """Walks the document and remembers the keys that it did not know."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.unknown: list[str] = []

    def config(self, document: object) -> OperatorConfig:
        top = self.section(
            document,
            "",
            dict.fromkeys(
                ("operator", "defaults", "servers", "clusters", "profiles", "aliases", "external_blobs"), "map"
            ),
        )
        return OperatorConfig(
            actor=self.section(top.get("operator"), "operator", {"actor": "string"}).get("actor"),
            defaults=self.defaults(top.get("defaults")),
            servers={
                name: self.required(value, f"servers.{name}", "url") for name, value in self.members(top, "servers")
            },
            clusters={
                name: self.required(value, f"clusters.{name}", "root") for name, value in self.members(top, "clusters")
            },
            profiles={name: self.profile(value, f"profiles.{name}") for name, value in self.members(top, "profiles")},
            aliases={name: self.alias(value, f"aliases.{name}") for name, value in self.members(top, "aliases")},
            blob_bases=self.blob_bases(top.get("external_blobs")),
            unknown_keys=tuple(self.unknown),
        )

    def blob_bases(self, value: object) -> tuple[str, ...]:
        allowed = self.section(value, "external_blobs", {"allow": "list"}).get("allow", [])
        if not all(isinstance(base, str) for base in allowed):
            raise self.refuse("external_blobs.allow must be a list of texts such as s3://bucket/folder/")
        return tuple(allowed)

    def defaults(self, value: object) -> Defaults:
        known: dict[str, Kind] = {
            "output": "string",
            "table_max_column_width": "integer",
            "table_cell_layout": "string",
            "server": "string",
            "store": "string",
            "default_graph": "string",
        }
        found = self.section(value, "defaults", known)
        self.one_of(found, "output", OUTPUT_FORMATS)
        self.one_of(found, "table_cell_layout", CELL_LAYOUTS)
        for other in ("server", "default_graph"):
            if "store" in found and other in found:
                raise self.refuse(f"defaults.store and defaults.{other} cannot be combined: a default binds one entity")
        return Defaults(**found)

    def profile(self, value: object, where: str) -> Profile:
        known: dict[str, Kind] = dict.fromkeys(("server", "cluster", "store", "default_graph"), "string")
        return Profile(**self.section(value, where, known))

    def alias(self, value: object, where: str) -> Alias:
        found = self.section(value, where, _ALIAS_KEYS)
        for key in ("server", "query"):
            if key not in found:
                raise self.refuse(f"{where}.{key} is required")
        if found.get("format", "table") not in OUTPUT_FORMATS:
            raise self.refuse(f"{where}.format must be one of {', '.join(OUTPUT_FORMATS)}, got '{found['format']}'")
        args = found.pop("args", [])
        if not all(isinstance(each, str) for each in args):
            raise self.refuse(f"{where}.args must be a list of names")
        return Alias(**found, args=tuple(args))

    def required(self, value: object, where: str, key: str) -> str:
        found = self.section(value, where, {key: "string"})
        if key not in found:
            raise self.refuse(f"{where}.{key} is required")
        return str(found[key])

    def members(self, top: Mapping[str, object], key: str) -> list[tuple[str, object]]:
        value = top.get(key)
        return [(str(name), member) for name, member in value.items()] if isinstance(value, dict) else []

    def section(self, value: object, where: str, known: Mapping[str, Kind]) -> dict[str, Any]:
        """The known keys of a map that are set, each of the right kind."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.refuse(f"{where or 'the document'} must be a map")
        found = {}
        for key, member in value.items():
            dotted = f"{where}.{key}" if where else str(key)
            if key not in known:
                self.unknown.append(dotted)
            elif member is not None:
                if not isinstance(member, _PYTHON[known[key]]) or isinstance(member, bool):
                    raise self.refuse(f"{dotted} must be a {known[key]}, got {member!r}")
                found[key] = member
        return found

    def one_of(self, found: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> None:
        if key in found and found[key] not in allowed:
            raise self.refuse(f"defaults.{key} must be one of {', '.join(allowed)}, got '{found[key]}'")

    def refuse(self, reason: str) -> InvalidOperatorConfig:
        return InvalidOperatorConfig(f"'{self.path}': {reason}")
