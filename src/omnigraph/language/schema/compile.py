"""Compilation: `.pg` text in, schema IR, hash and catalog out; or every mistake at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.language.diagnostics import Diagnostic, SourceText
from omnigraph.language.schema.annotations import check_properties, check_type_annotations
from omnigraph.language.schema.catalog import Catalog
from omnigraph.language.schema.constraints import PatternChecker, check_edge_constraints, check_node_constraints
from omnigraph.language.schema.interfaces import NodeShape, expand_interfaces
from omnigraph.language.schema.ir import SchemaIR
from omnigraph.language.schema.ir_write import schema_ir_hash
from omnigraph.language.schema.lower import lower_schema
from omnigraph.language.schema.names import check_names
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.project import catalog_from_ir
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import SchemaFile


@dataclass(frozen=True)
class CompiledSchema:
    """A schema text and everything that follows from it."""

    source: str
    ir: SchemaIR
    ir_hash: str
    catalog: Catalog
    warnings: tuple[Diagnostic, ...] = ()
    file: str | None = field(default=None, compare=False)
    """Where the text came from, for messages about it."""

    def __hash__(self) -> int:
        return hash((self.source, self.ir_hash))


def compile_schema(
    text: str, *, file: str | None = None, check_pattern: PatternChecker | None = None, strict: bool = True
) -> CompiledSchema:
    """Compile a schema, or raise CompileError with every diagnostic.

    `check_pattern` judges the patterns of `@check`, because the languages know no regular-expression engine.
    `strict=False` reads a text as the releases before these rules did, for schemas that a graph already accepted.
    """
    report = Report(SourceText(text, file))
    report.check_encoding()
    parsed = parse_schema(report, strict=strict)
    if report.has_syntax_errors:
        # Rules over the declarations that happened to parse would only echo the syntax errors.
        report.raise_if_failed()
    nodes = expand_interfaces(parsed, report, strict=strict)
    _check_rules(parsed, nodes, report, strict=strict, check_pattern=check_pattern)
    report.raise_if_failed()
    ir = lower_schema(parsed, nodes, report, strict=strict)
    report.raise_if_failed()
    return CompiledSchema(text, ir, schema_ir_hash(ir), catalog_from_ir(ir), report.warnings, file)


def _check_rules(
    file: SchemaFile,
    nodes: tuple[NodeShape, ...],
    report: Report,
    *,
    strict: bool,
    check_pattern: PatternChecker | None,
) -> None:
    check_names(file, report, strict=strict)
    implemented = {name.text for node in file.nodes for name in node.implements}
    for interface in file.interfaces:
        # Injected properties are checked here, once, with the interface as their owner.
        if strict or interface.name.text in implemented:
            check_properties(
                "interface", interface.name.text, interface.properties, interface.properties, report, strict=strict
            )
    for shape in nodes:
        name = shape.decl.name.text
        check_type_annotations("node", name, shape.decl.annotations, report, strict=strict)
        check_properties("node", name, shape.decl.properties, shape.properties, report, strict=strict)
        check_node_constraints(shape, report, strict=strict, check_pattern=check_pattern)
    for edge in file.edges:
        check_type_annotations("edge", edge.name.text, edge.annotations, report, strict=strict)
        check_properties("edge", edge.name.text, edge.properties, edge.properties, report, strict=strict)
        check_edge_constraints(edge, report, strict=strict)
