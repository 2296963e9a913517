"""Interfaces: copies the properties of `implements` into each node, and says where they do not fit."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.schema.catalog import Annotation
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import InterfaceDecl, Name, NodeDecl, PropertyDecl, SchemaFile
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A node with every property it has in effect: its own in written order, then the injected ones."""

    decl: NodeDecl
    properties: tuple[PropertyDecl, ...]
    injected: frozenset[str]


def expand_interfaces(file: SchemaFile, report: Report, *, strict: bool) -> tuple[NodeShape, ...]:
    interfaces = {interface.name.text: interface for interface in reversed(file.interfaces)}
    return tuple(_expand(node, interfaces, report, strict=strict) for node in file.nodes)


def _expand(node: NodeDecl, interfaces: Mapping[str, InterfaceDecl], report: Report, *, strict: bool) -> NodeShape:
    own = {prop.name.text: prop for prop in node.properties}
    injected: dict[str, PropertyDecl] = {}
    seen: set[str] = set()
    for name in node.implements:
        interface = interfaces.get(name.text)
        if interface is None:
            report.error("parse", f"unknown interface '{name.text}'", name.place, did_you_mean(name.text, interfaces))
            continue
        if name.text in seen:
            if strict:
                report.warn(f"interface '{name.text}' is listed twice", name.place, "list it once")
            continue
        seen.add(name.text)
        for prop in interface.properties:
            mine = own.get(prop.name.text)
            earlier = injected.get(prop.name.text)
            if mine is not None:
                _check_redeclared(node, name, mine, prop, report)
            elif earlier is not None:
                _check_contributed_twice(node, name, earlier, prop, report)
            else:
                injected[prop.name.text] = prop
    return NodeShape(node, (*node.properties, *injected.values()), frozenset(injected))


def _check_redeclared(
    node: NodeDecl, interface: Name, mine: PropertyDecl, theirs: PropertyDecl, report: Report
) -> None:
    if mine.type.type != theirs.type.type:
        message = (
            f"property '{node.name.text}.{mine.name.text}' is {mine.type.type}, "
            f"but interface '{interface.text}' declares {theirs.type.type}"
        )
        report.error(
            "parse", message, mine.type.place, f"write {theirs.type.type}, or leave the property to the interface"
        )


def _check_contributed_twice(
    node: NodeDecl, interface: Name, earlier: PropertyDecl, later: PropertyDecl, report: Report
) -> None:
    what = (
        f"interface '{interface.text}' and an earlier one both give '{node.name.text}' the property '{later.name.text}'"
    )
    if earlier.type.type != later.type.type:
        message = f"{what}, as {earlier.type.type} and as {later.type.type}"
        report.error("parse", message, interface.place, "give both the same type")
    elif _without_hints(earlier) != _without_hints(later):
        hint = f"give both the same annotations, or declare '{later.name.text}' in '{node.name.text}'"
        report.error("catalog", f"{what}, with different annotations", interface.place, hint)


def _without_hints(prop: PropertyDecl) -> list[Annotation]:
    """Rename hints aside, and in no particular order."""
    stored = [annotation.stored() for annotation in prop.annotations if annotation.name.text != "rename_from"]
    return sorted(stored, key=lambda a: (a.name, a.value or "", a.kwargs))
