"""The report of `verify`: findings with a severity, a stable code, a place and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from omnigraph.model.errors import Json, OmniGraphError, Unreachable
from omnigraph.model.late_dataclass import dataclass

Severity = Literal["error", "warning", "info"]
"""error: the graph is wrong. warning: something needs attention or a recovery. info: good to know."""

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}
_WORDS: dict[Severity, str] = {"error": "ERROR", "warning": "WARN ", "info": "INFO "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem."""

    severity: Severity
    code: str
    """Stable; docs/cli.md lists them all."""
    where: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {"severity": self.severity, "code": self.code, "where": self.where, "message": self.message}

    def render(self) -> str:
        return f"{_WORDS[self.severity]} {self.code}: {self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` checked and what it found, the worst first.

    >>> report = graph.verify()
    >>> report.ok, report.branches, report.rows, report.findings
    (True, 1, 3, ())
    """

    uri: str
    deep: bool
    branches: int
    tables: int
    """Table versions, each counted once however many branches show it."""
    rows: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True when there is no error; warnings and infos do not count.

        >>> graph.verify(deep=False).ok
        True
        """
        return self.count("error") == 0

    def count(self, severity: Severity) -> int:
        """How many findings have this severity: `error`, `warning` or `info`.

        >>> graph.verify().count("warning")
        0
        """
        return sum(finding.severity == severity for finding in self.findings)

    def to_json(self) -> dict[str, Json]:
        """The report as one document.

        >>> graph.verify().to_json()["errors"]
        0
        """
        return {
            "uri": self.uri,
            "ok": self.ok,
            "deep": self.deep,
            "branches": self.branches,
            "tables": self.tables,
            "rows": self.rows,
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "infos": self.count("info"),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def render(self) -> str:
        """One line for each finding, then a summary.

        >>> print(graph.verify().render())
        OK    verified ...: 1 branch(es), 2 table version(s), 3 row(s) (0 error(s), 0 warning(s), 0 info item(s))
        """
        looked = f"{self.branches} branch(es), {self.tables} table version(s), {self.rows} row(s)"
        counts = (
            f"{self.count('error')} error(s), {self.count('warning')} warning(s), {self.count('info')} info item(s)"
        )
        verdict = "OK   " if self.ok else "ERROR"
        depth = "" if self.deep else ", rows and indexes not read"
        lines = [finding.render() for finding in self.findings]
        return "\n".join([*lines, f"{verdict} verified {self.uri}: {looked}{depth} ({counts})"])


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """Errors first; among equals as they were found. A finding that several branches share is kept once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER[finding.severity]))


def with_unreadable(code: str, where: str, check: Iterator[Finding], severity: Severity = "error") -> Iterator[Finding]:
    """The findings of a check; what it cannot read is a finding too. A store that does not answer ends the report."""
    try:
        yield from check
    except Unreachable:
        raise
    except OmniGraphError as error:
        yield Finding(severity, code, where, error.sentence())
