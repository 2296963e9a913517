"""The last line of an export: what the lines before it are, so that a load can tell a whole one from a part of one."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from omnigraph.history.snapshots import Snapshot
from omnigraph.model.errors import Json
from omnigraph.model.export_line import EXPORT_LINE_VERSION


def with_manifest(lines: Iterator[bytes], snapshot: Snapshot) -> Iterator[bytes]:
    """The same lines, and one more: version, commit, counts per type, SHA-256 of everything before it."""
    running = hashlib.sha256()
    counts: Counter[bytes] = Counter()
    for line in lines:
        running.update(line)
        counts[_head(line)] += 1
        yield line
    yield _line(snapshot, counts, running.hexdigest())


def _head(line: bytes) -> bytes:
    """`{"type":"Person"` or `{"edge":"Knows"`: our own lines begin with it, and no name has a comma."""
    return line[: line.index(b",")]


def _line(snapshot: Snapshot, counts: Counter[bytes], digest: str) -> bytes:
    named: dict[str, dict[str, Json]] = {"type": {}, "edge": {}}
    for head, count in counts.items():
        ((member, name),) = json.loads(head + b"}").items()
        named[member][name] = count
    document: dict[str, Json] = {
        "version": EXPORT_LINE_VERSION,
        "snapshot_commit_id": snapshot.commit_id,
        "counts": {"nodes": named["type"], "edges": named["edge"]},
        "sha256": digest,
    }
    return json.dumps({"export": document}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
