"""The query language: `.gq` text to checked, engine-neutral IR. Start with `compile_query`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.query.compile import CompiledQuery as CompiledQuery
    from omnigraph.language.query.compile import QueryNameRequired as QueryNameRequired
    from omnigraph.language.query.compile import UnknownQuery as UnknownQuery
    from omnigraph.language.query.compile import WrongQueryKind as WrongQueryKind
    from omnigraph.language.query.compile import compile_queries as compile_queries
    from omnigraph.language.query.compile import compile_query as compile_query
    from omnigraph.language.query.compile import parse_queries as parse_queries
    from omnigraph.language.query.compiled_queries import compile_call as compile_call
    from omnigraph.language.query.describe import Column as Column
    from omnigraph.language.query.describe import declared_type as declared_type
    from omnigraph.language.query.describe import describe_param as describe_param
    from omnigraph.language.query.describe import listed_query as listed_query
    from omnigraph.language.query.format import format_query as format_query
    from omnigraph.language.query.ir import ROW as ROW
    from omnigraph.language.query.ir import Aggregate as Aggregate
    from omnigraph.language.query.ir import AliasRef as AliasRef
    from omnigraph.language.query.ir import AntiJoin as AntiJoin
    from omnigraph.language.query.ir import Assignment as Assignment
    from omnigraph.language.query.ir import Bm25 as Bm25
    from omnigraph.language.query.ir import Bound as Bound
    from omnigraph.language.query.ir import CmpOp as CmpOp
    from omnigraph.language.query.ir import Condition as Condition
    from omnigraph.language.query.ir import DeleteOp as DeleteOp
    from omnigraph.language.query.ir import Direction as Direction
    from omnigraph.language.query.ir import Distance as Distance
    from omnigraph.language.query.ir import EntityObject as EntityObject
    from omnigraph.language.query.ir import Expand as Expand
    from omnigraph.language.query.ir import Expr as Expr
    from omnigraph.language.query.ir import Filter as Filter
    from omnigraph.language.query.ir import Fuzzy as Fuzzy
    from omnigraph.language.query.ir import InList as InList
    from omnigraph.language.query.ir import InsertOp as InsertOp
    from omnigraph.language.query.ir import LeftJoin as LeftJoin
    from omnigraph.language.query.ir import Literal as Literal
    from omnigraph.language.query.ir import MatchText as MatchText
    from omnigraph.language.query.ir import MutationIR as MutationIR
    from omnigraph.language.query.ir import Nearest as Nearest
    from omnigraph.language.query.ir import NodeScan as NodeScan
    from omnigraph.language.query.ir import NullTest as NullTest
    from omnigraph.language.query.ir import Op as Op
    from omnigraph.language.query.ir import OrJoin as OrJoin
    from omnigraph.language.query.ir import Param as Param
    from omnigraph.language.query.ir import PropAccess as PropAccess
    from omnigraph.language.query.ir import QueryIR as QueryIR
    from omnigraph.language.query.ir import Rank as Rank
    from omnigraph.language.query.ir import Rrf as Rrf
    from omnigraph.language.query.ir import Search as Search
    from omnigraph.language.query.ir import UpdateOp as UpdateOp
    from omnigraph.language.query.ir import Variable as Variable
    from omnigraph.language.query.ir import is_insert_only as is_insert_only
    from omnigraph.language.query.ir import ranked_variable as ranked_variable
    from omnigraph.language.query.lint import LintReport as LintReport
    from omnigraph.language.query.lint import lint_queries as lint_queries
    from omnigraph.language.query.params import BoundParams as BoundParams
    from omnigraph.language.query.params import ParameterError as ParameterError
    from omnigraph.language.query.params import bind_params as bind_params
    from omnigraph.language.query.params import refuse_shadowed_params as refuse_shadowed_params
    from omnigraph.language.query.params import row_count as row_count
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "compile": (
                "CompiledQuery",
                "QueryNameRequired",
                "UnknownQuery",
                "WrongQueryKind",
                "compile_queries",
                "compile_query",
                "parse_queries",
            ),
            "compiled_queries": ("compile_call",),
            "describe": (
                "Column",
                "declared_type",
                "describe_param",
                "listed_query",
            ),
            "format": ("format_query",),
            "ir": (
                "Aggregate",
                "AliasRef",
                "AntiJoin",
                "Assignment",
                "Bm25",
                "Bound",
                "CmpOp",
                "Condition",
                "DeleteOp",
                "Direction",
                "Distance",
                "EntityObject",
                "Expand",
                "Expr",
                "Filter",
                "Fuzzy",
                "InList",
                "InsertOp",
                "LeftJoin",
                "Literal",
                "MatchText",
                "MutationIR",
                "Nearest",
                "NodeScan",
                "NullTest",
                "Op",
                "OrJoin",
                "Param",
                "PropAccess",
                "QueryIR",
                "ROW",
                "Rank",
                "Rrf",
                "Search",
                "UpdateOp",
                "Variable",
                "is_insert_only",
                "ranked_variable",
            ),
            "lint": (
                "LintReport",
                "lint_queries",
            ),
            "params": (
                "BoundParams",
                "ParameterError",
                "bind_params",
                "refuse_shadowed_params",
                "row_count",
            ),
        },
    )
