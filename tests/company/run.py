"""Carries out a plan: every step by the members, and after every step a look whether all is as the model says."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import Any

from company.looking import Looking
from company.members import Handle, Members
from company.pictures import Picture, Write
from company.places import Bucket, Disk, Place
from company.plan import Step
from company.worlds import BUSY, MOVED_ON, REPLACED, UNCERTAIN, Answer, Branch, Impossible
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.failpoints import Point

EVERYWHERE_EACH = 12
"""After so many steps everything is looked at by everybody."""
PAUSED_MAX = 2


@dataclass(slots=True)
class Pause:
    """Something that a member was about to do when it was stopped."""

    step: Step
    place: Place
    handle: Handle
    branch: str
    each: str
    epoch: int
    known: Branch | None
    """The branch as it was: another one of the same name is not it."""
    was_done: bool = False
    """Whether it had happened before it was stopped."""
    may_be_done: bool = False
    """The same of a write that nobody sees: it may have happened."""
    disturbed: bool = False
    """Whether anybody wrote here since."""
    earlier: list[Picture] = field(default_factory=list)
    """What the branch may have shown meanwhile."""

    def note(self) -> None:
        branch = self.place.branches.get(self.branch)
        if branch is not None:
            self.earlier += [world.picture for world in branch.worlds]


class Run:
    """One history, from an empty folder to the end of the plan."""

    def __init__(self, ground: Disk | Bucket, folder: Path, workers: int = 3) -> None:
        self.ground = ground
        self.is_local = isinstance(ground, Disk)
        self.members = Members(folder, workers, **({} if self.is_local else {"short_wait_s": 15.0}))
        self.places = [Place(ground.uri("g")), Place(ground.uri("copy"))]
        self.looking = Looking(self.members, self.places)
        self.pauses: dict[int, Pause] = {}
        self.number = 0
        self.graphs = 0

    def run(self, plan: list[Step]) -> None:
        self._begin(self.places[0], 0)
        for self.number, step in enumerate(plan, 1):
            self.members.trace.append(f"step {self.number}: {step['do']}")
            getattr(self, f"_{step['do']}")(step)
            self.looking.look(step["look"], self.number)
            if self.number % EVERYWHERE_EACH == 0:
                self.looking.everywhere(self.number)
        self.members.trace.append("the end")
        self._end()

    def end(self) -> None:
        self.members.end()

    # --- parts --------------------------------------------------------------------------------------------

    def _begin(self, place: Place, who: int) -> None:
        slot = self.places.index(place)
        answer = self.members.ask(who, "init", slot=slot, uri=place.uri)
        if "error" in answer:
            raise Impossible(f"a new graph is refused: {answer['error']}")
        self.graphs += 1
        place.begin(self.graphs)
        self.members.handles[who, slot] = Handle(place, place.genesis)

    def _handle(self, who: int, slot: int) -> Handle:
        """The handle in a slot, opened if there is none."""
        known = self.members.handles.get((who, slot))
        return known if known is not None else self._opened(who, slot, self.places[0])

    def _opened(self, who: int, slot: int, place: Place, *, read_only: bool = False) -> Handle:
        place = place if place.genesis is not None else self.places[0]
        self._disturb(place)
        for branch in place.branches.values():
            branch.spread()  # opening looks after what was left open
        answer = self.members.ask(who, "open", slot=slot, uri=place.uri, read_only=read_only)
        if "error" in answer:
            raise Impossible(f"'{place.uri}' cannot be opened: {answer['error']}")
        handle = self.members.handles[who, slot] = Handle(place, place.genesis, read_only)
        return handle

    def _fresh(self, who: int, slot: int) -> Handle:
        """A handle that can write the first place, opened anew if it cannot."""
        handle = self._handle(who, slot)
        if handle.place is self.places[0] and not handle.is_stale and not handle.read_only:
            return handle
        return self._opened(who, slot, self.places[0])

    def _pick(self, place: Place, number: int) -> str:
        """A branch, main as often as all others together, and sometimes one that does not exist."""
        if number == 99:
            return "nowhere"
        names = sorted(place.branches) or [MAIN]
        chosen = number % (2 * len(names))
        return names[chosen] if chosen < len(names) else MAIN

    def _disturb(self, place: Place) -> None:
        for pause in self.pauses.values():
            if pause.place is place:
                pause.disturbed = True
                pause.note()

    def _allowed(self, handle: Handle) -> frozenset[str]:
        """Errors that are right whatever the model says, as things stand."""
        allowed = REPLACED if handle.is_stale else frozenset()
        if handle.read_only:
            allowed |= {"OpenedReadOnly"}
        if any(pause.place is handle.place for pause in self.pauses.values()):
            allowed |= BUSY
        return allowed

    # --- writes -------------------------------------------------------------------------------------------

    def _write(self, step: Step) -> None:
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        self._write_by(who, step["slot"], handle, self._pick(handle.place, step["branch"]), Write.of(step["write"]))

    def _again(self, step: Step) -> None:
        """A write with an idempotency key is repeated, by whomever."""
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        if handle.place.keyed:
            branch, write = handle.place.keyed[step["which"] % len(handle.place.keyed)]
            self._write_by(who, step["slot"], handle, branch, write)

    def _write_by(self, who: int, slot: int, handle: Handle, branch: str, write: Write) -> None:
        self._disturb(handle.place)
        answer = self.members.ask(who, "write", slot=slot, branch=branch, write=write.to_json())
        self._judge(handle, branch, [(write, answer)], self._allowed(handle))

    def _judge(self, handle: Handle, name: str, writes: list[tuple[Write, Answer]], allowed: frozenset[str]) -> None:
        for _, answer in writes:
            _require_typed(answer)
        branch = handle.place.branches.get(name)
        if branch is None:
            for _, answer in writes:
                _require_error(answer, {"BranchNotFound", *allowed}, f"'{name}' does not exist")
            return
        handle.place.keyed += [(name, write) for write, _ in writes if write.key is not None]
        branch.answered(writes, allowed)

    def _race(self, step: Step) -> None:
        """Writes of several processes at the same time."""
        parts = {self.members.one(part["who"]): part for part in step["parts"]}
        for who in parts:
            self._fresh(who, 0)
        place = self.places[0]
        name = self._pick(place, step["branch"])
        self._disturb(place)
        order = sorted(parts, reverse=True)  # this process has no time to wait for the others
        for who in order:
            self.members.send(who, "write", slot=0, branch=name, write=parts[who]["write"])
        answers = [(Write.of(parts[who]["write"]), self._told(who)) for who in order]
        handle = self.members.handles[order[0], 0]
        self._judge(handle, name, answers, self._allowed(handle) | (MOVED_ON if len(order) > 1 else frozenset()))

    def _told(self, who: int) -> Answer:
        answer = self.members.answer(who)
        assert answer is not None, "nobody is to be stopped"
        return answer

    def _threads(self, step: Step) -> None:
        """Writes of several threads of one process, through two handles."""
        who = self.members.one(step["who"])
        handle, _ = self._fresh(who, 0), self._fresh(who, 1)
        name = self._pick(handle.place, step["branch"])
        self._disturb(handle.place)
        commands = [
            {"do": "write", "wait_s": None, "slot": part["slot"], "branch": name, "write": part["write"]}
            for part in step["parts"]
        ]
        answer = self.members.ask(who, "together", commands=commands)
        _require_success(answer, "threads")
        writes = [Write.of(part["write"]) for part in step["parts"]]
        self._judge(handle, name, list(zip(writes, answer["answers"], strict=True)), self._allowed(handle) | MOVED_ON)

    # --- branches and upkeep ------------------------------------------------------------------------------

    def _create(self, step: Step) -> None:
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        source = self._pick(handle.place, step["branch"])
        self._disturb(handle.place)
        answer = self.members.ask(who, "create", slot=step["slot"], branch=step["name"], source=source)
        self._judge_create(handle, step["name"], source, answer)

    def _judge_create(self, handle: Handle, name: str, source: str, answer: Answer) -> None:
        _require_typed(answer)
        place, allowed = handle.place, self._allowed(handle)
        no_source = set() if source in place.branches else {"BranchNotFound", "UnknownReference"}
        if name in place.branches:
            _require_error(answer, {"BranchExists", *no_source, *allowed}, f"'{name}' exists")
        elif no_source:
            _require_error(answer, {*no_source, *allowed}, f"'{source}' does not exist")
        elif "error" not in answer:
            place.create(name, source)
        else:
            _require_error(answer, allowed, f"'{name}' can be made from '{source}'")

    def _drop(self, step: Step) -> None:
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        self._disturb(handle.place)
        answer = self.members.ask(who, "drop", slot=step["slot"], branch=step["name"])
        self._judge_drop(handle, step["name"], answer)

    def _judge_drop(self, handle: Handle, name: str, answer: Answer) -> None:
        _require_typed(answer)
        place, allowed = handle.place, self._allowed(handle)
        if name not in place.branches:
            _require_error(answer, {"BranchNotFound", *allowed}, f"'{name}' does not exist")
        elif place.dependants(name):
            _require_error(answer, {"BranchHasDependants", *allowed}, f"'{name}' has dependants")
        elif "error" not in answer:
            place.drop(name)
        else:
            _require_error(answer, allowed, f"'{name}' can be deleted")

    def _remake(self, step: Step) -> None:
        """A branch of the same name and the same shape as before, with other rows."""
        who = self.members.one(step["who"])
        handle = self._fresh(who, step["slot"])
        if step["name"] in handle.place.branches:
            self._drop({**step, "who": self.members.awake.index(who)})
        if step["name"] in handle.place.branches:
            return  # others depend on it, or somebody holds it
        self._create({**step, "who": self.members.awake.index(who), "branch": 0})
        if step["name"] not in handle.place.branches:
            return
        names = (f"p{step['number'] % 6}", f"p{(step['number'] + 1) % 6}")
        for part, name in enumerate(names):
            write = Write(kind="insert", people=((name, step["number"] * 10 + part, None),))
            self._write_by(who, step["slot"], handle, step["name"], write)
        self._write_by(who, step["slot"], handle, step["name"], Write(kind="insert", knows=(("", *names),)))

    def _upkeep(self, step: Step) -> None:
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        name = self._pick(handle.place, step["branch"])
        self._disturb(handle.place)
        answer = self.members.ask(who, "upkeep", slot=step["slot"], what=step["what"], branch=name)
        self._judge_upkeep(handle, name, answer, step["what"])

    def _judge_upkeep(self, handle: Handle, name: str, answer: Answer, what: str) -> None:
        _require_typed(answer)
        allowed = self._allowed(handle)
        branch = handle.place.branches.get(name)
        if branch is not None:
            branch.spread()
        if "error" in answer:
            missing = {"BranchNotFound"} if branch is None else set()
            _require_error(answer, {*missing, *allowed}, f"{what} of '{name}'")

    def _open(self, step: Step) -> None:
        who = self.members.one(step["who"])
        place = self.places[step["place"] if step["slot"] == 1 else 0]
        self._opened(who, step["slot"], place, read_only=step["read_only"] and step["slot"] == 1)

    def _verify(self, step: Step) -> None:
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        if not handle.is_stale:
            self.looking.verify(who, step["slot"])

    # --- trouble ------------------------------------------------------------------------------------------

    def _pause(self, step: Step) -> None:
        if len(self.pauses) < PAUSED_MAX:
            self._troubled(step)

    def _kill(self, step: Step) -> None:
        self._troubled(step)

    def _interrupt(self, step: Step) -> None:
        self._troubled(step)

    def _fork(self, step: Step) -> None:
        self._troubled(step)

    def _troubled(self, step: Step) -> None:
        """Something is done, and something happens to whoever does it."""
        who = self.members.one_elsewhere(step["who"])
        handle = self._fresh(who, step["slot"])
        name = self._pick(handle.place, step["branch"])
        command: Step = {
            "write": {"do": "write", "branch": name, "write": step["write"]},
            "create": {"do": "create", "branch": step["name"], "source": name},
            "drop": {"do": "drop", "branch": step["name"]},
            "upkeep": {"do": "upkeep", "what": step["what"], "branch": name},
        }[step["act"]]
        self._disturb(handle.place)
        self.members.send(who, command.pop("do"), slot=step["slot"], trouble=step["trouble"], **command)
        answer = self.members.answer(who)
        place = handle.place
        pause = Pause(step, place, handle, name, f"step{self.number}", place.epoch, place.branches.get(name))
        pause.note()
        if answer is None:
            self.members.paused.add(who)
            self.pauses[who] = pause
            self._take_up(pause)
            return
        self._judge_troubled(pause, answer)

    def _take_up(self, pause: Pause) -> None:
        """It is under way: what happened already is looked up, the rest is undecided."""
        if pause.step["act"] in ("create", "drop"):
            pause.was_done = self._adopt_branches(pause)
        branch = pause.place.branches.get(pause.branch)
        if pause.step["act"] != "write" or branch is None:
            return
        write = Write.of(pause.step["write"])
        if write.key is not None:
            pause.place.keyed.append((pause.branch, write))
        branch.spread()
        branch.take_up(pause.each, write)
        self.looking.branch(0, pause.place, pause.branch, self.number)
        done = [pause.each in world.done for world in branch.worlds]
        pause.was_done, pause.may_be_done = all(done), any(done)

    def _judge_troubled(self, pause: Pause, answer: Answer) -> None:
        _require_typed(answer)
        if "error" in answer and answer["error"]["type"] in ("Died", "KeyboardInterrupt"):
            self._take_up(pause)
            return
        handle, step = pause.handle, pause.step
        match step["act"]:
            case "write":
                self._judge(handle, pause.branch, [(Write.of(step["write"]), answer)], self._allowed(handle))
            case "create":
                self._judge_create(handle, step["name"], pause.branch, answer)
            case "drop":
                self._judge_drop(handle, step["name"], answer)
            case _:
                self._judge_upkeep(handle, pause.branch, answer, step["what"])

    def _adopt_branches(self, pause: Pause) -> bool:
        """Whether a branch that somebody was about to make or delete is there; the model follows."""
        place, name = pause.place, pause.step["name"]
        is_there = name in self.looking.branches(0, place)
        was_there = name in place.branches
        if is_there and not was_there:
            place.create(name, pause.branch)
        elif was_there and not is_there:
            place.drop(name)
        return is_there != was_there

    def _resume(self, step: Step) -> None:
        if not self.pauses:
            return
        self._go_on(sorted(self.pauses)[step["who"] % len(self.pauses)])

    def _go_on(self, who: int) -> None:
        pause = self.pauses.pop(who)
        answer = self.members.resume(who)
        _require_typed(answer)
        self._disturb(pause.place)
        self._judge_resumed(pause, answer)

    def _judge_resumed(self, pause: Pause, answer: Answer) -> None:
        allowed = self._allowed(pause.handle)
        if pause.disturbed:
            allowed |= MOVED_ON | REPLACED | BUSY
            allowed |= frozenset() if self.is_local else UNCERTAIN
        replaced = pause.epoch != pause.place.epoch
        if replaced or pause.place.branches.get(pause.branch) is not pause.known:
            allowed |= UNCERTAIN | {"Unreachable"}  # its files are gone
        if replaced and "error" not in answer and (pause.was_done or self._happened_before(pause, answer)):
            return  # it happened, in a graph that is gone
        if pause.step["act"] == "write":
            self._judge_resumed_write(pause, answer, allowed)
        elif "error" in answer:
            names = {"BranchExists", "BranchNotFound", "BranchHasDependants", *allowed}
            _require_error(answer, names if pause.step["act"] != "upkeep" else set(allowed), pause.step["act"])
        if pause.step["act"] in ("create", "drop"):
            self._adopt_branches(pause)

    def _happened_before(self, pause: Pause, answer: Answer) -> bool:
        """Whether a write that nobody sees was acknowledged for the graph before: this one does not have its commit."""
        if not pause.may_be_done or pause.place.genesis is None:
            return False
        return answer.get("commit") not in self.looking.commits(0, pause.place, pause.branch)

    def _judge_resumed_write(self, pause: Pause, answer: Answer, allowed: frozenset[str]) -> None:
        branch = pause.place.branches.get(pause.branch)
        if branch is None:
            if not (pause.was_done and "error" not in answer):
                _require_error(answer, {"BranchNotFound", *allowed}, f"'{pause.branch}' does not exist")
            return
        branch.settle(pause.each, Write.of(pause.step["write"]), answer, allowed, pause.earlier)

    # --- graphs that come and go --------------------------------------------------------------------------

    def _clear(self, place: Place, how: str) -> None:
        """Takes away what lies at a place. Whoever has looked at its lease for the last time goes on first: nothing
        can stop the one call that it is about to make."""
        for who in [who for who, pause in self.pauses.items() if pause.place is place and _is_on_the_brink(pause)]:
            self._go_on(who)
        self._disturb(place)
        self.ground.remove(place.uri, how)
        place.clear()

    def _init(self, step: Step) -> None:
        """A new graph in the place of another."""
        place = self.places[step["place"]]
        self._clear(place, step["how"])
        self._begin(place, self.members.one(step["who"]))

    def _copy(self, step: Step) -> None:
        """A copy of a graph, in the place of what lies there."""
        source, target = self.places if step["who"] % 4 else reversed(self.places)
        if source.genesis is None or set(source.branches) != {MAIN}:
            return
        assert isinstance(self.ground, Disk)
        self._clear(target, "rename" if step["slot"] else "remove")
        self.ground.copy(source.uri, target.uri)
        target.take_from(source)

    def _restore(self, step: Step) -> None:
        """A copy is moved over the original."""
        target, source = self.places
        if source.genesis is None or set(source.branches) != {MAIN}:
            return
        assert isinstance(self.ground, Disk)
        self._clear(target, "rename" if step["slot"] else "remove")
        self._disturb(source)
        self.ground.move(source.uri, target.uri)
        target.take_from(source)
        source.clear()

    def _away(self, step: Step) -> None:
        """A graph is not there for a moment: everybody says so, and nobody makes anything in its place."""
        place = self.places[0]
        assert isinstance(self.ground, Disk)
        who = self.members.one(step["who"])
        handle = self._handle(who, step["slot"])
        self.ground.move(place.uri, f"{place.uri}.away")
        genesis, place.genesis = place.genesis, None
        try:
            if handle.place is place:
                for do, given in (
                    ("branches", {}),
                    ("write", {"branch": MAIN, "write": Write(kind="delete").to_json()}),
                ):
                    answer = self.members.ask(who, do, slot=step["slot"], **given)
                    _require_typed(answer)
                    if do == "write":
                        _require_error(answer, {*self._allowed(handle)}, "there is no graph")
                if os.path.lexists(place.uri):
                    raise Impossible(f"something was made where a graph had been: {os.listdir(place.uri)}")
        finally:
            place.genesis = genesis
            self.ground.move(f"{place.uri}.away", place.uri)

    # --- the end ------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Everybody goes on, everything is settled, and nothing is left to complain about."""
        while self.pauses:
            self._resume({"who": 0})
        self.looking.everywhere(self.number)
        for place in self.places:
            if place.genesis is None:
                continue
            handle = self._opened(0, 1, place)
            for name in sorted(place.branches):
                self._write_by(0, 1, handle, name, Write(kind="insert", people=(("last", 1, None),)))
                self.looking.branch(0, place, name, self.number)
            self.looking.verify(0, 1, clean=True)
        self.looking.everywhere(self.number)


def _is_on_the_brink(pause: Pause) -> bool:
    """About to commit, with no look at the lease in between; or stopped at some moment that nobody knows."""
    trouble = pause.step["trouble"]
    return trouble.get("point") in (None, Point.TABLE_COMMITTING, Point.PUBLISH_BEFORE)


def _require_typed(answer: Answer) -> None:
    if "error" in answer and not answer["error"]["typed"]:
        raise Impossible(f"an error that is not one of ours:\n{answer['error']['where']}")


def _require_success(answer: Answer, what: str) -> None:
    if "error" in answer:
        raise Impossible(f"{what}: {answer['error']}")


def _require_error(answer: Answer, errors: Any, what: str) -> None:
    if "error" not in answer:
        raise Impossible(f"accepted, although {what}")
    if answer["error"]["type"] not in errors:
        raise Impossible(f"{what}: expected one of {sorted(errors)}, got {answer['error']}")
