"""The schema language `.pg`: text to schema IR and catalog, migration plans, and the formatter."""

from omnigraph.language.schema.catalog import (
    Annotation,
    Cardinality,
    Catalog,
    CheckRule,
    EdgeType,
    Embed,
    InterfaceType,
    NodeType,
    Property,
    RangeRule,
)
from omnigraph.language.schema.compile import CompiledSchema, compile_schema
from omnigraph.language.schema.constraints import PatternChecker
from omnigraph.language.schema.format import format_schema
from omnigraph.language.schema.ir import SchemaIR
from omnigraph.language.schema.ir_read import InvalidSchemaIR, schema_ir_from_json
from omnigraph.language.schema.ir_write import schema_ir_hash, schema_ir_to_json
from omnigraph.language.schema.plan import MigrationPlan, plan_migration
from omnigraph.language.schema.project import catalog_from_ir
from omnigraph.language.schema.resolve import inert_hints

__all__ = [
    "Annotation",
    "Cardinality",
    "Catalog",
    "CheckRule",
    "CompiledSchema",
    "EdgeType",
    "Embed",
    "InterfaceType",
    "InvalidSchemaIR",
    "MigrationPlan",
    "NodeType",
    "PatternChecker",
    "Property",
    "RangeRule",
    "SchemaIR",
    "catalog_from_ir",
    "compile_schema",
    "format_schema",
    "inert_hints",
    "plan_migration",
    "schema_ir_from_json",
    "schema_ir_hash",
    "schema_ir_to_json",
]
