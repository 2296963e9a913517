"""The languages: `.pg` schemas and `.gq` queries, from text to checked IR. Pure: no I/O, no Arrow, no Lance."""

# --- the schema language ----------------------------------------------------------------------------------
from omnigraph.language.diagnostics import CompileError, Diagnostic
from omnigraph.language.schema import (
    Catalog,
    CompiledSchema,
    InvalidSchemaIR,
    MigrationPlan,
    PatternChecker,
    SchemaIR,
    catalog_from_ir,
    compile_schema,
    inert_hints,
    plan_migration,
    schema_ir_from_json,
    schema_ir_hash,
    schema_ir_to_json,
)

__all__ = [
    "Catalog",
    "CompileError",
    "CompiledSchema",
    "Diagnostic",
    "InvalidSchemaIR",
    "MigrationPlan",
    "PatternChecker",
    "SchemaIR",
    "catalog_from_ir",
    "compile_schema",
    "inert_hints",
    "plan_migration",
    "schema_ir_from_json",
    "schema_ir_hash",
    "schema_ir_to_json",
]
