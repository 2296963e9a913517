"""Strict YAML: a document whose members are all known. What is wrong is told with the file and the place in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from omnigraph.policy.errors import InvalidPolicy

MAX_BYTES = 4 * 1024 * 1024
"""A policy is written by people: a larger file is a mistake."""


class Member:
    """One value of a document, with its place, and the checks that turn it into what is expected."""

    def __init__(self, value: Any, file: str, place: str = "") -> None:
        self.value, self.file, self.place = value, file, place

    def fail(self, reason: str) -> NoReturn:
        raise InvalidPolicy(file=self.file, place=self.place, reason=reason)

    def _inner(self, value: Any, name: str) -> Member:
        return Member(value, self.file, f"{self.place}.{name}" if self.place else name)

    def at(self, place: str) -> Member:
        """The same value under a name that people know it by."""
        return Member(self.value, self.file, place)

    def members(self, known: Collection[str], required: Collection[str] = ()) -> dict[str, Member]:
        """The members of a mapping. Unknown ones, and missing ones that are required, are refused."""
        if not isinstance(self.value, Mapping):
            self.fail(f"expected a mapping, got {_kind(self.value)}")
        for name in self.value:
            if name not in known:
                self.fail(f"unknown member '{name}'; known are {', '.join(sorted(known))}")
        for name in required:
            if name not in self.value:
                self.fail(f"'{name}' is missing")
        return {name: self._inner(value, name) for name, value in self.value.items()}

    def named(self) -> dict[str, Member]:
        """The members of a mapping whose names the writer chooses."""
        if not isinstance(self.value, Mapping):
            self.fail(f"expected a mapping, got {_kind(self.value)}")
        for name in self.value:
            self._inner(name, "name").text()
        return {name.strip(): self._inner(value, f"'{name}'") for name, value in self.value.items()}

    def items(self, *, non_empty: bool = False) -> list[Member]:
        if isinstance(self.value, str) or not isinstance(self.value, Sequence):
            self.fail(f"expected a list, got {_kind(self.value)}")
        if non_empty and not self.value:
            self.fail("the list is empty")
        return [Member(value, self.file, f"{self.place}[{index}]") for index, value in enumerate(self.value)]

    def text(self) -> str:
        """A text that is not blank, without the spaces around it."""
        if not isinstance(self.value, str):
            self.fail(f"expected text, got {_kind(self.value)}")
        if not self.value.strip():
            self.fail("the text is blank")
        if any(ord(character) < 32 or ord(character) == 127 for character in self.value):
            self.fail("control characters are not allowed")
        return self.value.strip()

    def texts(self, *, non_empty: bool = True) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items(non_empty=non_empty))

    def one_of(self, known: Collection[str]) -> str:
        text = self.text()
        if text not in known:
            self.fail(f"unknown value '{text}'; known are {', '.join(known)}")
        return text


def read_document(text: str | bytes, file: str) -> Member:
    """Parses a YAML document. Duplicate members and everything that is not YAML 1.2 are refused."""
    if len(text) > MAX_BYTES:
        raise InvalidPolicy(file=file, place="", reason=f"the file is larger than {MAX_BYTES} bytes")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InvalidPolicy(file=file, place="", reason=f"not valid YAML: {reason}") from None
    return Member(value, file)


def require_version(members: Mapping[str, Member]) -> None:
    version = members["version"]
    if version.value != 1 or isinstance(version.value, bool):
        version.fail(f"expected 1, got {version.value!r}")


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return {
        bool: "a truth value",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a mapping",
    }.get(type(value), type(value).__name__)
