"""Cleanup: what nobody needs goes, what anybody needs stays, and whatever stands against it is told first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import (
    BadRequest,
    HistoricalVersionReclaimed,
    OmniGraphError,
    OpenedReadOnly,
    RecoveryRequired,
    SchemaApplyInProgress,
    TableDrift,
)
from omnigraph.model.identifiers import SCHEMA_APPLY_LOCK
from omnigraph.model.progress import Progress
from omnigraph.query.resident.cache import resident_cache
from omnigraph.storage import MANIFEST, from_disk
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.upkeep import BranchUnreadable
from support.graphs.people import fx, people
from support.graphs.unmade_forks import leave_unmade
from support.loads.leftovers import nothing_is_left
from support.processes.interrupted_writes import PERSON, interrupted

SET_AGE = 'query q($a: I32) { update Person set { age: $a } where name = "Alice" }'
DYING = Path(__file__).parents[2] / "support" / "processes" / "dying_upkeep.py"
NOW: dict[str, Any] = {"keep_versions": 1, "grace": 0, "confirm": True}
"""Everything that may go, at once."""


def age(graph: Graph, value: int, branch: str | None = None) -> str:
    """One commit; its id."""
    commit = graph.mutate(SET_AGE, a=value, branch=branch).commit_id
    assert commit is not None
    return commit


def files(graph: Graph) -> set[str]:
    root = Path(graph.uri)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and "__leases" not in str(path)}


def versions(graph: Graph, type_name: str = "Person", branch: str | None = None) -> list[int]:
    pin = next(pin for pin in graph.snapshot(branch).tables if pin.table_key.type_name == type_name)
    return [each.version for each in graph._storage.old_versions.on_disk(pin.path)]


def alice_at(graph: Graph, commit: str) -> int:
    text = 'query q() { match { $p: Person { name: "Alice" } } return { $p.age } }'
    [row] = Graph.open(graph.uri, read_only=True).query(text, commit=commit).rows()
    found = row["p.age"]
    assert isinstance(found, int)
    return found


def is_gone(graph: Graph, commit: str) -> bool:
    try:
        alice_at(graph, commit)
    except HistoricalVersionReclaimed:
        return True
    return False


def is_readable(graph: Graph) -> bool:
    """Every table of every branch, from the disk alone."""
    storage = from_disk(graph._storage)
    for branch in storage.manifest.branches():
        for pin in storage.manifest.load(branch).state.pins():
            assert storage.tables.open(pin).read().num_rows == pin.row_count
    return graph.verify().ok


# --- what it is asked to keep -----------------------------------------------------------------------------


def test_tx_O06_without_a_limit_it_is_refused(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    with pytest.raises(BadRequest, match="what to keep") as caught:
        graph.cleanup()
    assert "--keep" in (caught.value.hint or "")
    for wrong in ({"keep_versions": -1}, {"older_than": "1h30m"}, {"older_than": -5}, {"grace": "soon"}):
        with pytest.raises(BadRequest):
            graph.cleanup(**{"keep_versions": 1, **wrong})


def test_tx_O07_the_newest_version_stays_and_can_be_read(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    report = graph.cleanup(**NOW)
    assert versions(graph) == [7]
    assert {table.type: table.versions for table in report.tables}["node:Person"] == 6
    assert people(graph)["Alice"] == 35
    assert [is_gone(graph, commit) for commit in commits] == [True] * 4 + [False]
    assert len(graph.commits()) == 7, "commits stay listed"
    assert is_readable(graph)


@pytest.mark.parametrize("keep", [0, 1, 3, 100])
def test_so_many_versions_stay(tmp_path: Path, keep: int) -> None:
    graph = fx(tmp_path / "g")
    for value in range(31, 36):
        age(graph, value)
    graph.cleanup(keep_versions=keep, grace=0, confirm=True)
    assert len(versions(graph)) == min(7, max(1, keep))


def test_a_version_goes_only_if_every_limit_lets_it_go(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for value in range(31, 36):
        age(graph, value)
    assert graph.cleanup(keep_versions=1, older_than="1h", grace=0, confirm=True).versions == 0
    assert graph.cleanup(keep_versions=5, older_than=0, grace=0, confirm=True).versions > 0
    assert len(versions(graph)) == 5


def test_a_commit_and_everything_later_stays(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 37)]
    graph.create_branch("before", source=commits[0]).tag("mark", commits[2])
    graph.cleanup(since="mark", grace=0, confirm=True)
    assert [is_gone(graph, commit) for commit in commits] == [False] * 6, "the branch shows the first of them"
    graph.delete_branch("before")
    graph.cleanup(since="mark", grace=0, confirm=True)
    assert [is_gone(graph, commit) for commit in commits] == [True, True, False, False, False, False]
    assert is_readable(graph)


def test_since_keeps_the_later_commits_of_other_branches_too(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("b")
    early = age(graph, 31, "b")
    mark = age(graph, 32)
    late = [age(graph, value, "b") for value in (33, 34, 35)]
    graph.cleanup(since=mark, grace=0, confirm=True)
    assert [is_gone(graph, commit) for commit in (early, *late)] == [False] * 4, "it is what b showed at that time"
    graph.cleanup(since=late[1], grace=0, confirm=True)
    assert [is_gone(graph, commit) for commit in (early, *late)] == [True, True, False, False]


def test_what_was_replaced_within_the_grace_time_stays(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    assert graph.cleanup(keep_versions=1, confirm=True).versions == 0, "an hour is the default"
    assert not any(is_gone(graph, commit) for commit in commits)
    assert graph.cleanup(keep_versions=1, grace="10m", confirm=True).versions == 0


def test_the_grace_time_is_counted_from_when_a_state_was_replaced_by_the_clock_of_the_store(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    folder = tmp_path / "g" / "__manifest" / "_versions"
    newest_first = sorted(folder.glob("*.manifest"))
    long_ago = newest_first[0].stat().st_mtime - 7200
    for file in newest_first[2:]:
        os.utime(file, (long_ago, long_ago))
    graph.cleanup(keep_versions=1, confirm=True)
    gone = [is_gone(graph, commit) for commit in commits]
    assert gone == [True, True, False, False, False], "the third was head until the fourth came, just now"


# --- branches, tags, merges -------------------------------------------------------------------------------


def test_tx_O08_what_a_branch_reads_of_main_stays_with_everything_later(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    age(graph, 31)
    graph.create_branch("lazy")
    for value in range(32, 39):
        age(graph, value)
    assert versions(graph) == list(range(1, 11))
    graph.cleanup(**NOW)
    assert versions(graph) == list(range(3, 11))
    assert people(graph, "lazy")["Alice"] == 31
    assert is_readable(graph)


def test_a_tag_keeps_exactly_its_commit(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 37)]
    graph.tag("v1", commits[2])
    graph.cleanup(**NOW)
    assert [is_gone(graph, commit) for commit in commits] == [True, True, False, True, True, False]
    assert alice_at(graph, "v1") == 33
    graph.delete_tag("v1")
    graph.cleanup(**NOW)
    assert is_gone(graph, commits[2])


def test_forks_are_cleaned_up_too_and_a_fork_of_a_fork_stays_whole(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("one")
    commits = [age(graph, value, "one") for value in range(31, 35)]
    graph.branch("one").create_branch("two")
    commits += [age(graph, value, "two") for value in range(41, 45)]
    more = [age(graph, value, "one") for value in range(35, 38)]
    graph.cleanup(**NOW)
    assert [is_gone(graph, commit) for commit in commits] == [True] * 3 + [False] + [True] * 3 + [False]
    assert [is_gone(graph, commit) for commit in more] == [True, True, False]
    assert (people(graph, "one")["Alice"], people(graph, "two")["Alice"]) == (37, 44)
    assert is_readable(graph)


def test_a_merge_finds_what_it_needs(tmp_path: Path) -> None:
    """The base of a later merge is what main showed when it was last merged into the branch: no snapshot shows that."""
    results = []
    for clean in (False, True):
        graph = fx(tmp_path / f"g{clean}")
        draft = graph.create_branch("draft")
        draft.mutate('query q() { update Person set { age: 1 } where name = "Bob" }')
        age(graph, 40)
        graph.merge("main", into="draft")
        age(graph, 41)
        draft.mutate('query q() { update Person set { age: 2 } where name = "Diana" }')
        for value in range(42, 46):
            age(graph, value)
        if clean:
            assert graph.cleanup(**NOW).versions > 0
        graph.merge("draft")
        results.append(people(graph))
        assert is_readable(graph)
    assert results[0] == results[1] == {"Alice": 45, "Bob": 1, "Charlie": 35, "Diana": 2}


def test_branches_that_both_merged_a_deleted_one_still_merge(tmp_path: Path) -> None:
    results = []
    for clean in (False, True):
        graph = fx(tmp_path / f"g{clean}")
        for name in ("one", "two", "shared"):
            graph.create_branch(name)
        age(graph, 77, "shared")
        for name in ("one", "two"):
            graph.branch(name).mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}')
            graph.merge("shared", into=name)
        graph.delete_branch("shared")
        for name in ("one", "two"):
            graph.branch(name).mutate(f'query q() {{ insert Person {{ name: "{name}2" }} }}')
        age(graph, 78, "one")
        if clean:
            graph.cleanup(**NOW)
        graph.merge("one", into="two")
        results.append(people(graph, "two"))
        assert is_readable(graph)
    assert results[0] == results[1]
    assert results[0]["Alice"] == 78


# --- forks that nobody needs ------------------------------------------------------------------------------


def test_tx_B15_a_forged_fork_goes_and_legitimate_ones_stay(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("real")
    age(graph, 31, "real")
    storage, where = graph._storage, PERSON.location
    storage.lineages.create(where, "ghost", None, 2)
    storage.lineages.create(where, "spook", "ghost", 2)
    preview = graph.cleanup(keep_versions=100)
    assert preview.tables[1].forks == ("spook", "ghost")
    assert storage.lineages.names(where) == ["ghost", "real", "spook"]
    report = graph.cleanup(keep_versions=100, confirm=True)
    assert storage.lineages.names(where) == ["real"]
    assert report == type(report)(True, report.policy, preview.tables, preview.manifest_files, preview.manifest_bytes)
    assert report.bytes > 0
    assert people(graph, "real")["Alice"] == 31
    assert is_readable(graph)


@pytest.mark.parametrize("left", ["a ref without content", "a ref without a version"])
def test_what_a_power_cut_left_of_a_fork_is_removed_and_old_versions_too(left: str, tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for n in range(3):
        age(graph, 31 + n)
    graph.create_branch("draft")
    storage, where = graph._storage, PERSON.location
    pin = next(pin for pin in storage.manifest.load().state.pins() if pin.location == where)
    storage.lineages.create(where, "draft", None, pin.version)
    leave_unmade(tmp_path / "g", where, "draft", left)
    assert not graph.cleanup(keep_versions=1, grace=0).confirmed
    assert storage.lineages.names(where) == ["draft"], "a preview changes nothing"
    assert graph.cleanup(**NOW).failed == ()
    assert len(versions(graph)) == 1
    assert storage.lineages.names(where) == []
    age(graph, 40, "draft")
    assert people(graph, "draft")["Alice"] == 40
    assert is_readable(graph)


def test_tx_C40_forks_that_the_deletion_of_a_branch_left_are_reclaimed(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("feature")
    age(graph, 31, "feature")

    def fail() -> None:
        raise OmniGraphError("the disk is busy")

    with armed(Point.BRANCH_FORKS_DELETING, fail):
        graph.delete_branch("feature")
    assert graph.branches() == ["main"], "the deletion succeeded"
    assert graph._storage.lineages.names(PERSON.location) == ["feature"]
    assert graph.cleanup(keep_versions=1, confirm=True).tables[1].forks == ("feature",)
    assert graph._storage.lineages.names(PERSON.location) == []
    assert graph.verify().findings == ()


def test_the_fork_of_a_branch_that_a_tag_shows_stays(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    draft = graph.create_branch("draft")
    draft.tag("kept", age(graph, 31, "draft"))
    for value in range(32, 36):
        age(graph, value, "draft")
    graph.cleanup(**NOW)
    assert alice_at(graph, "kept") == 31
    assert len(versions(graph, branch="draft")) == 2


# --- what stands against it -------------------------------------------------------------------------------


def test_tx_O09_a_branch_that_cannot_be_read_stands_against_everything(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("hurt")
    age(graph, 30, "hurt")
    for value in range(31, 36):
        age(graph, value)
    pin = next(pin for pin in graph.snapshot("hurt").tables if pin.lineage == "hurt")
    for file in (tmp_path / "g" / pin.path / "_versions").glob("*.manifest"):
        file.unlink()
    before = files(graph)
    for reader in (graph, Graph.open(graph.uri)):
        with pytest.raises(BranchUnreadable, match="hurt"):
            reader.cleanup(**NOW)
    assert files(graph) == before


@pytest.mark.parametrize("operation", ["cleanup", "repair", "optimize"])
def test_tx_O10_C38_what_cannot_be_resolved_stands_against_it(tmp_path: Path, operation: str) -> None:
    graph = fx(tmp_path / "g")
    age(graph, 31)
    sidecar = tmp_path / "g" / "__recovery" / "01JZZZZZZZZZZZZZZZZZZZZZZZ.json"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_text(json.dumps({"schema_version": 3, "operation_id": sidecar.stem}))
    before = files(graph)
    options = {"cleanup": NOW, "repair": {"confirm": True}, "optimize": {}}[operation]
    with pytest.raises(RecoveryRequired):
        getattr(graph, operation)(**options)
    assert files(graph) == before


def test_tx_O10_an_interrupted_write_stands_against_cleanup_and_repair_until_it_is_resolved(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for value in range(31, 36):
        age(graph, value)
    interrupted(graph._storage, commits=(PERSON,))
    before = files(graph)
    for attempt in (lambda: graph.cleanup(**NOW), lambda: graph.repair(confirm=True)):
        with pytest.raises(RecoveryRequired):
            attempt()
    assert files(graph) == before
    assert graph.cleanup(keep_versions=1, grace=0).versions > 0, "a preview takes nothing away"
    graph.optimize()  # a write: it resolves what is on its branch first
    assert graph.pending_recoveries() == []
    graph.cleanup(**NOW)
    assert is_readable(graph)


def test_a_schema_apply_stands_against_it(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph._storage.lineages.create(MANIFEST, SCHEMA_APPLY_LOCK, None, graph.snapshot().version)
    with pytest.raises(SchemaApplyInProgress):
        graph.cleanup(**NOW)


def test_a_table_that_another_program_moved_on_stands_against_it(tmp_path: Path) -> None:
    import lance

    graph = fx(tmp_path / "g")
    age(graph, 31)
    lance.dataset(f"{graph.uri}/{PERSON.location}").delete("name = 'Bob'")
    before = files(graph)
    with pytest.raises(TableDrift) as caught:
        graph.cleanup(**NOW)
    assert "omnigraph repair" in str(caught.value)
    assert files(graph) == before


def test_a_graph_that_is_open_for_reading_can_be_looked_at_alone(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for value in range(31, 36):
        age(graph, value)
    reader = Graph.open(graph.uri, read_only=True)
    before = files(graph)
    assert reader.cleanup(keep_versions=1, grace=0).versions == 9
    with pytest.raises(OpenedReadOnly):
        reader.cleanup(**NOW)
    assert files(graph) == before


def test_tx_O20_an_export_beside_a_cleanup_tells_everything(tmp_path: Path) -> None:
    """Readers register nothing and nobody has to wait: the grace time keeps what the export began with."""
    graph = fx(tmp_path / "g")
    expected = list(graph.export())
    export = Graph.open(graph.uri, read_only=True).export()
    lines = [next(iter(export))]
    for value in range(31, 36):
        age(graph, value)
    graph.optimize()
    graph.cleanup(keep_versions=1, confirm=True)
    assert [*lines, *export] == expected


# --- what it tells ----------------------------------------------------------------------------------------


def test_the_preview_is_what_is_removed_then(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("draft")
    for value in range(31, 41):
        age(graph, value, "draft" if value % 3 == 0 else None)
    graph.optimize()
    before, size = files(graph), sum(path.stat().st_size for path in (tmp_path / "g").rglob("*") if path.is_file())
    preview = graph.cleanup(keep_versions=1, grace=0)
    assert files(graph) == before
    told: list[Progress] = []
    report = graph.cleanup(**NOW, progress=told.append)
    assert report.tables == preview.tables
    after = files(graph)
    assert len(before - after) == report.files
    left = sum(path.stat().st_size for path in (tmp_path / "g").rglob("*") if path.is_file())
    assert size - left == report.bytes
    assert [table.type for table in report.tables] == ["node:Company", "node:Person", "edge:Knows", "edge:WorksAt"]
    assert told[-1].is_done
    assert told[-1].bytes == report.bytes - report.manifest_bytes
    assert graph.cleanup(**NOW).files == 0, "nothing is left to do"


def test_old_transaction_files_of_the_manifest_go_and_it_serves_as_before(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("draft")
    for value in range(31, 36):
        age(graph, value)
        age(graph, value, "draft")
    commits = [commit.commit_id for commit in graph.commits()]
    report = graph.cleanup(**NOW)
    assert report.manifest_files >= 8
    again = Graph.open(graph.uri)
    assert [commit.commit_id for commit in again.commits()] == commits
    age(again, 50)
    again.merge("draft", on_conflict="theirs")
    assert is_readable(again)


def test_a_table_that_fails_is_told_and_the_others_are_done(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    for number in range(5):
        graph.mutate(f'query q() {{ insert Person {{ name: "p{number}" }} insert Company {{ name: "c{number}" }} }}')

    def fail() -> None:
        raise OmniGraphError("the disk is busy")

    with armed(Point.VERSIONS_REMOVED, fail):
        report = graph.cleanup(**NOW)
    assert len(report.failed) == 1
    assert report.failed[0].error == "the disk is busy"
    assert report.versions > 0
    assert is_readable(graph)
    assert graph.cleanup(**NOW).failed == ()


# --- names that are made meanwhile ------------------------------------------------------------------------


@contextmanager
def whose_leases_everybody_lost(graph: Graph) -> Iterator[Graph]:
    """Another handle that gets every lease, as after the one of a paused process has expired."""
    other = Graph.open(graph.uri)

    class Held:
        def check(self) -> None: ...

    other._storage.leases.hold = lambda *_names, **_options: nullcontext(Held())  # type: ignore[method-assign,assignment]
    yield other


NAMES = {
    "tag": lambda graph, commit: graph.tag("late", commit),
    "branch": lambda graph, commit: graph.create_branch("late", source=commit),
}


def is_going(graph: Graph) -> bool:
    """Whether versions of people are written down to go."""
    return any(each.removal.path == PERSON.location for each in graph._storage.condemned.all())


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    "point", [Point.CLEANUP_CONDEMNED, Point.CLEANUP_DECIDED, Point.VERSIONS_REMOVED, Point.CLEANUP_TABLE], ids=str
)
def test_a_name_for_what_is_going_is_refused_and_leaves_nothing(tmp_path: Path, point: Point, kind: str) -> None:
    """Also by whoever took over the lease of a cleanup that was paused for too long."""
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    with whose_leases_everybody_lost(graph) as other:
        refused: list[Exception] = []

        def name_it() -> None:
            if is_going(graph):
                with pytest.raises(HistoricalVersionReclaimed) as caught:
                    NAMES[kind](other, commits[2])
                refused.append(caught.value)

        with armed(point, name_it, visit=None):
            graph.cleanup(**NOW)
    assert refused
    assert graph.branches() == ["main"]
    assert graph.tags() == []
    assert [is_gone(graph, commit) for commit in commits] == [True] * 4 + [False]
    assert is_readable(graph)


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_for_what_is_not_going_yet_is_kept(tmp_path: Path, kind: str) -> None:
    """It is made while another table is cleaned up, by whoever took over the lease."""
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    with whose_leases_everybody_lost(graph) as other:

        def name_it() -> None:
            assert not is_going(graph)
            NAMES[kind](other, commits[2])

        with armed(Point.CLEANUP_CONDEMNED, name_it, visit=1):
            graph.cleanup(**NOW)
    assert [is_gone(graph, commit) for commit in commits[:3]] == [True, True, False]
    assert is_readable(graph)
    if kind == "branch":
        assert people(graph, "late")["Alice"] == 33


def test_a_tag_that_is_moved_to_what_is_going_stays_where_it_was(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    graph.tag("mark", commits[-1])
    graph.cleanup(**NOW)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.tag("mark", commits[0], force=True)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.create_branch("old", source=commits[0])
    assert [tag.commit_id for tag in graph.tags()] == [commits[-1]]


def test_a_name_that_was_there_before_the_versions_were_written_down_keeps_them(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    commits = [age(graph, value) for value in range(31, 36)]
    with whose_leases_everybody_lost(graph) as other:
        original = graph._storage.condemned.add

        def add(removal: Any) -> Any:
            if not graph.tags():
                other.tag("early", commits[2])
            return original(removal)

        graph._storage.condemned.add = add  # type: ignore[method-assign]
        graph.cleanup(**NOW)
    assert alice_at(graph, "early") == 33
    assert [is_gone(graph, commit) for commit in commits] == [True, True, False, True, False]
    assert is_readable(graph)


# --- readers and other cleanups ---------------------------------------------------------------------------


def test_a_reader_that_comes_back_after_the_grace_time_learns_that_its_state_is_gone(tmp_path: Path) -> None:
    """It has opened the tables before; their files go meanwhile. That is not damage."""
    graph = fx(tmp_path / "g")
    commit = age(graph, 31)
    reader = Graph.open(graph.uri, read_only=True)
    text = "query q() { match { $p: Person } return { $p.name, $p.age } }"
    assert len(reader.query(text, commit=commit).rows()) == 4
    lines = reader.at(commit).export()
    age(graph, 32)
    graph.optimize()
    graph.cleanup(**NOW)
    resident_cache().clear()
    for read in (
        lambda: reader.query(text, commit=commit).rows(),
        lambda: list(lines),
        lambda: reader.diff(commit, "main").stats,
    ):
        with pytest.raises(HistoricalVersionReclaimed):
            read()
    assert len(reader.query(text).rows()) == 4, "what is in memory of the old state is no hindrance"
    walk = "query q() { match { $p: Person $p knows $f } return { $p.age, $f.age } }"
    assert len(reader.query(walk).rows()) == 3


def test_a_handle_that_has_old_versions_in_memory_reads_and_writes_on(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    walk = "query q() { match { $p: Person $p knows $f } return { $p.name, $f.name } }"
    assert len(graph.query(walk).rows()) == 3
    other = Graph.open(graph.uri)
    other.mutate('query q() { insert Person { name: "Eve" } insert Knows { from: "Eve", to: "Bob" } }')
    other.mutate('query q() { delete Person where name = "Diana" }')
    other.optimize()
    other.cleanup(**NOW)
    assert len(graph.query(walk).rows()) == 3
    graph.mutate('query q() { insert Knows { from: "Eve", to: "Alice" } }')
    graph.mutate('query q() { update Person set { age: 51 } where name = "Eve" }')
    graph.load([b'{"type": "Person", "data": {"name": "Bob", "age": 3}}'], mode="merge")
    assert len(graph.query(walk).rows()) == 4
    assert people(graph) == {"Alice": 30, "Bob": 3, "Charlie": 35, "Eve": 51}
    assert is_readable(graph)


def test_two_cleanups_at_once_remove_each_version_once_and_harm_nobody(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("draft")
    for value in range(31, 51):
        age(graph, value, "draft" if value % 2 else None)
    graph.optimize()
    with ThreadPoolExecutor(3) as pool:
        handles = [Graph.open(graph.uri) for _ in range(3)]
        reports = [each.result() for each in [pool.submit(lambda one: one.cleanup(**NOW), one) for one in handles]]
    assert [report.failed for report in reports] == [(), (), ()]
    assert max(report.versions for report in reports) > 0
    assert (people(graph)["Alice"], people(graph, "draft")["Alice"]) == (50, 49)
    assert is_readable(graph)
    assert not list((tmp_path / "g" / "__cleanup").glob("*"))


# --- a death on the way -----------------------------------------------------------------------------------

POINTS = [
    Point.CLEANUP_FORK,
    Point.CLEANUP_CONDEMNED,
    Point.CLEANUP_DECIDED,
    Point.VERSIONS_REMOVED,
    Point.CLEANUP_TABLE,
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_cleanup_that_fails_half_way_leaves_every_version_whole_or_gone_and_the_next_one_ends_it(
    tmp_path: Path, point: Point
) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("draft")
    for value in range(31, 37):
        age(graph, value)
        age(graph, value, "draft")
    graph.optimize()
    graph._storage.lineages.create(PERSON.location, "ghost", None, 3)
    before = people(graph), people(graph, "draft")
    with armed(point), pytest.raises(InjectedFault):
        graph.cleanup(**NOW)
    again = Graph.open(graph.uri)
    assert (people(again), people(again, "draft")) == before
    assert is_readable(again)
    again.cleanup(**NOW)
    assert not list((tmp_path / "g" / "__cleanup").glob("*"))
    assert is_readable(again)
    assert again.cleanup(**NOW).files == 0
    assert nothing_is_left(again)


@pytest.mark.parametrize(
    "point", [str(Point.CLEANUP_DECIDED), f"{Point.VERSIONS_REMOVED}=kill@2", str(Point.CLEANUP_TABLE)]
)
def test_a_cleanup_that_is_killed_leaves_a_whole_graph_and_the_next_one_ends_it(tmp_path: Path, point: str) -> None:
    graph = fx(tmp_path / "g")
    graph.create_branch("draft")
    for value in range(31, 37):
        age(graph, value)
        age(graph, value, "draft")
    graph.optimize()
    before = people(graph), people(graph, "draft")
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": point if "=" in point else f"{point}=kill"}
    done = subprocess.run([sys.executable, str(DYING), graph.uri, "cleanup"], env=environment, check=False)
    assert done.returncode == -9
    again = Graph.open(graph.uri)
    assert (people(again), people(again, "draft")) == before
    assert is_readable(again)
    age(again, 50)
    again.cleanup(**NOW)
    assert is_readable(again)
    assert not list((tmp_path / "g" / "__cleanup").glob("*"))
    assert nothing_is_left(again)
