"""The IR: what a checked query means, in a form that every engine can run. Frozen, hashable, no text left to parse.

Reading a `QueryIR`

  pipeline      a list of ops that turn a bag of rows into a bag of rows, starting from one empty row.
                A row gives each variable in scope an entity (or NULL, see `LeftJoin`).
    NodeScan    multiplies each row with every node of a type that passes the filters.
    Expand      one traversal from a bound variable. Without `edge_binding`: each destination once per row, the
                destinations being the nodes x with min_hops <= shortest distance(src, x) <= max_hops; the source
                itself only by an edge to itself, at distance 1. `max_hops` None runs until nothing new is found.
                With `edge_binding` (always one hop): one row per edge. A NULL source has no destinations.
                `direction` is seen from `src_var`: "out" follows the edge, "in" goes against it, "both" either way.
                If `src_type` differs from `dst_type`, an edge cannot chain: hops above 1 reach nothing.
    Filter, NullTest, InList   keep a row when the condition is TRUE; UNKNOWN drops it.
    AntiJoin    keeps a row when `inner`, run on that row alone, yields nothing.
    Or          keeps a row, once, when at least one alternative, run on that row alone, yields something.
    LeftJoin    replaces a row by what `inner` makes of it, or keeps it with NULL in `exports` when that is nothing.
                An inner pipeline may be empty; it then yields its row. It sees the variables of the outside.
  return_exprs  the output columns. If one is an `Aggregate` the query is `grouped` by all the others.
  distinct      drop equal output rows (NULL equals NULL here), before order, offset and limit.
  order_by      sort keys. NULL sorts below everything. After them come the ids of `tie_break`, ascending,
                unless the query is grouped or distinct. In such a query each key is an `AliasRef`, or a rank.
                A rank (`Nearest`, `Bm25`, `Rrf`) can only be the first key; it also drops the rows that it does not
                rank (NULL vector; text that does not match), before any aggregation.
  offset, limit a number, or an integer parameter whose NULL means "none" (see `params.row_count`).

Expressions carry their types. `Variable` is the id of a node. `PropAccess.type` is nullable when the property is, or
when its variable may be NULL. `Param(NOW)` is the time of the query, fixed once per execution. `Distance` is NULL when
its target is out of reach or an end is NULL. Dates in literals are text; `omnigraph.model.values` reads them.

Reading a `MutationIR`

  ops run in order. A `predicate` is a condition on the entity at hand, whose variable is `ROW`; on edge types the
  properties `from` and `to` are the endpoint ids. Assigned literals are already of the property's type: an integer for
  a float property is a `FloatLit`. `Insert` of an edge type assigns `from` and `to` like properties.

Names that begin with `__` are ours: anonymous nodes, closing variables of cycles, renamed inner variables.
"""

from __future__ import annotations

from typing import Literal as OneOf

from omnigraph.language.query.parse import LiteralValue
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar

NOW = "__nanograph_now"
"""The hidden parameter behind `now()`."""
ROW = "__row"
"""The variable of mutation predicates."""

Direction = OneOf["out", "in", "both"]
CmpOp = OneOf["eq", "ne", "gt", "lt", "ge", "le", "contains", "string_contains", "starts_with"]
AggregateFunc = OneOf["count", "sum", "avg", "min", "max"]

BOOL = PropType(Scalar.BOOL)
STRING = PropType(Scalar.STRING)
INTEGER = PropType(Scalar.I64)
FLOAT = PropType(Scalar.F64)
DATETIME = PropType(Scalar.DATETIME)


@dataclass(frozen=True, slots=True)
class Param:
    """A declared parameter, and every use of it."""

    name: str
    type: PropType


# --- expressions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PropAccess:
    variable: str
    property: str
    type: PropType
    entity: EntityKind = "node"


@dataclass(frozen=True, slots=True)
class Variable:
    """The id of the node in a variable."""

    name: str
    type_name: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    value: LiteralValue
    type: PropType


@dataclass(frozen=True, slots=True)
class Aggregate:
    func: AggregateFunc
    arg: Expr
    distinct: bool
    type: PropType


@dataclass(frozen=True, slots=True)
class AliasRef:
    """The value of an output column, by its position in `return_exprs`."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """Squared L2 distance on float32. A text query is embedded with the graph's model for `field`."""

    field: PropAccess
    query: Param | Literal


@dataclass(frozen=True, slots=True)
class Search:
    field: PropAccess
    query: Param | Literal


@dataclass(frozen=True, slots=True)
class MatchText:
    field: PropAccess
    query: Param | Literal


@dataclass(frozen=True, slots=True)
class Fuzzy:
    field: PropAccess
    query: Param | Literal
    max_edits: Param | Literal | None
    """None: two edits."""


@dataclass(frozen=True, slots=True)
class Bm25:
    field: PropAccess
    query: Param | Literal


@dataclass(frozen=True, slots=True)
class Rrf:
    """Both arms rank the same variable."""

    primary: Nearest | Bm25
    secondary: Nearest | Bm25
    k: Param | Literal | None
    """None: 60."""


@dataclass(frozen=True, slots=True)
class Distance:
    """The number of hops from one bound node to another, as `Expand` with these bounds would find it; or NULL."""

    src_var: str
    dst_var: str
    edge_type: str
    direction: Direction
    src_type: str
    dst_type: str
    min_hops: int
    max_hops: int | None


@dataclass(frozen=True, slots=True)
class EntityObject:
    """The whole entity as an object: `id`, then for an edge `from` and `to`, then these properties."""

    variable: str
    entity: EntityKind
    type_name: str
    properties: tuple[tuple[str, PropType], ...]
    """Without Blobs, which are never read by queries."""
    nullable: bool = False


Rank = Nearest | Bm25 | Rrf


def ranked_variable(rank: Rank) -> str:
    """The variable whose rows a rank puts in order."""
    return rank.primary.field.variable if isinstance(rank, Rrf) else rank.field.variable


Expr = (
    PropAccess
    | Variable
    | Param
    | Literal
    | Aggregate
    | AliasRef
    | Nearest
    | Search
    | MatchText
    | Fuzzy
    | Bm25
    | Rrf
    | Distance
    | EntityObject
)


# --- conditions and ops -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """`left op right`, both of compatible types; comparison is by value, exact across number widths."""

    left: Expr
    op: CmpOp
    right: Expr


@dataclass(frozen=True, slots=True)
class NullTest:
    value: Expr
    negated: bool
    """True for `is not null`."""


@dataclass(frozen=True, slots=True)
class InList:
    """TRUE when the value equals an element. A NULL value or a NULL list is never TRUE."""

    value: Expr
    members: Expr


Condition = Filter | NullTest | InList


@dataclass(frozen=True, slots=True)
class NodeScan:
    variable: str
    type_name: str
    filters: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Expand:
    src_var: str
    dst_var: str
    edge_type: str
    direction: Direction
    src_type: str
    dst_type: str
    min_hops: int = 1
    max_hops: int | None = 1
    dst_filters: tuple[Condition, ...] = ()
    edge_binding: str | None = None


@dataclass(frozen=True, slots=True)
class AntiJoin:
    outer_var: str
    """The first outer variable that the inside mentions."""
    inner: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class OrJoin:
    """`or { … }`: a semi-join over alternatives."""

    alternatives: tuple[tuple[Op, ...], ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that a pipeline binds."""

    name: str
    entity: EntityKind
    type_name: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class LeftJoin:
    inner: tuple[Op, ...]
    exports: tuple[Bound, ...]


Op = NodeScan | Expand | Filter | NullTest | InList | AntiJoin | OrJoin | LeftJoin


# --- queries ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReturnExpr:
    expr: Expr
    name: str
    """The output column."""


@dataclass(frozen=True, slots=True)
class OrderKey:
    expr: Expr
    descending: bool


@dataclass(frozen=True, slots=True)
class QueryIR:
    name: str
    params: tuple[Param, ...]
    pipeline: tuple[Op, ...]
    return_exprs: tuple[ReturnExpr, ...]
    order_by: tuple[OrderKey, ...] = ()
    limit: int | Param | None = None
    offset: int | Param | None = None
    distinct: bool = False
    bindings: tuple[Bound, ...] = ()
    """Every variable of the final rows, in name order; closing variables of cycles are not among them."""

    @property
    def grouped(self) -> bool:
        return any(isinstance(item.expr, Aggregate) for item in self.return_exprs)

    @property
    def rank(self) -> Rank | None:
        """The rank that orders this query, if one does."""
        first = self.order_by[0].expr if self.order_by else None
        return first if isinstance(first, Nearest | Bm25 | Rrf) else None

    @property
    def tie_break(self) -> tuple[str, ...]:
        """The variables whose ids make the order total."""
        return tuple(bound.name for bound in self.bindings)


# --- mutations --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assignment:
    property: str
    value: Literal | Param
    type: PropType
    """The type of the property; `from` and `to` of an edge are Strings."""


@dataclass(frozen=True, slots=True)
class InsertOp:
    entity: EntityKind
    type_name: str
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class UpdateOp:
    """Node types only."""

    type_name: str
    assignments: tuple[Assignment, ...]
    predicate: Condition


@dataclass(frozen=True, slots=True)
class DeleteOp:
    entity: EntityKind
    type_name: str
    predicate: Condition


MutOp = InsertOp | UpdateOp | DeleteOp


@dataclass(frozen=True, slots=True)
class MutationIR:
    name: str
    params: tuple[Param, ...]
    ops: tuple[MutOp, ...]

    @property
    def is_insert_only(self) -> bool:
        """Nothing was read to decide what to write, so the whole mutation may be prepared again after a lost race."""
        return all(isinstance(op, InsertOp) for op in self.ops)


def is_insert_only(mutation: MutationIR) -> bool:
    return mutation.is_insert_only
