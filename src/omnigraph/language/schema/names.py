"""Name rules: reserved names, duplicates, endpoints, and edge names that differ only in case."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.language.diagnostics import Stage, did_you_mean
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import Declaration, EdgeDecl, PropertyDecl, SchemaFile, TypeKind

_STORAGE_COLUMNS = ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
_ENGINE_COLUMNS: dict[TypeKind, tuple[str, ...]] = {
    "interface": ("id",),
    "node": ("id",),
    "edge": ("id", "src", "dst"),
}
_MUTATION_WORDS = ("from", "to")


def check_names(file: SchemaFile, report: Report, *, strict: bool) -> None:
    for kind, declarations in (("interface", file.interfaces), ("node", file.nodes), ("edge", file.edges)):
        _check_unique_types(kind, declarations, report)
    for interface in file.interfaces:
        _check_property_names("interface", interface.name.text, interface.properties, report, strict=strict)
    for node in file.nodes:
        _check_property_names("node", node.name.text, node.properties, report, strict=strict)
    for edge in file.edges:
        _check_property_names("edge", edge.name.text, edge.properties, report, strict=strict)
    _check_endpoints(file, report)
    _check_folded_edges(file.edges, report)


def _check_unique_types(kind: str, declarations: Sequence[Declaration], report: Report) -> None:
    seen: set[str] = set()
    for declaration in declarations:
        name = declaration.name
        if name.text in seen:
            report.error("catalog", f"{kind} '{name.text}' is declared twice", name.place, "keep one declaration")
        seen.add(name.text)


def _check_property_names(
    kind: TypeKind, owner: str, properties: Sequence[PropertyDecl], report: Report, *, strict: bool
) -> None:
    duplicate_stage: Stage = "catalog" if kind == "edge" else "parse"
    seen: set[str] = set()
    for prop in properties:
        name = prop.name.text
        if name in seen:
            report.error(duplicate_stage, f"property '{owner}.{name}' is declared twice", prop.name.place, "keep one")
        seen.add(name)
        if name in _STORAGE_COLUMNS:
            report.error("parse", f"property name '{name}' is reserved for the storage", prop.name.place)
        elif strict and name in _ENGINE_COLUMNS[kind]:
            hint = "every entity has this column already; choose another name"
            report.error("parse", f"property name '{name}' is reserved on {kind}s", prop.name.place, hint)
        elif strict and kind == "edge" and name in _MUTATION_WORDS:
            hint = "mutations and load records use 'from' and 'to' for the endpoints; choose another name"
            report.error("parse", f"property name '{name}' is reserved on edges", prop.name.place, hint)


def _check_endpoints(file: SchemaFile, report: Report) -> None:
    nodes = {node.name.text for node in file.nodes}
    interfaces = {interface.name.text for interface in file.interfaces}
    for edge in file.edges:
        for endpoint in (edge.from_type, edge.to_type):
            if endpoint.text in nodes:
                continue
            if endpoint.text in interfaces:
                message = f"edge '{edge.name.text}' ends at interface '{endpoint.text}'; endpoints are node types"
                report.error("catalog", message, endpoint.place, "declare one edge type per node type")
            else:
                message = f"edge '{edge.name.text}' names node type '{endpoint.text}', which is not declared"
                report.error("catalog", message, endpoint.place, did_you_mean(endpoint.text, nodes))


def _check_folded_edges(edges: Sequence[EdgeDecl], report: Report) -> None:
    folded: dict[str, str] = {}
    for edge in edges:
        name = edge.name.text
        earlier = folded.setdefault(name.lower(), name)
        if earlier != name:
            message = f"edge names '{earlier}' and '{name}' differ only in case"
            report.error("catalog", message, edge.name.place, "edge names are looked up without case; rename one")
