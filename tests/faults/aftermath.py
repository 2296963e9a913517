"""What a case left, looked at from another process and from the one that it happened to."""

from __future__ import annotations

import math
import os
from typing import Any

from faults.case import Case, Rehearsal
from faults.children import Child
from faults.judging import Answer, is_typed, judge_each, judge_state, marks, misleads, of_error, state_of, unmarked
from support.faults.fault_operations import Content
from support.faults.fault_shim import FAILING

SYNCS = ("fsync", "fdatasync")
NOT_PART_OF_A_COMMIT = ("__recovery", "__leases", "__staging")
"""What is not synced there is found out when it is needed, and costs nobody a commit."""
KILLED: Answer = {"error": {"type": "Killed", "message": "", "families": ["OutcomeUnknown"], "typed": True}}
"""As good as an error that says: it may have happened."""


class Aftermath:
    """Looks at what a case left, from another process and from the one that it happened to."""

    def __init__(self, case: Case, performed: Answer | None, checker: Child, performer: Child | None) -> None:
        self._case = case
        self._performed = performed
        self._checker = checker
        self._performer = performer
        self.findings: list[str] = []
        self.state = "unknown"
        self._is_silent = False
        if performed is None:
            self.outcome = "killed"
        else:
            errors = [error["type"] for error in performed.get("each", {}).values() if error is not None]
            warned = f", with a warning: {performed['warnings'][0]}"[:300] if performed.get("warnings") else ""
            others = f", all but {errors}" if errors else ""
            self.outcome = of_error(performed) or f"acknowledged{others}{warned}"
            self._is_silent = self.outcome == "acknowledged"

    def look(self) -> None:
        self._check_answers()
        shown = self._seen("read", "reading", uri=self._case.uri)
        if shown is not None:
            self._judge(shown["content"], "a reader sees ", may_wait=True)
        opened = self._seen("open", "opening", uri=self._case.uri)
        if opened is not None:
            self._judge(opened["content"], "", may_wait=False)
            self._check_commit(opened["commits"])
            if self._case.operation.hidden and self.outcome != "acknowledged":
                again = {"operation": self._case.operation.name, "uri": self._case.uri}
                self._asked("repeat", "the same once more, elsewhere", **again)
            self._verify()
        if opened is not None or self._case.rehearsal.before is None:
            self._go_on(is_there=self.state == "after")

    # --- what was promised --------------------------------------------------------------------------------

    def _check_answers(self) -> None:
        for answer, who in ((self._performed, ""), (self._case.meanwhile, "the other writer: ")):
            if answer is not None and not is_typed(answer):
                self.findings.append(f"{who}raw {of_error(answer)}\n{_indented(answer['error']['where'])}")
            if answer is not None and misleads(answer):
                self.findings.append(f"{who}told of damage where there is none: {of_error(answer)}")
        if self._is_silent and self._is_unsynced():
            self.findings.append(f"acknowledged although it could not be synced: {self._case.hit}")

    def _is_unsynced(self) -> bool:
        """True when a sync failed of something that is still there. A folder may be synced again, a file may not: the
        system may have dropped what it could not write."""
        case = self._case
        name, _, path = case.hit.partition(" ")
        if case.fault.way not in FAILING or name not in SYNCS or path.startswith(NOT_PART_OF_A_COMMIT):
            return False
        if case.fault.nth > self._intent_gone():
            return False  # what comes after it is tidying up
        full = os.path.join(case.uri, path)
        again = any(call.name in SYNCS and call.path == path for call in case.calls[case.fault.nth :])
        return not (os.path.isdir(full) and again) if os.path.exists(full) else False

    def _intent_gone(self) -> float:
        """The number of the call that removed the intent of the write; beyond all where there is none."""
        gone = [
            number
            for number, call in enumerate(self._case.calls, 1)
            if call.name in ("unlink", "unlinkat") and call.path.startswith("__recovery/")
        ]
        return gone[-1] if gone else math.inf

    def _judge(self, content: Content, who: str, *, may_wait: bool) -> None:
        case = self._case
        before, halfway = case.rehearsal.before, case.operation.halfway
        self.state = state_of(
            content, before, case.rehearsal.after, halfway(before) if halfway is not None and before else None
        )
        if case.operation.settles and may_wait and self.state != "between":
            return  # whoever opens it for writing brings it about
        performed = KILLED if self._performed is None else self._performed
        if case.operation.several:
            self.findings += [f"{who}{wrong}" for wrong in judge_each(performed, content, case.rehearsal.after)]
            self._check_meanwhile(content)
            return
        wrong = judge_state(performed, self.state, same=case.rehearsal.shows_nothing or case.operation.settles)
        if wrong is not None:
            self.findings.append(f"{who}{wrong}" + _difference(content, case.rehearsal, self.state))
        self._check_meanwhile(content)

    def _check_meanwhile(self, content: Content) -> None:
        told = self._case.meanwhile
        if told is not None and "error" not in told and not self._case.operation.replaces:
            self._check_mark(content, "MarkMeanwhile", told["content"])

    def _check_commit(self, commits: dict[str, list[str]]) -> None:
        commit = None if self._performed is None else self._performed.get("commit")
        if commit is not None and not any(commit in ids for ids in commits.values()):
            self.findings.append(f"the acknowledged commit {commit} is not there")
        for branch, other in (self._case.meanwhile or {}).get("commits", {}).items():
            if branch in commits and other not in commits[branch]:  # a branch that is to be deleted may be gone
                self.findings.append(f"the commit {other} that another made on {branch} meanwhile is not there")

    def _check_mark(self, content: Content, name: str, written: Content) -> None:
        wanted = {branch: 2 for branch in written if branch in content}
        found = marks(content, name)
        if any(found[branch] != lines for branch, lines in wanted.items()):
            self.findings.append(f"{name} was acknowledged, and is not there: {found}")

    # --- everybody goes on --------------------------------------------------------------------------------

    def _go_on(self, *, is_there: bool) -> None:
        case = self._case
        if not is_there and not (case.operation.settles or case.operation.several):
            again = self._asked("repeat", "the same once more, elsewhere", operation=case.operation.name, uri=case.uri)
            if again is not None and unmarked(again["content"]) != case.rehearsal.after:
                self.findings.append("the same once more, elsewhere, does not bring about what it should")
        wrote = self._asked("write", "the next write", uri=case.uri, name="MarkNext")
        if wrote is not None:
            self._check_mark(wrote["content"], "MarkNext", wrote["content"])
            if self._performer is not None:
                self._same_handle(self._performer, wrote["content"])
        self._verify(last=True)

    def _same_handle(self, performer: Child, content: Content) -> None:
        read = performer.ask("read_on")
        if "error" in read:
            self.findings.append(f"the same handle does not read on: {of_error(read)}")
        elif read["content"] != content:
            self.findings.append("the same handle does not show what the other process wrote")
        wrote = performer.ask("write_on", name="MarkSame")
        if "error" in wrote:
            self.findings.append(f"the same handle does not write on: {of_error(wrote)}")

    def _verify(self, *, last: bool = False) -> None:
        checked = self._checker.ask("verify", uri=self._case.uri)
        when = " after the next write" if last else ""
        if "error" in checked:
            self.findings.append(f"verify{when} fails: {of_error(checked)}")
            return
        if not checked["ok"]:
            self.findings.append(f"verify{when}: {'; '.join(checked['findings'])[:600]}")
        if last and checked["pending"]:
            self.findings.append(f"a sidecar stays: {checked['pending']}")

    def _seen(self, do: str, what: str, **given: Any) -> Answer | None:
        """The answer; a graph that is not there yet is no finding where the operation is to make it."""
        answer = self._checker.ask(do, **given)
        if "error" not in answer:
            return answer
        if self._case.rehearsal.before is None and answer["error"]["type"] == "GraphNotFound":
            self.state = "before"
            if self._performed is not None and "error" not in self._performed:
                self.findings.append("acknowledged, and not there")
            return None
        self.findings.append(f"{what} fails: {of_error(answer)}")
        return None

    def _asked(self, do: str, what: str, **given: Any) -> Answer | None:
        answer = self._checker.ask(do, **given)
        if "error" in answer:
            self.findings.append(f"{what} fails: {of_error(answer)}")
            return None
        return answer


def _difference(content: Content, rehearsal: Rehearsal, state: str) -> str:
    if state != "between":
        return ""
    plain = unmarked(content)
    missing = {name: sorted(set(lines) - set(plain.get(name, []))) for name, lines in rehearsal.after.items()}
    extra = {name: sorted(set(lines) - set(rehearsal.after.get(name, []))) for name, lines in plain.items()}
    return f": missing {missing}, too many {extra}"[:600]


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines()[-14:])
