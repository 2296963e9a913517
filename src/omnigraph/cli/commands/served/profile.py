"""`omnigraph profile`: the named scopes of the operator's configuration. They are data: nothing is switched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniGroup, json_option
from omnigraph.cli.output import to_json_text
from omnigraph.cli.session import Session
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.cli.target import OperatorConfig, Profile
    from omnigraph.model.errors import Json

VARIABLE = "OMNIGRAPH_PROFILE"
KINDS = ("server", "cluster", "store")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a profile binds, or why it binds nothing."""

    kind: str
    target: str | None
    error: str | None = None

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.target}" if self.error is None else f"invalid: {self.error}"


@click.group("profile", cls=OmniGroup)
def command() -> None:
    """List and show the profiles of the configuration."""


@command.command("list", example="omnigraph profile list")
@json_option
@click.pass_obj
def list_(session: Session) -> None:
    """List the profiles. One that binds nothing, or too much, is shown as invalid."""
    active = os.environ.get(VARIABLE) or None
    rows = [_row(name, profile, active) for name, profile in sorted(session.config.profiles.items())]
    if session.json:
        session.output.write(to_json_text(rows))
        return
    for line in _lines(rows):
        session.output.write(line)


def _row(name: str, profile: Profile, active: str | None) -> dict[str, Json]:
    bound = _bound(profile)
    return {
        "name": name,
        "binding": bound.text,
        "scope_kind": bound.kind,
        "target": bound.target,
        "valid": bound.error is None,
        "error": bound.error,
        "default_graph": profile.default_graph,
        "active": name == active,
    }


def _bound(profile: Any) -> Bound:
    named = [(kind, getattr(profile, kind, None)) for kind in KINDS if getattr(profile, kind, None) is not None]
    if len(named) == 1:
        return Bound(*named[0])
    found = " and ".join(kind for kind, _ in named) or "nothing"
    return Bound("invalid", None, f"it binds {found}, not exactly one of server, cluster, store")


def _lines(rows: list[dict[str, Json]]) -> Iterator[str]:
    for row in rows:
        active = " (active)" if row["active"] else ""
        graph = f" · graph: {row['default_graph']}" if row["default_graph"] else ""
        yield f"{row['name']}{active} {row['binding']}{graph}"
    if not rows:
        yield "no profiles are declared"


@command.command("show", example="omnigraph profile show live")
@click.argument("name", required=False)
@json_option
@click.pass_obj
def show(session: Session, name: str | None) -> None:
    """Show what a profile means: the one that OMNIGRAPH_PROFILE names, or the defaults, if none is given."""
    from omnigraph.cli.refusals import InvalidProfile, UndeclaredName

    config, chosen = session.config, name or os.environ.get(VARIABLE) or None
    if chosen is None:
        bound = _default(config)
        graph = config.defaults.default_graph
    else:
        profile = config.profiles.get(chosen)
        if profile is None:
            known = ", ".join(sorted(config.profiles)) or "none"
            raise UndeclaredName(f"unknown profile '{chosen}'; declared profiles: {known}")
        bound = _bound(profile)
        if bound.error is not None:
            raise InvalidProfile(f"profile '{chosen}': {bound.error}")
        graph = profile.default_graph or config.defaults.default_graph
    document: dict[str, Json] = {
        "name": chosen or "(defaults)",
        "scope_kind": bound.kind,
        "target": bound.target,
        "endpoint": _endpoint(bound, config),
        "default_graph": graph,
        "output_format": config.defaults.output,
    }
    shown = (f"{key}: {value}" for key, value in document.items() if value is not None)
    session.output.show(document, shown)


def _default(config: OperatorConfig) -> Bound:
    if config.defaults.server is None and config.defaults.store is None:
        return Bound("none", None)
    return _bound(config.defaults)


def _endpoint(bound: Bound, config: OperatorConfig) -> str | None:
    """Where it leads; None for a name that is not declared."""
    if bound.target is None or bound.kind == "store":
        return bound.target
    declared = config.servers if bound.kind == "server" else config.clusters
    literal = bound.target if bound.kind == "cluster" or "://" in bound.target else None
    return declared.get(bound.target, literal)
