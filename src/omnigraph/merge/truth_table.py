"""The truth table of a three-way merge: what becomes of one entity, from what the two sides did to it. Pure.

Rows are merged whole: a property is never taken from one side and its neighbour from the other.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from omnigraph.history.diff import Mask


class Decision(IntEnum):
    """What the merge does to the target's entity."""

    KEEP = 0
    """The target stays as it is."""
    TAKE = 1
    """The source's image is written."""
    REMOVE = 2
    """The target's entity is removed."""
    DIVERGENT_INSERT = 3
    """Both sides added it, differently."""
    DIVERGENT_UPDATE = 4
    """Both sides changed it, differently."""
    DELETE_VS_UPDATE = 5
    """One side removed it, the other one changed it."""

    @property
    def is_conflict(self) -> bool:
        return self >= Decision.DIVERGENT_INSERT


def decide(
    *, base: bool, source: bool, target: bool, source_is_base: bool, target_is_base: bool, source_is_target: bool
) -> Decision:
    """The fate of one entity. The first three say who has it; the others which images are equal, absence included."""
    if source_is_base or source_is_target:
        return Decision.KEEP  # the source did nothing, or both did the same
    if target_is_base:
        return Decision.TAKE if source else Decision.REMOVE
    if source and target:
        return Decision.DIVERGENT_UPDATE if base else Decision.DIVERGENT_INSERT
    return Decision.DELETE_VS_UPDATE


def _code(*facts: bool) -> int:
    return sum(1 << place for place, fact in enumerate(facts) if fact)


_DECISIONS = np.zeros(64, np.int8)
for _number in range(64):
    _facts = [bool(_number & (1 << _place)) for _place in range(6)]
    _DECISIONS[_code(*_facts)] = decide(
        base=_facts[0],
        source=_facts[1],
        target=_facts[2],
        source_is_base=_facts[3],
        target_is_base=_facts[4],
        source_is_target=_facts[5],
    )


def decide_all(
    base: Mask, source: Mask, target: Mask, source_is_base: Mask, target_is_base: Mask, source_is_target: Mask
) -> npt.NDArray[np.int8]:
    """The same for many entities at once."""
    codes = np.zeros(len(base), np.int64)
    for place, fact in enumerate((base, source, target, source_is_base, target_is_base, source_is_target)):
        codes |= fact.astype(np.int64) << place
    return _DECISIONS[codes]
