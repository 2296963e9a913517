"""Topology files: adjacencies kept in the user's cache folder, so that a new process maps them instead of building.

A file is named by what it derives from (the graph's first commit, and what decides the rows of the edge table and of
both node tables, down to the transactions that made them) and holds plain numpy arrays. Only numberings that follow the
tables' own order are kept, since those are the same in every process. The folder can be deleted at any time; a file
that cannot be read is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.entities import ResidentEntities
from omnigraph.query.topology.adjacency import Adjacency
from omnigraph.query.topology.edge_topology import ResidentTopology

EDGES_MIN = 100_000
"""Smaller topologies are built faster than files are opened and checked."""
FORMAT = "3"
FOLDERS_MAX = 64
"""The topologies that are kept per graph; the least recently used go."""


@dataclass(frozen=True, slots=True)
class TopologyFiles:
    """The files of one graph. `genesis` is the id of its first commit: paths are reused, commits are not."""

    genesis: str
    folder: Path

    def topology(
        self, edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities
    ) -> ResidentTopology:
        """The topology with what the folder has of it; what is missing is built, and kept when it is large enough."""
        plain = all(each.slots is None for each in (edges, sources, targets))
        if not plain or edges.size < EDGES_MIN:
            return ResidentTopology.of(edges, sources, targets)
        folder = self.folder / "topology" / self.genesis / _name(edges, sources, targets)
        ends = _read(folder, "ends", 2)
        if ends is None:
            made = ResidentTopology.of(edges, sources, targets)
            _write(folder, "ends", (made.src, made.dst))
            _trim(folder.parent)
            src, dst = made.src, made.dst
        else:
            src, dst = ends
        return ResidentTopology(edges, sources, targets, src, dst, saved=_saved(folder))


def _saved(folder: Path) -> Callable[[str, Callable[[], Adjacency]], Adjacency]:
    def saved(name: str, build: Callable[[], Adjacency]) -> Adjacency:
        arrays = _read(folder, name, 3 if name.endswith("edges") else 2)
        if arrays is not None:
            return Adjacency(*arrays)
        made = build()
        _write(folder, name, tuple(part for part in (made.offsets, made.targets, made.edges) if part is not None))
        return made

    return saved


def _name(edges: ResidentEntities, sources: ResidentEntities, targets: ResidentEntities) -> str:
    parts: list[Any] = [FORMAT]
    parts += [(*each.table.identity.content, each.size) for each in (edges, sources, targets)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _read(folder: Path, name: str, count: int) -> tuple[Any, ...] | None:
    """The arrays, mapped; None when one is missing or is not what it should be."""
    try:
        mapped = (np.load(folder / f"{name}.{i}.npy", mmap_mode="r", allow_pickle=False) for i in range(count))
        arrays = tuple(np.asarray(each) for each in mapped)  # the plain view of the same pages is faster to index
        os.utime(folder)
    except (OSError, ValueError, EOFError):
        return None
    return arrays


def _write(folder: Path, name: str, arrays: tuple[Any, ...]) -> None:
    """Best effort: a cache that cannot be written is no reason to fail a query."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for i, array in enumerate(arrays):
            with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
                np.save(file, array, allow_pickle=False)
            Path(file.name).replace(folder / f"{name}.{i}.npy")


def _trim(folder: Path) -> None:
    with contextlib.suppress(OSError):
        kept = sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
        for old in kept[: max(0, len(kept) - FOLDERS_MAX)]:
            shutil.rmtree(old, ignore_errors=True)
