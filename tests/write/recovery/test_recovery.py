"""Recovery of our own interrupted writes: forward by proof, back without a trace in the data, never over a stranger.

Each test stops a write somewhere, then recovers, and looks at the graph with fresh handles.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.history import create_branch, delete_branch
from omnigraph.model.errors import OpenedReadOnly, RecoveryRequired, SchemaApplyInProgress
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK
from omnigraph.storage import MANIFEST, GraphStorage, open_storage
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.manifest import CommitIdentity, PublishPlan, publish
from omnigraph.storage.restore import lineage_head, lineage_versions, version_row
from omnigraph.write.evolution import unlock_schema
from omnigraph.write.recovery.recover import pending, recover_branch, recover_graph, recoveries, resolve
from omnigraph.write.recovery.schema_apply import LOCK_NOTE
from omnigraph.write.recovery.sidecars import Sidecar, SidecarUnreadable, sidecar_path, write_sidecar
from support.graphs.self_check import check_layout
from support.processes.interrupted_writes import BOTH, KNOWS, PERSON, SCHEMA, content, interrupted, move_on, publish_of
from support.processes.writers import write_pair

PROGRAM = Path(__file__).parents[2] / "support" / "processes" / "interrupted_writes.py"
WITHOUT_EVE = {"edge:Knows": ["Ada"], "node:Person": ["Ada"]}
WITH_EVE = {"edge:Knows": ["Ada", "Eve"], "node:Person": ["Ada", "Eve"]}
NoFence: Callable[[], None] = lambda: None  # noqa: E731


@pytest.fixture
def storage(tmp_path: Path) -> GraphStorage:
    """A graph with one commit of Ada on main, and a branch `feature` that has touched nothing."""
    uri = str(tmp_path / "g")
    graph = Graph.init(uri, SCHEMA, durability="os")
    storage = open_storage(uri, durability="os")
    write_pair(storage, name="Ada")
    graph.create_branch("feature")
    return storage


def fresh(storage: GraphStorage) -> GraphStorage:
    return open_storage(storage.root.uri, durability="os")


def recovered(storage: GraphStorage) -> list[str]:
    """The outcomes of a recovery, after which the graph is in order and nothing is left to do."""
    outcomes = [resolution.outcome for resolution in recover_graph(fresh(storage))]
    again = fresh(storage)
    assert pending(again) == []
    assert recover_graph(again) == []
    for branch in again.manifest.branches():
        for pin in again.manifest.load(branch).state.pins():
            if branch == (pin.lineage or MAIN):
                assert again.tables.head_version(pin) == pin.version, "the newest version is the published one"
    check_layout(storage.root.uri)
    return outcomes


def kinds(storage: GraphStorage) -> list[str]:
    return [record.recovery_kind for record in recoveries(fresh(storage))]


def history(storage: GraphStorage, branch: str = MAIN) -> list[str | None]:
    """The actors of the commits, newest first."""
    return [commit.actor_id for commit in fresh(storage).manifest.load(branch).state.history()]


# --- forward, back, neither -------------------------------------------------------------------------------


@pytest.mark.parametrize("branch", [MAIN, "feature"], ids=["main", "tx-C13"])
def test_a_complete_write_is_published_as_the_commit_that_it_minted(storage: GraphStorage, branch: str) -> None:
    sidecar = interrupted(storage, branch=branch)
    assert content(fresh(storage), branch) == WITHOUT_EVE
    assert recovered(storage) == ["rolled_forward"]
    assert content(fresh(storage), branch) == WITH_EVE
    head = fresh(storage).manifest.load(branch).state.head
    assert sidecar.identity is not None
    assert head is not None
    assert (head.commit_id, head.created_at, head.actor_id, head.py) == (
        sidecar.identity.commit_id,
        sidecar.identity.created_at,
        "act-eve",
        {"kind": "mutation"},
    )
    (record,) = recoveries(fresh(storage))
    assert (record.recovery_kind, record.recovery_for_actor, record.graph_commit_id) == (
        "RolledForward",
        "act-eve",
        head.commit_id,
    )
    assert [(one.table_key, one.from_version, one.to_version) for one in record.outcomes] == [
        (pin.table_key, pin.expected_version, pin.post_commit_pin) for pin in sidecar.tables
    ]
    if branch != MAIN:
        assert content(fresh(storage)) == WITHOUT_EVE, "main is untouched"


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
@pytest.mark.parametrize("branch", [MAIN, "feature"])
@pytest.mark.parametrize("commits", [[PERSON], [KNOWS]], ids=["first", "second"])
def test_tx_C02_half_a_write_is_taken_back_and_can_be_done_again(
    storage: GraphStorage, branch: str, commits: list[object], exact: bool
) -> None:
    interrupted(storage, branch=branch, commits=commits, exact=exact)  # type: ignore[arg-type]
    assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage), branch) == WITHOUT_EVE
    assert history(storage, branch)[0] == "omnigraph:recovery"
    assert kinds(storage) == ["RolledBack"]
    write_pair(fresh(storage), branch, "Eve")
    assert content(fresh(storage), branch) == WITH_EVE


def test_a_fork_that_was_cut_for_nothing_is_removed_with_the_write(storage: GraphStorage) -> None:
    interrupted(storage, branch="feature", commits=[PERSON])
    assert recovered(storage) == ["rolled_back"]
    again = fresh(storage)
    assert again.lineages.names(PERSON.location) == ["feature"], "restored and published"
    assert again.lineages.names(KNOWS.location) == [], "never written"


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
@pytest.mark.parametrize("branch", [MAIN, "feature"])
def test_tx_C03_a_write_without_effect_leaves_nothing_at_all(storage: GraphStorage, branch: str, exact: bool) -> None:
    before = history(storage, branch)
    interrupted(storage, branch=branch, commits=[], exact=exact)
    assert recovered(storage) == ["effect_free"]
    assert (content(fresh(storage), branch), history(storage, branch), kinds(storage)) == (WITHOUT_EVE, before, [])
    assert fresh(storage).lineages.names(PERSON.location) == []
    write_pair(fresh(storage), branch, "Eve")
    assert content(fresh(storage), branch) == WITH_EVE


@pytest.mark.parametrize("exact", [True, False], ids=["tx-C45", "tx-C12"])
def test_a_write_that_is_visible_is_recorded_and_not_published_again(storage: GraphStorage, exact: bool) -> None:
    sidecar = interrupted(storage, exact=exact)
    commit = publish_of(storage, sidecar).commit
    write_pair(storage, name="Zoe")
    before = history(storage)
    assert recovered(storage) == ["already_visible"]
    assert history(storage) == before
    (record,) = recoveries(fresh(storage))
    assert (record.recovery_kind, record.graph_commit_id) == ("RolledForward", commit.commit_id)


def test_a_write_whose_head_moved_is_taken_back_and_the_winner_stays(storage: GraphStorage) -> None:
    interrupted(storage)
    publish(storage.manifest, PublishPlan(identity=CommitIdentity(actor_id="winner")))
    assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage)) == WITHOUT_EVE
    assert history(storage)[:2] == ["omnigraph:recovery", "winner"]


def test_a_plain_write_is_published_by_recovery_itself(storage: GraphStorage) -> None:
    interrupted(storage, exact=False)
    assert recovered(storage) == ["rolled_forward"]
    assert content(fresh(storage)) == WITH_EVE
    assert history(storage)[0] == "omnigraph:recovery"


def test_tx_C11_a_plain_write_that_landed_elsewhere_than_planned_is_taken_back(storage: GraphStorage) -> None:
    sidecar = interrupted(storage, exact=False)
    wrong = tuple(replace(pin, post_commit_pin=pin.post_commit_pin + 3) for pin in sidecar.tables)
    write_sidecar(storage.objects, replace(sidecar, tables=wrong))
    assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage)) == WITHOUT_EVE


def test_index_commits_above_the_planned_one_are_taken_along(storage: GraphStorage) -> None:
    interrupted(storage, exact=False)
    storage.handles.open_for_change(PERSON.location).create_scalar_index("id", "BTREE")
    assert recovered(storage) == ["rolled_forward"]
    assert content(fresh(storage)) == WITH_EVE


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
def test_tx_C16_two_writes_of_one_table_are_resolved_in_order(storage: GraphStorage, exact: bool) -> None:
    publish_of(storage, interrupted(storage, name="Bob"))
    interrupted(storage, name="Eve", exact=exact)
    assert recovered(storage) == ["already_visible", "rolled_forward"]
    assert content(fresh(storage))["node:Person"] == ["Ada", "Bob", "Eve"]


# --- never --------------------------------------------------------------------------------------------------


def append_behind_our_back(storage: GraphStorage, name: str = "Mallory") -> None:
    handle = storage.handles.open_for_change(PERSON.location)
    handle.insert(pa.table({"id": [name], "age": [1], "name": [name]}, schema=handle.schema))


@pytest.mark.parametrize("commits", [BOTH, [KNOWS], []], ids=["above-ours", "instead-of-ours", "no-effect"])
def test_a_foreign_commit_is_neither_adopted_nor_covered(storage: GraphStorage, commits: list[object]) -> None:
    sidecar = interrupted(storage, commits=commits)  # type: ignore[arg-type]
    append_behind_our_back(storage)
    head = lineage_head(storage, PERSON.location, None)
    for _ in range(2):
        with pytest.raises(RecoveryRequired, match="was not made by this write") as caught:
            recover_graph(fresh(storage))
        assert caught.value.operation_id == sidecar.operation_id
    again = fresh(storage)
    assert [one.operation_id for one in pending(again)] == [sidecar.operation_id]
    assert lineage_head(again, PERSON.location, None) == head
    assert content(again) == WITHOUT_EVE


@pytest.mark.parametrize("exact", [True, False], ids=["tx-C19", "tx-C19-plain"])
def test_a_graph_that_shows_more_than_a_table_has_stops_recovery(storage: GraphStorage, exact: bool) -> None:
    sidecar = interrupted(storage, commits=[], exact=exact)
    pin = next(pin for pin in storage.manifest.load().state.pins() if pin.table_key == PERSON)
    row = version_row(storage, str(PERSON), PERSON.location, None, pin.version)
    forged = replace(row, table_version=pin.version + 5)
    publish(storage.manifest, PublishPlan(changes=(forged,), identity=CommitIdentity()))
    with pytest.raises(RecoveryRequired, match="versions of the table are missing"):
        recover_graph(fresh(storage))
    assert [one.operation_id for one in pending(storage)] == [sidecar.operation_id]


@pytest.mark.parametrize("text", [b'{"schema_version": 3}', b"no json"], ids=["tx-C09", "tx-C10"])
def test_a_file_that_cannot_be_read_stops_recovery_and_not_reading(storage: GraphStorage, text: bytes) -> None:
    path = sidecar_path("01JZ3V7C9J8Q2M4T6W8Y0A1B2C")
    storage.objects.write(path, text)
    with pytest.raises(SidecarUnreadable):
        recover_graph(fresh(storage))
    assert storage.objects.exists(path)
    assert Graph.open(storage.root.uri, read_only=True).snapshot().tables


def test_a_sidecar_of_another_table_path_is_refused(storage: GraphStorage) -> None:
    sidecar = interrupted(storage)
    elsewhere = tuple(replace(pin, table_path="/elsewhere/nodes/0") for pin in sidecar.tables)
    write_sidecar(storage.objects, replace(sidecar, tables=elsewhere))
    with pytest.raises(RecoveryRequired, match="/elsewhere/nodes/0"):
        recover_graph(fresh(storage))


def test_recovery_through_a_read_only_handle_is_refused(storage: GraphStorage) -> None:
    interrupted(storage)
    with pytest.raises(OpenedReadOnly):
        recover_graph(open_storage(storage.root.uri, read_only=True))


def test_a_live_writer_is_never_touched_and_who_opens_the_graph_does_not_wait_for_it(
    storage: GraphStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.write.recovery.recover.LEASE_WAIT_S", 3600)  # for longer than a test may take
    with storage.leases.hold(MAIN):
        interrupted(storage, commits=[PERSON])
        assert recover_graph(fresh(storage)) == []
        Graph.open(storage.root.uri)
        assert len(pending(storage)) == 1
    assert recovered(storage) == ["rolled_back"]


# --- branches that are gone -----------------------------------------------------------------------------------


def orphan(storage: GraphStorage) -> Sidecar:
    sidecar = interrupted(storage, branch="feature")
    delete_branch(fresh(storage), "feature")
    return sidecar


def test_tx_C14_the_write_of_a_deleted_branch_is_discarded_once(storage: GraphStorage) -> None:
    orphan(storage)
    assert recovered(storage) == ["discarded"]
    assert (kinds(storage), history(storage)[0]) == (["OrphanedBranchDiscarded"], "omnigraph:recovery")
    assert content(fresh(storage)) == WITHOUT_EVE


def test_tx_C14_a_writer_of_main_discards_it_on_the_way(storage: GraphStorage) -> None:
    orphan(storage)
    with storage.leases.hold(MAIN) as lease:
        (resolution,) = recover_branch(storage, MAIN, lease.check, sidecars=pending(storage))
    assert resolution.outcome == "discarded"
    write_pair(fresh(storage), name="Eve")
    assert content(fresh(storage)) == WITH_EVE


def test_tx_C15_a_discard_that_could_not_remove_its_file_is_recorded_once(storage: GraphStorage) -> None:
    orphan(storage)
    with armed(Point.SIDECAR_DELETE), pytest.raises(InjectedFault):
        recover_graph(storage)
    commits = history(storage)
    assert recovered(storage) == ["discarded"]
    assert (kinds(storage), history(storage)) == (["OrphanedBranchDiscarded"], commits)


def test_the_write_of_a_branch_is_not_taken_for_that_of_its_namesake(storage: GraphStorage) -> None:
    orphan(storage)
    create_branch(fresh(storage), "feature")
    assert recovered(storage) == ["discarded"]
    assert content(fresh(storage), "feature") == WITHOUT_EVE


# --- deaths on the way ----------------------------------------------------------------------------------------

# how the write stopped → the place where its recovery dies
DEATHS = {
    "back": (
        Point.SIDECAR_LIST,
        Point.TABLES_RESTORED,
        Point.PUBLISH_BEFORE,
        Point.PUBLISH_AFTER,
        Point.RECORD_AUDIT,
        Point.SIDECAR_DELETE,
    ),
    "forward": (
        Point.ROLL_FORWARD_PUBLISH,
        Point.PUBLISH_BEFORE,
        Point.PUBLISH_AFTER,
        Point.RECORD_AUDIT,
        Point.SIDECAR_DELETE,
    ),
    "discard": (Point.PUBLISH_AFTER, Point.ORPHAN_AUDIT, Point.SIDECAR_DELETE),
}
ROWS = [(way, point) for way, points in DEATHS.items() for point in points]


def stop(storage: GraphStorage, way: str, exact: bool) -> None:
    if way == "discard":
        orphan(storage)
    else:
        interrupted(storage, commits=[PERSON] if way == "back" else BOTH, exact=exact)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
@pytest.mark.parametrize(("way", "point"), ROWS, ids=[f"{way}-{point}" for way, point in ROWS])
def test_recovery_that_is_killed_and_run_again_ends_like_one_that_was_not(
    storage: GraphStorage, way: str, point: Point, exact: bool
) -> None:
    """tx-C17 and tx-C18 among them: the audit row is missing; the tables are restored and not published."""
    stop(storage, way, exact)
    environment = os.environ | {"OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    command = [sys.executable, str(PROGRAM), storage.root.uri]
    assert subprocess.run(command, env=environment, check=False).returncode == -9, "the place was reached"
    recovered(storage)
    expected = {"back": "RolledBack", "forward": "RolledForward", "discard": "OrphanedBranchDiscarded"}[way]
    assert kinds(storage) == [expected], "exactly one row"
    assert content(fresh(storage)) == (WITH_EVE if way == "forward" else WITHOUT_EVE)
    ours = "act-eve" if way == "forward" and exact else "omnigraph:recovery"
    assert history(storage) == [ours, "Ada", None], "exactly one commit"
    head = lineage_head(storage, PERSON.location, None)
    assert head is not None
    restores = [one for one in lineage_versions(storage, PERSON.location, None, 2, head) if one.restores is not None]
    assert len(restores) == (1 if way == "back" else 0), "a restore is recognised, not repeated"


def test_every_place_of_recovery_has_its_death() -> None:
    """A writer dies at the confirmation of its merge: that is among the tests of merges."""
    places = {point for point in Point if point.startswith("recovery.")} - {Point.SIDECAR_CONFIRM}
    assert places == {point for point in places for _, died in ROWS if died == point} | {Point.SIDECAR_WRITE}


def test_a_writer_killed_before_its_sidecar_leaves_nothing_to_recover(storage: GraphStorage) -> None:
    with armed(Point.SIDECAR_WRITE), pytest.raises(InjectedFault):
        interrupted(storage)
    assert recovered(storage) == []
    assert content(fresh(storage)) == WITHOUT_EVE


def test_tx_C20_a_roll_forward_that_was_overtaken_finds_its_goal_reached(storage: GraphStorage) -> None:
    sidecar = interrupted(storage, exact=False)
    other = fresh(storage)
    with armed(Point.ROLL_FORWARD_PUBLISH, lambda: publish_of(other, sidecar) and None):
        assert [one.outcome for one in recover_graph(fresh(storage))] == ["already_visible"]
    assert recovered(storage) == []
    assert (kinds(storage), history(storage)) == (["RolledForward"], ["act-eve", "Ada", None])


def test_a_roll_forward_that_lost_its_head_on_the_way_is_taken_back(storage: GraphStorage) -> None:
    interrupted(storage)
    other = fresh(storage)
    plan = PublishPlan(identity=CommitIdentity(actor_id="winner"))
    with armed(Point.ROLL_FORWARD_PUBLISH, lambda: publish(other.manifest, plan) and None):
        assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage)) == WITHOUT_EVE


# --- other writers ----------------------------------------------------------------------------------------------


def confirmed(storage: GraphStorage, sidecar: Sidecar) -> None:
    tables = tuple(replace(pin, confirmed_version=pin.post_commit_pin) for pin in sidecar.tables)
    write_sidecar(storage.objects, replace(sidecar, tables=tables))


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
def test_tx_C23_a_merge_that_was_not_confirmed_is_taken_back(storage: GraphStorage, exact: bool) -> None:
    interrupted(storage, kind="BranchMerge", exact=exact, merge_source_commit_id="01JZ3V7C9J8Q2M4T6W8Y0A1B2C")
    assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage)) == WITHOUT_EVE


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "plain"])
@pytest.mark.parametrize("branch", [MAIN, "feature"], ids=["tx-C24", "tx-C27"])
def test_a_confirmed_merge_is_published_with_both_parents(storage: GraphStorage, branch: str, exact: bool) -> None:
    source = "01JZ3V7C9J8Q2M4T6W8Y0A1B2C"
    sidecar = interrupted(storage, branch=branch, kind="BranchMerge", exact=exact, merge_source_commit_id=source)
    if sidecar.identity is not None:
        sidecar = replace(sidecar, identity=replace(sidecar.identity, merged_parent_id=source))
    confirmed(storage, sidecar)
    assert recovered(storage) == ["rolled_forward"]
    head = fresh(storage).manifest.load(branch).state.head
    assert head is not None
    assert head.merged_parent_id == source
    assert content(fresh(storage), branch) == WITH_EVE


def test_a_confirmed_merge_into_a_head_that_moved_is_taken_back(storage: GraphStorage) -> None:
    confirmed(storage, interrupted(storage, kind="BranchMerge", exact=False))
    publish(storage.manifest, PublishPlan(identity=CommitIdentity(actor_id="winner")))
    assert recovered(storage) == ["rolled_back"]
    assert history(storage)[:2] == ["omnigraph:recovery", "winner"]


@pytest.mark.parametrize("further", [(), ("Frank",), ("Frank", "Gil")], ids=["by one", "by two", "by three"])
def test_tx_C26_a_merge_of_the_first_form_is_published_at_the_versions_that_its_tables_have(
    storage: GraphStorage, further: tuple[str, ...]
) -> None:
    """It confirms nothing, and a table may have moved by any number of versions: what is there is the merge."""
    source = "01JZ3V7C9J8Q2M4T6W8Y0A1B2C"
    sidecar = interrupted(storage, kind="BranchMerge", exact=False, schema_version=1, merge_source_commit_id=source)
    assert [pin.table_key for pin in sidecar.tables] == ["edge:Knows", "node:Person"]
    for number, name in enumerate(further):
        move_on(storage, sidecar.tables[1].post_commit_pin + number, name)
    assert recovered(storage) == ["rolled_forward"]
    again = fresh(storage)
    assert content(again) == {**WITH_EVE, "node:Person": sorted([*WITH_EVE["node:Person"], *further])}
    head = again.manifest.load(MAIN).state.head
    assert head is not None
    assert (head.actor_id, head.merged_parent_id) == ("omnigraph:recovery", source)
    assert kinds(storage) == ["RolledForward"]
    (record,) = recoveries(again)
    moved = {each.table_key: each.to_version - each.from_version for each in record.outcomes}
    assert moved == {"edge:Knows": 1, "node:Person": 1 + len(further)}


def test_a_merge_of_the_first_form_that_moved_one_of_two_tables_is_taken_back(storage: GraphStorage) -> None:
    interrupted(storage, kind="BranchMerge", exact=False, schema_version=1, commits=[PERSON])
    assert recovered(storage) == ["rolled_back"]
    assert content(fresh(storage)) == WITHOUT_EVE


@pytest.mark.parametrize(
    ("kind", "commits", "outcome"),
    [
        pytest.param("EnsureIndices", BOTH, "rolled_forward", id="tx-C36"),
        pytest.param("Optimize", BOTH, "rolled_forward", id="tx-C37"),
        pytest.param("Optimize", [PERSON], "rolled_back", id="tx-C37-half"),
    ],
)
def test_maintenance_is_published_as_a_whole_or_restored(
    storage: GraphStorage, kind: str, commits: list[object], outcome: str
) -> None:
    interrupted(storage, kind=kind, commits=commits, exact=False)  # type: ignore[arg-type]
    assert recovered(storage) == [outcome]


# --- one branch, one writer -----------------------------------------------------------------------------------------


def test_a_writer_resolves_what_its_branch_needs_and_leaves_the_rest(storage: GraphStorage) -> None:
    interrupted(storage, commits=[PERSON])
    interrupted(storage, branch="feature")
    with storage.leases.hold("feature") as lease:
        (resolution,) = recover_branch(storage, "feature", lease.check, sidecars=pending(storage))
    assert resolution.outcome == "rolled_forward"
    assert [one.branch_name for one in pending(storage)] == [MAIN]
    assert recovered(storage) == ["rolled_back"]


def test_a_sidecar_that_is_finished_while_the_writer_waits_is_left_alone(storage: GraphStorage) -> None:
    sidecar = interrupted(storage)
    storage.objects.delete(sidecar_path(sidecar.operation_id))
    assert recover_branch(storage, MAIN, NoFence, sidecars=[sidecar]) == []


def test_a_writer_resolves_its_own_work_by_its_own_hand(storage: GraphStorage) -> None:
    with storage.leases.hold(MAIN) as lease:
        sidecar = interrupted(storage)
        resolution = resolve(storage, sidecar, lease.check)
    assert resolution.commit is not None
    assert sidecar.identity is not None
    assert resolution.commit.commit_id == sidecar.identity.commit_id
    assert content(fresh(storage)) == WITH_EVE


@pytest.mark.parametrize("branch", [MAIN, "feature"])
def test_a_dead_schema_apply_is_resolved_by_any_writer_and_a_live_one_refuses_it(
    storage: GraphStorage, branch: str
) -> None:
    apply = interrupted(storage, kind="SchemaApply", commits=[], exact=False)
    with storage.leases.hold(graph=True), pytest.raises(SchemaApplyInProgress):
        recover_branch(fresh(storage), branch, NoFence, sidecars=[apply])
    (resolution,) = recover_branch(fresh(storage), branch, NoFence, sidecars=[apply])
    assert resolution.outcome == "effect_free"


def test_a_fence_that_no_longer_holds_stops_the_roll_back_before_any_restore(storage: GraphStorage) -> None:
    sidecar = interrupted(storage, commits=[PERSON])
    head = lineage_head(storage, PERSON.location, None)

    def lost() -> None:
        raise InjectedFault("lease")

    with pytest.raises(InjectedFault):
        resolve(storage, sidecar, lost)
    assert lineage_head(storage, PERSON.location, None) == head
    assert recovered(storage) == ["rolled_back"]


# --- the schema lock ------------------------------------------------------------------------------------------------


def lock(storage: GraphStorage) -> None:
    storage.lineages.create(MANIFEST, SCHEMA_APPLY_LOCK, None, storage.manifest.load().version)


def test_the_lock_of_a_program_without_leases_waits_for_somebody_to_remove_it(storage: GraphStorage) -> None:
    lock(storage)
    recover_graph(fresh(storage))
    assert storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK)
    assert unlock_schema(fresh(storage)).found
    assert not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK)


def test_tx_C35_the_lock_of_our_own_dead_schema_apply_is_released_at_once(storage: GraphStorage) -> None:
    lock(storage)
    storage.objects.write(LOCK_NOTE, b'{"owner": "host:1"}')
    with storage.leases.hold(graph=True):
        recover_graph(fresh(storage))
        assert storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK), "its holder lives"
    recover_graph(fresh(storage))
    assert not storage.lineages.exists(MANIFEST, SCHEMA_APPLY_LOCK)
    assert not storage.objects.exists(LOCK_NOTE)


# --- on an object store ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [BOTH, [PERSON], []], ids=["forward", "back", "drop"])
def test_recovery_works_the_same_on_every_store(new_root: Callable[[str], str], commits: list[object]) -> None:
    uri = new_root("recovery")
    Graph.init(uri, SCHEMA)
    storage = open_storage(uri)
    write_pair(storage, name="Ada")
    interrupted(storage, commits=commits)  # type: ignore[arg-type]
    recover_graph(open_storage(uri))
    again = open_storage(uri)
    assert content(again) == (WITH_EVE if commits == BOTH else WITHOUT_EVE)
    assert pending(again) == []
    assert len(recoveries(again)) == (1 if commits else 0)
