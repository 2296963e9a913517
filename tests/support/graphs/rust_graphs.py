"""Graphs that the Rust 0.8.0 binary wrote, unpacked afresh for each test that asks for one."""

from __future__ import annotations

import fcntl
import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARCHIVES = Path(__file__).parents[2] / "fixtures" / "rust"
FIXED_PLACE = Path("/tmp/omnigraph-fixtures")
"""Branches and sidecars record absolute paths: these graphs work nowhere else."""


@dataclass(frozen=True)
class RustGraph:
    """An unpacked graph and what the binary that wrote it said of it."""

    path: Path
    expected: dict[str, Any]

    @property
    def uri(self) -> str:
        return str(self.path)


@contextmanager
def rust_graph(name: str) -> Iterator[RustGraph]:
    """A fresh copy at the place that it must lie at. One at a time on the machine, because the place is fixed."""
    FIXED_PLACE.mkdir(exist_ok=True)
    with (FIXED_PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = FIXED_PLACE / f"{name}.omni"
        shutil.rmtree(path, ignore_errors=True)
        with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
            archive.extractall(FIXED_PLACE.parent, filter="data")
        try:
            yield RustGraph(path, json.loads((ARCHIVES / f"{name}.expected.json").read_text()))
        finally:
            shutil.rmtree(path, ignore_errors=True)
