"""Degree files: the degrees of a large edge table, kept beside its topologies in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from omnigraph.query.degrees import QUANTILES, Degrees, EdgeDegrees
from omnigraph.query.topology_files import TopologyFiles
from omnigraph.storage import Table

FORMAT = 1


def write_degrees(files: TopologyFiles, table: Table, degrees: EdgeDegrees, edges: int) -> None:
    """Best effort: a cache that cannot be written is no reason to fail a query."""
    path = _path(files, table)
    document = {"format": FORMAT, "edges": edges, "degrees": asdict(degrees)}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as file:
            json.dump(document, file)
        Path(file.name).replace(path)


def read_degrees(files: TopologyFiles, table: Table) -> tuple[EdgeDegrees, int] | None:
    """The degrees and how many edges there were; None when the file is missing or is not what it should be."""
    try:
        document = json.loads(_path(files, table).read_text())
        if document["format"] != FORMAT:
            return None
        said = document["degrees"]
        out, into = (Degrees(**{**said[side], "quantiles": tuple(said[side]["quantiles"])}) for side in ("out", "into"))
        if len(out.quantiles) != len(QUANTILES) or len(into.quantiles) != len(QUANTILES):
            return None
        return EdgeDegrees(out, into, said["crossed"]), int(document["edges"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(files: TopologyFiles, table: Table) -> Path:
    name = hashlib.sha256(repr((table.pin.location, table.pin.lineage)).encode()).hexdigest()[:32]
    return files.folder / "degrees" / files.genesis / f"{name}.json"
