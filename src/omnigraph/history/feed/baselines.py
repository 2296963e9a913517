"""Baselines: a snapshot of a branch together with the cursor from which the feed continues behind it.

Whoever begins to follow a graph, or has missed too much of it, takes a baseline: the export of one commit, and a cursor
whose first block is the commit after that one. The cursor is only told once the whole snapshot has arrived.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress

from omnigraph.history.diff import ChangeFilter
from omnigraph.history.export import export_lines
from omnigraph.history.feed.filters import plain_filter
from omnigraph.history.feed.polling import cursor_at_head
from omnigraph.history.snapshots import snapshot_of
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest, Conflict, Json
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.files import FileLock, sync_folder
from omnigraph.storage.manifest import LoadedManifest


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a reader begins with."""

    snapshot_commit_id: str
    """The commit that was exported."""
    resume_cursor: str
    """The feed continues from here with the commit after it."""

    def to_json(self) -> dict[str, Json]:
        return {"snapshot_commit_id": self.snapshot_commit_id, "resume_cursor": self.resume_cursor}


def baseline_lines(
    storage: GraphStorage, catalog: Catalog, branch: str = MAIN, *, wanted: ChangeFilter | None = None
) -> Iterator[bytes]:
    """The snapshot as JSON lines, then one line `{"baseline": …}`. A stream without that line is not complete.

    `wanted` narrows the snapshot by kinds and types; its operations only bind the cursor.
    """
    captured = _capture(storage, catalog, branch, wanted)

    def told() -> Iterator[bytes]:
        yield from captured.lines
        record: dict[str, Json] = {"baseline": captured.confirmed(storage).to_json()}
        yield json.dumps(record, separators=(",", ":")).encode() + b"\n"

    return told()


def install_baseline(
    storage: GraphStorage,
    catalog: Catalog,
    path: str | os.PathLike[str],
    branch: str = MAIN,
    *,
    wanted: ChangeFilter | None = None,
) -> Baseline:
    """Writes the snapshot to a file and returns the cursor. The file has the whole snapshot or what it had before.

    It can be read by its owner only. Installers of the same file wait for each other (`<path>.lock`, which stays).
    """
    captured = _capture(storage, catalog, branch, wanted)
    target = os.path.abspath(path)
    if os.path.isdir(target):
        raise BadRequest(f"cannot write the baseline '{path}': it is a folder", "name a file")
    try:
        lock = FileLock(f"{target}.lock")
        try:
            lock.wait()
            return _installed(storage, captured, target)
        finally:
            lock.close()
    except OSError as error:
        raise BadRequest(
            f"cannot write the baseline '{path}': {error.strerror or error}",
            "there is no cursor, and a file that was there before is as it was",
        ) from error


def _installed(storage: GraphStorage, captured: _Captured, target: str) -> Baseline:
    folder, name = os.path.split(target)
    descriptor, draft = tempfile.mkstemp(dir=folder, prefix=f".{name}.")  # only its owner may read it
    try:
        with os.fdopen(descriptor, "wb") as file:
            for line in captured.lines:
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
            ours = os.fstat(file.fileno())
        handshake = captured.confirmed(storage)
        os.replace(draft, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        raise
    sync_folder(folder)
    if not os.path.samestat(ours, os.stat(target)):
        raise Conflict(f"'{target}' was replaced by another program", "take the baseline again, to a file of your own")
    return handshake


@dataclass(frozen=True, slots=True)
class _Captured:
    """The head of a branch at one moment."""

    loaded: LoadedManifest
    lines: Iterator[bytes]
    handshake: Baseline

    def confirmed(self, storage: GraphStorage) -> Baseline:
        """The handshake, unless the branch was replaced while it was exported."""
        if self.loaded.state.incarnation is not None:
            storage.manifest.require(self.loaded.state.incarnation)
        return self.handshake


def _capture(storage: GraphStorage, catalog: Catalog, branch: str, wanted: ChangeFilter | None) -> _Captured:
    wanted = plain_filter(wanted)
    loaded = storage.manifest.load(normalize_branch(branch))
    snapshot = snapshot_of(loaded)
    types = None if wanted.types is None else sorted(wanted.types)
    lines = export_lines(storage, snapshot, catalog, types=types, kinds=wanted.kinds)
    handshake = Baseline(snapshot.commit_id or "", cursor_at_head(storage, loaded, wanted))
    return _Captured(loaded, lines, handshake)
