"""Old row versions: what a table says of versions that are gone is put together, as one staged effect without a file.

Every version file of a table lists when each row was made and last written, run by run. Of a table that is written row
by row that is most of the file, and every commit writes it whole. Compaction keeps the lists, because diffs and logs
read them; but nobody can ask about a version that was removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from omnigraph.storage.lance import FragmentMetadata, LanceOperation, Transaction, translated
from omnigraph.storage.tables import (
    StagedEffect,
    Table,
    read_row_versions,
    run_count,
    staged_effect,
    told_apart_from,
    written_row_versions,
)

VERSION_BYTES_MIN = 128 * 1024
"""A shorter version file is not worth a look."""
RUNS_MIN = 4096
"""So many runs must go, some 50 kB of every later version file."""
_MADE, _WRITTEN = "created_at_version_meta", "last_updated_at_version_meta"


def stage_old_row_versions(table: Table, oldest: Callable[[], int]) -> StagedEffect | None:
    """The rows that were written before the `oldest` version that is needed, as if they were written in it. None when
    that makes little difference."""
    with translated(table.uri):
        if len(table.handle._ds.serialized_manifest()) < VERSION_BYTES_MIN:
            return None
        floor, saved, fragments = oldest(), 0, []
        for fragment in table.handle.get_fragments():
            known, fewer = _put_together(fragment.metadata, floor)
            saved += fewer
            fragments.append(known)
        if saved < RUNS_MIN:
            return None
        operation = LanceOperation.Merge(fragments, table.handle.lance_schema)
    return staged_effect("columns", table, Transaction(table.version, operation))


def _put_together(metadata: Any, oldest: int) -> tuple[Any, int]:
    """A fragment with fewer runs, and how many they are fewer."""
    found = metadata.to_json()
    lists = [_inline(found.get(name)) for name in (_MADE, _WRITTEN)]
    made, written = (None if each is None else read_row_versions(each) for each in lists)
    if made is None or written is None or len(made) != len(written):
        return metadata, 0
    fresh = told_apart_from(oldest, made, written)
    fewer = run_count(made) + run_count(written) - sum(run_count(each) for each in fresh)
    if not fewer:
        return metadata, 0
    for name, versions in zip((_MADE, _WRITTEN), fresh, strict=True):
        found[name] = {"inline": list(written_row_versions(versions))}
    return FragmentMetadata.from_json(json.dumps(found)), fewer


def _inline(listed: Any) -> bytes | None:
    """A list that the version file has in itself."""
    inline = listed.get("inline") if isinstance(listed, dict) else None
    return None if inline is None else bytes(inline)
