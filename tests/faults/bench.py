"""The bench that trials are made on: one process that performs, one that checks, and a fresh graph for each case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from faults.aftermath import Aftermath
from faults.case import AnyFault, Case, Rehearsal, Trial
from faults.children import Child, Died, NoAnswer
from faults.judging import Answer
from support.faults.fault_operations import Operation
from support.faults.fault_shim import Call


class Bench(ABC):
    """What is the same on every kind of storage."""

    _patience_s = 0.3
    """How long another writer waits for the branch while the operation stands still."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rehearsals: dict[tuple[str, object], Rehearsal] = {}
        self._copies = 0
        self._has_template = False
        self._checker = self._new_checker()
        self._performer = self._new_performer()

    def close(self) -> None:
        self._performer.end()
        self._checker.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- one case -----------------------------------------------------------------------------------------

    def rehearse(self, operation: Operation, like: AnyFault) -> Rehearsal:
        """What happens when nothing goes wrong; found out once for each kind of call that is counted."""
        counting = self._counting(like)
        key = (operation.name, counting)
        if key not in self._rehearsals:
            uri = self._prepared(operation)
            before = self._checker.ask("read", uri=uri).get("content")
            self._arm(uri, counting)
            performed = self._performer.ask("perform")
            calls = self._disarm()
            after = self._checker.ask("open", uri=uri)
            for answer in (performed, after):
                assert "error" not in answer, f"{operation.name}: {answer['error']['where']}"
            self._rehearsals[key] = Rehearsal(before, after["content"], tuple(calls))
            self._clear(uri)
        return self._rehearsals[key]

    def run(self, operation: Operation, fault: AnyFault) -> Trial:
        case = Case(operation, fault, self.rehearse(operation, fault), self._prepared(operation))
        try:
            return self._carried_out(case)
        except (Died, NoAnswer) as error:
            self._restart()
            return case.trial(f"no answer: {error}", "unknown", [f"a process did not go on: {error}"])
        finally:
            self._clear(case.uri)

    def _carried_out(self, case: Case) -> Trial:
        self._arm(case.uri, case.fault)
        performed = self._performed(case)
        calls = self._disarm()
        case.calls = tuple(calls)
        case.hit = str(calls[case.fault.nth - 1]) if case.fault.nth <= len(calls) else "the end"
        self._cut_power(case, calls)
        aftermath = Aftermath(case, performed, self._checker, None if case.fault.is_deadly else self._performer)
        aftermath.look()
        return case.trial(aftermath.outcome, aftermath.state, aftermath.findings)

    def _performed(self, case: Case) -> Answer | None:
        """The answer of the operation; None when the process died on the way."""
        self._performer.send("perform")
        try:
            answer = self._performer.answer_unless(self._is_interrupted)
        except Died:
            if not case.fault.is_deadly:
                raise
            self._performer.end()
            self._performer = self._new_performer()
            return None
        if answer is not None:
            return answer
        case.meanwhile = self._checker.ask("write", uri=case.uri, name="MarkMeanwhile", wait_s=self._patience_s)
        self._let_go_on()
        return self._performer.answer_unless(lambda: False)

    # --- parts --------------------------------------------------------------------------------------------

    def _restart(self) -> None:
        self._disarm()
        self._performer.end()
        self._checker.end()
        self._checker = self._new_checker()
        self._performer = self._new_performer()

    def _prepared(self, operation: Operation) -> str:
        """A fresh copy of the template at an address of its own: nothing that a process remembers can be of it."""
        if not self._has_template:
            answer = self._checker.ask("template", uri=self._address("template"))
            assert "error" not in answer, answer["error"]["where"]
            self._has_template = True
        self._copies += 1
        uri = self._address(f"case-{self._copies}")
        if operation.exists:
            self._copy(self._address("template"), uri)
        answer = self._performer.ask("prepare", operation=operation.name, uri=uri)
        assert "error" not in answer, answer["error"]["where"]
        return uri

    def _child(self, part: str, environment: Mapping[str, str]) -> Child:
        return Child(part, environment, self._folder / f"{part}.log")

    @abstractmethod
    def _cut_power(self, case: Case, calls: list[Call]) -> None:
        """Makes the storage forget, if the fault is that."""

    @abstractmethod
    def _new_performer(self) -> Child: ...

    @abstractmethod
    def _new_checker(self) -> Child: ...

    @abstractmethod
    def _counting(self, like: AnyFault) -> AnyFault:
        """A fault that never comes, which counts the same calls."""

    @abstractmethod
    def _arm(self, uri: str, fault: AnyFault) -> None: ...

    @abstractmethod
    def _disarm(self) -> list[Call]: ...

    @abstractmethod
    def _is_interrupted(self) -> bool:
        """True when the operation stands still at the place of its fault, and another writer is to come in between."""

    @abstractmethod
    def _let_go_on(self) -> None: ...

    @abstractmethod
    def _address(self, name: str) -> str: ...

    @abstractmethod
    def _copy(self, template: str, uri: str) -> None: ...

    @abstractmethod
    def _clear(self, uri: str) -> None: ...
