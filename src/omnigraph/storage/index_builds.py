"""Index builds: what indexes a table has, whether they work, and new segments for them as one staged effect.

Building is the expensive part and needs no lock; attaching what was built is cheap. So segments are built once and can
be staged again on a newer version of the table, as long as that still has the fragments that they were built from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.fragments import FragmentState, fragment_states, scan_fragments
from omnigraph.storage.index_probes import as_literals
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.lance_session import LanceOperation, Transaction
from omnigraph.storage.predicates import IsNull, Not, OneOf, to_sql
from omnigraph.storage.search import vector_ranked
from omnigraph.storage.staging import IndexSpec, StagedEffect, segments_named, staged_effect
from omnigraph.storage.tables import Table
from omnigraph.storage.text_search import text_index

STALE_SHARE = 4
"""A text index of which more than one in so many entries is of a row that is gone is better built anew."""


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
class BuiltSegments:
    """Segments on disk that nothing refers to yet."""

    builds: tuple[IndexBuild, ...]
    segments: tuple[Any, ...]
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
    try:
        [column] = index.columns
        if index.kind == "INVERTED":
            if text_index(table, column) is None:
                return "it cannot be read, has another analyser, or would find rows by texts that they had before"
        elif index.kind.startswith("IVF"):
            size = table.schema.field(column).type.list_size
            vector_ranked(table, column, np.ones(size, np.float32), 1, None)
        elif index.kind == "BTREE":
            for batch in table.scan([column], Not(IsNull(column)), limit=1, use_index=False):
                table.count(OneOf(column, tuple(as_literals(pa.chunked_array([batch[column]])))))
    except OmniGraphError as error:
        return str(error)
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
        return int(table.handle.scanner(columns=[], filter=given, fragments=chosen, with_row_id=True).count_rows())


def rewritten_fragments(table: Table, fragments: Sequence[int]) -> frozenset[int]:
    """Those of these fragments that hold a row that was in another fragment before."""
    born, changed = "_row_created_at_version", "_row_last_updated_at_version"
    found: set[int] = set()
    for batch in scan_fragments(table, fragments, ["_rowaddr", born, changed]) if fragments else ():
        moved = batch["_rowaddr"].to_numpy()[batch[born].to_numpy() != batch[changed].to_numpy()]
        found.update(np.unique(moved >> np.uint64(32)).tolist())
    return frozenset(found)


def build_segments(table: Table, builds: Sequence[IndexBuild]) -> BuiltSegments:
    """Writes the files of new segments. Nothing refers to them until they are staged and committed."""
    states = {state.number: state for state in fragment_states(table)}
    segments = []
    with translated(table.uri):
        for build in builds:
            segment = table.handle.create_index_uncommitted(
                build.spec.column,
                build.spec.kind,
                name=build.spec.name,
                replace=True,
                fragment_ids=list(build.fragments),
                **dict(build.spec.parameters),
            )
            if build.spec.kind == "INVERTED":  # a raw full-text segment is unreadable until it is merged out of staging
                segment = table.handle.merge_existing_index_segments([segment])
            segments.append(segment)
    covered = {number: _content(states[number]) for build in builds for number in build.fragments}
    return BuiltSegments(tuple(builds), tuple(segments), covered, index_identities(table))


def still_fits(built: BuiltSegments, table: Table) -> bool:
    """True when the table still has what the segments were built from, and no other program built there since."""
    now = {state.number: _content(state) for state in fragment_states(table)}
    unchanged = all(now.get(number) == content for number, content in built.fragments.items())
    return unchanged and index_identities(table) == built.existing


def stage_segments(table: Table, built: BuiltSegments) -> StagedEffect:
    """All segments as one version of the table."""
    with translated(table.uri):
        replaced = [old for build in built.builds if build.replaces for old in segments_named(table, build.spec.name)]
        operation = LanceOperation.CreateIndex(list(built.segments), replaced)
    return staged_effect("index", table, Transaction(table.version, operation))


def _content(state: FragmentState) -> Any:
    """The rows that a fragment was written with; deletions since then are masked when an index is read."""
    return state.files


def index_identities(table: Table) -> dict[str, tuple[str, ...]]:
    """The segments of every index: equal for two versions when no index was built in between."""
    return {index.name: index.segments for index in existing_indexes(table)}
