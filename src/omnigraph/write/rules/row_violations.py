"""Violations of a change against the rules: each with the rows to blame, and a log that keeps a bounded number."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.changes import TableChange
from omnigraph.write.rules.violations import MAX_ERRORS_DEFAULT, Violation


@dataclass(frozen=True, slots=True)
class RowViolation:
    """One violation, and the rows of the change that are to blame; none when leaving rows out would not mend it."""

    violation: Violation
    key: TableKey
    rows: tuple[int, ...] = ()


@dataclass(slots=True)
class ViolationLog:
    """The first violations, and how many there are in all."""

    max_errors: int | None = MAX_ERRORS_DEFAULT
    violations: list[Violation] = field(default_factory=list)
    total: int = 0

    def add(self, violations: Iterable[Violation], *, uncounted: int = 0) -> None:
        """Takes violations in; `uncounted` is how many more there were that nobody kept."""
        self.total += uncounted
        for violation in violations:
            self.total += 1
            if self.max_errors is None or len(self.violations) < self.max_errors:
                self.violations.append(violation)


def row_violation(
    entity: NodeType | EdgeType,
    change: TableChange | None,
    rows: tuple[int, ...],
    *,
    rule: str,
    message: str,
    entity_id: str | None = None,
    property_name: str | None = None,
    value: Any = None,
) -> RowViolation:
    """A violation at rows of a change. Id and line are those of the last row: it is the one that came too late."""
    file = line = None
    if change is not None and rows:
        if entity_id is None and change.rows is not None:
            entity_id = change.rows["id"][rows[-1]].as_py()
        if change.provenance is not None:
            file, line = change.provenance.place(rows[-1])
    violation = Violation(
        rule=rule,
        message=message,
        entity_kind=entity.kind,
        type_name=entity.name,
        entity_id=entity_id,
        property=property_name,
        value=None if value is None else display_value(value),
        file=file,
        line=line,
    )
    return RowViolation(violation, entity.table_key, rows)


def display_value(value: Any) -> str:
    """A value for people: text as it is, everything else as JSON, cut when it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
