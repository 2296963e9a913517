"""The languages: `.pg` schemas and `.gq` queries, from text to checked IR. Pure: no I/O, no Arrow, no Lance."""

from __future__ import annotations

from typing import TYPE_CHECKING

# --- the schema language ----------------------------------------------------------------------------------
from omnigraph.language.diagnostics import CompileError, Diagnostic
from omnigraph.language.schema import (
    Catalog,
    CompiledSchema,
    InvalidSchemaIR,
    PatternChecker,
    SchemaIR,
    catalog_from_ir,
    compile_schema,
    inert_hints,
    schema_ir_from_json,
    schema_ir_hash,
    schema_ir_to_json,
)

# isort: split
# --- imported when first used: half of all commands ask no query, and few plan a migration ---------------------
from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.schema import MigrationPlan, format_schema, plan_migration

    # isort: split
    from omnigraph.language.query import (
        BoundParams,
        Column,
        CompiledQuery,
        LintReport,
        MutationIR,
        Operation,
        Param,
        ParameterError,
        QueryIR,
        QueryNameRequired,
        QuerySource,
        UnknownQuery,
        WrongQueryKind,
        bind_params,
        compile_queries,
        compile_query,
        describe_param,
        format_query,
        is_insert_only,
        lint_queries,
        parse_queries,
        row_count,
    )

__all__ = [
    "BoundParams",
    "Catalog",
    "Column",
    "CompileError",
    "CompiledQuery",
    "CompiledSchema",
    "Diagnostic",
    "InvalidSchemaIR",
    "LintReport",
    "MigrationPlan",
    "MutationIR",
    "Operation",
    "Param",
    "ParameterError",
    "PatternChecker",
    "QueryIR",
    "QueryNameRequired",
    "QuerySource",
    "SchemaIR",
    "UnknownQuery",
    "WrongQueryKind",
    "bind_params",
    "catalog_from_ir",
    "compile_queries",
    "compile_query",
    "compile_schema",
    "describe_param",
    "format_query",
    "format_schema",
    "inert_hints",
    "is_insert_only",
    "lint_queries",
    "parse_queries",
    "plan_migration",
    "row_count",
    "schema_ir_from_json",
    "schema_ir_hash",
    "schema_ir_to_json",
]


_SCHEMA = ("MigrationPlan", "format_schema", "plan_migration")
__getattr__ = late_names(
    __name__,
    {name: "omnigraph.language.schema" if name in _SCHEMA else "omnigraph.language.query" for name in __all__},
)
