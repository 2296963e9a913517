"""The last line of an export, read: which lines are one, and whether the lines before it are what it says. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from omnigraph.model.errors import BadRequest

EXPORT_LINE_VERSION = 1
EXPORT_LINE_START = b'{"export":'


@dataclass(eq=False)
class ExportDamaged(BadRequest):
    """The lines of an export are not those that its last line was written for. Nothing was loaded."""

    _hint = "export the graph again, or fetch the file again"

    file: str | None
    reason: str

    def sentence(self) -> str:
        return f"the export{f' {self.file!r}' if self.file else ''} is damaged: {self.reason}"


def is_export_line(line: bytes) -> bool:
    """Whether a line is the last line of an export; no record looks like one."""
    return line.lstrip().startswith(EXPORT_LINE_START)


def check_export_line(line: bytes, file: str | None, *, lines: int, sha256: str) -> None:
    """Refuses lines that are not what the last line of their export says."""
    try:
        stated = json.loads(line)["export"]
        version, digest, counts = stated["version"], stated["sha256"], stated["counts"]
        total = sum(int(count) for kind in ("nodes", "edges") for count in counts[kind].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportDamaged(file, "its last line cannot be read") from error
    if version != EXPORT_LINE_VERSION:
        raise ExportDamaged(file, f"its last line has version {version}, and this release reads {EXPORT_LINE_VERSION}")
    if lines != total:
        raise ExportDamaged(file, f"its last line counts {total} records, and there are {lines}")
    if sha256 != digest:
        raise ExportDamaged(file, "its SHA-256 is not the one that its last line has")
