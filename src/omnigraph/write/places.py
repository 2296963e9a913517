"""Places: where a record stands in the input, as a file and a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from omnigraph.model.late_dataclass import dataclass

Place: TypeAlias = tuple[str | None, int | None]
"""A file and a line in it."""


class PartOfFile(Protocol):
    """What an item of a source says about its lines (see `write.intake.SourceItem`)."""

    @property
    def file(self) -> str | None: ...

    @property
    def counts_own_lines(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where the lines of a whole input stand, items one after another: a running number to a file and a line in it."""

    starts: tuple[int, ...]
    """The running number before the first line of each item."""
    files: tuple[str | None, ...]
    before: tuple[int, ...]
    """How many lines of the same file lie before each item."""

    @classmethod
    def of(cls, items: Sequence[PartOfFile], spans: Sequence[int]) -> Places:
        """From the highest line number that was met in each item."""
        starts, before, total = [], [], 0
        own: dict[str | None, int] = {}
        for item, span in zip(items, spans, strict=True):
            starts.append(total)
            before.append(own.get(item.file, 0) if item.counts_own_lines else 0)
            own[item.file] = own.get(item.file, 0) + span
            total += span
        return cls(tuple(starts), tuple(item.file for item in items), tuple(before))

    def item_of(self, number: int) -> int:
        """The item that a running number belongs to. Empty items share their start with the next one."""
        low, high = 0, len(self.starts)
        while low < high:
            middle = (low + high) // 2
            if self.starts[middle] < number:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def place(self, number: int) -> Place:
        item = self.item_of(number)
        return self.files[item], number - self.starts[item] + self.before[item]
