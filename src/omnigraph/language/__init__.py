"""The languages: `.pg` schemas and `.gq` queries, from text to checked IR. Pure: no I/O, no Arrow, no Lance."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
    format_schema,
    inert_hints,
    plan_migration,
    schema_ir_from_json,
    schema_ir_hash,
    schema_ir_to_json,
)

# isort: split
# --- the query language: imported when it is first used, for half of all commands never ask ------------------
if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'omnigraph.language' has no attribute {name!r}")
    return getattr(importlib.import_module("omnigraph.language.query"), name)
