"""One of several programs that use a graph while another one removes old versions. Prints a line of JSON at its end.

Money is moved between accounts, so every state that anybody may see has the same sum. Entries of a journal come by
merges. Whoever reads a state of the past may be told that it is gone; whoever reads a branch, a tag or the head may not
be, unless the read itself took longer than the grace time.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    BranchExists,
    Conflict,
    HistoricalVersionReclaimed,
    LeaseTimeout,
    OmniGraphError,
)
from omnigraph.model.identifiers import new_ulid

SCHEMA = """
node Account { name: String @key  balance: I64 @index }
node Entry { name: String @key }
edge Owes: Account -> Account
"""
ACCOUNTS, EACH = 8, 100
MOVE = """
query move($a: String, $b: String, $x: I64, $y: I64) {
    update Account set { balance: $x } where name = $a
    update Account set { balance: $y } where name = $b
}
"""
READ = "query q() { match { $a: Account } return { $a.name, $a.balance } }"
ADD = "query q($n: String) { insert Entry { name: $n } }"


def make(uri: str) -> Graph:
    graph = Graph.init(uri, SCHEMA, durability="os")
    records = [{"type": "Account", "data": {"name": f"a{n}", "balance": EACH}} for n in range(ACCOUNTS)]
    records += [{"edge": "Owes", "from": f"a{n}", "to": f"a{(n + 1) % ACCOUNTS}"} for n in range(ACCOUNTS)]
    graph.load([json.dumps(record).encode() + b"\n" for record in records], mode="append")
    graph.ensure_indices()
    return graph


class Member:
    """One program: what it does, what it has seen."""

    def __init__(self, uri: str, seed: int, grace_s: float) -> None:
        self.graph = Graph.open(uri, durability="os")
        self.draw = random.Random(seed)
        self.grace_s = grace_s
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def balances(self, graph: Graph, **at: Any) -> dict[str, int]:
        rows = graph.query(READ, **at).rows()
        found = {str(row["a.name"]): int(str(row["a.balance"])) for row in rows}
        if len(found) != ACCOUNTS or sum(found.values()) != ACCOUNTS * EACH:
            self.wrong.append(f"a state with {len(found)} accounts and {sum(found.values())} in all: {at}")
        return found

    def reader(self) -> None:
        fresh = Graph.open(self.graph.uri, read_only=True) if self.draw.random() < 0.3 else self.graph
        mode = self.draw.choice(["auto", "indexed"])
        if self.draw.random() < 0.3:
            lines = [json.loads(line) for line in fresh.export(types=["Account"])]
            if sum(line["data"]["balance"] for line in lines) != ACCOUNTS * EACH:
                self.wrong.append("an export with another sum")
        else:
            self.balances(fresh, mode=mode)

    def writer(self) -> None:
        one, other = self.draw.sample(range(ACCOUNTS), 2)
        found = self.balances(self.graph)
        seen = self.graph.snapshot().commit_id
        now = self.balances(self.graph)
        if now != found:
            return
        sum_of = {"a": f"a{one}", "b": f"a{other}", "x": found[f"a{one}"] - 1, "y": found[f"a{other}"] + 1}
        self.graph.mutate(MOVE, sum_of, if_commit=seen)

    def traveller(self) -> None:
        commits = self.graph.commits()
        commit = self.draw.choice(commits[: max(1, len(commits) - 2)])
        try:
            self.balances(self.graph, commit=commit.commit_id)
        except HistoricalVersionReclaimed:
            self.counts["gone"] += 1

    def brancher(self) -> None:
        name = f"b{new_ulid().lower()}"
        commits = self.graph.commits()
        source = "main" if self.draw.random() < 0.5 else self.draw.choice(commits[: max(1, len(commits) - 2)]).commit_id
        try:
            branch = self.graph.create_branch(name, source=source)
        except HistoricalVersionReclaimed:
            self.counts["gone"] += 1
            return
        for _ in range(3):
            self.balances(branch)
            branch.mutate(ADD, n=new_ulid())
        self.graph.delete_branch(name)

    def tagger(self) -> None:
        name, commits = f"t{new_ulid().lower()}", self.graph.commits()
        try:
            self.graph.tag(name, self.draw.choice(commits[: max(1, len(commits) - 2)]).commit_id)
        except HistoricalVersionReclaimed:
            self.counts["gone"] += 1
            return
        for _ in range(3):
            self.balances(self.graph.at(name))
        self.graph.delete_tag(name)

    def merger(self) -> None:
        name, entry = f"m{new_ulid().lower()}", new_ulid()
        branch = self.graph.create_branch(name)
        branch.mutate(ADD, n=entry)
        self.graph.merge(name, into="main", delete_branch=True)
        self.counts["entries"] += 1

    def run(self, role: str, seconds: float) -> None:
        step: Callable[[], None] = getattr(self, role)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            begun = time.monotonic()
            try:
                step()
                self.counts["done"] += 1
            except (HistoricalVersionReclaimed, BranchExists) as error:
                took = time.monotonic() - begun
                if took < self.grace_s:
                    self.wrong.append(f"{role} after {took:.2f} s: {error!r}")
                self.counts["slow"] += 1
            except (LeaseTimeout, Conflict):
                self.counts["lost"] += 1
            except OmniGraphError as error:
                self.wrong.append(f"{role}: {error!r}")


if __name__ == "__main__":
    uri, role, seed, seconds, grace_s = sys.argv[1:]
    member = Member(uri, int(seed), float(grace_s))
    member.run(role, float(seconds))
    print(json.dumps({"role": role, "counts": member.counts, "wrong": member.wrong[:5]}))
