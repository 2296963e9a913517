"""Collecting: what a schema change drops for good goes from the past too, once the change is visible.

The sidecar lists it, so whoever finishes the change of a dead writer collects as well. What cannot be removed is told
and left to a later cleanup: the change has happened all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from omnigraph.model.errors import Json, LeaseLost, OmniGraphError
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage, empty_table, lineage_head
from omnigraph.write.recovery.sidecars import Sidecar

COLLECT = "collect"
_log = logging.getLogger("omnigraph.write")


@dataclass(frozen=True, slots=True)
class Collected:
    """A table whose versions up to this one are to go."""

    location: str
    version: int
    empties: bool
    """The type is gone: not even the newest version keeps rows."""


def collected_members(tables: Sequence[Collected]) -> Mapping[str, Json]:
    """As the `py` object of a sidecar carries it."""
    listed: list[Json] = [
        {"location": each.location, "version": each.version, "empties": each.empties} for each in tables
    ]
    return {"py": {COLLECT: listed}} if listed else {}


def collect(storage: GraphStorage, sidecar: Sidecar, fence: Callable[[], None]) -> None:
    """Removes what the sidecar lists. Repeating it after a death continues it."""
    own = sidecar.extra.get("py")
    listed = own.get(COLLECT) if isinstance(own, dict) else None
    for members in listed if isinstance(listed, list) else ():
        if not isinstance(members, dict):
            continue
        location, version = str(members["location"]), int(str(members["version"]))
        try:
            _collect(storage, sidecar, Collected(location, version, bool(members["empties"])), fence)
        except LeaseLost:
            raise
        except OmniGraphError as error:
            _log.warning("old versions of %s stay until the next cleanup: %s", location, error)


def _collect(storage: GraphStorage, sidecar: Sidecar, table: Collected, fence: Callable[[], None]) -> None:
    fence()
    if table.empties and (lineage_head(storage, table.location, None) or 0) <= table.version:
        empty_table(storage, table.location, sidecar.operation_id)
    old = storage.old_versions
    versions = [each.version for each in old.on_disk(table.location) if each.version <= table.version]
    old.remove(old.removal(table.location, versions), fence)
