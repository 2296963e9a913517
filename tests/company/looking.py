"""Looking: what members see, compared with what the model says."""

from __future__ import annotations

from functools import partial
from typing import Any

from company.members import Handle, Members
from company.pictures import Picture
from company.places import Place
from company.plan import NAMES
from company.worlds import REPLACED, Answer, Impossible

MODES = ("auto", "csr", "indexed")
HARMLESS = ("orphan_fork", "staging_leftover")


class Looking:
    """Reads of any member through any of its handles."""

    def __init__(self, members: Members, places: list[Place]) -> None:
        self._members = members
        self._places = places

    def look(self, look: dict[str, int], number: int) -> None:
        """One member reads one branch, in all modes."""
        who = self._members.one(look["who"])
        slots = sorted(slot for member, slot in self._members.handles if member == who)
        if not slots:
            return
        slot = slots[look["slot"] % len(slots)]
        handle = self._members.handles[who, slot]
        names = sorted(handle.place.branches) or ["main"]
        name = names[look["branch"] % len(names)]
        self._read(who, slot, handle, name, NAMES[look["name"] % len(NAMES)], look["age"] % (number + 1), MODES)
        if look["export"] % 4 == 0:
            self._export(who, slot, handle, name)

    def everywhere(self, number: int) -> None:
        """Everybody reads everything through every handle, each in another mode."""
        for turn, ((who, slot), handle) in enumerate(sorted(self._members.handles.items(), key=lambda item: item[0])):
            if who in self._members.paused:
                continue
            if not handle.is_stale:
                self._compare_branches(who, slot, handle)
            for name in sorted(handle.place.branches):
                mode = MODES[(number + turn) % len(MODES)]
                self._read(who, slot, handle, name, NAMES[number % len(NAMES)], number // 2, (mode,))
                if not handle.is_stale:
                    self._compare_commits(who, slot, handle, name, number + turn)

    def branch(self, who: int, place: Place, name: str, number: int) -> None:
        """One member reads one branch through a handle of its own for that."""
        handle = self._reader(who, place)
        self._read(who, 9, handle, name, NAMES[number % len(NAMES)], number // 2, ("auto",))

    def commits(self, who: int, place: Place, name: str) -> list[str]:
        """The commits of a branch; none where there is no such branch."""
        self._reader(who, place)
        answer = self._members.ask(who, "commits", slot=9, branch=name)
        return list(answer.get("commits", ()))

    def branches(self, who: int, place: Place) -> list[str]:
        self._reader(who, place)
        answer = self._members.ask(who, "branches", slot=9)
        if "error" in answer:
            raise Impossible(f"branches cannot be listed: {answer['error']}")
        found: list[str] = answer["branches"]
        return found

    def verify(self, who: int, slot: int, *, clean: bool = False) -> None:
        answer = self._members.ask(who, "verify", slot=slot)
        if "error" in answer or not answer["ok"]:
            raise Impossible(f"verify: {answer}")
        if clean:
            left = [each for each in answer["findings"] if not any(name in each for name in HARMLESS)]
            if left:
                raise Impossible(f"verify at the end: {left}")

    # --- parts --------------------------------------------------------------------------------------------

    def _reader(self, who: int, place: Place) -> Handle:
        """A handle that only reads, opened for this look: it brings nothing about."""
        answer = self._members.ask(who, "open", slot=9, uri=place.uri, read_only=True)
        if "error" in answer:
            raise Impossible(f"cannot be opened for reading: {answer['error']}")
        return Handle(place, place.genesis, read_only=True)

    def _read(self, who: int, slot: int, handle: Handle, name: str, person: str, age: int, modes: Any) -> None:
        answer = self._members.ask(who, "read", slot=slot, branch=name, name=person, age=age, modes=modes)
        if self._is_excused(handle, answer):
            return
        branch = handle.place.branches.get(name)
        if "error" in answer or branch is None:
            raise Impossible(f"member {who} cannot read '{name}': {answer}")
        for mode, shown in answer["shown"].items():
            expected = "\n  or ".join(str(world.picture.shown(person, age)) for world in branch.worlds)
            what = f"member {who}, slot {slot}, reads '{name}' in mode {mode}:"
            fits = partial(_shows, person=person, age=age, shown=shown)
            branch.narrow(fits, f"{what}\n     {shown}\ninstead of\n     {expected}")

    def _export(self, who: int, slot: int, handle: Handle, name: str) -> None:
        answer = self._members.ask(who, "export", slot=slot, branch=name)
        if self._is_excused(handle, answer):
            return
        if "error" in answer:
            raise Impossible(f"member {who} cannot export '{name}': {answer}")
        shown = answer["shown"]
        handle.place.branches[name].narrow(
            lambda picture: picture.exported() == shown,
            f"member {who} exports '{name}' as {shown}",
        )

    def _is_excused(self, handle: Handle, answer: Answer) -> bool:
        """A handle whose graph was replaced may say so."""
        return "error" in answer and handle.is_stale and answer["error"]["type"] in REPLACED

    def _compare_branches(self, who: int, slot: int, handle: Handle) -> None:
        answer = self._members.ask(who, "branches", slot=slot)
        if answer.get("branches") != sorted(handle.place.branches):
            raise Impossible(f"member {who} lists {answer}, not {sorted(handle.place.branches)}")

    def _compare_commits(self, who: int, slot: int, handle: Handle, name: str, number: int) -> None:
        """What was acknowledged is in the history, in this order; and one commit is read as it was."""
        acknowledged = handle.place.branches[name].commits
        answer = self._members.ask(who, "commits", slot=slot, branch=name)
        if "error" in answer:
            raise Impossible(f"member {who} cannot list the commits of '{name}': {answer}")
        listed = [each for each in reversed(answer["commits"]) if each in acknowledged]
        if sorted(listed) != sorted(acknowledged):
            raise Impossible(f"commits of '{name}' are gone: {sorted(set(acknowledged) - set(listed))}")
        known = [(each, picture) for each, picture in acknowledged.items() if picture is not None]
        if not known:
            return
        commit, picture = known[number % len(known)]
        mode = MODES[number % len(MODES)]
        read = self._members.ask(who, "read", slot=slot, commit=commit, name="p1", age=number, modes=[mode])
        if read.get("shown") != {mode: picture.shown("p1", number)}:
            raise Impossible(f"member {who} reads commit {commit} as {read}, not {picture.shown('p1', number)}")


def _shows(picture: Picture, *, person: str, age: int, shown: dict[str, Any]) -> bool:
    return picture.shown(person, age) == shown
