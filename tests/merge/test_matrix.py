"""The merge matrix: what is done on `feature` against what is done on main, every cell of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from merge.merging import (
    PEOPLE,
    assert_clean,
    change,
    conflicts,
    content,
    copy_of,
    edges,
    head,
    make,
    merged,
    people,
)
from omnigraph.graph import Graph
from omnigraph.merge import MergeConflicts

OPERATIONS = ("nothing", "add Eve", "delete Alice", "add Alice→Carol", "delete Bob→Carol", "set Alice.age", "net-zero")
UP_TO_DATE, FORWARD, MERGED = "already_up_to_date", "fast_forward", "merged"
DIVERGENT_INSERT = ("divergent_insert", "Person", "Eve")
DIVERGENT_UPDATE = ("divergent_update", "Person", "Alice")
DELETE_VS_UPDATE = ("delete_vs_update", "Person", "Alice")
ORPHAN = ("orphan_edge", "Knows", None)
"""The id of the edge is generated."""

CONFLICTS = {
    ("add Eve", "add Eve"): DIVERGENT_INSERT,
    ("delete Alice", "add Alice→Carol"): ORPHAN,
    ("delete Alice", "set Alice.age"): DELETE_VS_UPDATE,
    ("add Alice→Carol", "delete Alice"): ORPHAN,
    ("set Alice.age", "delete Alice"): DELETE_VS_UPDATE,
    ("set Alice.age", "set Alice.age"): DIVERGENT_UPDATE,
}
CELLS = [
    pytest.param(feature, main, id=f"tx-M{number:02} {feature} | {main}")
    for number, (feature, main) in enumerate(((row, column) for row in OPERATIONS for column in OPERATIONS), start=1)
]  # tx-M01 M02 M03 M04 M05 M06 M07 M08 M09 M10 M11 M12 M13 M14 M15 M16 M17 M18 M19 M20 M21 M22 M23 M24 M25 \
# tx-M26 M27 M28 M29 M30 M31 M32 M33 M34 M35 M36 M37 M38 M39 M40 M41 M42 M43 M44 M45 M46 M47 M48 M49


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrix") / "template"
    make(path)
    return path


def perform(graph: Graph, branch: str, operation: str, number: int) -> None:
    """The number makes what two branches write different."""
    match operation:
        case "add Eve":
            change(graph, f'insert Person {{ name: "Eve", age: {number} }}', branch)
        case "delete Alice":
            change(graph, 'delete Person where name = "Alice"', branch)
        case "add Alice→Carol":
            change(graph, 'insert Knows { from: "Alice", to: "Carol" }', branch)
        case "delete Bob→Carol":
            change(graph, 'delete Knows where from = "Bob"', branch)
        case "set Alice.age":
            change(graph, f'update Person set {{ age: {number} }} where name = "Alice"', branch)
        case "net-zero":
            change(graph, 'insert Knows { from: "Dan", to: "Bob" }', branch)
            change(graph, 'delete Knows where from = "Dan"', branch)


def expected(feature: str, main: str) -> tuple[dict[str, int], Counter[tuple[str, str]]]:
    """The graph with both operations done, main's number on it where both write the same."""
    everybody, relations = dict(PEOPLE), Counter({("Bob", "Carol"): 1})
    for number, operation in ((2, main), (1, feature)):
        match operation:
            case "add Eve":
                everybody["Eve"] = number
            case "delete Alice":
                everybody.pop("Alice", None)
            case "add Alice→Carol":
                relations["Alice", "Carol"] += 1
            case "delete Bob→Carol":
                relations.pop(("Bob", "Carol"), None)
            case "set Alice.age":
                everybody["Alice"] = number
    return everybody, relations


@pytest.mark.parametrize(("feature", "main"), CELLS)
def test_every_cell_of_the_matrix(template: Path, tmp_path: Path, feature: str, main: str) -> None:
    graph = copy_of(template, tmp_path / "g")
    graph.create_branch("feature")
    perform(graph, "feature", feature, 1)
    perform(graph, "main", main, 2)
    before = (head(graph), content(graph), [pin.version for pin in graph.snapshot().tables])
    theirs = content(graph, "feature")
    if (feature, main) in CONFLICTS:
        with pytest.raises(MergeConflicts) as caught:
            merged(graph, "feature")
        [(kind, type_name, entity_id)] = conflicts(caught.value)
        if kind == "orphan_edge":
            entity_id = None
        assert (kind, type_name, entity_id) == CONFLICTS[feature, main]
        assert caught.value.total == 1
        assert (head(graph), content(graph), [pin.version for pin in graph.snapshot().tables]) == before
    else:
        outcome = merged(graph, "feature").outcome
        assert outcome == (UP_TO_DATE if feature == "nothing" else FORWARD if main == "nothing" else MERGED)
        assert (people(graph), edges(graph)) == expected(feature, main)
    assert content(graph, "feature") == theirs, "the source is left alone"
    assert graph._storage.objects.list_names("__recovery") == []


@pytest.mark.parametrize("operation", ["add Eve", "set Alice.age"])
def test_tx_M56_both_sides_doing_the_same_is_no_conflict(template: Path, tmp_path: Path, operation: str) -> None:
    graph = copy_of(template, tmp_path / "g")
    graph.create_branch("feature")
    for branch in ("feature", "main"):
        perform(graph, branch, operation, 7)
    assert merged(graph, "feature").outcome == MERGED
    assert people(graph)["Eve" if operation == "add Eve" else "Alice"] == 7
    assert_clean(graph)
