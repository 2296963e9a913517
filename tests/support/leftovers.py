"""What a load may leave behind: staging folders, and files in tables that no version names."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.graph import Graph
from omnigraph.storage.staging_area import _tracked


def staging_left(graph: Graph) -> list[str]:
    folder = Path(graph.uri) / "__staging"
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def untracked_files(graph: Graph) -> set[str]:
    """Data files, of every table and lineage, that no version names."""
    found = set()
    for data in sorted(Path(graph.uri).glob("[ne]*/**/data")):
        if not data.is_dir():
            continue
        table = data.parent.relative_to(graph.uri).as_posix()
        found |= {f"{table}/{name}" for name in set(os.listdir(data)) - _tracked(graph._storage, table)}
    return found


def nothing_is_left(graph: Graph) -> bool:
    assert staging_left(graph) == []
    assert untracked_files(graph) == set()
    return True
