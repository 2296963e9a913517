"""New columns with values: one file for each fragment that holds them and nothing else; no other column is written.

The values are computed from batches of the columns that they depend on, so memory does not grow with the table. The
files are written through a scratch copy and moved when they are whole. Rows keep their ids and their order, and so do
the indexes of all other columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk.area import StagingArea
from omnigraph.storage.bulk.shallow_clone import scratch_copy
from omnigraph.storage.bulk.staged_files import data_paths
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.lance import (
    FragmentMetadata,
    LanceOperation,
    Transaction,
    numbered_paths,
    renumbered_schema,
    translated,
    updated_at,
)
from omnigraph.storage.tables import StagedEffect, Table, scan_fragments, staged_effect

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


def stage_new_columns(
    area: StagingArea,
    table: Table,
    target: pa.Schema,
    sources: Mapping[str, str],
    new: NewColumns,
    tell: Callable[[int], None] = lambda _: None,
) -> StagedEffect:
    """The table in the columns of `target`, where those that `new` names have values. See `stage_columns`.

    `tell` is called with the number of rows that are done. The rows count as updated by this version.
    """
    kept = {name: source for name, source in sources.items() if name not in new.names}
    folder = f"columns/{new_ulid()}"
    with translated(table.uri):
        schema = renumbered_schema(table.handle, target, kept)
        numbers = dict(numbered_paths(schema.fields()))
        copy = scratch_copy(table, area.files, folder)
        compute = _computing(target, new)
        fragments, paths, done = [], [], 0
        for fragment in copy.get_fragments():
            area.check()
            if new.ahead is not None:
                new.ahead(scan_fragments(table, [int(fragment.fragment_id)], new.reads))
            written, scratch = fragment.merge_columns(compute, columns=list(new.reads), batch_size=BATCH_ROWS)
            document = written.to_json()
            fresh = document["files"][-1]
            fresh["fields"] = _renumbered(fresh["fields"], scratch, numbers)
            fragments.append(_extended(table, int(written.id), fresh))
            paths += _fresh_paths(area, copy.uri, written)
            done += int(fragment.count_rows())
            tell(done)
        reach(Point.COLUMNS_WRITTEN)
        area.move([(folder, paths)], table.pin.path)
        operation = LanceOperation.Merge(fragments, schema)
    return staged_effect("columns", table, Transaction(table.version, operation))


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


def _extended(table: Table, number: int, fresh: dict[str, Any]) -> Any:
    """A fragment as the table knows it, with one file more."""
    own = table.handle.get_fragment(number).metadata.to_json()
    own["files"].append(fresh)
    own["last_updated_at_version_meta"] = {"inline": updated_at(int(own["physical_rows"]), table.version + 1)}
    return FragmentMetadata.from_json(json.dumps(own))


def _fresh_paths(area: StagingArea, uri: str, written: Any) -> list[str]:
    newest = written.files[-1]._path.removesuffix(".lance")
    return [path for path in data_paths(area.files.root, uri, written) if newest in path]
