"""Violations: a record that breaks a rule of the schema, with everything that is needed to find and mend it."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass

MAX_ERRORS_DEFAULT = 100
"""How many violations one write reports; the total is counted beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One broken rule. `rule` is the annotation or check that refuses: `@unique`, `required`, `type`, `endpoint` …"""

    rule: str
    message: str
    entity_kind: EntityKind | None = None
    type_name: str | None = None
    entity_id: str | None = None
    property: str | None = None
    value: str | None = None
    file: str | None = None
    line: int | None = None

    def to_json(self) -> dict[str, Json]:
        """In the order of the contract; absent facts are omitted."""
        facts: dict[str, Json] = {
            "file": self.file,
            "line": self.line,
            "entity_kind": self.entity_kind,
            "type_name": self.type_name,
            "entity_id": self.entity_id,
            "property": self.property,
            "value": self.value,
            "rule": self.rule,
            "message": self.message,
        }
        return {name: value for name, value in facts.items() if value is not None}

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return where + self.message


@dataclass(eq=False)
class ValidationFailed(BadRequest):
    """The change breaks rules of the schema. Nothing was written."""

    violations: tuple[Violation, ...]
    total: int

    def sentence(self) -> str:
        more = f" (and {self.total - 1} more)" if self.total > 1 else ""
        return f"{self.violations[0]}{more}"

    def render(self) -> str:
        """Every violation that is reported, one to a line, each with its file and line."""
        first, *others = self.violations
        lines = [_place(first) + self.sentence(), *(f"  {_place(each)}{each}" for each in others)]
        return "\n".join(lines)

    def details(self) -> dict[str, Json]:
        return {"violations": [v.to_json() for v in self.violations], "violations_total": self.total}


def _place(violation: Violation) -> str:
    """The file, where there is a line in it to name."""
    return f"{violation.file}, " if violation.file is not None and violation.line is not None else ""


def refuse(violations: Sequence[Violation], *, max_errors: int = MAX_ERRORS_DEFAULT) -> None:
    """Raises when there is any violation; reports the first ones and counts them all."""
    if violations:
        raise ValidationFailed(tuple(violations[:max_errors]), len(violations))
