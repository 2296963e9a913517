"""The validating scan: stored rows against what a new schema demands more than the old one.

One pass over the columns that new rules look at; a second one only where something is suspected. Memory: eight bytes
per row for a new `@unique` or `@card`, whatever the values; batches otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import (
    AddConstraint,
    ChangeCardinality,
    ChangePropertyType,
    CheckRule,
    ColumnRule,
    EdgeType,
    MigrationPlan,
    NodeType,
    RangeRule,
)
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.tables import Table, text_hashes
from omnigraph.write.changes import TableChange
from omnigraph.write.evolution.lifting import lifted_rows
from omnigraph.write.evolution.table_evolutions import TableEvolution
from omnigraph.write.rules import (
    CommittedView,
    Violation,
    ViolationLog,
    canonical_column,
    check_values,
    repeated_in_change,
)

Hashes = npt.NDArray[np.uint64]
Tell = Callable[[int], None]
_FOLD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class NewRules:
    """What one type demands more than before."""

    required: tuple[str, ...] = ()
    ranges: tuple[RangeRule, ...] = ()
    checks: tuple[CheckRule, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    counts_edges: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.required or self.ranges or self.checks or self.unique or self.counts_edges)


def new_rules(plan: MigrationPlan, entity: NodeType | EdgeType) -> NewRules:
    """From the steps of the plan that ask for a scan."""
    required, ranges, checks, unique, counts = [], [], [], [], False
    for step in plan.steps:
        if step.tier != "validated":
            continue
        match step:
            case ChangeCardinality() if step.type_name == entity.name and entity.kind == "edge":
                counts = True
            case ChangePropertyType(property_name=name) if _is_of(step, entity) and step.before.nullable:
                required += [name] if not step.after.nullable else []
            case AddConstraint(constraint=RangeRule() as bounds) if _is_of(step, entity):
                ranges.append(bounds)
            case AddConstraint(constraint=CheckRule() as check) if _is_of(step, entity):
                checks.append(check)
            case AddConstraint(constraint=ColumnRule(columns=columns)) if _is_of(step, entity):
                unique.append(tuple(dict.fromkeys(columns)))
    return NewRules(tuple(required), tuple(ranges), tuple(checks), tuple(unique), counts)


def _is_of(step: AddConstraint | ChangePropertyType, entity: NodeType | EdgeType) -> bool:
    return (step.type_kind, step.type_name) == (entity.kind, entity.name)


def check_stored(change: TableEvolution, table: Table, rules: NewRules, log: ViolationLog, tell: Tell) -> None:
    """Adds what the stored rows break to the log."""
    entity = change.entity
    assert entity is not None
    bound = [*(each.property for each in rules.ranges), *(each.property for each in rules.checks)]
    values = [*rules.required, *bound]
    columns = list(dict.fromkeys(["id", *values, *(name for group in rules.unique for name in group)]))
    columns += ["src"] if rules.counts_edges and "src" not in columns else []
    narrowed = _only(entity, rules)
    groups = [*rules.unique, *([("src",)] if rules.counts_edges else [])]
    hashes: list[list[Hashes]] = [[] for _ in groups]
    for batch in lifted_rows(change, table, columns, tell):
        log.add(_value_violations(narrowed, rules, batch))
        for place, group in enumerate(groups):
            hashes[place].append(_tuple_hashes(batch, group)[0])
    for group, found in zip(rules.unique, hashes, strict=False):
        log.add(_repeated(change, table, entity, group, _joined(found)))
    if rules.counts_edges and isinstance(entity, EdgeType):
        log.add(_miscounted(change, table, entity, _joined(hashes[-1])))


def _only(entity: NodeType | EdgeType, rules: NewRules) -> NodeType | EdgeType:
    """The type with nothing but its new rules of single values."""
    plain = tuple(replace(prop, type=replace(prop.type, enum_values=None)) for prop in entity.properties)
    if isinstance(entity, NodeType):
        return replace(entity, properties=plain, ranges=rules.ranges, checks=rules.checks)
    return replace(entity, properties=plain)


def _value_violations(entity: NodeType | EdgeType, rules: NewRules, batch: pa.RecordBatch) -> Iterator[Violation]:
    for name in rules.required:
        for row in np.flatnonzero(batch.column(name).is_null().to_numpy(zero_copy_only=False)).tolist():
            entity_id = batch.column("id")[row].as_py()
            message = f"{entity.name} '{entity_id}' has no value for '{name}', which would be required"
            yield Violation(
                rule="required",
                message=message,
                entity_kind=entity.kind,
                type_name=entity.name,
                entity_id=entity_id,
                property=name,
            )
    change = TableChange(entity.table_key, "overwrite", pa.Table.from_batches([batch]))
    yield from (each.violation for each in check_values(entity, change))


# --- across rows ------------------------------------------------------------------------------------------


def _tuple_hashes(batch: pa.RecordBatch, group: Sequence[str]) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """A hash per row that has no null in the tuple, and which rows those are."""
    mixed = np.zeros(batch.num_rows, np.uint64)
    bound = np.ones(batch.num_rows, np.bool_)
    for name in group:
        texts = canonical_column(batch.column(name))
        bound &= texts.is_valid().to_numpy(zero_copy_only=False)
        mixed = mixed * _FOLD + text_hashes(pc.fill_null(texts, ""))
    return mixed[bound], bound


def _joined(parts: Sequence[Hashes]) -> Hashes:
    return np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))


def _repeated(
    change: TableEvolution, table: Table, entity: NodeType | EdgeType, group: Sequence[str], hashes: Hashes
) -> Iterator[Violation]:
    """Rows with equal tuples: those of equal hashes are read again and compared by their texts."""
    suspects = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    if not len(suspects):
        return
    rows = _suspected(change, table, ["id", *group], group, suspects)
    found = repeated_in_change(entity, group, TableChange(entity.table_key, "overwrite", rows))
    yield from (each.violation for each in found)


def _miscounted(change: TableEvolution, table: Table, edge: EdgeType, hashes: Hashes) -> Iterator[Violation]:
    values, counts = np.unique(hashes, return_counts=True)
    low, high = edge.cardinality.minimum, edge.cardinality.maximum
    wrong = (counts < low) | (counts > high if high is not None else np.zeros(len(counts), np.bool_))
    if not wrong.any():
        return
    rows = _suspected(change, table, ["id", "src"], ["src"], values[wrong])
    for each in pc.value_counts(rows["src"].combine_chunks()).to_pylist():
        source, count = each["values"], each["counts"]
        if count < low or (high is not None and count > high):
            bound = f"max {high}" if high is not None and count > high else f"min {low}"
            yield Violation(
                rule="@card",
                message=f"@card violation on edge {edge.name}: source '{source}' has {count} edges ({bound})",
                entity_kind="edge",
                type_name=edge.name,
                property="src",
                value=source,
            )


def _suspected(
    change: TableEvolution, table: Table, columns: Sequence[str], group: Sequence[str], suspects: Hashes
) -> pa.Table:
    """The rows whose tuple has one of these hashes."""
    names = list(dict.fromkeys(columns))
    parts: list[Any] = []
    for batch in lifted_rows(change, table, names):
        hashes, bound = _tuple_hashes(batch, group)
        keep = np.zeros(batch.num_rows, np.bool_)
        keep[bound] = np.isin(hashes, suspects)
        parts.append(batch.filter(pa.array(keep)))
    return pa.Table.from_batches(parts)


# --- edges that come back ---------------------------------------------------------------------------------


def missing_ends(view: CommittedView, edge: EdgeType, table: Table) -> Iterator[Violation]:
    """The edges of an earlier commit whose nodes are gone."""
    for batch in table.scan(["id", "src", "dst"], use_index=False):
        for column, node in (("src", edge.from_type), ("dst", edge.to_type)):
            ends = batch.column(column)
            for row in np.flatnonzero(~view.holds(TableKey("node", node), ends)).tolist():
                yield Violation(
                    rule="endpoint",
                    message=f"{column} '{ends[row].as_py()}' not found in {node}",
                    entity_kind="edge",
                    type_name=edge.name,
                    entity_id=batch.column("id")[row].as_py(),
                    property=column,
                    value=ends[row].as_py(),
                )
