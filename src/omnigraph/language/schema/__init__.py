"""The schema language `.pg`: text to schema IR and catalog, migration plans, and the formatter."""

from typing import TYPE_CHECKING

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
from omnigraph.language.schema.ir import SchemaIR
from omnigraph.language.schema.ir_read import InvalidSchemaIR, schema_ir_from_json
from omnigraph.language.schema.ir_write import schema_ir_hash, schema_ir_to_json
from omnigraph.language.schema.project import catalog_from_ir
from omnigraph.language.schema.resolve import inert_hints
from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.schema.format import format_schema
    from omnigraph.language.schema.plan import MigrationPlan, plan_migration

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

_PLAN = "omnigraph.language.schema.plan"
__getattr__ = late_names(
    __name__,
    {"MigrationPlan": _PLAN, "format_schema": "omnigraph.language.schema.format", "plan_migration": _PLAN},
)
