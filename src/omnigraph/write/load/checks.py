"""The checks of a load: decoded rows, type by type, become a change set. The second kernel of a load.

They work on whole types: find ids by endpoints, refuse repeated ids, fill absent properties, check every rule of the
schema. They need the columns that are checked and nothing else, wherever the rows themselves are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Literal

import numpy as np

from omnigraph.language.schema import Catalog, EdgeType
from omnigraph.model.errors import KeyConflict
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.changes import ChangeMode, ChangeSet, Provenance, TableChange
from omnigraph.write.intake import Decoded, DecodePlan, Refused
from omnigraph.write.load.edge_matching import MatchEdges, match_endpoints, matches_endpoints
from omnigraph.write.load.patch import check_filled, fill_absent
from omnigraph.write.load.repeated_input import KEY_CONFLICT, check_new_ids, check_repeats, coalesce
from omnigraph.write.load.spool import Spool
from omnigraph.write.places import Places
from omnigraph.write.rules import (
    CommittedView,
    RowViolation,
    ValidationFailed,
    Violation,
    ViolationLog,
    check_values,
    find_violations,
    row_violation,
)

LoadMode = Literal["append", "merge", "overwrite"]
OnError = Literal["fail", "skip"]

SKIP_ROUNDS_MAX = 16
"""So often may rejected records make others invalid (a node its edges, these a minimum …) before a load is refused."""

_CHANGE_MODES: Mapping[LoadMode, ChangeMode] = {"append": "insert", "merge": "upsert", "overwrite": "overwrite"}


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that was left out: where it stands, how it reads, and why."""

    file: str | None
    line: int
    text: bytes
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class PreparedLoad:
    """What a load would change, and what stands against it."""

    changes: ChangeSet
    nodes: Mapping[str, int]
    """Records per node type that were accepted, before an id that occurs twice is made one."""
    edges: Mapping[str, int]
    rejected: tuple[Reject, ...]
    """In order of their lines. A run that fails lists those that could not be read; one that skips lists them all."""
    violations: tuple[Violation, ...]
    violations_total: int
    refused: bool
    """The changes must not be written: records may not be skipped, or skipping them mends nothing."""

    def refuse(self) -> None:
        """Raises when the load must not be written: a KeyConflict when that is what comes first."""
        if not self.refused:
            return
        first = self.violations[0] if self.violations else None
        if first is not None and first.rule == KEY_CONFLICT:
            raise KeyConflict(f"{first.entity_kind}:{first.type_name}", first.entity_id)
        raise ValidationFailed(self.violations, self.violations_total)


@dataclass(slots=True)
class TypeRows:
    """The rows of one type. `decoded.lines` are running numbers over the whole input, see `Places`."""

    plan: DecodePlan
    decoded: Decoded
    values_proven: bool = False
    count: int = 0
    renamed: bool = False
    """Ids were found by endpoints: they are not those that were read."""


@dataclass(slots=True, kw_only=True)
class LoadChecks:
    """The checks of one load, and what they have found so far."""

    catalog: Catalog
    mode: LoadMode
    view: CommittedView
    patch: bool
    match_edges: MatchEdges
    skips: bool
    findings: ViolationLog
    places: Places
    types: dict[TableKey, TypeRows]
    texts: Callable[[TableKey, Sequence[int]], Mapping[int, bytes]]
    """The texts of records by their running numbers, asked for those that are rejected."""
    spool: Spool = field(default_factory=Spool)
    rejects: dict[int, Reject] = field(default_factory=dict)
    refused: bool = False

    # --- what reading left out ----------------------------------------------------------------------------

    def note(self, item: int, refused: Sequence[Refused], violations: Sequence[Violation], total: int) -> None:
        """What could not be read in an item, with the item's own lines."""
        start, before = self.places.starts[item], self.places.before[item]
        placed = [replace(each, line=(each.line or 0) + before) for each in violations]
        self.findings.add(placed, uncounted=total - len(placed))
        self.refused = self.refused or bool(total and not self.skips)
        why: dict[int, list[Violation]] = {}
        for violation in placed:
            why.setdefault(violation.line or 0, []).append(violation)
        for each in refused:
            line = each.line + before
            reject = Reject(self.places.files[item], line, each.text, tuple(why.get(line, ())))
            self.rejects[start + each.line] = reject

    # --- from records to rows -----------------------------------------------------------------------------

    def assemble(self) -> None:
        """Per type: ids by endpoints, nothing twice, one row per id, absent properties filled."""
        for key in sorted(self.types):
            each = self.types[key]
            each.count = len(each.decoded.lines)
            entity = each.plan.entity
            if self.mode == "merge" and isinstance(entity, EdgeType) and matches_endpoints(entity, self.match_edges):
                self._match(entity, each)
            self._drop(check_repeats(entity, self._change(each), each.decoded.generated))
            if self.mode == "merge":
                each.decoded = coalesce(each.decoded, self.spool)
            if self.patch:
                stored = partial(self.view.stored_rows, key, schema=each.plan.schema)
                each.decoded = fill_absent(each.decoded, each.plan, stored, self.spool)
                self._drop(check_filled(each.plan, self._change(each)))

    def _match(self, entity: EdgeType, each: TypeRows) -> None:
        each.decoded, several = match_endpoints(entity, each.decoded, self.view, self.spool)
        each.renamed = True
        change = self._change(each)
        assert change.rows is not None
        found = []
        for row in np.flatnonzero(several).tolist():
            src, dst = (change.rows[name][row].as_py() for name in ("src", "dst"))
            message = (
                f"there are several {entity.name} edges from '{src}' to '{dst}'; give the id of the one that is meant"
            )
            found.append(row_violation(entity, change, (row,), rule="match_edges", message=message))
        self._drop(found)

    # --- checking -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """The rules of the schema on the whole change. Beside records that could not be read, only what each row
        breaks by itself: whether an edge has its nodes is not known then."""
        if self.refused:
            for key in sorted(self.types):
                each = self.types[key]
                self._drop(check_values(each.plan.entity, self._change(each)))
            return
        for _ in range(SKIP_ROUNDS_MAX if self.skips else 1):
            if not self._drop(self._standing()) or self.refused:
                return
        self.refused = True

    def _standing(self) -> Iterator[RowViolation]:
        """Everything that stands against the change as it is now."""
        changes = self.changes()
        for key, change in changes.tables.items():
            each = self.types[key]
            yield from check_new_ids(each.plan.entity, change, each.decoded.generated, self.view)
        yield from find_violations(changes, self.view, self.catalog)

    def _drop(self, found: Iterable[RowViolation]) -> bool:
        """Takes the offending rows out when they may be skipped; True when anything was found."""
        blamed: dict[TableKey, dict[int, list[Violation]]] = {}
        anything = False
        for each in found:
            anything = True
            if not self.skips or not each.rows:
                self.refused = True
                self.findings.add([each.violation])
                continue
            for row in each.rows:
                blamed.setdefault(each.key, {}).setdefault(row, []).append(each.violation)
        for key, rows in blamed.items():
            self._drop_rows(key, self.types[key], rows)
        return anything

    def _drop_rows(self, key: TableKey, each: TypeRows, rows: Mapping[int, list[Violation]]) -> None:
        texts = self.texts(key, [int(each.decoded.lines[row]) for row in rows])
        for row, violations in rows.items():
            number = int(each.decoded.lines[row])
            self.findings.add(violations)
            file, line = self.places.place(number)
            self.rejects[number] = Reject(file, line or 0, texts[number], tuple(violations))
        keep = np.ones(len(each.decoded.lines), np.bool_)
        keep[list(rows)] = False
        each.decoded = self.spool.where(each.decoded, keep)
        each.count -= len(rows)

    # --- the result ---------------------------------------------------------------------------------------

    def _change(self, each: TypeRows) -> TableChange:
        provenance = Provenance(None, each.decoded.lines, self.places)
        mode = _CHANGE_MODES[self.mode]
        return TableChange(
            each.plan.entity.table_key,
            mode,
            each.decoded.rows,
            provenance=provenance,
            values_proven=each.values_proven,
        )

    def changes(self) -> ChangeSet:
        """A type of which nothing was accepted is left alone: an overwrite must not empty a table over bad input."""
        return ChangeSet({key: self._change(each) for key, each in sorted(self.types.items()) if each.count})

    def result(self) -> PreparedLoad:
        counts = {key: each.count for key, each in sorted(self.types.items()) if each.count}
        return PreparedLoad(
            changes=self.changes(),
            nodes={key.type_name: count for key, count in counts.items() if key.kind == "node"},
            edges={key.type_name: count for key, count in counts.items() if key.kind == "edge"},
            rejected=tuple(self.rejects[number] for number in sorted(self.rejects)),
            violations=tuple(self.findings.violations),
            violations_total=self.findings.total,
            refused=self.refused,
        )
