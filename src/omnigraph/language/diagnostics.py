"""Diagnostics: what the compilers say about a text, for people (source line and caret) and for machines (JSON)."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.late_dataclass import dataclass

Severity = Literal["error", "warning", "info"]

COMPARED_MAX = 100
"""So many names are compared with a misspelt one, letter by letter."""

Stage = Literal["syntax", "parse", "catalog", "resolution", "type", "plan", "lint"]
"""Which step refuses. `syntax` and `parse` are one public kind; the others print their own prefix."""

_PREFIX: dict[Stage, str] = {
    "syntax": "parse error: ",
    "parse": "parse error: ",
    "catalog": "catalog error: ",
    "resolution": "schema identity resolution failed: ",
    "type": "type error: ",
    "plan": "plan error: ",
    "lint": "",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A range of UTF-8 byte offsets in one source text. Never empty: a zero-width place is widened to one byte."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            object.__setattr__(self, "end", self.start + 1)


@dataclass(frozen=True, slots=True)
class Position:
    """A place for people: 1-based line and column, the column counted in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing to say about a text. `code` is a published code (`T6`, `OG-MF-103`, `L201`) or the stage's name."""

    severity: Severity
    stage: Stage
    message: str
    code: str | None = None
    hint: str | None = None
    span: Span | None = None
    file: str | None = None
    position: Position | None = None
    end: Position | None = None
    source_line: str | None = None

    @property
    def headline(self) -> str:
        """`type error: T6: Person has no property 'agee'`"""
        code = f"{self.code}: " if self.code else ""
        return f"{_PREFIX[self.stage]}{code}{self.message}"

    def render(self) -> str:
        """The headline, the source line with a caret under the place, and the hint."""
        lines = [self.headline]
        if self.position is not None and self.source_line is not None:
            gutter = f"{self.position.line:>3} | "
            if self.file:
                lines.append(f"  --> {self.file}:{self.position.line}:{self.position.column}")
            lines.append(gutter + self.source_line)
            width = 1
            if self.end is not None and self.end.line == self.position.line:
                width = max(1, self.end.column - self.position.column)
            caret = " " * (len(gutter) + self.position.column - 1) + "^" * width
            lines.append(f"{caret}  {self.hint}" if self.hint else caret)
        elif self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Json]:
        """For machines; absent facts are omitted."""
        out: dict[str, Json] = {"severity": self.severity, "stage": self.stage, "message": self.message}
        if self.code:
            out["code"] = self.code
        if self.hint:
            out["hint"] = self.hint
        if self.file:
            out["file"] = self.file
        if self.span is not None:
            out["span"] = {"start": self.span.start, "end": self.span.end}
        if self.position is not None:
            out["line"], out["column"] = self.position.line, self.position.column
        if self.end is not None:
            out["end_line"], out["end_column"] = self.end.line, self.end.column
        return out

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Diagnostic:
        """What `to_json` wrote; the source line is with whoever has the text."""
        span = facts.get("span")
        return cls(
            severity=facts["severity"],
            stage=facts["stage"],
            message=facts["message"],
            code=facts.get("code"),
            hint=facts.get("hint"),
            file=facts.get("file"),
            span=None if span is None else Span(span["start"], span["end"]),
            position=Position(facts["line"], facts["column"]) if "line" in facts else None,
            end=Position(facts["end_line"], facts["end_column"]) if "end_line" in facts else None,
        )


@dataclass(eq=False)
class CompileError(BadRequest):
    """A text that does not compile. Carries every diagnostic; the first error gives the sentence and the code."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def first(self) -> Diagnostic:
        return next(d for d in self.diagnostics if d.severity == "error")

    def sentence(self) -> str:
        first = self.first
        where = ""
        if first.position is not None:
            where = f" at {first.file + ':' if first.file else ''}{first.position.line}:{first.position.column}"
        return f"{first.headline}{where}"

    @property
    def hint(self) -> str | None:
        return self.first.hint

    @property
    def error_code(self) -> str:
        """The compiler's own code where there is one, else the stage (`parse_error`, `catalog_error`, …)."""
        first = self.first
        if first.code:
            return first.code
        return {"syntax": "parse_error", "parse": "parse_error"}.get(first.stage, f"{first.stage}_error")

    def render(self) -> str:
        """Every diagnostic, each with its source line and caret."""
        return "\n".join(d.render() for d in self.diagnostics)

    def details(self) -> dict[str, Json]:
        return {"diagnostics": [d.to_json() for d in self.diagnostics]}


class SourceText:
    """A text with the two maps that diagnostics need: character offset → UTF-8 byte offset, and → line and column."""

    def __init__(self, text: str, file: str | None = None) -> None:
        self.text = text
        self.file = file
        self._line_starts = [0]
        for index, char in enumerate(text):
            if char == "\n":
                self._line_starts.append(index + 1)

    def position(self, offset: int) -> Position:
        """1-based line and column of a character offset."""
        low, high = 0, len(self._line_starts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._line_starts[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        return Position(low + 1, offset - self._line_starts[low] + 1)

    def line(self, number: int) -> str:
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None].rstrip("\r")

    def diagnostic(
        self,
        stage: Stage,
        message: str,
        start: int,
        end: int,
        *,
        severity: Severity = "error",
        code: str | None = None,
        hint: str | None = None,
    ) -> Diagnostic:
        """A diagnostic for the characters `start:end` of this text."""
        here = self.position(start)
        first = len(self.text[:start].encode())
        return Diagnostic(
            severity=severity,
            stage=stage,
            message=message,
            code=code,
            hint=hint,
            span=Span(first, first + len(self.text[start:end].encode())),
            file=self.file,
            position=here,
            end=self.position(max(end, start + 1)),
            source_line=self.line(here.line),
        )


def did_you_mean(name: str, known: Iterable[str], may_tell: Callable[[str], bool] = lambda _: True) -> str | None:
    """`did you mean 'age'?` for the closest known name, or None when nothing is close.

    `may_tell` says whether the reader may learn a name; only names that are close are asked about.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, _worth_comparing(name, names), n=COMPARED_MAX, cutoff=0.6)
    if not close:
        close = [each for each in reversed(names) if each.lower() == name.lower()]
    told = next(filter(may_tell, close), None)
    return None if told is None else f"did you mean '{told}'?"


def _worth_comparing(name: str, names: list[str]) -> list[str]:
    """Of very many names those that share the most letters: to compare each in full may take half a minute."""
    if len(names) <= COMPARED_MAX:
        return names
    matcher = difflib.SequenceMatcher(b=name)

    def shared(candidate: str) -> float:
        matcher.set_seq1(candidate)
        return matcher.quick_ratio()

    return sorted(heapq.nlargest(COMPARED_MAX, names, key=shared))
