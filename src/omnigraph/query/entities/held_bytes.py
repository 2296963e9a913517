"""Held bytes: how much several owners hold together. What they share is counted once, whoever goes first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

Parts = Iterable[tuple[Any, int]]
"""What an owner holds, as objects and their sizes. The same object is the same part wherever it is held."""


class HeldBytes:
    """A running total. Measuring an owner costs what that owner holds, however many others there are."""

    def __init__(self) -> None:
        self.total = 0
        self._sizes: dict[int, int] = {}
        self._holders: dict[int, int] = {}
        self._owned: dict[Hashable, dict[int, Any]] = {}

    def measure(self, owner: Hashable, parts: Parts) -> None:
        """What an owner holds now, in place of what it held when it was last measured."""
        before, now = self._owned.get(owner, {}), {}
        for part, size in parts:
            number = id(part)  # held below, so that no other object gets the number
            self.total += size - self._sizes.get(number, 0)
            self._sizes[number] = size
            if number not in now and number not in before:
                self._holders[number] = self._holders.get(number, 0) + 1
            now[number] = part
        self._owned[owner] = now
        self._let_go(number for number in before if number not in now)

    def release(self, owner: Hashable) -> None:
        """The owner is gone; what nobody else holds is counted no more."""
        self._let_go(self._owned.pop(owner, {}))

    def _let_go(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._holders[number] -= 1
            if not self._holders[number]:
                del self._holders[number]
                self.total -= self._sizes.pop(number)
