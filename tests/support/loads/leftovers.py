"""What a load may leave behind: staging folders, and files in tables that no version names."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.graph import Graph
from omnigraph.storage.bulk.area import tracked_paths

KINDS = ("data", "_deletions", "_indices")


def staging_left(graph: Graph) -> list[str]:
    folder = Path(graph.uri) / "__staging"
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def untracked_files(graph: Graph) -> set[str]:
    """Data files, deletion vectors and indexes, of every table and lineage, that no version names."""
    found = set()
    for folder in sorted(Path(graph.uri).glob("[ne]*/**/_versions")):
        table = folder.parent.relative_to(graph.uri).as_posix()
        paths = {f"{kind}/{name}" for kind in KINDS for name in _listed(folder.parent / kind)}
        found |= {f"{table}/{path}" for path in paths - tracked_paths(graph._storage, table)}
    return found


def _listed(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


def nothing_is_left(graph: Graph) -> bool:
    assert staging_left(graph) == []
    assert untracked_files(graph) == set()
    return True
