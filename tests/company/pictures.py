"""What a branch shows, and what a write makes of it: the simple model that every read is compared with. Pure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, field, replace
from typing import Any

from omnigraph.model.late_dataclass import dataclass

SCHEMA = """
node Person { name: String @key  age: I32? @index  email: String? @unique }
node Team { name: String @key }
edge Knows: Person -> Person
edge In: Person -> Team @card(0..1)
"""
TEAMS = ("red", "blue")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write as it is asked for. `kind` says which of the members it uses."""

    kind: str  # insert, update, touch, delete, unlink, append, merge, overwrite
    people: tuple[tuple[str, int, str | None], ...] = ()
    """Name, age, mail."""
    knows: tuple[tuple[str, str, str], ...] = ()
    """Id, from, to. Only loads give ids; an insert leaves them empty."""
    joins: tuple[tuple[str, str], ...] = ()
    name: str = ""
    age: int = 0
    above: int = 0
    mail: str | None = None
    key: str | None = None
    """The idempotency key."""

    @property
    def is_load(self) -> bool:
        return self.kind in ("append", "merge", "overwrite")

    def to_json(self) -> Json:
        return asdict(self)

    @staticmethod
    def of(members: Json) -> Write:
        lists = {name: tuple(tuple(each) for each in members.get(name, ())) for name in ("people", "knows", "joins")}
        return Write(**{**members, **lists})

    def request_on(self, branch: str) -> str:
        """What an idempotency key is bound to."""
        return json.dumps([branch, self.to_json()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What one branch holds. Never changed: a write makes another one."""

    people: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    knows: tuple[tuple[str, str, str], ...] = ()
    inside: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The idempotency keys of its commits, and what each was used for."""

    def shown(self, name: str, age: int) -> Json:
        """What queries show: everything, one hop from `name`, who is at least `age`, and counts.

        A pair of nodes is found once, however many edges join them.
        """
        pairs = {(source, target) for _, source, target in self.knows}
        return {
            "people": sorted([name, *rest] for name, rest in self.people.items()),
            "knows": sorted(map(list, pairs)),
            "inside": sorted([name, team] for name, team in self.inside.items()),
            "hop": sorted(target for source, target in pairs if source == name),
            "older": sorted(each for each, (years, _) in self.people.items() if years >= age),
            "counts": [len(self.people), len(pairs)],
        }

    def exported(self) -> Json:
        """What an export has: every entity."""
        return {
            "people": sorted([name, *rest] for name, rest in self.people.items()),
            "knows": sorted([source, target] for _, source, target in self.knows),
            "inside": sorted([name, team] for name, team in self.inside.items()),
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that must be refused, with one of these errors."""

    errors: frozenset[str]


@dataclass(frozen=True, slots=True)
class Applied:
    """A write that must be accepted."""

    picture: Picture
    replayed: bool = False
    publishes: bool = True
    """False when nothing matched and there is no key to keep: then there is no commit."""


INVALID = Refused(frozenset({"ValidationFailed"}))
TAKEN = Refused(frozenset({"KeyConflict", "ValidationFailed"}))
KEY_USED = Refused(frozenset({"Conflict"}))


def apply(picture: Picture, write: Write, branch: str) -> Applied | Refused:
    """What becomes of a write on a branch that shows `picture`."""
    request = write.request_on(branch)
    if write.key is not None and write.key in picture.keys:
        return Applied(picture, replayed=True) if picture.keys[write.key] == request else KEY_USED
    after = _changed(picture, write)
    if isinstance(after, Refused):
        return after
    if not _is_legal(after):
        return TAKEN if write.kind == "append" else INVALID
    publishes = write.is_load or write.key is not None or after is not picture
    if write.key is not None:
        after = replace(after, keys={**after.keys, write.key: request})
    return Applied(after, publishes=publishes)


def _changed(picture: Picture, write: Write) -> Picture | Refused:
    match write.kind:
        case "insert":
            return _inserted(picture, write)
        case "update":
            matched = {name for name, (age, _) in picture.people.items() if age > write.above}
            return _with_ages(picture, matched, write.age)
        case "touch":
            if write.name not in picture.people:
                return picture
            return replace(picture, people={**picture.people, write.name: (write.age, write.mail)})
        case "delete":
            return _without(picture, write.name)
        case "unlink":
            left = tuple(each for each in picture.knows if each[1] != write.name)
            return picture if left == picture.knows else replace(picture, knows=left)
        case _:
            return _loaded(picture, write)


def _inserted(picture: Picture, write: Write) -> Picture | Refused:
    people = {**picture.people, **{name: (age, mail) for name, age, mail in write.people}}
    inside = dict(picture.inside)
    for name, team in write.joins:
        if name in inside:
            return INVALID
        inside[name] = team
    return replace(picture, people=people, knows=(*picture.knows, *write.knows), inside=inside)


def _with_ages(picture: Picture, names: set[str], age: int) -> Picture:
    if not names:
        return picture
    return replace(picture, people={**picture.people, **{name: (age, picture.people[name][1]) for name in names}})


def _without(picture: Picture, name: str) -> Picture:
    if name not in picture.people:
        return picture
    return replace(
        picture,
        people={each: rest for each, rest in picture.people.items() if each != name},
        knows=tuple(each for each in picture.knows if name not in each[1:]),
        inside={each: team for each, team in picture.inside.items() if each != name},
    )


def _loaded(picture: Picture, write: Write) -> Picture | Refused:
    people = {name: (age, mail) for name, age, mail in write.people}
    knows = {each[0]: each for each in write.knows}
    mails = [mail for _, mail in people.values() if mail is not None]
    if len(mails) != len(set(mails)):
        return INVALID
    had = {each[0] for each in picture.knows if each[0]}
    if write.kind == "append" and (people.keys() & picture.people.keys() or knows.keys() & had):
        return TAKEN
    kept_people = {} if write.kind == "overwrite" and people else picture.people
    kept_knows = () if write.kind == "overwrite" and knows else picture.knows
    kept = tuple(each for each in kept_knows if each[0] not in knows)
    return replace(picture, people={**kept_people, **people}, knows=(*kept, *knows.values()))


def _is_legal(picture: Picture) -> bool:
    """Mails are unique, and every edge has its ends."""
    mails = Counter(mail for _, mail in picture.people.values() if mail is not None)
    ends = {end for _, *pair in picture.knows for end in pair} | set(picture.inside)
    return max(mails.values(), default=0) <= 1 and ends <= picture.people.keys()
