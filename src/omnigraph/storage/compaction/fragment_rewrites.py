"""Compaction: many small fragments become few, as one staged effect. Rows keep their ids, order and versions.

Lance's own compaction takes two versions and commits by itself. Here its tasks only write files, through a scratch copy
of the table; the rewrite is one transaction of ours, with fragment numbers above every number that the table has ever
used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.bulk import StagingArea, StagingFiles, data_paths, scratch_copy
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.indexes import index_identities
from omnigraph.storage.lance import Compaction, LanceOperation, Transaction, decoded, pieces, translated
from omnigraph.storage.tables import FragmentState, StagedEffect, Table, fragment_states, staged_effect

TINY_ROWS = 1_024
"""Fragments with fewer rows are put together first by upkeep that runs beside writers: little is written again."""
SMALL_ROWS = 65_536
"""Fragments with fewer rows are put together, up to this size."""
LARGE_ROWS = 1_048_576
"""When there are many fragments in between, they are put together up to this size."""
MIDDLE_FRAGMENTS_MAX = 16
TINY_FRAGMENTS_MAX = 16
_MAX_FRAGMENT_FIELD = 11  # of Lance's manifest message


@dataclass(frozen=True, slots=True)
class Compacted:
    """Rewritten fragments on disk that nothing refers to yet."""

    folder: str
    """In the staging area."""
    paths: tuple[str, ...]
    """The files there."""
    groups: tuple[Any, ...]
    originals: dict[int, Any]
    """What the rewritten fragments were: another version must have them unchanged."""
    indexes: dict[str, tuple[str, ...]]
    """And the indexes: fragments are put together only when the same segments cover them."""

    @property
    def fragments_removed(self) -> int:
        return len(self.originals)

    @property
    def fragments_added(self) -> int:
        return sum(len(group.new_fragments) for group in self.groups)


CompactionTarget = Callable[[Sequence[FragmentState]], int]
"""Up to which size the fragments of a table are put together."""


def whole_target(states: Sequence[FragmentState]) -> int:
    """As few fragments as make sense."""
    middle = sum(SMALL_ROWS <= state.rows < LARGE_ROWS for state in states)
    return LARGE_ROWS if middle > MIDDLE_FRAGMENTS_MAX else SMALL_ROWS


def gentle_target(states: Sequence[FragmentState]) -> int:
    """The smallest size of which there are many fragments: what is larger is not written again."""
    tiny = sum(state.rows < TINY_ROWS for state in states)
    return TINY_ROWS if tiny > TINY_FRAGMENTS_MAX else whole_target(states)


def is_worth_compacting(table: Table, target: CompactionTarget = whole_target) -> bool:
    with translated(table.uri):
        return bool(_plan(table.handle, target(fragment_states(table))).tasks)


def compact(table: Table, files: StagingFiles, target: CompactionTarget = whole_target) -> Compacted:
    """Writes the files of a compaction into a staging area."""
    states = {state.number: state for state in fragment_states(table)}
    folder = f"compact/{new_ulid()}"
    with translated(table.uri):
        copy = scratch_copy(table, files, folder)
        tasks = _plan(copy, target(list(states.values()))).tasks
        groups: tuple[Any, ...] = tuple(task.execute(copy) for task in tasks)
        added = [fragment for group in groups for fragment in group.new_fragments]
        paths = tuple(path for fragment in added for path in data_paths(files.root, copy.uri, fragment))
    numbers = [int(fragment.id) for group in groups for fragment in group.original_fragments]
    originals = {number: _identity(states[number]) for number in numbers}
    reach(Point.COMPACTION_WRITTEN)
    return Compacted(folder, paths, groups, originals, index_identities(table))


def _plan(handle: Any, target_rows: int) -> Any:
    return Compaction.plan(handle, {"target_rows_per_fragment": target_rows})


def still_compacts(compacted: Compacted, table: Table) -> bool:
    """True when every fragment that was rewritten is still there as it was, under the same indexes."""
    now = {state.number: _identity(state) for state in fragment_states(table)}
    unchanged = all(now.get(number) == identity for number, identity in compacted.originals.items())
    return unchanged and index_identities(table) == compacted.indexes


def stage_compaction(area: StagingArea, table: Table, compacted: Compacted) -> StagedEffect:
    """The rewrite as one version of the table, in whose folder its files are from now on."""
    number = greatest_fragment(table)
    groups = []
    waiting = [path for path in compacted.paths if not area.has_moved(table.pin.path, path)]
    with translated(table.uri):
        area.move([(compacted.folder, waiting)], table.pin.path)
        for group in compacted.groups:
            fresh = list(group.new_fragments)
            for fragment in fresh:
                number += 1
                fragment.id = number
            replaced = [table.handle.get_fragment(int(each.id)).metadata for each in group.original_fragments]
            groups.append(LanceOperation.RewriteGroup(replaced, fresh))
        operation = LanceOperation.Rewrite(groups, [])
    return staged_effect("compact", table, Transaction(table.version, operation))


def greatest_fragment(table: Table) -> int:
    """The greatest number that any fragment of this lineage has ever had.

    Only the manifest itself knows: the fragment may be gone. A number that is used again would be taken for covered by
    indexes, and for known by everything that remembers fragments by number.
    """
    with translated(table.uri):
        known = _varint_field(bytes(table.handle._ds.serialized_manifest()), _MAX_FRAGMENT_FIELD)
        present = max((int(number) for number in table.handle.fragment_ids()), default=-1)
    return max(present, -1 if known is None else known)


def _identity(state: FragmentState) -> Any:
    return state.files, state.deletions


def _varint_field(message: bytes, wanted: int) -> int | None:
    """The last value of a whole-number field at the top of a protobuf message."""
    found = None
    for tag, piece in pieces(message):
        if tag == wanted:
            key, place = decoded(piece, 0)
            found = decoded(piece, place)[0] if key & 7 == 0 else found
    return found
