"""The query language: `.gq` text to checked, engine-neutral IR. Start with `compile_query`, then read `ir`."""

from typing import TYPE_CHECKING

from omnigraph.language.query.compile import (
    CompiledQuery,
    QueryNameRequired,
    UnknownQuery,
    WrongQueryKind,
    compile_queries,
    compile_query,
    parse_queries,
)
from omnigraph.language.query.declarations import Declaration, QuerySource
from omnigraph.language.query.describe import Column, Operation, TypeRef, describe_param
from omnigraph.language.query.ir import MutationIR, Param, QueryIR, is_insert_only
from omnigraph.language.query.params import BoundParams, ParameterError, bind_params, row_count
from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.query.format import format_query
    from omnigraph.language.query.lint import Finding, LintReport, QueryResult, lint_queries

__all__ = [
    "BoundParams",
    "Column",
    "CompiledQuery",
    "Declaration",
    "Finding",
    "LintReport",
    "MutationIR",
    "Operation",
    "Param",
    "ParameterError",
    "QueryIR",
    "QueryNameRequired",
    "QueryResult",
    "QuerySource",
    "TypeRef",
    "UnknownQuery",
    "WrongQueryKind",
    "bind_params",
    "compile_queries",
    "compile_query",
    "describe_param",
    "format_query",
    "is_insert_only",
    "lint_queries",
    "parse_queries",
    "row_count",
]

_LINT = "omnigraph.language.query.lint"
__getattr__ = late_names(
    __name__,
    {
        "Finding": _LINT,
        "LintReport": _LINT,
        "QueryResult": _LINT,
        "format_query": "omnigraph.language.query.format",
        "lint_queries": _LINT,
    },
)
