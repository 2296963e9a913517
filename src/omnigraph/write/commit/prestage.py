"""Prestaging: work that only adds rows writes its files while others hold the branch, and moves them onto the newest
commit when its turn comes.

What is added does not depend on what is there, but whether it may be added does: so the rules are checked again inside
the window, against the commit that the work will follow. If a row must replace another by then, or anything else does
not fit any more, the files are removed and the work is prepared afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnigraph.model.errors import OmniGraphError
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import StagedEffect, discard, existing_ids, on_newer_version, sync_staged
from omnigraph.write.changes import TableChange
from omnigraph.write.commit.effects import stage
from omnigraph.write.commit.request import Prepared


@dataclass(frozen=True, slots=True)
class Prestaged:
    """Changes with their files, made against a commit that may not be the newest any more."""

    prepared: Prepared
    schema_ir_hash: str
    effects: Mapping[TableKey, StagedEffect]

    def discard(self, storage: GraphStorage) -> None:
        for effect in self.effects.values():
            discard(effect, storage.objects)


def prestage(
    storage: GraphStorage,
    branch: str,
    schema_ir_hash: str,
    pins: Mapping[TableKey, TablePin],
    prepare: Callable[[], Prepared],
) -> Prestaged | None:
    """The work with its files on disk; None when it is not of the kind, or does not stand against this commit.

    An error here is no answer: what is missing now may be there when the turn comes.
    """
    effects: dict[TableKey, StagedEffect] = {}
    try:
        prepared = prepare()
        moving = prepared.changes.changes()
        if not moving or not all(_only_adds(change, pins, branch) for change in moving):
            return None
        for change in moving:
            effect = stage(storage, change, pins[change.key])
            if effect is not None:
                effects[change.key] = effect
        ahead = Prestaged(prepared, schema_ir_hash, effects)
        if len(effects) < len(moving) or any(effect.rows_appended is None for effect in effects.values()):
            ahead.discard(storage)
            return None
        for effect in effects.values():
            sync_staged(effect, storage.root, storage.durability)
    except OmniGraphError:
        for effect in effects.values():
            discard(effect, storage.objects)
        return None
    return ahead


def _only_adds(change: object, pins: Mapping[TableKey, TablePin], branch: str) -> bool:
    if not isinstance(change, TableChange) or change.mode not in ("insert", "upsert") or change.key not in pins:
        return False
    return branch == MAIN or pins[change.key].lineage == branch


def _is_same_table(pin: TablePin, staged: TablePin) -> bool:
    """The files lie in the folder of a lineage, and are gone with it, also when another one has taken its name."""
    return pin.path == staged.path and pin.incarnation == staged.incarnation


def move_onto(
    storage: GraphStorage, ahead: Prestaged, pins: Mapping[TableKey, TablePin]
) -> dict[TableKey, StagedEffect] | None:
    """The same files as effects on these pins; None when a row is there already, or a table is not the same."""
    moved: dict[TableKey, StagedEffect] = {}
    for key, effect in ahead.effects.items():
        pin = pins.get(key)
        rows = ahead.prepared.changes.tables[key].rows
        if pin is None or rows is None or not _is_same_table(pin, effect.pin):
            return None
        table = storage.tables.open(pin)
        if pin.version != effect.pin.version and existing_ids(table, rows["id"].to_pylist()):
            return None
        moved[key] = on_newer_version(effect, table)
    return moved
