"""Rename resolution: which accepted declaration each desired one continues.

The stored schema knows names only, so a rename is visible only through `@rename_from`. An equal name always wins over
a hint; a hint that could mean nothing, or two things, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from omnigraph.language.diagnostics import Diagnostic, SourceText, did_you_mean
from omnigraph.language.schema.catalog import Annotation, Catalog
from omnigraph.language.schema.compile import CompiledSchema
from omnigraph.language.schema.ir import InterfaceIR, NodeIR, SchemaIR, TypeIR
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import AnnotationSyntax, InterfaceDecl, Place, TypeKind

IGNORED_HINT = "IgnoredExactMatchRenameHint"
IGNORED_SWAP = "IgnoredRenameSwap"

KINDS: tuple[TypeKind, ...] = ("interface", "node", "edge")


@dataclass(frozen=True)
class Resolution:
    """For each desired declaration the accepted name it continues; a new one has none."""

    types: Mapping[tuple[TypeKind, str], str] = field(default_factory=dict)
    properties: Mapping[tuple[TypeKind, str, str], str] = field(default_factory=dict)
    """Keyed by kind, desired type, desired property."""


def types_of(ir: SchemaIR, kind: TypeKind) -> Sequence[TypeIR]:
    if kind == "interface":
        return ir.interfaces
    return ir.nodes if kind == "node" else ir.edges


def resolve(accepted: SchemaIR, desired: CompiledSchema, report: Report) -> Resolution:
    """The whole mapping. Contradictory hints go into the report as errors, useless ones as warnings."""
    resolver = _Resolver(accepted, desired, report)
    for kind in KINDS:
        resolver.resolve_types(kind)
    return Resolution(resolver.types, resolver.properties)


def stored_renames(before: SchemaIR, after: SchemaIR) -> Resolution:
    """The same for two schemas that were both accepted, by hints that the later one keeps; stale ones do nothing."""
    return resolve(before, CompiledSchema("", after, "", Catalog()), Report(SourceText("")))


class _Resolver:
    def __init__(self, accepted: SchemaIR, desired: CompiledSchema, report: Report) -> None:
        self.accepted = accepted
        self.desired = desired.ir
        self.report = report
        self.places = hint_places(desired)
        self.types: dict[tuple[TypeKind, str], str] = {}
        self.properties: dict[tuple[TypeKind, str, str], str] = {}

    def resolve_types(self, kind: TypeKind) -> None:
        before = {item.name: item for item in types_of(self.accepted, kind)}
        after = types_of(self.desired, kind)
        hints = {item.name: hint_of(_annotations(item)) for item in after}
        claims = self._claim(
            what=f"{kind} type",
            before={name: hint_of(_annotations(item)) for name, item in before.items()},
            after=hints,
            place=lambda name: self._place(kind, name, None),
            unknown=lambda hint: self._other_kind(kind, hint),
        )
        for item in after:
            old = claims.get(item.name)
            if old is not None:
                self.types[kind, item.name] = old
            self._resolve_properties(kind, item, before[old] if old is not None else None)

    def _resolve_properties(self, kind: TypeKind, item: TypeIR, before: TypeIR | None) -> None:
        injected = self._injected(item)
        if before is None:
            for prop in item.properties:
                hint = hint_of(prop.annotations)
                if hint is not None and prop.name not in injected:
                    message = f"'{item.name}.{prop.name}' cannot continue '{hint}': {kind} type '{item.name}' is new"
                    self._error(message, self._place(kind, item.name, prop.name), "remove the hint")
            return
        old_names = {prop.name for prop in before.properties}
        after: dict[str, str | None] = {}
        for prop in item.properties:
            hint = hint_of(prop.annotations)
            # A hint from an interface refers to the interface; for this type it may have no effect.
            inert = prop.name in injected and (hint not in old_names or prop.name in old_names)
            after[prop.name] = None if inert else hint
        claims = self._claim(
            what=f"property of '{item.name}'",
            before={prop.name: hint_of(prop.annotations) for prop in before.properties},
            after=after,
            place=lambda name: self._place(kind, item.name, name),
            unknown=lambda hint: self._other_owner(item.name, hint),
        )
        for new, old in claims.items():
            self.properties[kind, item.name, new] = old

    def _claim(
        self,
        *,
        what: str,
        before: Mapping[str, str | None],
        after: Mapping[str, str | None],
        place: Callable[[str], Place],
        unknown: Callable[[str], str | None],
    ) -> dict[str, str]:
        """New name to old name. `before` and `after` map names to their hints."""
        claims = {name: name for name in after if name in before}
        claimed_by = {name: name for name in claims}
        for name, hint in after.items():
            if hint is None:
                continue
            if name in before:
                self._ignored(what, name, hint, before, after, place(name))
            elif hint not in before:
                reason = unknown(hint) or f"the accepted schema has no {what} '{hint}'"
                self._error(f"'{name}' cannot continue '{hint}': {reason}", place(name), did_you_mean(hint, before))
            elif hint in claimed_by:
                message = f"'{name}' and '{claimed_by[hint]}' both continue '{hint}'"
                self._error(message, place(name), "rename in one change, and reuse the old name in a later one")
            else:
                claims[name] = hint
                claimed_by[hint] = name
        return claims

    def _ignored(
        self,
        what: str,
        name: str,
        hint: str,
        before: Mapping[str, str | None],
        after: Mapping[str, str | None],
        place: Place,
    ) -> None:
        if after.get(hint) == name and hint in before:
            message = f"'{name}' and '{hint}' ask to swap their names; both hints are ignored and nothing is swapped"
            advice = "rename one to a third name first, and again in a later change"
            self.report.warn(message, place, advice, stage="resolution", code=IGNORED_SWAP)
        elif before[name] != hint:
            # The same hint in the accepted schema is the trace of a rename that has happened.
            message = f"the hint '{hint}' is ignored: the accepted schema has a {what} '{name}' already"
            self.report.warn(message, place, "remove the hint", stage="resolution", code=IGNORED_HINT)

    def _other_kind(self, kind: TypeKind, hint: str) -> str | None:
        for other in KINDS:
            if other != kind and any(item.name == hint for item in types_of(self.accepted, other)):
                return f"'{hint}' is an accepted {other} type, not a {kind} type"
        return None

    def _other_owner(self, owner: str, hint: str) -> str | None:
        for kind in KINDS:
            for item in types_of(self.accepted, kind):
                if item.name != owner and any(prop.name == hint for prop in item.properties):
                    return f"'{hint}' is a property of {kind} type '{item.name}'; properties do not move between types"
        return None

    def _injected(self, item: TypeIR) -> Collection[str]:
        """Properties whose hint was written on an interface."""
        if not isinstance(item, NodeIR):
            return ()
        offered = {
            (prop.name, prop.annotations)
            for interface in self.desired.interfaces
            if interface.name in item.implements
            for prop in interface.properties
        }
        return {prop.name for prop in item.properties if (prop.name, prop.annotations) in offered}

    def _place(self, kind: TypeKind, type_name: str, prop: str | None) -> Place:
        return self.places.get((kind, type_name, prop), Place(0, 0))

    def _error(self, message: str, place: Place, hint: str | None) -> None:
        self.report.error("resolution", message, place, hint)


def hint_of(annotations: Sequence[Annotation]) -> str | None:
    return next((a.value for a in annotations if a.name == "rename_from"), None)


def _annotations(item: TypeIR) -> tuple[Annotation, ...]:
    return () if isinstance(item, InterfaceIR) else item.annotations


def hint_places(desired: CompiledSchema) -> dict[tuple[TypeKind, str, str | None], Place]:
    """Where each `@rename_from` stands in the text."""
    places: dict[tuple[TypeKind, str, str | None], Place] = {}
    kinds: dict[str, TypeKind] = {"InterfaceDecl": "interface", "NodeDecl": "node", "EdgeDecl": "edge"}
    for declaration in parse_schema(Report(SourceText(desired.source))).declarations:
        kind = kinds[type(declaration).__name__]
        written = () if isinstance(declaration, InterfaceDecl) else declaration.annotations
        owners: list[tuple[str | None, Sequence[AnnotationSyntax]]] = [(None, written)]
        owners += [(prop.name.text, prop.annotations) for prop in declaration.properties]
        for prop, written_on in owners:
            for annotation in written_on:
                if annotation.name.text == "rename_from":
                    places[kind, declaration.name.text, prop] = annotation.place
    return places


def inert_hints(compiled: CompiledSchema) -> tuple[Diagnostic, ...]:
    """A warning per rename hint, for a schema that starts a graph: there is nothing to rename yet."""
    report = Report(SourceText(compiled.source, compiled.file))
    for place in hint_places(compiled).values():
        report.warn("this hint has no effect in a new graph", place, "remove it", stage="resolution", code=IGNORED_HINT)
    return report.warnings
