"""What a graph may look like as far as anybody can know: every branch has the pictures that are still possible. Pure.

A write that was acknowledged or refused leaves one. One that was killed, interrupted or paused leaves two, with it and
without it, until a read tells which; and whoever writes next may still finish it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from itertools import permutations
from typing import Any

from company.pictures import Applied, Picture, Refused, Write, apply
from omnigraph.model.late_dataclass import dataclass

Answer = dict[str, Any]

UNCERTAIN = frozenset({"KeyboardInterrupt", "OutcomeUnknown", "RecoveryRequired", "CommitNotDurable", "Died"})
"""It may have happened."""
MOVED_ON = frozenset({"ReadSetChanged", "RowLevelCasContention", "ExpectedVersionMismatch"})
"""Somebody else was first; nothing was written."""
BUSY = frozenset({"LeaseTimeout"})
REPLACED = frozenset(
    {"GraphReplaced", "GraphNotFound", "SchemaContractMissing", "BranchReplaced", "BranchNotFound", "LeaseLost"}
)
"""What a handle may say of a graph or a branch that was taken away from under it; nothing was written."""
NOBODY: frozenset[str] = frozenset()


class Impossible(Exception):
    """The graph did something that no order of events explains."""


@dataclass(frozen=True, slots=True)
class World:
    """One picture that is possible, and which of the undecided writes are in it."""

    picture: Picture
    done: frozenset[str] = frozenset()


@dataclass(slots=True)
class Branch:
    """What is known of one branch."""

    name: str
    worlds: list[World]
    open: dict[str, Write] = field(default_factory=dict)
    """Undecided writes that somebody's recovery may still finish; by an id of the model's own."""
    commits: dict[str, Picture | None] = field(default_factory=dict)
    """What was acknowledged here, oldest first, and what the branch showed then."""

    @property
    def picture(self) -> Picture | None:
        """What it shows, if that is certain."""
        pictures = [world.picture for world in self.worlds]
        return pictures[0] if all(each == pictures[0] for each in pictures) else None

    def cut(self, name: str) -> Branch:
        """A branch that is made from this one: what nobody finished is not in it and will not be."""
        return Branch(name, distinct(World(world.picture) for world in self.worlds))

    def spread(self) -> None:
        """Somebody looks after the branch, or may have: an undecided write may be finished by that."""
        for each, write in self.open.items():
            self.worlds += [
                World(after.picture, world.done | {each})
                for world in self.worlds
                if each not in world.done and isinstance(after := apply(world.picture, write, self.name), Applied)
            ]
        self.worlds = distinct(self.worlds)

    def narrow(self, fits: Callable[[Picture], bool], what: str) -> None:
        """A read has shown which worlds are wrong."""
        left = [world for world in self.worlds if fits(world.picture)]
        if not left:
            raise Impossible(what)
        self.worlds = left

    def take_up(self, each: str, write: Write) -> None:
        """A write has begun, and nobody knows how it ends."""
        self.open[each] = write
        self.spread()

    def settle(
        self, each: str, write: Write, answer: Answer, allowed: frozenset[str], earlier: Iterable[Picture] = ()
    ) -> None:
        """The answer of a write that was undecided. One that wrote nothing is right if it was so `earlier`."""
        before = self.worlds
        after: list[World] = []
        was_right = any(_writes_nothing(apply(picture, write, self.name), answer) for picture in earlier)
        for world in self.worlds:
            if each not in world.done:
                after += outcomes(world, write, answer, self.name, allowed, each)
                after += [world] if was_right else []
            elif _says_yes(answer) or _is_uncertain(answer):
                after.append(world)
        self._decide(after, before, answer)
        if _says_yes(answer) and answer["commit"] in self.commits and any(each in world.done for world in before):
            self.commits[answer["commit"]] = None  # others may have written since it was published
        if _is_uncertain(answer):
            self.take_up(each, write)
            return
        self.open.pop(each, None)
        self.worlds = distinct(replace(world, done=world.done - {each}) for world in self.worlds)

    def answered(self, writes: list[tuple[Write, Answer]], allowed: frozenset[str]) -> None:
        """The answers of writes that ran at the same time: some order of them explains it all."""
        self.spread()
        before = self.worlds
        after: list[World] = []
        for order in permutations(writes):
            worlds = self.worlds
            for write, answer in order:
                worlds = [each for world in worlds for each in outcomes(world, write, answer, self.name, allowed, None)]
            after += worlds
        self._decide(after, before, [answer for _, answer in writes])

    def _decide(self, after: list[World], before: list[World], answer: object) -> None:
        if not after:
            shown = "\n  or ".join(str(world.picture) for world in before)
            raise Impossible(f"branch '{self.name}': {answer} is no answer for\n     {shown}")
        self.worlds = distinct(after)
        answers = answer if isinstance(answer, list) else [answer]
        for each in filter(_says_yes, answers):
            self.open = {}  # whoever writes decides first what was left open
            if each["commit"] is not None and not each["replayed"]:
                self.commits[each["commit"]] = self.picture if len(answers) == 1 else None


def outcomes(
    world: World, write: Write, answer: Answer, branch: str, allowed: frozenset[str], each: str | None
) -> list[World]:
    """The worlds after a write of which this is the answer; none when it cannot be."""
    expected = apply(world.picture, write, branch)
    after = World(expected.picture, world.done) if isinstance(expected, Applied) else None
    if _says_yes(answer):
        fits = isinstance(expected, Applied) and (answer["replayed"], answer["commit"] is not None) == (
            expected.replayed,
            expected.publishes,
        )
        return [after] if after is not None and fits else []
    error = answer["error"]["type"]
    if _is_uncertain(answer):
        marked = [replace(after, done=after.done | {each})] if after is not None and each is not None else []
        return [world, *marked] if error in allowed or error in ("KeyboardInterrupt", "Died") else []
    if error in allowed or (isinstance(expected, Refused) and error in expected.errors):
        return [world]
    return []


def _writes_nothing(expected: Applied | Refused, answer: Answer) -> bool:
    """True when this is the answer of a write that leaves everything as it is."""
    if isinstance(expected, Refused):
        return "error" in answer and answer["error"]["type"] in expected.errors
    return _says_yes(answer) and not expected.publishes and answer["commit"] is None


def _says_yes(answer: Answer) -> bool:
    return "error" not in answer


def _is_uncertain(answer: Answer) -> bool:
    return "error" in answer and answer["error"]["type"] in UNCERTAIN


def distinct(worlds: Iterable[World]) -> list[World]:
    found: list[World] = []
    for world in worlds:
        if world not in found:
            found.append(world)
    return found
