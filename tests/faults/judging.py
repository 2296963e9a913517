"""What must hold after a fault, whatever it was: the promises, checked on what two processes saw. Pure.

1. What was acknowledged is there, for another process.
2. What was refused is not there, or the error says that it is or may be.
3. Every error is one of ours.
4. `verify` finds nothing wrong, nothing waits for a person, and everybody goes on reading and writing.
"""

from __future__ import annotations

from typing import Any

from support.faults.fault_operations import Content

Answer = dict[str, Any]

ADMITS = {"CommitNotDurable", "OutcomeUnknown", "RecoveryRequired", "InitializationIndeterminate"}
"""Errors that say: it may have happened."""
MARKED = '"Mark'
"""In every line that a process wrote on top, to show that it can."""


def of_error(answer: Answer) -> str | None:
    error = answer.get("error")
    return None if error is None else f"{error['type']}: {error['message'][:300]}"


def is_typed(answer: Answer) -> bool:
    return answer.get("error") is None or bool(answer["error"]["typed"])


def admits(answer: Answer) -> bool:
    error = answer.get("error")
    return error is not None and bool(ADMITS & set(error["families"]))


def misleads(answer: Answer) -> bool:
    """Told of damage: no call that fails and no rival does any."""
    error = answer.get("error")
    return error is not None and "Corrupt" in error["families"]


def unmarked(content: Content) -> Content:
    return {branch: [line for line in lines if MARKED not in line] for branch, lines in content.items()}


def marks(content: Content, name: str) -> dict[str, int]:
    """How many lines of each branch a mark has; two make a whole one."""
    return {branch: sum(f'"{name}"' in line for line in lines) for branch, lines in content.items()}


def state_of(content: Content, before: Content | None, after: Content, halfway: Content | None) -> str:
    """`before`, `after`, `halfway` where the operation has such a state, or none of them."""
    plain = unmarked(content)
    if plain == after:
        return "after"  # first: upkeep changes no entity
    if plain == before:
        return "before"
    return "halfway" if plain == halfway else "between"


def says_what_stays(answer: Answer) -> bool:
    return any(" stays" in note or " is kept" in note for note in answer.get("error", {}).get("notes", ()))


def judge_state(performed: Answer, state: str, *, same: bool) -> str | None:
    """What is wrong about the state, given what the performer was told. `same`: both states show the same rows."""
    if state == "between":
        return "neither the state before nor the state after"
    if "error" not in performed:
        return None if state == "after" else "acknowledged, and not there"
    if state == "halfway":
        told = says_what_stays(performed) or admits(performed)
        return None if told else f"a part of it is there, although the error does not say so: {of_error(performed)}"
    if state == "after" and not same and not admits(performed):
        return f"there, although the error does not say so: {of_error(performed)}"
    return None


def judge_each(performed: Answer, content: Content, after: Content) -> list[str]:
    """Of several writes at once, each is there or not, as it was told. One that died with its process may be either."""
    wrong = []
    for name, error in performed.get("each", {}).items():
        found, wanted = marks(content, name)["main"], marks(after, name)["main"]
        told = {} if error is None else {"error": error}
        if found not in (0, wanted):
            wrong.append(f"half of {name} is there")
        finding = judge_state(told, "after" if found else "before", same=False)
        wrong += [f"{name}: {finding}"] if finding is not None else []
        wrong += [f"{name}: raw {of_error(told)}"] if not is_typed(told) else []
    return wrong
