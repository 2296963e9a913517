"""Schemas that change at random between writes, branches and merges, against a model; then export, init and load again.

Each branch writes entities of its own, so merges never collide: what a merge must do is to read both sides under one
schema. The model knows a property by a number that no rename changes.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import SchemaBlockedByBranches, SchemaRowsRefused
from omnigraph.graph import Graph
from support.size import sized

SEEDS, STEPS = sized(3, 40), sized(14, 60)
numbers = itertools.count(1)
Row = dict[int, Any]


@dataclass(frozen=True)
class Prop:
    """A declared property."""

    number: int
    name: str
    scalar: str
    is_required: bool = False
    default: int | None = None
    hint: str | None = None

    def text(self) -> str:
        mark = "" if self.is_required else "?"
        default = f" @default({self.default})" if self.default is not None else ""
        hint = f' @rename_from("{self.hint}")' if self.hint else ""
        return f"{self.name}: {self.scalar}{mark}{default}{hint}"


@dataclass
class Branch:
    """What a branch should show."""

    type_name: str
    props: tuple[Prop, ...]
    others: frozenset[str] = frozenset()
    rows: dict[str, Row] = field(default_factory=dict)

    def schema(self, type_hint: str | None = None) -> str:
        hint = f' @rename_from("{type_hint}")' if type_hint else ""
        body = " ".join(prop.text() for prop in self.props)
        types = [f"node {name} {{ t: String? }}" for name in sorted(self.others)]
        return "\n".join([f"node {self.type_name}{hint} {{ k: String @key {body} }}", *types])

    def lifted(self, row: Row) -> Row:
        """A row under this schema: what it lacks is what every row was given when the property came."""
        return {prop.number: row.get(prop.number, prop.default) for prop in self.props}

    def shown(self) -> dict[str, dict[str, Any]]:
        return {key: {prop.name: row[prop.number] for prop in self.props} for key, row in sorted(self.rows.items())}


class Pair:
    """The graph and the model, kept in step."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.branches = {"main": Branch("T", (Prop(next(numbers), "a", "I32"),))}
        self.graph = Graph.init(str(path / "g"), self.main.schema(), durability="os")
        self.path = path

    @property
    def main(self) -> Branch:
        return self.branches["main"]

    # --- writes -------------------------------------------------------------------------------------------

    def write(self) -> None:
        name = self.random.choice(sorted(self.branches))
        branch = self.branches[name]
        key = f"{name}{self.random.randrange(4)}"
        if key in branch.rows and self.random.random() < 0.3:
            self.graph.mutate(f'query m() {{ delete {branch.type_name} where k = "{key}" }}', branch=name)
            del branch.rows[key]
            return
        row = {prop.number: self.value(prop) for prop in branch.props}
        data = {"k": key} | {prop.name: row[prop.number] for prop in branch.props}
        line = json.dumps({"type": branch.type_name, "data": data}).encode()
        self.graph.load([line], mode="merge", branch=name)
        branch.rows[key] = row

    def value(self, prop: Prop) -> int | None:
        return None if not prop.is_required and self.random.random() < 0.3 else self.random.randrange(100)

    # --- branches -----------------------------------------------------------------------------------------

    def branch(self) -> None:
        name = self.random.choice(["b", "c"])
        if name in self.branches:
            self.graph.merge(name, delete_branch=True)
            self.merged(name, "main")
            del self.branches[name]
        else:
            self.graph.create_branch(name)
            self.branches[name] = replace(self.main, rows=dict(self.main.rows))

    def merge(self) -> None:
        name = self.random.choice(sorted(set(self.branches) - {"main"}) or ["main"])
        if name == "main":
            return
        ends = (name, "main") if self.random.random() < 0.5 else ("main", name)
        self.graph.merge(ends[0], into=ends[1])
        self.merged(*ends)

    def merged(self, source: str, target: str) -> None:
        """Each branch alone writes the entities that begin with its name; those come with it, all others stay."""
        own = source if target == "main" else target
        into, came = self.branches[target], self.branches[source]
        if target != "main":
            into.type_name, into.props, into.others = came.type_name, came.props, came.others
        kept = {key: row for key, row in into.rows.items() if key.startswith(own) == (target != "main")}
        taken = {key: row for key, row in came.rows.items() if key.startswith(own) == (target == "main")}
        into.rows = {key: into.lifted(row) for key, row in (kept | taken).items()}

    # --- schemas ------------------------------------------------------------------------------------------

    def change(self) -> None:
        new, hint, is_blocked = self.changed()
        if is_blocked and len(self.branches) > 1:
            with pytest.raises(SchemaBlockedByBranches):
                self.graph.apply_schema(new.schema(hint))
            return
        required = [prop for prop in new.props if prop.is_required]
        new.rows = {key: new.lifted(row) for key, row in self.main.rows.items()}
        if any(row[prop.number] is None for row in new.rows.values() for prop in required):
            with pytest.raises(SchemaRowsRefused):
                self.graph.apply_schema(new.schema(hint))
            return
        self.graph.apply_schema(new.schema(hint))
        self.branches["main"] = new

    def changed(self) -> tuple[Branch, str | None, bool]:
        """The schema after one change, the old name of a renamed type, and whether branches stand against it."""
        main, number = self.main, next(numbers)
        props = tuple(replace(prop, hint=None) for prop in main.props)
        plain = replace(main, props=props)
        pick = self.random.choice(props) if props else None

        def with_prop(**changes: Any) -> Branch:
            return replace(main, props=tuple(replace(p, **changes) if p is pick else p for p in props))

        match self.random.randrange(9 if pick else 3):
            case 0:
                return replace(main, props=(*props, Prop(number, f"p{number}", "I32"))), None, False
            case 1:
                added = Prop(number, f"p{number}", "I32", True, self.random.randrange(9))
                return replace(main, props=(*props, added)), None, True
            case 2:
                return replace(plain, others=main.others | {f"Other{number}"}), None, False
            case 3 if pick:
                return with_prop(name=f"r{number}", hint=pick.name), None, False
            case 4:
                return replace(main, props=tuple(p for p in props if p is not pick)), None, True
            case 5 if pick and pick.scalar == "I32":
                return with_prop(scalar="I64"), None, True
            case 6 if pick:
                return with_prop(is_required=not pick.is_required), None, not pick.is_required
            case 7:
                return replace(plain, type_name=f"T{number}"), main.type_name, True
            case _:
                return replace(plain, others=frozenset()), None, bool(main.others)

    # --- comparing ----------------------------------------------------------------------------------------

    def check(self) -> None:
        for name, branch in self.branches.items():
            assert entities(self.graph, name) == branch.shown(), name
        report = self.graph.verify()
        assert [each for each in report.findings if each.severity != "info"] == []

    def check_round_trip(self) -> None:
        again = Graph.init(str(self.path / "again"), self.graph.schema_source, durability="os")
        lines = list(self.graph.export())
        if lines:
            again.load(lines, mode="overwrite")
        assert list(again.export()) == lines


def entities(graph: Graph, branch: str) -> dict[str, dict[str, Any]]:
    """The entities of the one type that has rows, by key."""
    records = (json.loads(line)["data"] for line in graph.export(branch))
    return {each.pop("k"): {name: each[name] for name in each if name != "id"} for each in records}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_sequence_of_changes_writes_branches_and_merges_shows_what_the_model_shows(
    tmp_path: Path, seed: int
) -> None:
    pair = Pair(tmp_path, seed)
    for _ in range(STEPS):
        step = pair.random.choice([pair.write, pair.write, pair.change, pair.change, pair.branch, pair.merge])
        step()
        pair.check()
    pair.check_round_trip()
