"""Checked clauses: what the checker hands to lowering. Names and types are resolved, the order is still the text's."""

from __future__ import annotations

from omnigraph.language.query.ir import Bound, Condition, Direction
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CheckedBinding:
    bound: Bound
    filters: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class CheckedTraversal:
    left: Bound
    right: Bound
    edge_type: str
    direction: Direction
    """Seen from `left`."""
    min_hops: int
    max_hops: int | None
    edge_binding: Bound | None


@dataclass(frozen=True, slots=True)
class CheckedNot:
    outer_var: str
    inner: CheckedBlock


@dataclass(frozen=True, slots=True)
class CheckedOr:
    alternatives: tuple[CheckedBlock, ...]


@dataclass(frozen=True, slots=True)
class CheckedMaybe:
    inner: CheckedBlock
    exports: tuple[Bound, ...]


CheckedClause = CheckedBinding | CheckedTraversal | Condition | CheckedNot | CheckedOr | CheckedMaybe
CheckedBlock = tuple[CheckedClause, ...]
