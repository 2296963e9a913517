"""The physical plan: what is done, in which order, with what is expected to come out. Facts only; see `execute`."""

from __future__ import annotations

from typing import Literal

from omnigraph.language.query import Bound, Condition, Direction, QueryIR
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.plan.degrees import FLIPPED, Degrees

Mode = Literal["auto", "indexed", "csr"]
"""How edges are followed: through the indexes of the tables, or in resident topologies."""


@dataclass(frozen=True, slots=True)
class Fan:
    """What a hop is expected to lead to from one row, and the degrees that this rests on."""

    expected: float
    degrees: Degrees | None = None
    """None: nothing but the mean is known, as edges per node."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A part of the plan that occurs more than once: which one, and the outer variables by which it answers."""

    number: int
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What every step has: the rows expected after it, and the variables that anyone needs after it."""

    estimate: float = 1.0
    live: frozenset[str] = frozenset()
    merges: bool = False
    """Rows that have become equal are made one, with a weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanNodes(Step):
    """Every node of a type that passes the conditions, once per row so far."""

    variable: str
    type_name: str
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One traversal: from a variable, along an edge type, so far."""

    src_var: str
    dst_var: str
    edge_type: str
    direction: Direction
    src_type: str
    dst_type: str
    min_hops: int = 1
    max_hops: int | None = 1
    edge_binding: str | None = None

    @property
    def is_single(self) -> bool:
        """One hop; between different types an edge cannot chain, so further ones reach nothing."""
        return self.min_hops == 1 and (self.max_hops == 1 or self.src_type != self.dst_type)

    @property
    def is_empty(self) -> bool:
        return self.min_hops > 1 and self.src_type != self.dst_type

    def reversed(self) -> Hop:
        """The same pairs, seen from the other end: distances are the same both ways."""
        return Hop(
            src_var=self.dst_var,
            dst_var=self.src_var,
            edge_type=self.edge_type,
            direction=FLIPPED[self.direction],
            src_type=self.dst_type,
            dst_type=self.src_type,
            min_hops=self.min_hops,
            max_hops=self.max_hops,
            edge_binding=self.edge_binding,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traverse(Step):
    """Follows a hop to a variable that is not bound yet."""

    hop: Hop
    conditions: tuple[Condition, ...] = ()
    """On the destination alone."""
    fan: Fan | None = None
    shared: Shared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close(Step):
    """Keeps the rows whose two bound ends a hop connects; with an edge variable, one row per connecting edge."""

    hop: Hop


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersect(Step):
    """A new variable that several bound ones lead to: the shortest neighbour list is walked, the others are asked."""

    hops: tuple[Hop, ...]
    """All single, without edge variables, all to the same new variable."""
    conditions: tuple[Condition, ...] = ()
    fan: Fan | None = None
    """Of the first hop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep(Step):
    """Keeps the rows for which a condition is TRUE."""

    condition: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Step):
    """`not`: keeps the rows for which the inside yields nothing."""

    inner: tuple[PlanStep, ...]
    uses: tuple[str, ...]
    """The outer variables that the inside looks at; rows that agree in them share an answer."""
    shared: Shared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Either(Step):
    """`or`: keeps the rows for which an alternative yields something."""

    alternatives: tuple[tuple[PlanStep, ...], ...]
    uses: tuple[tuple[str, ...], ...]
    shared: tuple[Shared | None, ...] = ()
    """Per alternative; empty when none is shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optionally(Step):
    """`maybe`: what the inside makes of a row, or the row with NULL in the exports."""

    inner: tuple[PlanStep, ...]
    exports: tuple[Bound, ...]


PlanStep = ScanNodes | Traverse | Close | Intersect | Keep | Absent | Either | Optionally


@dataclass(frozen=True, slots=True)
class Plan:
    """A query ready to run on one snapshot."""

    query: QueryIR
    steps: tuple[PlanStep, ...]
    types: dict[str, tuple[str, str]]
    """Every variable, the inner ones too: (node or edge, type name)."""
    weighs: bool = True
    """Whether it matters how often a row occurs; not when only distinct values, least or greatest ones are asked."""
