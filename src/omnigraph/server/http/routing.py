"""Routing: which operation a path means, matched on the percent-encoded path, one segment for each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from omnigraph.server.http.refusals import bad_request


class Routable(Protocol):
    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...


Op = TypeVar("Op", bound=Routable)


@dataclass(slots=True)
class _Place(Generic[Op]):
    """One segment of the known paths."""

    words: dict[str, _Place[Op]] = field(default_factory=dict)
    any_word: _Place[Op] | None = None
    operations: dict[str, Op] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match(Generic[Op]):
    """A known path: what can be done there, and the segments that stand for parameters, still encoded."""

    operations: Mapping[str, Op]
    segments: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The value of the `Allow` header."""
        methods = set(self.operations)
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))

    def pick(self, method: str) -> Op | None:
        """GET answers HEAD too, unless HEAD has an operation of its own."""
        found = self.operations.get(method)
        return self.operations.get("GET") if found is None and method == "HEAD" else found


class Router(Generic[Op]):
    """All paths. A word wins over a parameter, method by method: `POST /branches/merge` is no branch."""

    def __init__(self, operations: Iterable[Op]) -> None:
        self._root: _Place[Op] = _Place()
        for operation in operations:
            place = self._root
            for segment in operation.path.split("/")[1:]:
                if segment.startswith("{"):
                    place.any_word = place.any_word or _Place()
                    place = place.any_word
                else:
                    place = place.words.setdefault(segment, _Place())
            place.operations[operation.method] = operation

    def match(self, raw_path: str) -> Match[Op] | None:
        found = list(_places(self._root, raw_path.split("/")[1:], 0, ()))
        if not found:
            return None
        operations: dict[str, Op] = {}
        for place, _ in reversed(found):
            operations |= place.operations
        return Match(operations, found[-1][1])

    def pick(self, raw_path: str, method: str) -> tuple[Match[Op], Op | None, tuple[str, ...]] | None:
        """The path, what is asked for there, and the segments of that operation's own parameters."""
        match = self.match(raw_path)
        if match is None:
            return None
        operation = match.pick(method)
        if operation is None:
            return match, None, match.segments
        words = raw_path.split("/")[1:]
        template = operation.path.split("/")[1:]
        return match, operation, tuple(word for word, name in zip(words, template, strict=True) if name[:1] == "{")


def _places(
    place: _Place[Op], segments: list[str], depth: int, taken: tuple[str, ...]
) -> Iterator[tuple[_Place[Op], tuple[str, ...]]]:
    if depth == len(segments):
        if place.operations:
            yield place, taken
        return
    segment = segments[depth]
    if (word := place.words.get(segment)) is not None:
        yield from _places(word, segments, depth + 1, taken)
    if place.any_word is not None:
        yield from _places(place.any_word, segments, depth + 1, (*taken, segment))


def decoded(segment: str) -> str:
    """A segment of the path as the text that it stands for."""
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise bad_request("a path segment is not valid UTF-8") from None
