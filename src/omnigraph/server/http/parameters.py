"""Query parameters: what an operation takes after the `?`, checked before its handler runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from omnigraph.server.http.refusals import bad_request

Kind = Literal["string", "uint", "boolean"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query or header parameter of an operation, as the API document describes it."""

    name: str
    kind: Kind = "string"
    enum: tuple[str, ...] = ()
    enum_name: str | None = None
    repeats: bool = False
    required: bool = False
    nullable: bool = True
    place: Literal["query", "header"] = "query"


class Parameters:
    """The parameters of one request: a name that repeats must be one that may."""

    def __init__(self, query_string: str, known: Sequence[Parameter], *, is_strict: bool, prefix: str = "") -> None:
        self._prefix = prefix
        self._values: dict[str, list[str]] = {}
        by_name = {each.name: each for each in known if each.place == "query"}
        try:
            pairs = parse_qsl(query_string, keep_blank_values=True, errors="strict", max_num_fields=1000)
        except ValueError:
            raise self._bad("the query string cannot be read") from None
        for name, value in pairs:
            parameter = by_name.get(name)
            if parameter is None:
                if is_strict:
                    raise self._bad(f"unknown query parameter '{name}'")
                continue
            if name in self._values and not parameter.repeats:
                raise self._bad(f"query parameter '{name}' is given twice")
            self._check(parameter, value)
            self._values.setdefault(name, []).append(value)
        for name, parameter in by_name.items():
            if parameter.required and name not in self._values:
                raise self._bad(f"missing query parameter '{name}'")

    def _bad(self, message: str) -> Exception:
        return bad_request(self._prefix + message)

    def _check(self, parameter: Parameter, value: str) -> None:
        if parameter.enum and value not in parameter.enum:
            raise self._bad(f"'{parameter.name}' must be one of {', '.join(parameter.enum)}")
        if parameter.kind == "uint" and not (value.isascii() and value.isdigit() and len(value) < 19):
            raise self._bad(f"'{parameter.name}' must be a whole number")
        if parameter.kind == "boolean" and value not in ("true", "false"):
            raise self._bad(f"'{parameter.name}' must be true or false")

    def text(self, name: str) -> str | None:
        values = self._values.get(name)
        return None if values is None else values[0]

    def number(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else int(text)

    def flag(self, name: str) -> bool:
        return self.text(name) == "true"

    def many(self, name: str) -> list[str] | None:
        return self._values.get(name)

    def given(self, *names: str) -> Mapping[str, Any]:
        """Those of these that were given, by name."""
        return {name: self.text(name) for name in names if name in self._values}
