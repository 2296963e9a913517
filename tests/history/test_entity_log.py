"""The log of one entity: who changed which property when, across merges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merge.merging import change, edge, head, make, merged, node, put
from omnigraph.graph import Graph
from omnigraph.history import EntityLogEntry, Snapshot, blame, entity_changes, entity_log, table_history
from omnigraph.history.commits import find_commit, snapshot_at
from omnigraph.history.diff import TableSide, diff_snapshots
from omnigraph.model.errors import TypeNotFound
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables.table import Table


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g")


def by(graph: Graph, actor: str) -> Graph:
    return Graph(graph._storage, "main", actor)


def log(graph: Graph, entity_id: str, type_name: str = "Person", branch: str = "main") -> list[EntityLogEntry]:
    commit = find_commit(graph._storage, head(graph, branch))
    return list(entity_changes(graph._storage, type_name, entity_id, commit))


def shown(entries: list[EntityLogEntry]) -> list[tuple[str, tuple[str, ...]]]:
    return [(entry.change.op, entry.change.changed_properties) for entry in entries]


def test_every_change_of_an_entity_is_shown_with_its_commit_and_properties(graph: Graph) -> None:
    loaded = head(graph)
    change(by(graph, "ada"), 'update Person set { age: 31 } where name = "Alice"')
    first = head(graph)
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    change(by(graph, "bea"), 'update Person set { age: 32, nick: "Al" } where name = "Alice"')
    entries = log(graph, "Alice")
    assert shown(entries) == [("update", ("age", "nick")), ("update", ("age",)), ("insert", ())]
    assert [entry.commit.commit_id for entry in entries] == [head(graph), first, loaded]
    assert [entry.commit.actor_id for entry in entries] == ["bea", "ada", None]
    newest = entries[0].change
    assert newest.before is not None
    assert newest.after is not None
    assert (newest.before.properties["age"], newest.after.properties["age"]) == (31, 32)
    assert entries[0].to_json()["changed_properties"] == ["age", "nick"]


def test_a_property_is_blamed_on_the_change_that_gave_it_its_value(graph: Graph) -> None:
    change(by(graph, "ada"), 'update Person set { nick: "Al" } where name = "Alice"')
    change(by(graph, "bea"), 'update Person set { age: 31 } where name = "Alice"')
    change(by(graph, "cleo"), 'update Person set { age: 26 } where name = "Bob"')
    found = blame(graph._storage, "Person", "Alice", find_commit(graph._storage, head(graph)))
    assert {each.property: (each.value, each.entry.commit.actor_id) for each in found} == {
        "age": (31, "bea"),
        "name": ("Alice", None),
        "nick": ("Al", "ada"),
    }


def test_an_entity_that_is_gone_begins_with_its_removal(graph: Graph) -> None:
    change(by(graph, "ada"), 'delete Person where name = "Dan"')
    removed = head(graph)
    for number in range(3):
        change(graph, f"update Person set {{ age: {number} }} where name = 'Alice'".replace("'", '"'))
    entries = log(graph, "Dan")
    assert shown(entries) == [("delete", ()), ("insert", ())]
    assert (entries[0].commit.commit_id, entries[0].commit.actor_id) == (removed, "ada")
    assert blame(graph._storage, "Person", "Dan", find_commit(graph._storage, head(graph))) == ()


def test_the_lives_before_an_entity_was_deleted_and_made_again_are_shown_if_asked_for(graph: Graph) -> None:
    change(graph, 'delete Person where name = "Dan"')
    change(graph, 'insert Person { name: "Dan", age: 1 }')
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    commit = find_commit(graph._storage, head(graph))
    assert shown(log(graph, "Dan")) == [("insert", ())]
    whole = list(entity_changes(graph._storage, "Person", "Dan", commit, all_lives=True))
    assert [entry.change.op for entry in whole] == ["insert", "delete", "insert"]
    assert [entry.commit.commit_id for entry in whole] == [each.commit_id for each in graph.commits()[1:4]]


def test_an_entity_that_never_was_has_an_empty_log_and_an_unknown_type_is_refused(graph: Graph) -> None:
    assert log(graph, "Nobody") == []
    with pytest.raises(TypeNotFound):
        log(graph, "Alice", "Persons")


def test_a_commit_of_the_past_has_the_log_of_then(graph: Graph) -> None:
    then = find_commit(graph._storage, head(graph))
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    assert [entry.change.op for entry in entity_changes(graph._storage, "Person", "Alice", then)] == ["insert"]


def test_equal_values_that_were_written_again_and_upkeep_are_no_changes(graph: Graph) -> None:
    put(graph, "main", node("Person", name="Alice", age=30, nick=""))
    for number in range(8):
        change(graph, f'insert Person {{ name: "P{number}", age: {number} }}')
    graph.optimize()
    assert shown(log(graph, "Alice")) == [("insert", ())]


def test_the_log_of_an_edge_has_its_endpoints(graph: Graph) -> None:
    put(graph, "main", edge("Knows", "Alice", "Dan"))
    storage = graph._storage
    table = storage.tables.open(next(pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Knows"))
    newest = next(row["id"] for row in table.read(["id", "src"]).to_pylist() if row["src"] == "Alice")
    (entry,) = log(graph, newest, "Knows")
    assert entry.change.after is not None
    assert entry.change.after.endpoints is not None
    assert (entry.change.after.endpoints.src, entry.change.after.endpoints.dst) == ("Alice", "Dan")


# --- across merges ----------------------------------------------------------------------------------------


def test_what_a_merge_brought_is_shown_as_the_changes_on_the_branch(graph: Graph) -> None:
    graph.create_branch("draft")
    writer = Graph(graph._storage, "draft", "ada")
    change(writer, 'update Person set { age: 31 } where name = "Alice"')
    one = head(graph, "draft")
    change(writer, 'update Person set { nick: "Al" } where name = "Alice"')
    two = head(graph, "draft")
    change(graph, 'update Person set { age: 26 } where name = "Bob"')
    merge_id = merged(graph, "draft").commit_id
    entries = log(graph, "Alice")
    assert [(entry.commit.commit_id, entry.merged_by) for entry in entries[:2]] == [(two, merge_id), (one, merge_id)]
    assert shown(entries) == [("update", ("nick",)), ("update", ("age",)), ("insert", ())]
    assert shown(log(graph, "Bob")) == [("update", ("age",)), ("insert", ())]
    commit = find_commit(graph._storage, head(graph))
    short = list(entity_changes(graph._storage, "Person", "Alice", commit, first_parents=True))
    assert [(entry.commit.commit_id, entry.change.changed_properties) for entry in short[:1]] == [
        (merge_id, ("age", "nick"))
    ]


def test_a_merge_of_a_merge_is_followed_to_where_the_change_was_made(graph: Graph) -> None:
    graph.create_branch("release")
    graph.create_branch("draft")
    change(Graph(graph._storage, "draft", "ada"), 'update Person set { age: 31 } where name = "Alice"')
    made = head(graph, "draft")
    merged(graph, "draft", "release")
    merged(graph, "release")
    assert log(graph, "Alice")[0].commit.commit_id == made
    assert shown(log(graph, "Alice")) == [("update", ("age",)), ("insert", ())]


def test_the_merge_itself_is_shown_once_its_branch_is_deleted(graph: Graph) -> None:
    graph.create_branch("draft")
    change(Graph(graph._storage, "draft", "ada"), 'update Person set { age: 31 } where name = "Alice"')
    merge_id = merged(graph, "draft").commit_id
    graph.delete_branch("draft")
    newest = log(graph, "Alice")[0]
    assert (newest.commit.commit_id, newest.merged_by) == (merge_id, None)


def test_a_conflict_that_was_decided_otherwise_is_shown_as_the_merge(graph: Graph) -> None:
    graph.create_branch("draft")
    change(graph, 'update Person set { age: 31 } where name = "Alice"', "draft")
    change(graph, 'update Person set { age: 32 } where name = "Alice"')
    decided = [{"entity_kind": "node", "type_name": "Person", "entity_id": "Alice", "properties": {"age": 99}}]
    merge_id = merged(graph, "draft", resolve=decided).commit_id
    assert log(graph, "Alice")[0].commit.commit_id == merge_id
    assert shown(log(graph, "Alice")) == [("update", ("age",)), ("update", ("age",)), ("insert", ())]


# --- what it costs ----------------------------------------------------------------------------------------

INSERT = "insert Person {{ name: 'P{0}' }}"
UPDATE = "update Person set {{ age: {0} }} where name = 'Bob'"
REMOVE = 'delete Person where name = "Dan"'


def test_versions_that_did_not_touch_the_entity_are_not_read(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        change(graph, f'update Person set {{ age: {number} }} where name = "Bob"')
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    looked_at: set[int] = set()
    for name in ("read", "take"):
        ask = getattr(Table, name)

        def counted(self: Table, *args: object, ask: Callable[..., object] = ask, **options: object) -> object:
            looked_at.add(self.version)
            return ask(self, *args, **options)

        monkeypatch.setattr(Table, name, counted)
    assert len(log(graph, "Alice")) == 2
    assert len(looked_at) == 3


@pytest.mark.parametrize("statement", [INSERT, UPDATE])
def test_versions_that_removed_nothing_are_not_asked_for_an_entity_that_is_missing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """What 24 commits leave to look at: the ends, and the way to each of those that removed a row."""
    for number in range(24):
        change(graph, statement.format(number).replace("'", '"') if number != 20 else REMOVE)
    opened: set[int] = set()
    side = entity_log.TableSide

    def counted(storage: GraphStorage, pin: TablePin, snapshot: Snapshot) -> TableSide:
        opened.add(pin.version)
        return side(storage, pin, snapshot)

    monkeypatch.setattr(entity_log, "TableSide", counted)
    assert log(graph, "Nobody") == []
    assert len(opened) <= 12, "the ends, and five pairs on the way to one version of 25"
    assert [entry.change.op for entry in log(graph, "Dan")] == ["delete", "insert"]


def test_commits_are_found_also_where_versions_do_not_name_them(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    change(graph, 'update Person set { age: 31 } where name = "Alice"')
    first = head(graph)
    for number in range(5):
        change(graph, f'update Person set {{ age: {number} }} where name = "Bob"')
    known = [entry.commit.commit_id for entry in log(graph, "Alice")]
    monkeypatch.setattr(table_history.TableHistory, "_named", lambda self, place: None)
    assert [entry.commit.commit_id for entry in log(graph, "Alice")] == known
    assert known[0] == first


# --- against the diffs of all commits ---------------------------------------------------------------------

NAMES = ["Alice", "Bob", "Eve"]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0)),
        st.tuples(st.just("overwrite"), st.sampled_from(NAMES), st.integers(0, 2)),
        st.tuples(st.just("optimize"), st.just(""), st.just(0)),
        st.tuples(st.just("branch"), st.sampled_from(NAMES), st.integers(0, 2)),
    ),
    min_size=2,
    max_size=8,
)


def step(graph: Graph, number: int, what: str, name: str, age: int) -> None:
    if what == "delete":
        change(graph, f'delete Person where name = "{name}"')
    elif what == "optimize":
        graph.optimize()
    elif what == "branch":
        graph.create_branch(f"b{number}")
        put(graph, f"b{number}", node("Person", name=name, age=age, nick="b"))
        merged(graph, f"b{number}")
    else:
        mode = "overwrite" if what == "overwrite" else "merge"
        graph.load([node("Person", name=name, age=age, nick="")], mode=mode)


@settings(max_examples=10, deadline=None)
@given(STEPS)
def test_the_log_of_an_entity_is_what_the_diffs_of_all_commits_say(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
) -> None:
    graph = make(
        tmp_path_factory.mktemp("any") / "g", "node Person { name: String @key  age: I32?  nick: String? }", []
    )
    for number, each in enumerate(steps):
        step(graph, number, *each)
    storage, commits = graph._storage, graph.commits()
    snapshots = [snapshot_at(storage, commit) for commit in commits]
    expected: dict[str, list[tuple[str, str]]] = {name: [] for name in NAMES}
    for commit, after, before in zip(commits, snapshots, snapshots[1:], strict=False):
        for entity in diff_snapshots(storage, before, after):
            expected[entity.id].append((commit.commit_id, entity.op))
    for name, wanted in expected.items():
        found = entity_changes(storage, "Person", name, commits[0], first_parents=True, all_lives=True)
        assert [(entry.commit.commit_id, entry.change.op) for entry in found] == wanted
