"""Drift: a table whose newest version is not the one that the graph shows, and no write of ours explains it."""

from __future__ import annotations

from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import LoadedManifest, TablePin
from omnigraph.write.recovery import is_late


def is_drift(storage: GraphStorage, loaded: LoadedManifest, pin: TablePin) -> int | None:
    """The newest version of a table that another program moved on; None for one that is as the graph shows it.

    What a writer of ours left that had lost its lease is none: the next write takes it back.
    """
    head = storage.tables.head_version(pin)
    return None if head == pin.version or is_late(storage, loaded, pin) else head
