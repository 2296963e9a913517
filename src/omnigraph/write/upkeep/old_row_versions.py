"""Old row versions: after old versions were removed, the version files of a table need not list them any more."""

from __future__ import annotations

from collections.abc import Callable, Collection

from omnigraph.model.identifiers import TableKey
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.compaction import stage_old_row_versions
from omnigraph.storage.manifest import GraphCommit, TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.upkeep.attempts import UpkeepArea
from omnigraph.write.upkeep.table_pass import TablePass


def put_old_row_versions_together(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    branch: str,
    only: Collection[TableKey] | None = None,
    actor_id: str | None = None,
) -> tuple[GraphCommit | None, frozenset[TableKey]]:
    """The commit, and the tables whose version files are shorter since; None and no table when nothing was to be done,
    or the branch was too busy."""
    moved: set[TableKey] = set()

    def stage(pin: TablePin) -> StagedEffect | None:
        moved.discard(pin.table_key)
        effect = stage_old_row_versions(storage.tables.open(pin), lambda: oldest_needed(storage, pin))
        if effect is not None:
            moved.add(pin.table_key)
        return effect

    with UpkeepArea(storage) as area:
        commit, _ = TablePass(area, only, stage).publish(schema, branch, actor_id)
    return commit, frozenset(moved if commit is not None else ())


def oldest_needed(storage: GraphStorage, pin: TablePin) -> int:
    """The oldest version of a lineage that anything can be compared with: one that is there, or at which a fork begins.

    A fork has the rows that its source had, so what was written before it began is the same on both sides. More can
    only go, and a fork begins at a version that is there.
    """
    there = [each.version for each in storage.old_versions.on_disk(pin.path)]
    begins = [storage.lineages.origin(pin.location, name) for name in storage.lineages.names(pin.location)]
    cut = [version for lineage, version in filter(None, begins) if lineage == pin.lineage]
    own = None if pin.lineage is None else storage.lineages.origin(pin.location, pin.lineage)
    return min([*there, *cut, *([] if own is None else [own[1]]), pin.version])
