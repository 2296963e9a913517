"""Parsing: query text to a tree. Tokens, a cursor over them, one module for each kind of clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.query.parse.literals import NULL as NULL
    from omnigraph.language.query.parse.literals import TRUE as TRUE
    from omnigraph.language.query.parse.literals import BoolLit as BoolLit
    from omnigraph.language.query.parse.literals import DateLit as DateLit
    from omnigraph.language.query.parse.literals import DateTimeLit as DateTimeLit
    from omnigraph.language.query.parse.literals import FloatLit as FloatLit
    from omnigraph.language.query.parse.literals import IntegerLit as IntegerLit
    from omnigraph.language.query.parse.literals import ListLit as ListLit
    from omnigraph.language.query.parse.literals import LiteralValue as LiteralValue
    from omnigraph.language.query.parse.literals import NullLit as NullLit
    from omnigraph.language.query.parse.literals import StringLit as StringLit
    from omnigraph.language.query.parse.literals import literal_text as literal_text
    from omnigraph.language.query.parse.parser import Parsed as Parsed
    from omnigraph.language.query.parse.parser import parse as parse
    from omnigraph.language.query.parse.syntax import ANONYMOUS as ANONYMOUS
    from omnigraph.language.query.parse.syntax import AggregateCall as AggregateCall
    from omnigraph.language.query.parse.syntax import Binding as Binding
    from omnigraph.language.query.parse.syntax import Block as Block
    from omnigraph.language.query.parse.syntax import Bm25Call as Bm25Call
    from omnigraph.language.query.parse.syntax import Clause as Clause
    from omnigraph.language.query.parse.syntax import Comparison as Comparison
    from omnigraph.language.query.parse.syntax import Constant as Constant
    from omnigraph.language.query.parse.syntax import Delete as Delete
    from omnigraph.language.query.parse.syntax import DistanceCall as DistanceCall
    from omnigraph.language.query.parse.syntax import Extent as Extent
    from omnigraph.language.query.parse.syntax import Field as Field
    from omnigraph.language.query.parse.syntax import Hops as Hops
    from omnigraph.language.query.parse.syntax import Insert as Insert
    from omnigraph.language.query.parse.syntax import Item as Item
    from omnigraph.language.query.parse.syntax import Maybe as Maybe
    from omnigraph.language.query.parse.syntax import Membership as Membership
    from omnigraph.language.query.parse.syntax import NearestCall as NearestCall
    from omnigraph.language.query.parse.syntax import Not as Not
    from omnigraph.language.query.parse.syntax import Now as Now
    from omnigraph.language.query.parse.syntax import NullCheck as NullCheck
    from omnigraph.language.query.parse.syntax import Operand as Operand
    from omnigraph.language.query.parse.syntax import Or as Or
    from omnigraph.language.query.parse.syntax import Pair as Pair
    from omnigraph.language.query.parse.syntax import ParamDeclaration as ParamDeclaration
    from omnigraph.language.query.parse.syntax import ParamType as ParamType
    from omnigraph.language.query.parse.syntax import QueryDeclaration as QueryDeclaration
    from omnigraph.language.query.parse.syntax import Reading as Reading
    from omnigraph.language.query.parse.syntax import RrfCall as RrfCall
    from omnigraph.language.query.parse.syntax import Sort as Sort
    from omnigraph.language.query.parse.syntax import Star as Star
    from omnigraph.language.query.parse.syntax import Statement as Statement
    from omnigraph.language.query.parse.syntax import Test as Test
    from omnigraph.language.query.parse.syntax import TextCall as TextCall
    from omnigraph.language.query.parse.syntax import TextClause as TextClause
    from omnigraph.language.query.parse.syntax import Traversal as Traversal
    from omnigraph.language.query.parse.syntax import Update as Update
    from omnigraph.language.query.parse.syntax import Value as Value
    from omnigraph.language.query.parse.syntax import Var as Var
    from omnigraph.language.query.parse.syntax import Word as Word
    from omnigraph.language.query.parse.syntax import Writing as Writing
    from omnigraph.language.query.parse.tokens import Comment as Comment
    from omnigraph.language.query.parse.tokens import quote as quote
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "literals": (
                "BoolLit",
                "DateLit",
                "DateTimeLit",
                "FloatLit",
                "IntegerLit",
                "ListLit",
                "LiteralValue",
                "NULL",
                "NullLit",
                "StringLit",
                "TRUE",
                "literal_text",
            ),
            "parser": (
                "Parsed",
                "parse",
            ),
            "syntax": (
                "ANONYMOUS",
                "AggregateCall",
                "Binding",
                "Block",
                "Bm25Call",
                "Clause",
                "Comparison",
                "Constant",
                "Delete",
                "DistanceCall",
                "Extent",
                "Field",
                "Hops",
                "Insert",
                "Item",
                "Maybe",
                "Membership",
                "NearestCall",
                "Not",
                "Now",
                "NullCheck",
                "Operand",
                "Or",
                "Pair",
                "ParamDeclaration",
                "ParamType",
                "QueryDeclaration",
                "Reading",
                "RrfCall",
                "Sort",
                "Star",
                "Statement",
                "Test",
                "TextCall",
                "TextClause",
                "Traversal",
                "Update",
                "Value",
                "Var",
                "Word",
                "Writing",
            ),
            "tokens": (
                "Comment",
                "quote",
            ),
        },
    )
