"""Grown maps: each is an earlier one with a few entries more, and all of them share what they have in common.

Every publish makes a new state of `__manifest` that differs from the one before by a handful of rows, and states are
immutable. Copying the rows of 100,000 commits for that takes 10 ms each time; sharing them takes none. A map sees the
entries up to its own length and no further, so what others add later does not concern it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Log(Generic[Key, Value]):
    """The entries in the order in which they came. Only grows."""

    __slots__ = ("keys", "lock", "places", "values")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.values: list[Value] = []
        self.places: dict[Key, int] = {}
        self.lock = threading.Lock()

    def add(self, key: Key, value: Value) -> None:
        """The place comes last: whoever finds it finds the entry."""
        self.keys.append(key)
        self.values.append(value)
        self.places[key] = len(self.keys) - 1


class GrownMap(Mapping[Key, Value]):
    """An immutable map. Thread-safe: readers need no lock, because what they can see never changes."""

    __slots__ = ("_log", "_size")

    def __init__(self, log: _Log[Key, Value] | None = None, size: int = 0) -> None:
        self._log: _Log[Key, Value] = _Log() if log is None else log
        self._size = size

    def __getitem__(self, key: Key) -> Value:
        place = self._log.places[key]
        if place >= self._size:
            raise KeyError(key)
        return self._log.values[place]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Key]:
        return iter(self._log.keys[: self._size])

    def __contains__(self, key: object) -> bool:
        return self._log.places.get(key, self._size) < self._size  # type: ignore[arg-type]

    def grown(self, entries: Iterable[tuple[Key, Value]]) -> GrownMap[Key, Value]:
        """This map with these entries. Shared with this one, unless an entry is replaced or others grew otherwise."""
        new = {key: value for key, value in dict(entries).items() if key not in self or self[key] != value}
        if not new:
            return self
        if not any(key in self for key in new):
            with self._log.lock:
                if self._fits(new):
                    for key, value in list(new.items())[len(self._log.keys) - self._size :]:
                        self._log.add(key, value)
                    return GrownMap(self._log, self._size + len(new))
        return self._copied(new)

    def _fits(self, new: Mapping[Key, Value]) -> bool:
        """True when nothing was added behind this map, or just the same: two may work out one and the same state."""
        behind = slice(self._size, self._size + len(new))
        added = list(zip(self._log.keys[behind], self._log.values[behind], strict=True))
        return added == list(new.items())[: len(added)]

    def _copied(self, new: Mapping[Key, Value]) -> GrownMap[Key, Value]:
        log: _Log[Key, Value] = _Log()
        whole = dict(zip(self._log.keys[: self._size], self._log.values[: self._size], strict=True)) | dict(new)
        log.keys, log.values = list(whole), list(whole.values())
        log.places = dict(zip(log.keys, range(len(log.keys)), strict=True))
        return GrownMap(log, len(log.keys))
