"""Requests and answers as values, and how the parts of an address become one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

from omnigraph.model.late_dataclass import dataclass

T = TypeVar("T")
Safety = Literal["read", "keyed", "once"]
"""A read may always be sent again, a write with an idempotency key too; any other write only if it never arrived."""
Query = Sequence[tuple[str, str]]
JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request below the address of a graph or of a server."""

    method: str
    path: tuple[str, ...]
    query: Query = ()
    document: Any = None
    """The body, as JSON."""
    lines: Callable[[], Iterator[bytes]] | None = None
    """The body, as a stream that can be begun again."""
    headers: Mapping[str, str] = field(default_factory=dict)
    safety: Safety = "read"
    accept: str = JSON
    seconds: float | None = None
    """How long an answer may take, where that is not the client's usual time."""
    what: str = ""
    """What it does, for messages about a write whose outcome is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: bytes

    @property
    def media(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


Verb = Generator[Request, Answer, T]
"""What a method does: the requests that it sends, and what it makes of their answers."""


def address(base: str, request: Request) -> str:
    """The whole address: every segment and every value encoded by itself, and never two slashes."""
    segments = "/".join(quote(segment, safe="") for segment in request.path)
    url = f"{base.rstrip('/')}/{segments}" if segments else base.rstrip("/")
    return f"{url}?{urlencode(request.query)}" if request.query else url


def given(**parameters: str | int | None) -> list[tuple[str, str]]:
    """The parameters that have a value."""
    return [(name.rstrip("_"), str(value)) for name, value in parameters.items() if value is not None]


def present(**members: Any) -> dict[str, Any]:
    """The members of a body that have a value."""
    return {name.rstrip("_"): value for name, value in members.items() if value is not None}
