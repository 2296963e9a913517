"""Settings: the limits of one server process, from flags and the environment. Every one of them is stated."""

from __future__ import annotations

import os
from collections.abc import Mapping

from omnigraph.model.late_dataclass import dataclass

MIB = 1024 * 1024
BODY_MAX = MIB
LOAD_BODY_MAX = 32 * MIB
INFLIGHT_MAX = 16
BYTES_MAX = 4 * 1024 * MIB
BODY_BYTES_MAX = 256 * MIB
DRAIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one process allows. A limit of 0 for loads means none."""

    body_max: int = BODY_MAX
    load_body_max: int = LOAD_BODY_MAX
    """The largest body of a load; 0 lifts the limit."""
    inflight_max: int = INFLIGHT_MAX
    """Writes of one actor that run at the same time."""
    bytes_max: int = BYTES_MAX
    """What the running writes of one actor may weigh together."""
    body_bytes_max: int = BODY_BYTES_MAX
    """What bodies that are in memory and not decided yet may take together; one actor's may take half of it."""
    read_threads: int = 8
    """Of which one actor takes six, where there are tokens."""
    write_threads: int = 32
    """Of which the writes of one branch take four."""
    load_threads: int = 32
    """For loads, merges and other writes that may take long."""
    open_threads: int = 4
    head_seconds: float = 10.0
    """How long a client may take for the head of a request."""
    idle_seconds: float = 30.0
    """How long a client may pause within a body, or leave an answer unread."""
    keep_alive_seconds: float = 75.0
    drain_seconds: float = DRAIN_SECONDS
    """How long a shutdown waits for what is running."""
    watch_seconds: float = 2.0
    """How often token files, the cluster's state and broken graphs are looked at again."""
    query_seconds: float | None = None
    """The longest that a query may run; None for no limit."""
    decisions_kept: int = 10_000
    """How many decisions of policies the decision log holds."""
    source_version: str | None = None


def settings_from(environ: Mapping[str, str], **given: object) -> tuple[Settings, list[str]]:
    """The settings, and a warning for each variable that is no number: such a one counts as unset."""
    warnings: list[str] = []
    found: dict[str, object] = {}
    for name, variable in _INTEGERS.items():
        text = environ.get(variable, "").strip()
        if not text:
            continue
        if text.isascii() and text.isdigit():
            found[name] = int(text)
        else:
            warnings.append(f"{variable} is not a whole number, and its default is used")
    stamp = environ.get("OMNIGRAPH_SOURCE_VERSION", "").strip()
    found |= {name: value for name, value in given.items() if value is not None}
    return Settings(source_version=stamp or None, **found), warnings  # type: ignore[arg-type]


def is_set(name: str, environ: Mapping[str, str] | None = None) -> bool:
    """The rule of boolean variables: true unless empty, `0` or `false`."""
    value = (os.environ if environ is None else environ).get(name, "").strip()
    return value not in ("", "0") and value.lower() != "false"


_INTEGERS = {
    "inflight_max": "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX",
    "bytes_max": "OMNIGRAPH_PER_ACTOR_BYTES_MAX",
    "body_bytes_max": "OMNIGRAPH_BODY_BYTES_MAX",
    "load_body_max": "OMNIGRAPH_LOAD_BODY_MAX",
}
