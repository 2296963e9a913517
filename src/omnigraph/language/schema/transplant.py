"""Transplant: a declaration of one schema text put into another, as it was written."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.language.diagnostics import SourceText
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    Declaration,
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    Place,
    PropertyDecl,
    TypeKind,
)

_KINDS: dict[TypeKind, type[Declaration]] = {"interface": InterfaceDecl, "node": NodeDecl, "edge": EdgeDecl}


def with_type(text: str, past: str, kind: TypeKind, name: str) -> str | None:
    """The text with a type as `past` declares it, at the end; None when `past` does not declare it."""
    found = _declaration(past, kind, name)
    if found is None:
        return None
    hints = [*_hints(() if isinstance(found, InterfaceDecl) else found.annotations)]
    hints += [place for prop in found.properties for place in _hints(prop.annotations)]
    return f"{text.rstrip()}\n\n{_cut(past, found.place, hints)}\n"


def with_property(text: str, past: str, kind: TypeKind, type_name: str, name: str) -> str | None:
    """The text with a property of a type as `past` declares it, but nullable: entities may have come that lack it.

    None when `past` does not declare it, or the text has no such type any more.
    """
    owner, target = _declaration(past, kind, type_name), _declaration(text, kind, type_name)
    declared = None if owner is None else next((prop for prop in owner.properties if prop.name.text == name), None)
    if declared is None or target is None:
        return None
    written = f"{_nullable(past, declared)}"
    if isinstance(target, EdgeDecl) and not target.has_body:
        return f"{text[: target.place.end]} {{ {written} }}{text[target.place.end :]}"
    place = target.place.end - 1  # the brace that closes the body
    return f"{text[:place].rstrip()}\n    {written}\n{text[place:]}"


def _nullable(past: str, prop: PropertyDecl) -> str:
    whole = _cut(past, prop.place, _hints(prop.annotations))
    if prop.type.type.nullable:
        return whole
    end = prop.type.place.end - prop.place.start
    return f"{whole[:end]}?{whole[end:]}"


def _declaration(text: str, kind: TypeKind, name: str) -> Declaration | None:
    parsed = parse_schema(Report(SourceText(text)), strict=False)
    return next(
        (each for each in parsed.declarations if isinstance(each, _KINDS[kind]) and each.name.text == name), None
    )


def _hints(annotations: Sequence[AnnotationSyntax]) -> list[Place]:
    return [each.place for each in annotations if each.name.text == "rename_from"]


def _cut(text: str, place: Place, without: Sequence[Place]) -> str:
    """What was written there, without some parts of it; what those would rename is long renamed."""
    parts, done = [], place.start
    for each in sorted(without, key=lambda one: one.start):
        parts.append(text[done : each.start].rstrip())
        done = each.end
    return "".join([*parts, text[done : place.end]])
