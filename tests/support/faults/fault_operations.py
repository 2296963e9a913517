"""The operations that faults are tried on, and the two programs that take part: one performs, another one checks.

Both read commands from their standard input and answer on their standard output, a line of JSON each, so that many
cases share a process. `perform` is the only step during which a fault is armed.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import open_storage, root
from omnigraph.storage.leases import s3 as lease_objects
from omnigraph.storage.leases.lease import Leases
from omnigraph.write.commit.branch_queue import window
from omnigraph.write.recovery import recover as recovery
from support.graphs.people import FX_RECORDS, lines
from support.processes.interrupted_writes import KNOWS, PERSON, interrupted

SCHEMA = """
node Person { name: String @key  age: I32? @index }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
BRANCH, NEW_BRANCH = "draft", "new"
QUEUED = ("Ann", "Ben", "Cleo", "Dov")
CHECK_WAIT_S = 8.0
"""How long the checking process waits for a lease: whoever failed must not keep it, beyond the term of one on S3."""
LEASE_TTL_VARIABLE = "FAULT_LEASE_TTL_S"
RETRIES_VARIABLE = "FAULT_S3_RETRIES"
MARK = "query mark($n: String) { insert Person { name: $n } insert Knows { from: $n, to: $n } }"
READ = "query read() { match { $p: Person } return { $p.name } }"

Content = dict[str, list[str]]
"""By branch: its entities, a line each."""
Perform = Callable[[Graph | None, str], dict[str, Any]]
"""Carries out the operation with a handle on the graph, or at its address; what its receipt says."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a person asks a graph to do, as one thing that happens or does not."""

    name: str
    perform: Perform
    prepare: Callable[[str], None] = lambda _uri: None
    """What is done to the graph first."""
    exists: bool = True
    """False when the operation makes the graph."""
    opened: bool = True
    """False when the operation opens or makes the graph."""
    settles: bool = False
    """True when whoever opens the graph next brings the same about."""
    several: bool = False
    """True when it is several writes, each of which happens or does not."""
    halfway: Callable[[Content], Content] | None = None
    """A state in between that a death may leave, and an error if it says so; the same again leads from there on."""
    hidden: bool = False
    """True when what it brings about is not seen in the entities: where it failed it is done once more, then judged."""
    replaces: bool = False
    """True when it takes the place of all rows: those of a write that came before it are gone, and its commit stays."""
    otherwise: Perform | None = None
    """How somebody else does it after it failed, where that is not the same."""

    @property
    def again(self) -> Perform:
        return self.otherwise or self.perform


# --- the operations ---------------------------------------------------------------------------------------


def _mutation(text: str, branch: str | None = None) -> Perform:
    query = f"query q() {{ {text} }}"

    def perform(graph: Graph | None, _uri: str) -> dict[str, Any]:
        assert graph is not None
        return {"commit": graph.mutate(query, branch=branch).commit_id}

    return perform


def _load(*, branch: str | None = None, base: str | None = None, engine: Any = "local", mode: Any = "merge") -> Perform:
    records = (
        {"type": "Person", "data": {"name": "Alice", "age": 30}},
        {"type": "Person", "data": {"name": "Eve", "age": 41}},
        {"type": "Person", "data": {"name": "Bob", "age": 26}},
        {"type": "Company", "data": {"name": "Initech"}},
        {"edge": "Knows", "from": "Eve", "to": "Bob"},
        {"edge": "WorksAt", "from": "Bob", "to": "Initech"},
    )

    def perform(graph: Graph | None, _uri: str) -> dict[str, Any]:
        assert graph is not None
        result = graph.load(lines(*records), mode=mode, branch=branch, base=base, engine=engine)
        return {"commit": result.commit_id, "warnings": list(result.warnings)}

    return perform


def _queue(graph: Graph | None, _uri: str) -> dict[str, Any]:
    """Several writers at once: one at work, the next one armed, others behind it."""
    assert graph is not None
    answers: dict[str, Any] = {}

    def write(name: str) -> None:
        try:
            graph.mutate(MARK, n=name)
            answers[name] = None
        except BaseException as error:  # as below: whatever came out
            answers[name] = _described(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in QUEUED]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"each": answers}


def _create(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    graph.create_branch(NEW_BRANCH)
    return {}


def _delete(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    graph.delete_branch(BRANCH)
    return {}


def _optimize(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    report = graph.optimize()
    return {"commit": None if report.commit is None else report.commit.commit_id, "warnings": _kept(report.conflict)}


def _ensure_indices(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    report = graph.ensure_indices()
    return {"commit": None if report.commit is None else report.commit.commit_id, "warnings": _kept(report.conflict)}


def _cleanup(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    report = graph.cleanup(keep_versions=1, grace=0, confirm=True)
    return {"warnings": [str(table.error) for table in report.failed]}


def _repair(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    report = graph.repair(confirm=True)
    return {"commit": None if report.commit is None else report.commit.commit_id}


def _kept(warning: str | None) -> list[str]:
    return [] if warning is None else [warning]


def _init(_graph: Graph | None, uri: str) -> dict[str, Any]:
    Graph.init(uri, SCHEMA)
    return {}


def _init_by_force(_graph: Graph | None, uri: str) -> dict[str, Any]:
    Graph.init(uri, SCHEMA, force=True)
    return {}


def _open(_graph: Graph | None, uri: str) -> dict[str, Any]:
    Graph.open(uri)
    return {}


def _clone(*, history: bool) -> Perform:
    def perform(_graph: Graph | None, uri: str) -> dict[str, Any]:
        Graph.open(_source_of(uri), read_only=True).clone(uri, history=history)
        return {}

    return perform


def _source_of(uri: str) -> str:
    """Beside the target of a clone, under a name that does not begin like it: faults are for the target."""
    parent, _, name = uri.rpartition("/")
    return f"{parent}/source-of-{name}"


def _cloned_from(uri: str) -> None:
    """A graph with a branch, to be cloned to this address."""
    source = _source_of(uri)
    make_template(source)
    _written_branch(source)


def _export(form: Any) -> Perform:
    def perform(graph: Graph | None, uri: str) -> dict[str, Any]:
        assert graph is not None
        folder = f"{uri}-{form}-{time.monotonic_ns()}"
        receipt = graph.export_to(folder, format=form, engine="local")
        again = sum(1 for _ in graph.export(manifest=True)) - 1
        assert receipt.total_entities == again
        return {}

    return perform


def _branched(uri: str) -> None:
    Graph.open(uri, durability="os").create_branch(BRANCH)


def _written_branch(uri: str) -> None:
    graph = Graph.open(uri, durability="os")
    graph.create_branch(BRANCH)
    graph.mutate('query q() { insert Person { name: "Dora" } insert Knows { from: "Dora", to: "Bob" } }', branch=BRANCH)


def _aged(uri: str) -> None:
    """Versions of forks too, and a fork that nobody reads."""
    graph = Graph.open(uri, durability="os")
    graph.create_branch(BRANCH)
    for age in (61, 62, 63):
        for branch in ("main", BRANCH):
            graph.mutate('query q($a: I32) { update Person set { age: $a } where name = "Bob" }', a=age, branch=branch)
    graph.optimize()
    storage = graph._storage
    storage.lineages.create(PERSON.location, "orphan", None, graph.snapshot().tables[-1].version)


def _moved_on(uri: str) -> None:
    """Another program compacted a table."""
    storage = open_storage(uri, durability="os")
    storage.handles.open_for_change(PERSON.location).optimize.compact_files()


def _interrupted_late(uri: str) -> None:
    """Every table is committed: whoever comes next finishes it."""
    interrupted(open_storage(uri, durability="os"), commits=(PERSON, KNOWS))


def _interrupted_early(uri: str) -> None:
    """One table of two is committed: whoever comes next takes it back."""
    interrupted(open_storage(uri, durability="os"), commits=(PERSON,))


def _branch_alone(before: Content) -> Content:
    """The branch that a load was to make, without what it was to load."""
    return before | {NEW_BRANCH: before["main"]}


_SEVERAL = """
    insert Person { name: "Eve", age: 41 }
    insert Company { name: "Initech" }
    insert Knows { from: "Eve", to: "Bob" }
    insert WorksAt { from: "Eve", to: "Initech" }
"""
NEXT_SCHEMA = """
node Person { name: String @key  years: I64? @index @rename_from("age")  email: String?  rank: I32 @default(1) }
node Firm @rename_from("Company") { name: String @key }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Firm
"""


def _apply_schema(graph: Graph | None, _uri: str) -> dict[str, Any]:
    assert graph is not None
    return {"commit": graph.apply_schema(NEXT_SCHEMA).commit_id}


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("insert", _mutation('insert Person { name: "Eve", age: 41 }')),
        Operation("update", _mutation('update Person set { age: 26 } where name = "Bob"')),
        Operation("delete", _mutation('delete Knows where from = "Alice"')),
        Operation("insert_several", _mutation(_SEVERAL)),
        Operation("delete_several", _mutation('delete Person where name = "Bob"')),
        Operation(
            "update_and_insert",
            _mutation('update Person set { age: 26 } where name = "Bob" insert Company { name: "Initech" }'),
        ),
        Operation("first_on_branch", _mutation(_SEVERAL, BRANCH), prepare=_branched),
        Operation("second_on_branch", _mutation(_SEVERAL, BRANCH), prepare=_written_branch),
        Operation("queue", _queue, several=True),
        Operation("load", _load()),
        Operation("load_overwrite", _load(mode="overwrite"), replaces=True),
        Operation("load_new_branch", _load(branch=NEW_BRANCH, base="main"), halfway=_branch_alone),
        Operation("create_branch", _create),
        Operation("delete_branch", _delete, prepare=_written_branch),
        Operation("optimize", _optimize),
        Operation("ensure_indices", _ensure_indices),
        Operation("cleanup", _cleanup, prepare=_aged),
        Operation("repair", _repair, prepare=_moved_on, hidden=True),
        Operation("recover_forward", _open, _interrupted_late, opened=False, settles=True),
        Operation("recover_back", _open, _interrupted_early, opened=False, settles=True),
        Operation("init", _init, exists=False, opened=False, otherwise=_init_by_force),
        Operation("clone", _clone(history=False), _cloned_from, exists=False, opened=False),
        Operation("clone_history", _clone(history=True), _cloned_from, exists=False, opened=False),
        Operation("export", _export("parquet")),
        Operation("apply_schema", _apply_schema),
        Operation("load_spark", _load(engine="spark")),
    )
}


# --- templates --------------------------------------------------------------------------------------------


def make_template(uri: str) -> None:
    """The graph that copies are made of: some history, so that there is something to put together."""
    graph = Graph.init(uri, SCHEMA, durability="os")
    graph.load(lines(*FX_RECORDS), mode="append")
    for name in ("Uma", "Vic", "Wes"):
        graph.mutate(MARK, n=name)


# --- what a reader sees -----------------------------------------------------------------------------------


def content(graph: Graph) -> Content:
    """Every entity of every branch, without the generated ids of edges."""
    return {branch: sorted(_plain(line) for line in graph.export(branch)) for branch in graph.branches()}


def _plain(line: bytes) -> str:
    record = json.loads(line)
    if "edge" in record:
        record.pop("id", None)
        record.get("data", {}).pop("id", None)
    return json.dumps(record, sort_keys=True)


# --- performing -------------------------------------------------------------------------------------------


class Performer:
    """Does the operations. Keeps its handle, so that a case can ask what is left of it afterwards."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._operation = OPERATIONS["insert"]
        self._uri = ""

    def greet(self) -> dict[str, Any]:
        return {}

    def prepare(self, operation: str, uri: str) -> dict[str, Any]:
        self._operation, self._uri = OPERATIONS[operation], uri
        self._graph = None
        self._operation.prepare(uri)
        if self._operation.opened:
            self._graph = Graph.open(uri, durability="full")
            self._graph.query(READ)
        return {}

    def perform(self) -> dict[str, Any]:
        return self._operation.perform(self._graph, self._uri)

    def read_on(self) -> dict[str, Any]:
        """The same handle afterwards: what it shows."""
        if self._graph is None:
            self._graph = Graph.open(self._uri)
        return {"content": content(self._graph), "people": len(list(self._graph.query(READ)))}

    def write_on(self, name: str) -> dict[str, Any]:
        """And that it can still write."""
        assert self._graph is not None
        return {"commit": self._graph.mutate(MARK, n=name).commit_id}


# --- checking ---------------------------------------------------------------------------------------------


class Checker:
    """Looks at a graph as another process does: reads it, opens it for writing, verifies it, writes."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        _wait_no_longer_than(CHECK_WAIT_S)

    def template(self, uri: str) -> dict[str, Any]:
        make_template(uri)
        return {}

    def read(self, uri: str) -> dict[str, Any]:
        self._graph = None
        return {"content": content(Graph.open(uri, read_only=True))}

    def open(self, uri: str) -> dict[str, Any]:
        self._graph = None
        graph = self._opened(uri)
        commits = {branch: [commit.commit_id for commit in graph.commits(branch)] for branch in graph.branches()}
        return {"content": content(graph), "commits": commits}

    def verify(self, uri: str) -> dict[str, Any]:
        graph = self._opened(uri)
        report = graph.verify()
        pending = [sidecar.operation_id for sidecar in graph.pending_recoveries()]
        return {"ok": report.ok, "findings": [finding.render() for finding in report.findings], "pending": pending}

    def repeat(self, operation: str, uri: str) -> dict[str, Any]:
        """The same operation once more, by somebody else."""
        wanted = OPERATIONS[operation]
        receipt = wanted.again(self._opened(uri) if wanted.opened else None, uri)
        return receipt | {"content": content(self._opened(uri))}

    def write(self, name: str, uri: str, wait_s: float = CHECK_WAIT_S) -> dict[str, Any]:
        _wait_no_longer_than(wait_s)
        try:
            return self._written(name, uri)
        finally:
            _wait_no_longer_than(CHECK_WAIT_S)

    def _written(self, name: str, uri: str) -> dict[str, Any]:
        graph = self._opened(uri)
        begun = time.monotonic()
        commits = {branch: graph.mutate(MARK, n=name, branch=branch).commit_id for branch in graph.branches()}
        return {"content": content(graph), "commits": commits, "seconds": time.monotonic() - begun}

    def _opened(self, uri: str) -> Graph:
        if self._graph is None or self._graph.uri != uri:
            self._graph = Graph.open(uri, durability="os")
        return self._graph


# --- the programs -----------------------------------------------------------------------------------------


def _answer(part: Performer | Checker, command: dict[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    try:
        answer: dict[str, Any] = getattr(part, command.pop("do"))(**command)
    except BaseException as error:  # whatever came out is what the caller of the operation would have got
        answer = {"error": _described(error)}
    if "error" in answer:
        gc.collect()  # the error held on to whatever it passed through, locks too
    return answer | {"took": time.monotonic() - begun}


def _described(error: BaseException) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "families": [kind.__name__ for kind in type(error).__mro__],
        "typed": isinstance(error, OmniGraphError),
        "message": f"{error}",
        "notes": list(getattr(error, "__notes__", ())),
        "where": "".join(traceback.format_exception(error))[-3000:],
    }


def _commands() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def _wait_no_longer_than(seconds: float) -> None:
    """For a lease, wherever this process asks for one without saying how long."""
    asking: tuple[Any, ...] = (Leases.hold, window)
    for each in asking:
        each.__wrapped__.__kwdefaults__["wait_s"] = seconds
    recovery.LEASE_WAIT_S = seconds


def _adjust() -> None:
    """Short terms for leases on S3, and a client that gives up soon: a case must not take a minute."""
    ttl_s = os.environ.get(LEASE_TTL_VARIABLE)
    if ttl_s is not None:
        lease_objects.LEASE_TTL_S = float(ttl_s)
        lease_objects.RENEW_EVERY_S = float(ttl_s) / 3
        lease_objects.RETRY_EVERY_S = float(ttl_s) / 15
        lease_objects.NEXT_TTL_S = float(ttl_s) / 3
        lease_objects.CLOCK_SKEW_S = float(ttl_s) / 8
    retries = os.environ.get(RETRIES_VARIABLE)
    if retries is not None:
        root.S3_RETRIES_MAX = int(retries)


def main() -> None:
    _adjust()
    part: Performer | Checker = Performer() if sys.argv[1] == "perform" else Checker()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    for command in _commands():
        print(json.dumps(_answer(part, command)), file=answers, flush=True)


if __name__ == "__main__":
    main()
