"""Which format a file has, by the ending of its name: files, folders and patterns sorted by format."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from omnigraph.model.errors import BadRequest
from omnigraph.write.intake import ENDINGS, find_files
from omnigraph.write.intake.tabular import TABLE_ENDINGS

JSON_LINES = "jsonl"
_PACKED = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".lz4")


def by_format(paths: Sequence[str | Path]) -> dict[str, list[str | Path]]:
    """The paths of each format. A folder with files of several formats is there once for each of them."""
    if not paths:
        raise BadRequest("there is nothing to load", "name a file, a folder or a pattern")
    sorted_out: dict[str, list[str | Path]] = {}
    for path in paths:
        for name in _formats(str(path)):
            sorted_out.setdefault(name, []).append(path)
    return sorted_out


def _formats(path: str) -> list[str]:
    if os.path.isfile(path):
        return [format_of(path)]
    endings = (*ENDINGS, *(ending for endings in TABLE_ENDINGS.values() for ending in endings))
    found = sorted({format_of(file.path) for file in find_files([path], tuple(dict.fromkeys(endings)))})
    if len(found) > 1 and glob.has_magic(path):
        raise BadRequest(
            f"'{path}' matches files of several formats: {', '.join(found)}",
            "name a pattern for each format, or the folder",
        )
    return found


def format_of(path: str) -> str:
    """CSV and Parquet by their endings; everything else is JSON lines."""
    name = path.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return next((known for known, endings in TABLE_ENDINGS.items() if name.endswith(endings)), JSON_LINES)
