"""What a migration does to each table: pure, from the plan, both schemas and the number of stored rows.

`project` writes no row. `columns` writes the files of some columns. `rewrite` and `copy` write every row: one into the
same table, so that what is dropped for good is not in any file; the other into the table of the type's new name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from omnigraph.language.schema import (
    AddProperty,
    Catalog,
    ChangePropertyType,
    CompiledSchema,
    DropProperty,
    DropType,
    EdgeType,
    MigrationPlan,
    NodeType,
    RenameEnumValues,
)
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.tables import table_schema

Effect = Literal["none", "create", "hide", "project", "columns", "rewrite", "copy"]
FIXED: Mapping[EntityKind, tuple[str, ...]] = {"node": ("id",), "edge": ("id", "src", "dst")}


@dataclass(frozen=True, slots=True)
class Filled:
    """A column that gets values: from a stored one, converted, or the default."""

    name: str
    source: str | None = None
    default: str | None = None
    """The text of `@default`, where there is no source."""
    mapping: tuple[tuple[str, str], ...] = ()
    """Enum values that get another name."""
    comes_back: bool = False
    """The values are those of an earlier commit."""


@dataclass(frozen=True, slots=True)
class TableEvolution:
    """The change of one table."""

    key: TableKey
    """The type as it is called afterwards; for one that goes, as it was called."""
    effect: Effect
    entity: NodeType | EdgeType | None = None
    """Afterwards; None for a type that goes."""
    was: TableKey | None = None
    """The table with the rows of before; None for a new type."""
    sources: Mapping[str, str] | None = None
    """By column afterwards the stored one that it continues."""
    filled: tuple[Filled, ...] = ()
    dropped: tuple[str, ...] = ()
    is_hard: bool = False
    """What goes is to be gone from the past too."""


def table_evolutions(
    plan: MigrationPlan,
    before: Catalog,
    after: CompiledSchema,
    rows: Mapping[TableKey, int],
    restored: str | None = None,
) -> tuple[TableEvolution, ...]:
    """What becomes of every table, in the order of their keys. `rows` has the number of stored rows of each.

    `restored` names a property, `node:T.p`, whose values come back from an earlier commit.
    """
    found = [*_kept_and_new(plan, before, after.catalog, rows, restored), *_gone(plan)]
    return tuple(sorted(found, key=lambda each: str(each.key)))


def _gone(plan: MigrationPlan) -> Iterator[TableEvolution]:
    for step in plan.steps:
        if isinstance(step, DropType) and step.type_kind != "interface":
            key = TableKey(step.type_kind, step.name)
            yield TableEvolution(key, "hide", was=key, is_hard=step.mode == "hard")


def _kept_and_new(
    plan: MigrationPlan, before: Catalog, after: Catalog, rows: Mapping[TableKey, int], restored: str | None
) -> Iterator[TableEvolution]:
    for entity in after.entities:
        old_name = plan.resolution.types.get((entity.kind, entity.name))
        if old_name is None:
            yield TableEvolution(entity.table_key, "create", entity)
            continue
        was = TableKey(entity.kind, old_name)
        stored = before.table(was)
        assert stored is not None, "a rename continues an accepted type"
        yield _kept(plan, stored, entity, rows.get(was, 0), restored)


def _kept(
    plan: MigrationPlan, stored: NodeType | EdgeType, entity: NodeType | EdgeType, rows: int, restored: str | None
) -> TableEvolution:
    kind, name = entity.kind, entity.name
    sources = {column: column for column in FIXED[kind]}
    for prop in entity.properties:
        old = plan.resolution.properties.get((kind, name, prop.name))
        if old is not None:
            sources[prop.name] = old
    dropped, is_hard = _dropped(plan, entity)
    filled = tuple(_filled(plan, entity, sources, restored)) if rows else ()
    if stored.name != name:
        effect: Effect = "copy"
    elif is_hard:
        effect = "rewrite"
    elif filled:
        effect = "columns"
    else:
        same = table_schema(stored).equals(table_schema(entity)) and all(new == old for new, old in sources.items())
        # A column that is dropped and another of its name: equal to look at, and not the same.
        renewed = any(prop.name not in sources for prop in entity.properties)
        effect = "none" if same and not renewed else "project"
    return TableEvolution(entity.table_key, effect, entity, stored.table_key, sources, filled, dropped, is_hard)


def _dropped(plan: MigrationPlan, entity: NodeType | EdgeType) -> tuple[tuple[str, ...], bool]:
    own = [
        step
        for step in plan.steps
        if isinstance(step, DropProperty) and (step.type_kind, step.type_name) == (entity.kind, entity.name)
    ]
    return tuple(step.property_name for step in own), any(step.mode == "hard" for step in own)


def _filled(
    plan: MigrationPlan, entity: NodeType | EdgeType, sources: Mapping[str, str], restored: str | None
) -> Iterator[Filled]:
    for step in plan.steps:
        match step:
            case AddProperty(property_name=name) if f"{entity.kind}:{entity.name}.{name}" == restored:
                if _is_of(step, entity):
                    yield Filled(name, comes_back=True)
            case AddProperty(default=default) if default is not None and _is_of(step, entity):
                yield Filled(step.property_name, default=default)
            case ChangePropertyType(property_name=name) if _is_of(step, entity):
                if step.before.scalar is not step.after.scalar and not _is_mapped(plan, step):
                    yield Filled(name, sources[name])
            case RenameEnumValues(property_name=name) if _is_of(step, entity):
                yield Filled(name, sources[name], mapping=step.mapping)


def _is_of(step: AddProperty | ChangePropertyType | RenameEnumValues, entity: NodeType | EdgeType) -> bool:
    return (step.type_kind, step.type_name) == (entity.kind, entity.name)


def _is_mapped(plan: MigrationPlan, step: ChangePropertyType) -> bool:
    return any(
        isinstance(other, RenameEnumValues)
        and (other.type_kind, other.type_name, other.property_name)
        == (step.type_kind, step.type_name, step.property_name)
        for other in plan.steps
    )
