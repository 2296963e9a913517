"""New columns with values: one file for each fragment that holds them and nothing else; no other column is written.

The values are computed from batches of the columns that they depend on, so memory does not grow with the table. The
files are written through a scratch copy, by one process or by several that each do some fragments, and moved when all
of them are whole. Rows keep their ids and their order, and so do the indexes of all other columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk.area import StagingArea, StagingFiles
from omnigraph.storage.bulk.shallow_clone import scratch_copy
from omnigraph.storage.bulk.staged_files import WrittenFragment, data_paths
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.lance import (
    FragmentMetadata,
    LanceOperation,
    Transaction,
    numbered_paths,
    renumbered_schema,
    translated,
)
from omnigraph.storage.tables import StagedEffect, Table, scan_fragments, staged_effect, written_row_versions

BATCH_ROWS = 65_536
_OURS = "__new_"
"""Before the name of a new column in the scratch copy: a column of that name may be there already, of another type."""

Compute = Callable[[pa.RecordBatch], Sequence[pa.Array]]
"""The values of the new columns, in their order, for a batch of the columns that were asked for."""


@dataclass(frozen=True, slots=True)
class NewColumns:
    """Columns that get values, and from what."""

    names: tuple[str, ...]
    reads: tuple[str, ...]
    """Columns of the table; at least one."""
    compute: Compute
    ahead: Callable[[Iterator[pa.RecordBatch]], None] | None = None
    """Shown the rows of each fragment before `compute` is asked about them. That must not read any table: Lance calls
    it while it writes."""


def write_new_columns(
    files: StagingFiles,
    folder: str,
    table: Table,
    fragments: Sequence[int],
    target: pa.Schema,
    sources: Mapping[str, str],
    new: NewColumns,
    tell: Callable[[int], None] = lambda _: None,
) -> list[WrittenFragment]:
    """Writes the files of new columns for these fragments, into a folder of the staging area. Runs in tasks.

    `tell` is called with the number of rows that are done. What is returned are the fragments as the table is to know
    them; `stage_new_columns` needs every one of the table.
    """
    written, done = [], 0
    with translated(table.uri):
        numbers = dict(numbered_paths(_schema(table, target, sources, new.names).fields()))
        copy = scratch_copy(table, files, folder)
        compute = _computing(target, new)
        for number in fragments:
            fragment = copy.get_fragment(number)
            if new.ahead is not None:
                new.ahead(scan_fragments(table, [number], new.reads))
            merged, scratch = fragment.merge_columns(compute, columns=list(new.reads), batch_size=BATCH_ROWS)
            fresh = merged.to_json()["files"][-1]
            fresh["fields"] = _renumbered(fresh["fields"], scratch, numbers)
            paths = _fresh_paths(files, copy.uri, merged)
            rows = int(fragment.count_rows())
            written.append(WrittenFragment(folder, paths, _extended(table, number, fresh), rows))
            done += rows
            tell(done)
    return written


def stage_new_columns(
    area: StagingArea,
    table: Table,
    target: pa.Schema,
    sources: Mapping[str, str],
    names: Sequence[str],
    written: Sequence[WrittenFragment],
) -> StagedEffect:
    """The table in the columns of `target`, where those of these names have the values that were written. See
    `stage_columns`. The rows count as updated by this version.
    """
    reach(Point.COLUMNS_WRITTEN)
    with translated(table.uri):
        schema = _schema(table, target, sources, names)
        fragments = [FragmentMetadata.from_json(each.metadata) for each in written]
        area.move([(each.folder, each.paths) for each in written], table.pin.path)
        operation = LanceOperation.Merge(fragments, schema)
    return staged_effect("columns", table, Transaction(table.version, operation))


def _schema(table: Table, target: pa.Schema, sources: Mapping[str, str], names: Sequence[str]) -> Any:
    """The same in every process: the numbers of new columns follow from the version of the table alone."""
    kept = {name: source for name, source in sources.items() if name not in names}
    return renumbered_schema(table.handle, target, kept)


def _computing(target: pa.Schema, new: NewColumns) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    fields = [target.field(name) for name in new.names]
    # Nullable here, whatever the target says: the values of rows that are deleted are not looked at.
    written = pa.schema([pa.field(f"{_OURS}{each.name}", each.type, metadata=each.metadata) for each in fields])

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(new.compute(batch)), schema=written)

    return compute


def _renumbered(fields: Sequence[int], scratch: Any, numbers: Mapping[str, int]) -> list[int]:
    """The numbers that the table gives to what a file holds, for those that the scratch copy gave."""
    paths = {number: path for path, number in numbered_paths(scratch.fields())}
    return [numbers[paths[number].replace(f"/{_OURS}", "/", 1)] for number in fields]


def _extended(table: Table, number: int, fresh: dict[str, Any]) -> str:
    """A fragment as the table knows it, with one file more."""
    own = table.handle.get_fragment(number).metadata.to_json()
    own["files"].append(fresh)
    written = np.full(int(own["physical_rows"]), table.version + 1)
    own["last_updated_at_version_meta"] = {"inline": list(written_row_versions(written))}
    return json.dumps(own)


def _fresh_paths(files: StagingFiles, uri: str, written: Any) -> tuple[str, ...]:
    newest = written.files[-1]._path.removesuffix(".lance")
    return tuple(path for path in data_paths(files.root, uri, written) if newest in path)
