"""The plan of a schema change: the steps, and what they mean for the graph as it is. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from omnigraph.language import Diagnostic
from omnigraph.language.schema import (
    CompiledSchema,
    DropProperty,
    DropType,
    EnumRenames,
    MigrationPlan,
    Step,
    UnsupportedChange,
    plan_migration,
)
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.write.evolution.facts import BlockingBranch, TableFacts, blocking_branches, pinning_tags, table_facts
from omnigraph.write.evolution.rows_without_vectors import RowsWithoutVectors, rows_without_vectors
from omnigraph.write.evolution.table_evolutions import TableEvolution, table_evolutions


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a caller agrees to: every drop for good, or those of some entities; names for enum values that go."""

    allow_data_loss: bool = False
    allow_drop: tuple[str, ...] = ()
    enum_values: EnumRenames = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """What a schema change would do. With an unsupported step nothing of it can be done.

    >>> plan = graph.plan_schema(graph.schema_source.replace("age: I32?", "age: String?"))
    >>> plan.supported, len(plan.unsupported)
    (False, 1)
    """

    migration: MigrationPlan
    tables: tuple[TableFacts, ...] = ()
    """What changes on disk, by type; tables that are not named stay as they are."""
    blocking_branches: tuple[BlockingBranch, ...] = ()
    """Merge or delete them first."""
    pinning_tags: tuple[str, ...] = ()
    """Tags whose commits show what is to be dropped for good."""
    kept: tuple[TableEvolution, ...] = field(default=(), repr=False)
    """What becomes of every table, also of those that stay as they are."""
    without_vectors: tuple[RowsWithoutVectors, ...] = ()
    """Rows that a new property with `@embed` leaves without a vector."""

    @property
    def evolutions(self) -> tuple[TableEvolution, ...]:
        """The tables that change, as the engine sees them; `tables` tells what it costs.

        >>> graph.plan_schema(graph.schema_source).evolutions
        ()
        """
        return tuple(each for each in self.kept if each.effect != "none")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order in which they are told.

        >>> graph.plan_schema(graph.schema_source).steps
        ()
        """
        return self.migration.steps

    @property
    def supported(self) -> bool:
        """Whether every step can be done.

        >>> graph.plan_schema(graph.schema_source).supported
        True
        """
        return self.migration.supported

    @property
    def unsupported(self) -> tuple[UnsupportedChange, ...]:
        """The steps that cannot be done.

        >>> graph.plan_schema(graph.schema_source).unsupported
        ()
        """
        return self.migration.unsupported

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Rename hints that have no effect.

        >>> graph.plan_schema(graph.schema_source).warnings
        ()
        """
        return self.migration.warnings

    @property
    def bytes_rewritten(self) -> int:
        """How much is written in all, about.

        >>> graph.plan_schema(graph.schema_source).bytes_rewritten
        0
        """
        return sum(table.bytes_rewritten for table in self.tables)

    def to_json(self) -> dict[str, Any]:
        """The plan as one document.

        >>> graph.plan_schema(graph.schema_source).to_json()["steps"]
        []
        """
        document = {
            **self.migration.to_json(),
            "tables": [table.to_json() for table in self.tables],
            "blocking_branches": [branch.to_json() for branch in self.blocking_branches],
            "pinning_tags": list(self.pinning_tags),
            "ignored_hints": [warning.message for warning in self.warnings],
        }
        return document | ({"notes": self.notes} if self.notes else {})

    @property
    def notes(self) -> list[dict[str, Json]]:
        """What to do afterwards, as documents with `code`, `message` and `hint`.

        >>> embedded = graph.schema_source.replace("age: I32?", 'age: I32?  emb: Vector(4)? @embed("name")')
        >>> [note["message"] for note in graph.plan_schema(embedded).notes]
        ['2 rows of Person were there before emb and have no vector, because only writes embed']
        """
        return [each.to_json() for each in self.without_vectors]

    def render(self) -> str:
        """One line for each step, one for each table that is written, and one for each note.

        >>> print(graph.plan_schema(graph.schema_source).render())
        no schema changes
        """
        lines = [self.migration.render()]
        lines += [f"  {_cost(table)}" for table in self.tables if table.bytes_rewritten or table.indexes_lost]
        if self.blocking_branches:
            lines.append(f"blocked by branches: {', '.join(branch.name for branch in self.blocking_branches)}")
        if self.pinning_tags:
            lines.append(f"blocked by tags: {', '.join(self.pinning_tags)}")
        lines += [f"note: {each.sentence()}; {each.hint}" for each in self.without_vectors]
        return "\n".join(lines)


def _cost(table: TableFacts) -> str:
    lost = f"; indexes lost: {', '.join(table.indexes_lost)}" if table.indexes_lost else ""
    return f"{table.type}: {table.rows} rows, about {table.bytes_rewritten} bytes to write{lost}"


def plan_change(
    storage: GraphStorage,
    pins: Mapping[TableKey, TablePin],
    accepted: AcceptedSchema,
    desired: CompiledSchema,
    consent: Consent,
    restored: str | None = None,
) -> SchemaPlan:
    """The plan against the tables of one snapshot of main, or CompileError when rename hints contradict the schema."""
    migration = plan_migration(
        accepted.ir,
        desired,
        allow_data_loss=consent.allow_data_loss,
        hard_drops=consent.allow_drop,
        enum_renames=consent.enum_values,
    )
    _require_drops(migration, consent.allow_drop)
    if not migration.supported:
        return SchemaPlan(migration)
    rows = {key: pin.row_count for key, pin in pins.items()}
    every = table_evolutions(migration, accepted.catalog, desired, rows, restored)
    evolutions = [each for each in every if each.effect != "none"]
    return SchemaPlan(
        migration,
        table_facts(storage, pins, evolutions),
        blocking_branches(storage, migration.steps),
        pinning_tags(storage, evolutions),
        every,
        tuple(rows_without_vectors(every, rows)),
    )


def _require_drops(migration: MigrationPlan, allowed: tuple[str, ...]) -> None:
    """Consent to a drop that does not happen is a misspelt name, or a misunderstanding."""
    dropped = {entity_of(step) for step in migration.steps if isinstance(step, DropType | DropProperty)}
    unknown = [entity for entity in allowed if entity not in dropped]
    if unknown:
        listed = ", ".join(sorted(dropped)) or "nothing"
        raise BadRequest(f"the change does not drop '{unknown[0]}'", f"it drops {listed}")


def entity_of(step: DropType | DropProperty) -> str:
    """`node:T` or `node:T.p`."""
    if isinstance(step, DropType):
        return f"{step.type_kind}:{step.name}"
    return f"{step.type_kind}:{step.type_name}.{step.property_name}"
