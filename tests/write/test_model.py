"""A graph against a model of it: random mutations, loads, branches, crashes and reopens; both always show the same.

The suite draws a fixed set of histories; `make soak` draws new ones without end.
"""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from omnigraph.graph import Graph
from omnigraph.model.errors import BranchExists, BranchHasDependants, KeyConflict, OmniGraphError
from omnigraph.storage.failpoints import Point, armed
from omnigraph.write.rules import ValidationFailed
from support.graphs.people import lines
from support.size import sized

pytestmark = pytest.mark.timeout(900)

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique  @range(age, 0..150) }
node Team { name: String @key }
edge Knows: Person -> Person
edge In: Person -> Team @card(0..1)
"""
NAMES = [f"p{number}" for number in range(8)]
TEAMS = ["red", "blue"]
CRASHES = [
    Point.MUTATION_STAGED,
    Point.MUTATION_ARMED,
    Point.MUTATION_TABLE_COMMITTED,
    Point.MUTATION_BEFORE_PUBLISH,
    Point.PUBLISH_BEFORE,
    Point.PUBLISH_AFTER,
    Point.SIDECAR_DELETE,
]


class Death(BaseException):
    """Not an Exception: a dead process runs no clean-up, so neither may the code under test."""


@dataclass
class Picture:
    """What one branch should show."""

    people: dict[str, tuple[int | None, str | None]] = field(default_factory=dict)
    teams: set[str] = field(default_factory=set)
    knows: dict[str, tuple[str, str]] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)  # person → team: the cardinality is at most one

    def breaks_unique(self) -> bool:
        mails = [mail for _, mail in self.people.values() if mail is not None]
        return len(mails) != len(set(mails))

    def breaks_range(self) -> bool:
        return any(age is not None and not 0 <= age <= 150 for age, _ in self.people.values())

    def strands(self) -> bool:
        ends = {end for pair in self.knows.values() for end in pair} | set(self.inside)
        return not ends <= set(self.people) or not set(self.inside.values()) <= self.teams

    @property
    def is_legal(self) -> bool:
        return not (self.breaks_unique() or self.breaks_range() or self.strands())

    def delete(self, names: set[str]) -> None:
        for name in names:
            self.people.pop(name, None)
            self.inside.pop(name, None)
        self.knows = {key: pair for key, pair in self.knows.items() if not names & set(pair)}


def shown(graph: Graph, branch: str) -> Picture:
    picture = Picture()
    for record in map(json.loads, graph.export(branch)):
        data = record["data"]
        match record.get("type") or record.get("edge"):
            case "Person":
                picture.people[data["name"]] = (data["age"], data["email"])
            case "Team":
                picture.teams.add(data["name"])
            case "Knows":
                picture.knows[data["id"]] = (record["from"], record["to"])
            case "In":
                picture.inside[record["from"]] = record["to"]
    return picture


people_records = st.lists(
    st.tuples(
        st.sampled_from(NAMES), st.none() | st.integers(-5, 160), st.none() | st.sampled_from(["a@x", "b@x", "c@x"])
    ),
    max_size=4,
    unique_by=lambda record: record[0],
)
knows_records = st.lists(
    st.tuples(st.sampled_from(["k1", "k2", "k3"]), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    max_size=3,
    unique_by=lambda record: record[0],
)


class GraphAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-model-"))
        self.uri = str(self.folder / "g")
        self.branches: dict[str, Picture] = {}
        self.commits: dict[str, list[str]] = {}

    @initialize()
    def create(self) -> None:
        self.graph = Graph.init(self.uri, SCHEMA, durability="os")
        self.branches = {"main": Picture()}
        self.graph.load(lines(*({"type": "Team", "data": {"name": name}} for name in TEAMS)), mode="append")
        self.branches["main"].teams = set(TEAMS)

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- writes -------------------------------------------------------------------------------------------

    def attempt(self, branch: str, after: Picture, act: Any, *, changes: bool = True) -> None:
        """The act lands exactly when the picture after it is legal; a refusal changes nothing."""
        head = self.graph.snapshot(branch).commit_id
        if after.is_legal:
            act()
            self.branches[branch] = after
            assert (self.graph.snapshot(branch).commit_id != head) == changes
        else:
            with pytest.raises(ValidationFailed):
                act()
            assert self.graph.snapshot(branch).commit_id == head

    def pick(self, data: Any) -> str:
        return str(data.draw(st.sampled_from(sorted(self.branches))))

    @rule(data=st.data(), record=people_records.filter(bool))
    def insert_people(self, data: Any, record: list[tuple[str, int | None, str | None]]) -> None:
        branch = self.pick(data)
        after = copy.deepcopy(self.branches[branch])
        statements, params = [], {}
        for number, (name, age, mail) in enumerate(record):
            after.people[name] = (age, mail)
            statements.append(f"insert Person {{ name: $n{number}, age: $a{number}, email: $m{number} }}")
            params |= {f"n{number}": name, f"a{number}": age, f"m{number}": mail}
        declared = ", ".join(f"$n{n}: String, $a{n}: I32?, $m{n}: String?" for n in range(len(record)))
        text = f"query q({declared}) {{ {' '.join(statements)} }}"
        self.attempt(branch, after, lambda: self.graph.mutate(text, params, branch=branch))

    @rule(data=st.data(), low=st.integers(0, 150), age=st.integers(0, 160))
    def update_people(self, data: Any, low: int, age: int) -> None:
        branch = self.pick(data)
        after = copy.deepcopy(self.branches[branch])
        matched = [name for name, (old, _) in after.people.items() if old is not None and old > low]
        for name in matched:
            after.people[name] = (age, after.people[name][1])
        text = "query q($l: I32, $a: I32) { update Person set { age: $a } where age > $l }"
        act = lambda: self.graph.mutate(text, {"l": low, "a": age}, branch=branch)  # noqa: E731
        self.attempt(branch, after, act, changes=bool(matched))

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def delete_person(self, data: Any, name: str) -> None:
        branch = self.pick(data)
        after = copy.deepcopy(self.branches[branch])
        existed = name in after.people
        after.delete({name})
        text = "query q($n: String) { delete Person where name = $n }"
        self.attempt(branch, after, lambda: self.graph.mutate(text, n=name, branch=branch), changes=existed)

    @rule(data=st.data(), name=st.sampled_from(NAMES), team=st.sampled_from([*TEAMS, "green"]))
    def join_team(self, data: Any, name: str, team: str) -> None:
        branch = self.pick(data)
        after = copy.deepcopy(self.branches[branch])
        text = "query q($n: String, $t: String) { insert In { from: $n, to: $t } }"
        if name in after.inside:
            with pytest.raises(ValidationFailed):
                self.graph.mutate(text, n=name, t=team, branch=branch)
            return
        after.inside[name] = team
        self.attempt(branch, after, lambda: self.graph.mutate(text, n=name, t=team, branch=branch))

    @rule(
        data=st.data(),
        people=people_records,
        knows=knows_records,
        mode=st.sampled_from(["append", "merge", "overwrite"]),
    )
    def load(self, data: Any, people: list[Any], knows: list[Any], mode: Any) -> None:
        branch = self.pick(data)
        after, records = self.loaded(self.branches[branch], people, knows, mode)
        if after is None:
            head = self.graph.snapshot(branch).commit_id
            with pytest.raises((KeyConflict, ValidationFailed)):
                self.graph.load(lines(*records), mode=mode, branch=branch)
            assert self.graph.snapshot(branch).commit_id == head
            return
        self.attempt(branch, after, lambda: self.graph.load(lines(*records), mode=mode, branch=branch))

    @staticmethod
    def loaded(before: Picture, people: list[Any], knows: list[Any], mode: str) -> tuple[Picture | None, list[Any]]:
        """The picture after a load, or None when an append meets an existing id or the input doubles a value."""
        records = [{"type": "Person", "data": {"name": n, "age": a, "email": m}} for n, a, m in people]
        records += [{"edge": "Knows", "from": s, "to": d, "data": {"id": k}} for k, s, d in knows]
        mails = [mail for _, _, mail in people if mail is not None]
        if len(mails) != len(set(mails)):
            return None, records
        after = copy.deepcopy(before)
        if mode == "append" and (
            {n for n, _, _ in people} & set(after.people) or {k for k, _, _ in knows} & set(after.knows)
        ):
            return None, records
        if mode == "overwrite" and people:
            after.people = {}
        if mode == "overwrite" and knows:
            after.knows = {}
        after.people |= {n: (a, m) for n, a, m in people}
        after.knows |= {k: (s, d) for k, s, d in knows}
        return after, records

    # --- deaths -------------------------------------------------------------------------------------------

    @rule(data=st.data(), people=people_records.filter(bool), knows=knows_records, point=st.sampled_from(CRASHES))
    def die_while_loading(self, data: Any, people: list[Any], knows: list[Any], point: Point) -> None:
        """The process dies somewhere in a write; after reopening the branch shows before or after."""
        branch = self.pick(data)
        before = self.branches[branch]
        after, records = self.loaded(before, people, knows, "merge")

        def die() -> None:
            raise Death(point)

        try:
            with armed(point, die):
                self.graph.load(lines(*records), mode="merge", branch=branch)
        except (Death, OmniGraphError):
            pass
        self.graph = Graph.open(self.uri, durability="os")
        now = shown(self.graph, branch)
        if now == before:
            return
        assert after is not None
        assert now == after, f"torn at {point}"
        self.branches[branch] = after

    @rule()
    def reopen(self) -> None:
        self.graph = Graph.open(self.uri, durability="os")

    # --- branches -----------------------------------------------------------------------------------------

    @rule(data=st.data(), name=st.sampled_from(["one", "two", "deep/three"]))
    def create_branch(self, data: Any, name: str) -> None:
        source = self.pick(data)
        if name in self.branches:
            with pytest.raises(BranchExists):
                self.graph.create_branch(name, source=source)
        else:
            self.graph.create_branch(name, source=source)
            self.branches[name] = copy.deepcopy(self.branches[source])

    @precondition(lambda self: len(self.branches) > 1)
    @rule(data=st.data())
    def delete_branch(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.branches) - {"main"})))
        try:
            self.graph.delete_branch(name)
        except BranchHasDependants:
            return
        del self.branches[name]

    # --- always -------------------------------------------------------------------------------------------

    @invariant()
    def every_branch_shows_what_the_model_says(self) -> None:
        if not self.branches:
            return
        assert self.graph.branches() == sorted(self.branches)
        for branch, picture in self.branches.items():
            assert shown(self.graph, branch) == picture, branch

    @precondition(lambda self: bool(self.branches))
    @rule()
    def verify(self) -> None:
        report = self.graph.verify()
        assert report.ok, report.render()


GraphAgainstModel.TestCase.settings = settings(
    settings(),
    max_examples=settings().max_examples if settings().max_examples > 100 else sized(12, 40),
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAGraphShowsWhatItsModelSays = GraphAgainstModel.TestCase
