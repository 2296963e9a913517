"""Everybody who takes part: who can be asked now, which handles they hold, and how they are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from company.actors import Actor, Elsewhere, Here, Stuck
from company.places import Place
from company.worlds import Answer
from omnigraph.model.late_dataclass import dataclass

SHORT_WAIT_S, LONG_WAIT_S = 0.25, 30.0


@dataclass(slots=True)
class Handle:
    """A `Graph` that a member holds open."""

    place: Place
    genesis: int | None
    read_only: bool = False

    @property
    def is_stale(self) -> bool:
        """Another graph, or none, lies where it was opened."""
        return self.place.genesis is None or self.genesis != self.place.genesis


class Members:
    """Number 0 is in this process; the others are processes, and a dead one is replaced."""

    def __init__(self, folder: Path, workers: int, *, short_wait_s: float = SHORT_WAIT_S) -> None:
        self._log = folder / "workers.log"
        self._short_wait_s = short_wait_s
        self.actors: list[Actor] = [Here(), *(Elsewhere(self._log) for _ in range(workers))]
        self._dead: list[Actor] = []
        self.paused: set[int] = set()
        self.handles: dict[tuple[int, int], Handle] = {}
        self.trace: list[str] = []

    # --- who ----------------------------------------------------------------------------------------------

    @property
    def awake(self) -> list[int]:
        return [who for who in range(len(self.actors)) if who not in self.paused]

    def one(self, number: int) -> int:
        """Somebody who can be asked."""
        return self.awake[number % len(self.awake)]

    def one_elsewhere(self, number: int) -> int:
        """Somebody in another process, who can be killed or paused."""
        others = [who for who in self.awake if who != 0]
        return others[number % len(others)]

    def replace(self, who: int) -> None:
        """A new process for one that died. What that had forked lives on."""
        self._dead.append(self.actors[who])
        self.actors[who] = Elsewhere(self._log)
        for slot in [slot for member, slot in self.handles if member == who]:
            del self.handles[who, slot]

    def end(self) -> None:
        for actor in [*self.actors, *self._dead]:
            actor.end()

    # --- asking -------------------------------------------------------------------------------------------

    def send(self, who: int, do: str, **members: Any) -> None:
        wait_s = self._short_wait_s if self.paused else LONG_WAIT_S
        self.trace.append(f"  {who} ? {do} {_brief(members)}")
        self.actors[who].send({"do": do, "wait_s": wait_s, **members})

    def answer(self, who: int) -> Answer | None:
        answer = self.actors[who].answer()
        self.trace.append(f"  {who} = {'stopped' if answer is None else _brief(answer)}")
        if answer is not None and _is_death(answer):
            self.replace(who)
        return answer

    def ask(self, who: int, do: str, **members: Any) -> Answer:
        """The answer of somebody who is not to be stopped."""
        self.send(who, do, **members)
        answer = self.answer(who)
        if answer is None:
            raise Stuck(f"member {who} was stopped, and nobody had told it to")
        return answer

    def resume(self, who: int) -> Answer:
        actor = self.actors[who]
        assert isinstance(actor, Elsewhere)
        actor.go_on()
        self.paused.discard(who)
        answer = self.answer(who)
        if answer is None:
            raise Stuck(f"member {who} was stopped again")
        return answer


def _is_death(answer: Answer) -> bool:
    return "error" in answer and answer["error"]["type"] == "Died"


def _brief(members: dict[str, Any]) -> str:
    if "error" in members:
        return f"{members['error']['type']}: {members['error']['message']}\n{members['error']['where']}".strip()
    if "write" in members:
        given = {name: value for name, value in members["write"].items() if value}
        return str({**members, "write": given})
    return str(members)[:600]
