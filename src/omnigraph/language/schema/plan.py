"""Migration planner: the steps from an accepted schema to a desired one. Pure; it looks at no rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from omnigraph.language.diagnostics import Diagnostic, SourceText
from omnigraph.language.schema.catalog import Annotation, Embed
from omnigraph.language.schema.changes import cardinality_step, constraint_steps, type_steps
from omnigraph.language.schema.compile import CompiledSchema
from omnigraph.language.schema.ir import (
    ColumnKind,
    ColumnRule,
    Constraint,
    EdgeIR,
    NodeIR,
    PropertyIR,
    SchemaIR,
    TypeIR,
)
from omnigraph.language.schema.project import default_of, embed_of
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.resolve import KINDS, Resolution, resolve, types_of
from omnigraph.language.schema.steps import (
    EDGE_DROPPED,
    NODE_DROPPED,
    PROPERTY_DROPPED,
    RELAXED,
    REQUIRED_WITHOUT_DEFAULT,
    AddProperty,
    AddType,
    ChangeImplements,
    DropMode,
    DropProperty,
    DropType,
    RenameProperty,
    RenameType,
    Step,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.language.schema.syntax import TypeKind

EnumRenames = Mapping[str, Mapping[str, str]]
"""By property, `node:T.p`: what each value that an enum loses becomes."""

_COLUMN_KINDS: dict[str, ColumnKind] = {"key": "Key", "unique": "Unique", "index": "Index"}
_DOCUMENTATION = ("description", "instruction")
_PLANNED_ELSEWHERE = ("rename_from", "embed", *_COLUMN_KINDS)


@dataclass(frozen=True)
class MigrationPlan:
    """The steps from one schema to another. With an unsupported step the whole plan is unsupported.

    >>> plan = graph.plan_schema(graph.schema_source.replace("age: I32?", "age: String?"))
    >>> plan.supported, len(plan.unsupported)
    (False, 1)
    """

    steps: tuple[Step, ...]
    warnings: tuple[Diagnostic, ...] = ()
    resolution: Resolution = field(default_factory=Resolution)
    """Which accepted declaration each desired one continues."""

    @property
    def supported(self) -> bool:
        """Whether every step can be done.

        >>> graph.plan_schema(graph.schema_source).supported
        True
        """
        return not self.unsupported

    @cached_property
    def unsupported(self) -> tuple[UnsupportedChange, ...]:
        """The steps that cannot be done.

        >>> graph.plan_schema(graph.schema_source).unsupported
        ()
        """
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    def to_json(self) -> dict[str, Any]:
        """The plan as one document.

        >>> graph.plan_schema(graph.schema_source).migration.to_json()
        {'supported': True, 'steps': []}
        """
        return {"supported": self.supported, "steps": [step.to_json() for step in self.steps]}

    def render(self) -> str:
        """One line for each step.

        >>> print(graph.plan_schema(graph.schema_source).render())
        no schema changes
        """
        return "\n".join(f"- {step.line()}" for step in self.steps) or "no schema changes"


def plan_migration(
    accepted: SchemaIR,
    desired: CompiledSchema,
    *,
    allow_data_loss: bool = False,
    hard_drops: Collection[str] = (),
    enum_renames: EnumRenames | None = None,
) -> MigrationPlan:
    """The plan, or CompileError (stage `resolution`) when rename hints contradict the accepted schema.

    `hard_drops` names what is dropped for good although the rest is not: `node:T`, `node:T.p`. `enum_renames` says what
    becomes of values that an enum loses: `{"node:T.p": {"old": "new"}}`.
    """
    report = Report(SourceText(desired.source, desired.file))
    resolution = resolve(accepted, desired, report)
    report.raise_if_failed()
    drops = Drops("hard" if allow_data_loss else "soft", frozenset(hard_drops))
    planner = _Planner(accepted, desired.ir, resolution, drops, enum_renames or {})
    return MigrationPlan(tuple(planner.steps()), report.warnings, resolution)


@dataclass(frozen=True)
class Drops:
    """Which drops are for good."""

    mode: DropMode
    hard: frozenset[str]

    def of(self, entity: str) -> DropMode:
        return "hard" if entity in self.hard else self.mode


class _Planner:
    def __init__(
        self,
        accepted: SchemaIR,
        desired: SchemaIR,
        resolution: Resolution,
        drops: Drops,
        enum_renames: EnumRenames,
    ) -> None:
        self.accepted = accepted
        self.desired = desired
        self.resolution = resolution
        self.drops = drops
        self.enum_renames = enum_renames
        self.new_node_names = {old: new for (kind, new), old in resolution.types.items() if kind == "node"}

    def steps(self) -> Iterator[Step]:
        """Interfaces, nodes, edges; in each the desired types by name, then the types that are gone."""
        for kind in KINDS:
            before = {item.name: item for item in types_of(self.accepted, kind)}
            kept: set[str] = set()
            for item in types_of(self.desired, kind):
                old = self.resolution.types.get((kind, item.name))
                if old is None:
                    yield AddType(type_kind=kind, name=item.name)
                else:
                    kept.add(old)
                    yield from self._type_steps(kind, before[old], item)
            for name in sorted(before.keys() - kept):
                yield self._drop_type(kind, name)

    def _drop_type(self, kind: TypeKind, name: str) -> Step:
        step = DropType(type_kind=kind, name=name, mode=self.drops.of(f"{kind}:{name}"))
        if kind == "interface":
            # No node implements it any more, or the desired schema would not have compiled; and it has no rows.
            return replace(step, code=RELAXED)
        return replace(step, tier="destructive", code=NODE_DROPPED if kind == "node" else EDGE_DROPPED)

    def _type_steps(self, kind: TypeKind, before: TypeIR, after: TypeIR) -> Iterator[Step]:
        if before.name != after.name:
            yield RenameType(type_kind=kind, from_name=before.name, to_name=after.name)
        if isinstance(before, NodeIR) and isinstance(after, NodeIR):
            if before.implements != after.implements:
                yield ChangeImplements(type_name=after.name, before=before.implements, after=after.implements)
            yield from self._type_annotation_steps(kind, before, after)
        elif isinstance(before, EdgeIR) and isinstance(after, EdgeIR):
            yield from self._edge_steps(before, after)
            yield from self._type_annotation_steps(kind, before, after)
        renames = {
            old: new
            for (owner_kind, owner, new), old in self.resolution.properties.items()
            if (owner_kind, owner) == (kind, after.name)
        }
        yield from self._property_steps(kind, before, after, renames)
        old_constraints = [_renamed(constraint, renames) for constraint in _constraints(before)]
        yield from constraint_steps(kind, after.name, old_constraints, _constraints(after))
        yield from _key_order_steps(kind, before, after, renames)

    def _edge_steps(self, before: EdgeIR, after: EdgeIR) -> Iterator[Step]:
        old = tuple(self.new_node_names.get(name, name) for name in (before.from_type, before.to_type))
        if old != (after.from_type, after.to_type):
            reason = (
                f"edge '{after.name}' cannot move from {before.from_type} -> {before.to_type} "
                f"to {after.from_type} -> {after.to_type}: its stored edges end elsewhere; add a new edge type"
            )
            yield UnsupportedChange(entity=f"edge:{after.name}", reason=reason)
        if before.cardinality != after.cardinality:
            yield cardinality_step(after.name, before.cardinality, after.cardinality)

    def _type_annotation_steps(self, kind: TypeKind, before: NodeIR | EdgeIR, after: NodeIR | EdgeIR) -> Iterator[Step]:
        documented = _only(after.annotations, _DOCUMENTATION)
        if _only(before.annotations, _DOCUMENTATION) != documented:
            yield UpdateTypeMetadata(type_kind=kind, name=after.name, annotations=documented)
        yield from _custom_steps(f"{kind}:{after.name}", before.annotations, after.annotations, _DOCUMENTATION)

    def _property_steps(
        self, kind: TypeKind, before: TypeIR, after: TypeIR, renames: Mapping[str, str]
    ) -> Iterator[Step]:
        old_by_new = {renames[prop.name]: prop for prop in before.properties if prop.name in renames}
        keys = _key_columns(after)
        for prop in after.properties:
            old = old_by_new.get(prop.name)
            if old is None:
                yield _added_property(kind, after.name, prop)
                continue
            if old.name != prop.name:
                yield RenameProperty(type_kind=kind, type_name=after.name, from_name=old.name, to_name=prop.name)
            renamed = self.enum_renames.get(f"{kind}:{after.name}.{prop.name}", {})
            yield from type_steps(kind, after.name, prop, old.type, in_key=prop.name in keys, renamed=renamed)
            yield from _embed_steps(kind, after.name, old, prop, renames)
            yield from _property_annotation_steps(kind, after.name, old, prop)
        for prop in before.properties:
            if prop.name not in renames:
                yield self._drop_property(kind, after.name, prop.name)

    def _drop_property(self, kind: TypeKind, owner: str, name: str) -> Step:
        mode = self.drops.of(f"{kind}:{owner}.{name}")
        step = DropProperty(type_kind=kind, type_name=owner, property_name=name, mode=mode)
        if kind == "interface":
            return replace(step, code=RELAXED)
        return replace(step, tier="destructive", code=PROPERTY_DROPPED)


def _added_property(kind: TypeKind, owner: str, prop: PropertyIR) -> Step:
    default = default_of(prop)
    if not prop.type.nullable and default is None:
        reason = (
            f"required property '{owner}.{prop.name}' has no value for stored rows: "
            f"make it nullable ({prop.type}?) or give it @default(…)"
        )
        entity = f"{kind}:{owner}.{prop.name}"
        return UnsupportedChange(entity=entity, reason=reason, tier="validated", code=REQUIRED_WITHOUT_DEFAULT)
    return AddProperty(
        type_kind=kind, type_name=owner, property_name=prop.name, property_type=prop.type, default=default
    )


def _embed_steps(
    kind: TypeKind, owner: str, before: PropertyIR, after: PropertyIR, renames: Mapping[str, str]
) -> Iterator[Step]:
    old = embed_of(before)
    if old is not None:
        old = Embed(renames.get(old.source, old.source), old.model)
    if old != embed_of(after):
        reason = (
            f"@embed of '{owner}.{after.name}' cannot change: stored vectors were computed as before; "
            "add a new vector property"
        )
        yield UnsupportedChange(entity=f"{kind}:{owner}.{after.name}", reason=reason)


def _property_annotation_steps(kind: TypeKind, owner: str, before: PropertyIR, after: PropertyIR) -> Iterator[Step]:
    free = (*_DOCUMENTATION, "default")
    documented = _only(after.annotations, free)
    if _only(before.annotations, free) != documented:
        yield UpdatePropertyMetadata(type_kind=kind, type_name=owner, property_name=after.name, annotations=documented)
    yield from _custom_steps(f"{kind}:{owner}.{after.name}", before.annotations, after.annotations, free)


def _custom_steps(
    entity: str, before: Iterable[Annotation], after: Iterable[Annotation], free: tuple[str, ...]
) -> Iterator[Step]:
    """Annotations without a meaning here may have one elsewhere, so they do not change in passing."""
    known = (*free, *_PLANNED_ELSEWHERE)
    old = {annotation for annotation in before if annotation.name not in known}
    new = {annotation for annotation in after if annotation.name not in known}
    if old != new:
        names = ", ".join(sorted({f"@{annotation.name}" for annotation in old ^ new}))
        yield UnsupportedChange(entity=entity, reason=f"custom annotations cannot change on an existing type: {names}")


def _only(annotations: Iterable[Annotation], names: tuple[str, ...]) -> tuple[Annotation, ...]:
    return tuple(annotation for annotation in annotations if annotation.name in names)


def _constraints(item: TypeIR) -> tuple[Constraint, ...]:
    """Those of an interface stand only on its properties."""
    if isinstance(item, NodeIR | EdgeIR):
        return item.constraints
    return tuple(
        ColumnRule(_COLUMN_KINDS[annotation.name], (prop.name,))
        for prop in item.properties
        for annotation in prop.annotations
        if annotation.name in _COLUMN_KINDS
    )


def _key_columns(item: TypeIR) -> set[str]:
    keys = [c for c in _constraints(item) if isinstance(c, ColumnRule) and c.kind == "Key"]
    return {column for key in keys for column in key.columns}


def _renamed(constraint: Constraint, renames: Mapping[str, str]) -> Constraint:
    if isinstance(constraint, ColumnRule):
        columns = {renames.get(column, column) for column in constraint.columns}
        return ColumnRule(constraint.kind, tuple(sorted(columns)))
    return replace(constraint, property=renames.get(constraint.property, constraint.property))


def _key_order_steps(kind: TypeKind, before: TypeIR, after: TypeIR, renames: Mapping[str, str]) -> Iterator[Step]:
    """Ids of a composite key list its members by name, so a rename must not change their order."""
    for constraint in _constraints(before):
        if kind == "node" and isinstance(constraint, ColumnRule) and constraint.kind == "Key":
            renamed = [renames.get(column, column) for column in sorted(set(constraint.columns))]
            if renamed != sorted(renamed):
                reason = (
                    f"renaming key members changes their order in ids from ({', '.join(renamed)}) "
                    f"to ({', '.join(sorted(renamed))}); choose names that sort like the old ones"
                )
                yield UnsupportedChange(entity=f"node:{after.name}", reason=reason)
