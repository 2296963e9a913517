"""Syntax: the tree that the parser builds, one class per form of the grammar.

Every node knows its place (`at`), and places never take part in comparisons: two texts that differ only in layout
give equal trees.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal as OneOf
from typing import NamedTuple

from omnigraph.language.query.parse.literals import LiteralValue
from omnigraph.model.late_dataclass import dataclass


class Extent(NamedTuple):
    """Where a node stands: character offsets into the source text."""

    start: int
    end: int


NOWHERE = Extent(0, 0)


# --- values -----------------------------------------------------------------------------------------------

AggregateName = OneOf["count", "sum", "avg", "min", "max"]
TextFunction = OneOf["search", "match_text", "fuzzy"]
CompareSign = OneOf["=", "!=", ">", "<", ">=", "<=", "contains", "starts_with"]
ANONYMOUS = "_"
"""The name in `$_`."""


@dataclass(frozen=True, slots=True)
class Now:
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant:
    value: LiteralValue
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var:
    """`$name`: a parameter, or else the id of a bound node."""

    name: str
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """`$variable.name`"""

    variable: str
    name: str
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    name_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Star:
    """`$variable.*`: the whole entity."""

    variable: str
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Word:
    """A bare name: an output column."""

    name: str
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    function: AggregateName
    argument: Value
    distinct: bool = False
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TextCall:
    function: TextFunction
    target: Value
    query: Value
    edits: Value | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NearestCall:
    target: Field
    query: Value
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bm25Call:
    target: Value
    query: Value
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RrfCall:
    primary: Value
    secondary: Value
    k: Value | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DistanceCall:
    """`distance($a edge{m,M} $b)`"""

    path: Traversal
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


Value = (
    Now
    | Constant
    | Var
    | Field
    | Star
    | Word
    | AggregateCall
    | TextCall
    | NearestCall
    | Bm25Call
    | RrfCall
    | DistanceCall
)
Operand = Constant | Var | Now
"""What may stand on the right of a property match or an assignment."""


# --- clauses of `match` -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """`name: operand` in a binding or an assignment list."""

    name: str
    value: Operand
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    name_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """`$variable: Type { pairs }`"""

    variable: str
    type_name: str
    pairs: tuple[Pair, ...] = ()
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    type_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Hops:
    """`{minimum,maximum}`; no maximum means as far as it goes."""

    minimum: int
    maximum: int | None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Traversal:
    """`$left [$edge:] word[{m,M}] $right`, or `<word>` for either way."""

    left: Var
    word: str
    right: Var
    edge: Var | None = None
    undirected: bool = False
    hops: Hops | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    word_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Value
    sign: CompareSign
    right: Value
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NullCheck:
    """`value is null`, `value is not null`"""

    value: Value
    negated: bool = False
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """`value in list`"""

    value: Value
    members: Value
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TextClause:
    """A text predicate as a clause of its own."""

    call: TextCall
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """`{ clauses }`"""

    clauses: tuple[Clause, ...]
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    block: Block
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    """`or { alternatives }`; an alternative is one clause, or several in braces."""

    alternatives: tuple[Block, ...]
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Maybe:
    block: Block
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


Clause = Binding | Traversal | Comparison | NullCheck | Membership | TextClause | Not | Or | Maybe


# --- bodies -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    value: Value
    alias: str | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sort:
    value: Value
    direction: OneOf["asc", "desc"] | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reading:
    match: Block
    items: tuple[Item, ...]
    distinct: bool = False
    order: tuple[Sort, ...] = ()
    limit: Constant | Var | None = None
    offset: Constant | Var | None = None
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    return_at: Extent = field(default=NOWHERE, compare=False, repr=False)
    order_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Test:
    """The one condition of `where`."""

    property: str
    sign: OneOf["=", "!=", ">", "<", ">=", "<=", "is null", "is not null", "in"]
    value: Operand | None
    """None exactly for the two null tests."""
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    name_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Insert:
    type_name: str
    assignments: tuple[Pair, ...]
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    type_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Update:
    type_name: str
    assignments: tuple[Pair, ...]
    test: Test
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    type_at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Delete:
    type_name: str
    test: Test
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    type_at: Extent = field(default=NOWHERE, compare=False, repr=False)


Statement = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Writing:
    statements: tuple[Statement, ...]
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParamType:
    """A type as written; whether it exists is the checker's question."""

    word: str
    dimension: int | None = None
    is_list: bool = False
    nullable: bool = False
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParamDeclaration:
    name: str
    type: ParamType
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Note:
    """`@description("…")` or `@instruction("…")`"""

    name: OneOf["description", "instruction"]
    text: str
    at: Extent = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class QueryDeclaration:
    name: str
    params: tuple[ParamDeclaration, ...]
    notes: tuple[Note, ...]
    body: Reading | Writing
    at: Extent = field(default=NOWHERE, compare=False, repr=False)
    name_at: Extent = field(default=NOWHERE, compare=False, repr=False)
    body_at: Extent = field(default=NOWHERE, compare=False, repr=False)
    """From the opening brace to the closing one."""
