"""One case: an operation, a fault on its way, what it should bring about, and what was found."""

from __future__ import annotations

import re
from dataclasses import field

from faults.judging import Answer
from omnigraph.model.late_dataclass import dataclass
from support.faults.fault_operations import Content, Operation
from support.faults.fault_proxy import StoreFault
from support.faults.fault_shim import Call, Fault

AnyFault = Fault | StoreFault

_CHANGING = re.compile(
    r"\.tmp\w+|case-\d+|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{19,20}|[0-9a-f]{16,}"
)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The operation without any fault: the states before and after it, and the calls that it makes."""

    before: Content | None
    after: Content
    calls: tuple[Call, ...]

    @property
    def shows_nothing(self) -> bool:
        """Upkeep: the same entities before and after."""
        return self.before == self.after


@dataclass(frozen=True, slots=True)
class Trial:
    """One case and what was found wrong; `findings` is empty when every promise held."""

    operation: str
    fault: AnyFault
    hit: str
    outcome: str
    state: str
    findings: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it was, without the parts of a name that differ from run to run."""
        return _CHANGING.sub("*", self.hit)

    @property
    def first_finding(self) -> str:
        return _CHANGING.sub("*", self.findings[0].partition("\n")[0])[:300] if self.findings else ""

    def __str__(self) -> str:
        head = f"{self.operation} n={self.fault.nth} {self.fault.title} at [{self.hit}] -> {self.outcome}; {self.state}"
        return "\n    ".join([head, *self.findings])


@dataclass(slots=True)
class Case:
    """A case under way."""

    operation: Operation
    fault: AnyFault
    rehearsal: Rehearsal
    uri: str
    hit: str = "not reached"
    calls: tuple[Call, ...] = ()
    meanwhile: Answer | None = field(default=None)
    """What another writer was told while the operation was stopped or held."""

    def trial(self, outcome: str, state: str, findings: list[str]) -> Trial:
        return Trial(self.operation.name, self.fault, self.hit, outcome, state, tuple(findings))
