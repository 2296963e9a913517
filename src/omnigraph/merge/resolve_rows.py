"""Resolving rows: the conflicts of one type, decided as the caller said, and the rest kept to be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history.diff import Image, TableSide, read_images
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.merge.conflicts import (
    CONFLICTS_MAX,
    MergeConflict,
    row_conflict_kind,
    row_conflict_message,
)
from omnigraph.merge.resolution import (
    Entity,
    InvalidResolution,
    OnConflict,
    Resolution,
    Resolve,
    check_on_conflict,
    read_resolution,
    read_resolutions,
)
from omnigraph.merge.row_writes import RowWrites, stated_values
from omnigraph.merge.table_merge import DecidedRows, Sides
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.external import BlobBases, BlobIntake

LOOK_AT_ROWS = 256
"""So many conflicts are read at a time."""


@dataclass(frozen=True, slots=True)
class ResolvedRows:
    """What the caller's decisions mean for one type."""

    writes: list[RowWrites]
    removed: pa.Array
    removed_rows: npt.NDArray[np.uint64]


@dataclass(slots=True)
class _Kept:
    """One conflict row on its way: where its images are."""

    entity_id: str
    decision: int
    base_side: TableSide | None
    base: int | None
    source: int | None
    target: int | None


class Resolver:
    """Decides the conflicts of one merge, and remembers those that nobody decided."""

    def __init__(self, on_conflict: OnConflict | None, resolve: Resolve | None) -> None:
        self._by_kind = check_on_conflict(on_conflict)
        self._ask = resolve if callable(resolve) else None
        listed: Iterable[Mapping[str, Any]] = () if resolve is None or callable(resolve) else resolve
        self._listed = read_resolutions(listed)
        self._used: set[Entity] = set()
        self.conflicts: list[MergeConflict] = []
        self.total = 0
        self.resolved = 0

    def resolve(
        self, key: TableKey, entity: NodeType | EdgeType, sides: Sides, groups: Sequence[DecidedRows]
    ) -> ResolvedRows:
        """Applies the decisions for the conflicts of one type; what is left goes to `conflicts`, by id."""
        outcome = _Outcome(entity, sides)
        rows = sorted(_rows_of(groups), key=lambda row: row.entity_id.encode())
        for start in range(0, len(rows), LOOK_AT_ROWS):
            part = rows[start : start + LOOK_AT_ROWS]
            for row, conflict in self._shown(key, sides, part):
                decision = self._decision(key, row, conflict)
                if decision is None:
                    self._keep(key, row, conflict)
                else:
                    self.resolved += 1
                    outcome.add(row, decision)
        return outcome.rows()

    def refuse_unused(self) -> None:
        """A resolution that names no conflict is a mistake: of the name, or of the merge that it was written for."""
        for key, entity_id in self._listed:
            if (key, entity_id) not in self._used:
                raise InvalidResolution(f"{key.type_name} '{entity_id}' is not in conflict")

    def _shown(
        self, key: TableKey, sides: Sides, rows: Sequence[_Kept]
    ) -> Iterator[tuple[_Kept, MergeConflict | None]]:
        """The rows with their conflicts; images are read only if somebody will see them."""
        if self._ask is None and len(self.conflicts) >= CONFLICTS_MAX:
            return ((row, None) for row in rows)
        if self._ask is None and len(self._by_kind) == 3 and not self._listed:
            return ((row, None) for row in rows)
        return zip(rows, _conflicts(key, sides, rows), strict=True)

    def _decision(self, key: TableKey, row: _Kept, conflict: MergeConflict | None) -> Resolution | None:
        listed = self._listed.get((key, row.entity_id))
        if listed is not None:
            self._used.add((key, row.entity_id))
            return listed
        if self._ask is not None and conflict is not None:
            answer = self._ask(conflict)
            if answer is not None:
                return read_resolution(answer, f"the answer for {key.type_name} '{row.entity_id}'")
        side = self._by_kind.get(row_conflict_kind(row.decision))
        return None if side is None else Resolution(take=side)

    def _keep(self, key: TableKey, row: _Kept, conflict: MergeConflict | None) -> None:
        self.total += 1
        if conflict is not None and len(self.conflicts) < CONFLICTS_MAX:
            self.conflicts.append(conflict)


class _Outcome:
    """Gathers what resolved conflicts write and remove."""

    def __init__(self, entity: NodeType | EdgeType, sides: Sides) -> None:
        self._entity = entity
        self._sides = sides
        self._whole: dict[int, tuple[TableSide, list[tuple[str, int, int | None]]]] = {}
        self._stated: list[RowWrites] = []
        self._removed: list[tuple[str, int]] = []

    def add(self, row: _Kept, resolution: Resolution) -> None:
        if resolution.take is None:
            self._write_values(row, resolution)
        elif resolution.take == "theirs":
            self._write_or_remove(row, self._sides.source, row.source)
        elif resolution.take == "base":
            self._write_or_remove(row, row.base_side, row.base)
        elif resolution.take == "delete":
            self._write_or_remove(row, None, None)

    def rows(self) -> ResolvedRows:
        ids, rows = [entity_id for entity_id, _ in self._removed], [row for _, row in self._removed]
        writes = [_row_writes(side, facts) for side, facts in self._whole.values()]
        return ResolvedRows([*writes, *self._stated], pa.array(ids, pa.string()), np.array(rows, np.uint64))

    def _write_or_remove(self, row: _Kept, side: TableSide | None, place: int | None) -> None:
        if side is not None and place is not None:
            self._whole.setdefault(id(side), (side, []))[1].append((row.entity_id, place, row.target))
        elif row.target is not None:
            self._removed.append((row.entity_id, row.target))

    def _write_values(self, row: _Kept, resolution: Resolution) -> None:
        """Over the target's image; over the source's when the target has removed the entity."""
        known = self._sides.target or self._sides.source
        bases = known.storage.blob_bases if known is not None else BlobBases()
        values = stated_values(self._entity, row.entity_id, resolution, BlobIntake(bases))
        for side, place in ((self._sides.target, row.target), (self._sides.source, row.source)):
            if side is not None and place is not None:
                self._stated.append(_row_writes(side, [(row.entity_id, place, row.target)], values))
                return


def _row_writes(
    side: TableSide, facts: Sequence[tuple[str, int, int | None]], values: Mapping[str, Any] | None = None
) -> RowWrites:
    ids, rows, replaced = zip(*facts, strict=True)
    return RowWrites(
        pa.array(ids, pa.string()), side, np.array(rows, np.uint64), pa.array(replaced, pa.uint64()), values
    )


def _rows_of(groups: Sequence[DecidedRows]) -> Iterator[_Kept]:
    for group in groups:
        columns = (group.base_rows, group.source_rows, group.target_rows)
        facts = zip(
            group.ids.to_pylist(), group.decisions.tolist(), *(each.to_pylist() for each in columns), strict=True
        )
        for entity_id, decision, base, source, target in facts:
            yield _Kept(entity_id, decision, group.base, base, source, target)


def _conflicts(key: TableKey, sides: Sides, rows: Sequence[_Kept]) -> Iterator[MergeConflict]:
    source = _images(rows, lambda row: (sides.source, row.source))
    target = _images(rows, lambda row: (sides.target, row.target))
    base = _images(rows, lambda row: (row.base_side, row.base))
    for row, *images in zip(rows, base, source, target, strict=True):
        yield MergeConflict(
            kind=row_conflict_kind(row.decision),
            entity_kind=key.kind,
            type_name=key.type_name,
            entity_id=row.entity_id,
            message=row_conflict_message(row.decision, row.entity_id),
            base=images[0],
            source=images[1],
            target=images[2],
        )


def _images(rows: Sequence[_Kept], where: Callable[[_Kept], tuple[TableSide | None, int | None]]) -> list[Image | None]:
    """The images of one side; None where it lacks the entity. Rows of one table are read together."""
    places = [where(row) for row in rows]
    images: list[Image | None] = [None] * len(rows)
    for side in {id(side): side for side, place in places if side is not None and place is not None}.values():
        own = [number for number, (other, place) in enumerate(places) if other is side and place is not None]
        found = read_images(side, np.array([places[number][1] for number in own], np.uint64))
        for number, image in zip(own, found, strict=True):
            images[number] = image
    return images
