"""Degrees: how the neighbours of an edge type are spread over the nodes. Few numbers, enough to tell what a hop makes.

From a node that was picked without looking at its edges, a hop leads to the mean degree of nodes. From a node that a
hop led to, it leads to more: busy nodes are reached more often. How much more is a second moment of the degrees.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omnigraph.language.query import Direction
from omnigraph.model.late_dataclass import dataclass

Counts = npt.NDArray[np.int64]
QUANTILES = (0.5, 0.9, 0.99)
FLIPPED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}

_SIDES: dict[Direction, tuple[Direction, ...]] = {"out": ("out",), "in": ("in",), "both": ("out", "in")}


@dataclass(frozen=True, slots=True)
class Degrees:
    """The degrees of all nodes of a type, in one direction of one edge type."""

    nodes: int
    total: int
    squares: float
    """Each degree times itself, added up."""
    most: int
    without: int
    """Nodes that have no neighbour."""
    quantiles: tuple[int, ...]
    """At `QUANTILES` of the nodes."""

    @classmethod
    def of(cls, counts: Counts) -> Degrees:
        if not len(counts):
            return cls(0, 0, 0.0, 0, 0, (0,) * len(QUANTILES))
        places = [min(len(counts) - 1, int(share * len(counts))) for share in QUANTILES]
        ordered = np.partition(counts, places)
        return cls(
            nodes=len(counts),
            total=int(counts.sum()),
            squares=float(np.dot(counts.astype(np.float64), counts)),
            most=int(counts.max()),
            without=len(counts) - int(np.count_nonzero(counts)),
            quantiles=tuple(int(ordered[place]) for place in places),
        )

    @property
    def mean(self) -> float:
        return self.total / max(1, self.nodes)

    @property
    def share_without(self) -> float:
        return self.without / max(1, self.nodes)


@dataclass(frozen=True, slots=True)
class EdgeDegrees:
    """Both directions of an edge type."""

    out: Degrees
    into: Degrees
    crossed: float | None
    """For each node what leads to it times what it leads to, added up; None between different types."""

    @classmethod
    def of(cls, out: Counts, into: Counts, *, same_type: bool) -> EdgeDegrees:
        crossed = float(np.dot(out.astype(np.float64), into)) if same_type else None
        return cls(Degrees.of(out), Degrees.of(into), crossed)

    def along(self, direction: Direction) -> Degrees:
        if direction == "out":
            return self.out
        if direction == "in":
            return self.into
        one, other, crossed = self.out, self.into, self.crossed or 0.0
        return Degrees(
            nodes=one.nodes,
            total=one.total + other.total,
            squares=one.squares + other.squares + 2.0 * crossed,
            most=one.most + other.most,
            without=min(one.without, other.without),
            quantiles=tuple(a + b for a, b in zip(one.quantiles, other.quantiles, strict=True)),
        )

    def onward(self, arrived: Direction, direction: Direction) -> float | None:
        """The mean degree of nodes that a hop of this type led to; they count as often as they are reached."""
        back = FLIPPED[arrived]
        reached = self.along(back).total
        return self._moment(back, direction) / reached if reached and self._is_known(back, direction) else None

    def _is_known(self, one: Direction, other: Direction) -> bool:
        return self.crossed is not None or (one == other and one != "both")

    def _moment(self, one: Direction, other: Direction) -> float:
        """Degrees in one direction times those in the other, added up over the nodes."""
        if "both" in (one, other):
            return sum(self._moment(a, b) for a in _SIDES[one] for b in _SIDES[other])
        return self.along(one).squares if one == other else self.crossed or 0.0
