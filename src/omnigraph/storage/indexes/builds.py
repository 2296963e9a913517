"""Index builds: what indexes a table has, whether they work, and new segments for them as one staged effect.

Building is the expensive part and needs no lock; attaching what was built is cheap. So segments are built once and can
be staged again on a newer version of the table, as long as that still has the fragments that they were built from. One
build keeps one core busy and knows nothing of the others: it runs in a thread here, or in a task on another machine, on
a scratch copy of the table. What a lost build leaves behind lies in the staging area.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import Internal, OmniGraphError, Unreachable
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk import StagingArea, StagingFiles, scratch_copy
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.graph_storage import reading
from omnigraph.storage.indexes.probes import as_literals
from omnigraph.storage.indexes.text_search import text_index
from omnigraph.storage.indexes.vector_search import known_fault, vector_ranked
from omnigraph.storage.lance import Dataset, LanceOperation, Transaction, translated
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.predicates import Contains, IsNull, Not, OneOf, to_sql
from omnigraph.storage.tables import (
    FragmentState,
    IndexSpec,
    StagedEffect,
    Table,
    fragment_states,
    scan_fragments,
    segments_named,
    staged_effect,
)

STALE_SHARE = 4
"""A text index of which more than one in so many entries is of a row that is gone is better built anew."""
BUILDS_MAX = 4
"""So many builds at a time in one process. Each sorts in a pool of its own, some 100 MB, and spills beyond it."""


@dataclass(frozen=True, slots=True)
class ExistingIndex:
    """One index as it stands, with the fragments that it covers."""

    name: str
    columns: tuple[str, ...]
    kind: str
    """In capitals: BTREE, INVERTED, IVF_FLAT …"""
    fragments: frozenset[int]
    segments: tuple[str, ...]
    """Their identities; a name may be built anew."""


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """A segment to build: of which index, over which fragments, and whether it takes the place of all there are."""

    spec: IndexSpec
    fragments: tuple[int, ...]
    replaces: bool


@dataclass(frozen=True, slots=True)
class BuildTask:
    """A build as any process can do it."""

    files: StagingFiles
    pin: TablePin
    build: IndexBuild


@dataclass(frozen=True, slots=True)
class BuiltSegment:
    """A segment in the staging area."""

    folder: str
    segment: Any

    @property
    def path(self) -> str:
        """Below that folder, and below the table's when it has been moved."""
        return f"_indices/{self.segment.uuid}"


@dataclass(frozen=True, slots=True)
class BuiltSegments:
    """Segments of one table that nothing refers to yet."""

    builds: tuple[IndexBuild, ...]
    segments: tuple[BuiltSegment, ...]
    fragments: Mapping[int, Any]
    """The files of the fragments that they were built from."""
    existing: Mapping[str, tuple[str, ...]]
    """The indexes that the table had."""


def existing_indexes(table: Table) -> tuple[ExistingIndex, ...]:
    """The indexes of a table, sorted by name."""
    with translated(table.uri):
        found = [
            ExistingIndex(
                name=str(index.name),
                columns=tuple(str(name) for name in index.field_names),
                kind=str(index.index_type).upper(),
                fragments=frozenset(number for segment in index.segments for number in segment.fragment_ids),
                segments=tuple(str(segment.uuid) for segment in index.segments),
            )
            for index in table.handle.describe_indices()
        ]
    return tuple(sorted(found, key=lambda index: index.name))


def why_broken(table: Table, index: ExistingIndex) -> str | None:
    """Why a search through the index fails; None when it answers."""
    fault = known_fault(table, index.name)
    if fault is not None:
        return fault
    try:
        [column] = index.columns
        if index.kind == "INVERTED":
            if text_index(table, column) is None:
                return "it cannot be read, has another analyser, or would find rows by texts that they had before"
        elif index.kind.startswith("IVF"):
            size = table.schema.field(column).type.list_size
            vector_ranked(table, column, np.ones(size, np.float32), 1, None)
        elif index.kind in ("BTREE", "NGRAM"):
            for batch in table.scan([column], Not(IsNull(column)), limit=1, use_index=False):
                [value] = as_literals(pa.chunked_array([batch[column]]))
                asked = Contains(column, value + "   ") if index.kind == "NGRAM" else OneOf(column, (value,))
                table.count(asked, fall_back=False)
    except OmniGraphError as error:
        return error.sentence()
    return None


def is_worn(table: Table, index: ExistingIndex) -> bool:
    """True when a text index has gathered so many entries of rows that are gone that it ranks poorly."""
    found = text_index(table, index.columns[0]) if index.kind == "INVERTED" else None
    return found is not None and found.counted.stale * STALE_SHARE > found.counted.documents


def values_in(table: Table, column: str, fragments: Sequence[int]) -> int:
    """How many rows of these fragments have a value in the column."""
    if not fragments:
        return 0
    with translated(table.uri):
        chosen = [table.handle.get_fragment(number) for number in fragments]
        given = to_sql(Not(IsNull(column)), table.schema)
        scanner = table.handle.scanner(
            columns=[], filter=given, fragments=chosen, with_row_id=True, use_scalar_index=False
        )
        return int(scanner.count_rows())


def rewritten_fragments(table: Table, fragments: Sequence[int]) -> frozenset[int]:
    """Those of these fragments that hold a row that was in another fragment before."""
    born, changed = "_row_created_at_version", "_row_last_updated_at_version"
    found: set[int] = set()
    for batch in scan_fragments(table, fragments, ["_rowaddr", born, changed]) if fragments else ():
        moved = batch["_rowaddr"].to_numpy()[batch[born].to_numpy() != batch[changed].to_numpy()]
        found.update(np.unique(moved >> np.uint64(32)).tolist())
    return frozenset(found)


def build_segment(task: BuildTask) -> BuiltSegment:
    """Writes the files of one new segment into the staging area. A kernel: runs in threads and in tasks."""
    table = reading(task.files.root).tables.open(task.pin)
    folder = f"index/{new_ulid()}"
    try:
        with task.files.at_work(), translated(table.uri):
            segment = _written_segment(scratch_copy(table, task.files, folder), task.build)
    except Internal as error:
        raise _told_of_the_build(table, task.build, error) from error
    reach(Point.INDEX_BUILT)
    return BuiltSegment(folder, segment)


def _written_segment(copy: Dataset, build: IndexBuild) -> Any:
    segment = copy.create_index_uncommitted(
        build.spec.column,
        build.spec.kind,
        name=build.spec.name,
        replace=True,
        fragment_ids=list(build.fragments),
        **dict(build.spec.parameters),
    )
    if build.spec.kind == "INVERTED":  # a raw full-text segment is unreadable until it is merged out of staging
        segment = copy.merge_existing_index_segments([segment])
    return segment


def _told_of_the_build(table: Table, build: IndexBuild, error: Internal) -> OmniGraphError:
    """A build reads its own files again: when a disk cut one of them short, the table has no damage for all that.

    Raises what a scan of the table finds if the damage is there.
    """
    for _ in scan_fragments(table, build.fragments, [build.spec.column]):
        pass
    return Unreachable(
        f"index '{build.spec.name}' of '{table.uri}' could not be built: {error.sentence()}",
        "the graph is as it was and the rows can be read: check that the disk has room, and try again",
    )


def build_in_threads(tasks: Sequence[BuildTask]) -> list[BuiltSegment]:
    """Builds side by side in this process: Lance works outside of Python's lock."""
    workers = min(len(tasks), os.cpu_count() or 1, BUILDS_MAX)
    with ThreadPoolExecutor(max(1, workers), thread_name_prefix="omnigraph-index") as pool:
        return list(pool.map(build_segment, tasks))


def built_segments(table: Table, builds: Sequence[IndexBuild], segments: Sequence[BuiltSegment]) -> BuiltSegments:
    """The segments of one table, with what has to stay as it is for them to be of use."""
    states = {state.number: state for state in fragment_states(table)}
    covered = {number: _content(states[number]) for build in builds for number in build.fragments}
    return BuiltSegments(tuple(builds), tuple(segments), covered, index_identities(table))


def still_fits(built: BuiltSegments, table: Table) -> bool:
    """True when the table still has what the segments were built from, and no other program built there since."""
    now = {state.number: _content(state) for state in fragment_states(table)}
    unchanged = all(now.get(number) == content for number, content in built.fragments.items())
    return unchanged and index_identities(table) == built.existing


def stage_segments(area: StagingArea, table: Table, built: BuiltSegments) -> StagedEffect:
    """All segments as one version of the table, in whose folder they are from now on."""
    waiting = [each for each in built.segments if not area.has_moved(table.pin.path, each.path)]
    with translated(table.uri):
        area.move([(each.folder, [each.path]) for each in waiting], table.pin.path)
        names = dict.fromkeys(build.spec.name for build in built.builds if build.replaces)
        replaced = [old for name in names for old in segments_named(table, name)]
        operation = LanceOperation.CreateIndex([each.segment for each in built.segments], replaced)
    reach(Point.INDEX_MOVED)
    return staged_effect("index", table, Transaction(table.version, operation))


def _content(state: FragmentState) -> Any:
    """The rows that a fragment was written with; deletions since then are masked when an index is read."""
    return state.files


def index_identities(table: Table) -> dict[str, tuple[str, ...]]:
    """The segments of every index: equal for two versions when no index was built in between."""
    return {index.name: index.segments for index in existing_indexes(table)}
