"""The staging area of a load: `__staging/<load id>/`, shared by the driver and every task, and always removed.

Whoever loads holds the lease `alive` in its folder: an OS file lock, or a lease object on S3. A folder whose lease is
free belongs to a load that died. Tasks hold a work lock while they write (`work_locks`): the folder is removed when the
last of them has ended, also of a job that failed and of a driver that died. Files that were moved from here into a
table are listed under `moved/` before they move, so a dead load's files can be told from everybody else's. Index builds
use such an area in the same way.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import fs

from omnigraph.model.errors import LeaseTimeout, OmniGraphError
from omnigraph.model.identifiers import new_ulid, ulid_from
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk.arrow_files import ArrowFileWriter, filesystem, read_again, reported
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import translated
from omnigraph.storage.layout import STAGING
from omnigraph.storage.leases import Lease, work_locks
from omnigraph.storage.root import Root
from omnigraph.storage.tables import plainly_typed

ALIVE = "alive"
AT_WORK = "at-work"
MOVED = "moved"
HANDED_OVER = "write-"
HANDED_OVER_HOURS = 24
STRAGGLERS_S_MAX = 30.0
"""How long the end of a load waits for tasks of a failed job. Later ones are left to `cleanup_staging`."""
ORPHANS_S_MAX = 5.0
"""How long `cleanup_staging` waits for tasks that outlived their driver. The next one finds those that last longer."""
_log = logging.getLogger("omnigraph.storage")


@dataclass(frozen=True, slots=True)
class StagingFiles:
    """The files of one load's staging area. Picklable: tasks write and read them wherever they run."""

    root: Root
    load_id: str

    def path(self, name: str) -> str:
        """Relative to the graph's root."""
        return f"{STAGING}/{self.load_id}/{name}"

    def uri(self, name: str) -> str:
        return self.root.join(self.path(name))

    def allow_work(self) -> None:
        if self.root.is_local:
            work_locks.allow_work(self.uri(AT_WORK))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What a task holds while it writes here: the area stays. Objects of a bucket need no folder, and no lock."""
        if not self.root.is_local:
            yield
            return
        with work_locks.at_work(self.uri(AT_WORK)):
            yield

    @contextmanager
    def nobody_at_work(self, wait_s: float) -> Iterator[bool]:
        if not self.root.is_local:
            yield True
            return
        with work_locks.nobody_at_work(self.uri(AT_WORK), wait_s) as alone:
            yield alone

    def write(self, name: str, schema: pa.Schema, batches: Sequence[pa.RecordBatch], codec: str | None = None) -> None:
        """An Arrow file; without a codec it can be mapped into memory."""
        with self.writer(name, schema, codec) as writer:
            for batch in batches:
                writer.write_batch(batch)

    @contextmanager
    def writer(self, name: str, schema: pa.Schema, codec: str | None = None) -> Iterator[ArrowFileWriter]:
        uri = self.uri(name)
        with reported(uri):
            sink = self._output(name)
        with ArrowFileWriter(uri, sink, schema, codec) as writer:
            yield writer

    def read(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The columns of an Arrow file. Local files are mapped: only what is looked at is read, and nothing is kept."""
        return read_again(self.root, self.uri(name), partial(self._read, name, columns))

    def _read(self, name: str, columns: Sequence[str] | None) -> pa.Table:
        source = self._input(name)
        reader = pa.ipc.open_file(source)
        if columns is not None and not self.root.is_local:
            places = [reader.schema.get_field_index(column) for column in columns]
            reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=places))
        rows = reader.read_all()
        return plainly_typed(rows if columns is None else rows.select(list(columns)))

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        uri = self.uri(name)
        reader = read_again(self.root, uri, lambda: pa.ipc.open_file(self._input(name)))
        for number in range(reader.num_record_batches):
            batch = read_again(self.root, uri, partial(reader.get_batch, number))
            yield from plainly_typed(pa.Table.from_batches([batch])).to_batches()

    def _output(self, name: str) -> Any:
        uri = self.uri(name)
        if self.root.is_local:
            os.makedirs(os.path.dirname(uri), exist_ok=True)
            return pa.OSFile(uri, "wb")
        return filesystem(self.root).open_output_stream(uri.removeprefix("s3://"))

    def _input(self, name: str) -> Any:
        uri = self.uri(name)
        if self.root.is_local:
            return pa.memory_map(uri)
        return filesystem(self.root).open_input_file(uri.removeprefix("s3://"))


@dataclass(slots=True)
class StagingArea:
    """The driver's side: what was moved into tables, and the end of everything."""

    storage: GraphStorage
    files: StagingFiles
    lease: Lease | None = None
    """None for an area that tasks of another program fill; it counts as alive by its name."""
    moved: dict[str, set[str]] = field(default_factory=dict)
    """Per table path the paths, below the table's folder, that were moved there: `data/…`, `_indices/…`."""

    def move(self, folders: Sequence[tuple[str, Sequence[str]]], table_path: str) -> None:
        """Moves files of staged datasets (their folder, paths in it) to the same places in a table. The list is on
        disk before the first file is."""
        self._note(table_path, frozenset(path for _, own in folders for path in own))
        system = filesystem(self.files.root)
        target = _address(self.files.root, table_path)
        for kind in sorted({path.partition("/")[0] for _, own in folders for path in own}):
            system.create_dir(f"{target}/{kind}", recursive=True)
        for folder, own in folders:
            for path in own:
                _move(system, _address(self.files.root, self.files.path(folder)), target, path)

    def check(self) -> None:
        """Raises LeaseLost when the area is not ours any more: what was moved from it may be gone."""
        if self.lease is not None:
            self.lease.check()

    def local_folder(self) -> str | None:
        """Where this process may keep files of its own; None when the area is not on this machine."""
        return self.files.uri("") if self.files.root.is_local else None

    def has_moved(self, table_path: str, path: str) -> bool:
        return path in self.moved.get(table_path, ())

    def _note(self, table_path: str, paths: frozenset[str]) -> None:
        """Remembers files of ours that a table is about to hold, and that nothing refers to yet."""
        if paths:
            document = json.dumps({"table": table_path, "paths": sorted(paths)}).encode()
            self.storage.objects.write(self.files.path(f"{MOVED}/{new_ulid()}.json"), document)
            self.moved.setdefault(table_path, set()).update(paths)

    def remove(self, committed: frozenset[str] = frozenset(), *, wait_s: float = STRAGGLERS_S_MAX) -> bool:
        """Ends the area, unless tasks still work in it: then it waits for `cleanup_staging`.

        Moved files that no version of their table names are deleted; `committed` are known to be.
        """
        with self.files.nobody_at_work(wait_s) as alone:
            if not alone:
                _log.warning("tasks still write into %s: it is removed later", self.files.uri(""))
                return False
            for table_path, paths in self.moved.items():
                delete_untracked(self.storage, table_path, paths - committed)
            self.storage.objects.delete_tree(f"{STAGING}/{self.files.load_id}")
        return True


@contextmanager
def staging_area(storage: GraphStorage, load_id: str) -> Iterator[StagingArea]:
    """The staging area of a living load. The caller removes it; a death leaves it to `cleanup_staging`."""
    files = StagingFiles(storage.root, load_id)
    lease = storage.leases.take(files.path(ALIVE), wait_s=10.0)
    try:
        files.allow_work()
        yield StagingArea(storage, files, lease)
    finally:
        lease.release()


def cleanup_staging(storage: GraphStorage) -> list[str]:
    """Removes the staging areas of dead loads and what they moved into tables in vain; says which loads these were.

    Only after recovery: a dead load's sidecar may still make its files visible.
    """
    removed = []
    for load_id in staging_folders(storage):
        if _is_handed_over(load_id):
            continue
        try:
            lease = storage.leases.take(f"{STAGING}/{load_id}/{ALIVE}")
        except LeaseTimeout:
            continue  # alive
        try:
            area = StagingArea(storage, StagingFiles(storage.root, load_id), lease)
            for name in storage.objects.list_names(area.files.path(MOVED)):
                stored = storage.objects.read(area.files.path(f"{MOVED}/{name}"))
                if stored is not None:
                    document = json.loads(stored.data)
                    area.moved.setdefault(document["table"], set()).update(document["paths"])
            lease.check()
            if area.remove(wait_s=ORPHANS_S_MAX):
                removed.append(load_id)
        finally:
            lease.release()
    return removed


def handed_over_id() -> str:
    """The id of an area that tasks of another program fill, with no process of ours between them to hold a lease."""
    return f"{HANDED_OVER}{new_ulid()}"


def _is_handed_over(load_id: str) -> bool:
    """Such an area counts as alive for a day by its name, which tells when it was made."""
    oldest = ulid_from(time.time_ns() // 1_000_000 - HANDED_OVER_HOURS * 3_600_000, bytes(10))
    return load_id.startswith(HANDED_OVER) and load_id.removeprefix(HANDED_OVER) >= oldest


def staging_folders(storage: GraphStorage) -> list[str]:
    """The loads that have a staging area now, living or dead."""
    if not storage.objects.has_any(STAGING):
        return []
    selector = fs.FileSelector(_address(storage.root, STAGING), allow_not_found=True)
    found = filesystem(storage.root).get_file_info(selector)
    names = sorted(each.base_name for each in found if each.type == fs.FileType.Directory)
    if storage.root.is_local:
        return names
    return [name for name in names if storage.objects.has_any(f"{STAGING}/{name}")]  # some stores keep empty folders


def delete_untracked(storage: GraphStorage, table_path: str, paths: set[str] | frozenset[str]) -> None:
    """Deletes files of a table, unless a version names them. A failure is logged: they only take up room."""
    if not paths:
        return
    try:
        system, folder = filesystem(storage.root), _address(storage.root, table_path)
        for path in sorted(paths - tracked_paths(storage, table_path)):
            for entry in system.get_file_info([f"{folder}/{path}"]):
                if entry.type == fs.FileType.Directory:
                    system.delete_dir(entry.path)
                elif entry.type == fs.FileType.File:
                    system.delete_file(entry.path)
    except (OmniGraphError, OSError, pa.ArrowException) as error:
        _log.warning("files of an unfinished load stay in %s: %s", table_path, error)


def tracked_paths(storage: GraphStorage, table_path: str) -> set[str]:
    """What any version of this lineage names, below its folder: files, the folders of indexes, those of blobs."""
    with translated(table_path):
        handle = storage.handles.open_for_change(table_path, None)
        paths = {str(path) for path in handle.tracked_files().read_all()["path"].to_pylist()}
    return paths | {os.path.dirname(path) for path in paths} | {os.path.splitext(path)[0] for path in paths}


# --- file systems -----------------------------------------------------------------------------------------


def _address(root: Root, path: str) -> str:
    """A path under the root as the file system names it."""
    return root.join(path).removeprefix("s3://")


def _move(system: fs.FileSystem, source: str, target: str, name: str) -> None:
    """One file, or a folder: of an index, of blobs. An object store has no folders: their objects are moved."""
    if isinstance(system, fs.LocalFileSystem):
        os.rename(f"{source}/{name}", f"{target}/{name}")
        return
    info = system.get_file_info([f"{source}/{name}"])[0]
    if info.type == fs.FileType.Directory:
        for entry in system.get_file_info(fs.FileSelector(info.path, recursive=True)):
            if entry.type == fs.FileType.File:
                system.move(entry.path, f"{target}/{name}{entry.path.removeprefix(info.path)}")
    else:
        system.move(f"{source}/{name}", f"{target}/{name}")
