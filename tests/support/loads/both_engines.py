"""One load on both engines, with everything that can be seen of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.write.intake.line_files import line_source

LOAD_ID = "01HZZZZZZZZZZZZZZZZZZZZZZZ"
STARTED_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Seen:
    """The outcome of a load, and the graph after it."""

    error: tuple[str, str] | None
    details: Any
    nodes: dict[str, int]
    edges: dict[str, int]
    rejected: int
    violations: list[Any]
    reject_file: bytes
    graph: list[Any]


def write_files(folder: Path, files: Sequence[Sequence[bytes]]) -> list[str]:
    paths = []
    for number, lines in enumerate(files):
        path = folder / f"part-{number}.jsonl"
        path.write_bytes(b"\n".join(lines) + (b"\n" if number % 2 == 0 else b""))
        paths.append(str(path))
    return paths


def exported(graph: Graph, branch: str | None = None) -> list[Any]:
    """What a branch shows; main, where the branch is not there (any more)."""
    branch = branch if branch in graph.branches() else None
    return sorted((json.loads(line) for line in graph.export(branch)), key=str)


def seen(
    uri: str,
    paths: list[str],
    *,
    engine: Any,
    spark: Any,
    split_bytes: int,
    patched: pytest.MonkeyPatch,
    **options: Any,
) -> Seen:
    """Loads the files and looks. Both engines get the same load id, so generated ids are compared as well."""
    patched.setattr("omnigraph.pipeline.load.run_load._identity", lambda: (LOAD_ID, STARTED_MS))
    reject = Path(uri).parent / f"{engine}.rejected"
    reject.unlink(missing_ok=True)
    graph = Graph.open(uri, durability="os")
    result, error = None, None
    try:
        source = line_source(paths, split_bytes=split_bytes)
        result = graph.load(source, engine=engine, spark=spark, reject_file=reject, **options)
    except OmniGraphError as refused:
        error = refused
    assert graph.cleanup_staging() == []
    return Seen(
        None if error is None else (error.code, str(error)),
        None if error is None else error.details(),
        {} if result is None else dict(result.nodes),
        {} if result is None else dict(result.edges),
        0 if result is None else result.rejected,
        [] if result is None else [each.to_json() for each in result.violations],
        reject.read_bytes() if reject.exists() else b"",
        exported(graph, options.get("branch")),
    )
