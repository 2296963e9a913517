"""Degree files: the degrees of a large edge table, kept beside its topologies in the user's cache folder.

A file is named as a topology is: by the graph's first commit and what decides the rows of the edges and their nodes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from omnigraph.query.plan.degrees import QUANTILES, Degrees, EdgeDegrees
from omnigraph.query.topology import TopologyFiles
from omnigraph.storage.tables import TableIdentity

FORMAT = 1
FILES_MAX = 256
"""The files that are kept per graph; the oldest go."""


def write_degrees(files: TopologyFiles, tables: tuple[TableIdentity, ...], degrees: EdgeDegrees, edges: int) -> None:
    """Best effort: a cache that cannot be written is no reason to fail a query."""
    path = _path(files, tables)
    document = {"format": FORMAT, "edges": edges, "degrees": asdict(degrees)}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as file:
            json.dump(document, file)
        Path(file.name).replace(path)
        kept = sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)
        for old in kept[: max(0, len(kept) - FILES_MAX)]:
            old.unlink(missing_ok=True)


def read_degrees(files: TopologyFiles, tables: tuple[TableIdentity, ...]) -> tuple[EdgeDegrees, int] | None:
    """The degrees and how many edges there were; None when the file is missing or is not what it should be."""
    try:
        document = json.loads(_path(files, tables).read_text())
        if document["format"] != FORMAT:
            return None
        said = document["degrees"]
        out, into = (Degrees(**{**said[side], "quantiles": tuple(said[side]["quantiles"])}) for side in ("out", "into"))
        if len(out.quantiles) != len(QUANTILES) or len(into.quantiles) != len(QUANTILES):
            return None
        return EdgeDegrees(out, into, said["crossed"]), int(document["edges"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(files: TopologyFiles, tables: tuple[TableIdentity, ...]) -> Path:
    """The tables are the edges and the nodes at both ends."""
    name = hashlib.sha256(repr([table.content for table in tables]).encode()).hexdigest()[:32]
    return files.folder / "degrees" / files.genesis / f"{name}.json"
