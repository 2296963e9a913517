"""Whatever request to the store fails, however often, and in whatever way: the same promises as on a local disk.

A request that is held until another writer has taken the branch over arrives late, and must not do any harm then.
"""

from __future__ import annotations

import pytest

from faults.object_store import StoreBench
from faults.plan import STORE_WAYS, assert_none, each, sample
from support.faults.fault_operations import OPERATIONS
from support.faults.fault_shim import Call

pytestmark = pytest.mark.s3
TRIED = [
    "insert",
    "delete_several",
    "load_new_branch",
    "create_branch",
    "delete_branch",
    "recover_forward",
    "init",
    "clone_history",
    "export",
    "apply_schema",
]
ROTATING = [
    STORE_WAYS[way] for way in ("held", "refused-often", "lost-often", "lost", "busy-often", "cut-often", "closed")
]
PLACES_EACH = 2


def _is_decisive(call: Call) -> bool:
    """The intent, a table's new version, the publish."""
    return call.name == "PUT" and ("__recovery/" in call.path or call.path.endswith(".manifest"))


def test_a_write_that_arrives_after_its_lease_was_taken_over_harms_nobody(store_bench: StoreBench) -> None:
    assert_none(each(store_bench, OPERATIONS["insert"], STORE_WAYS["held"], _is_decisive))


def test_a_writer_that_was_held_up_while_it_looked_for_leftovers_removes_no_fork_of_another(
    store_bench: StoreBench,
) -> None:
    """The first write of a branch looks whether an earlier one left files. When it sees some, they may be those of
    whoever took the branch over meanwhile."""

    def looks(call: Call) -> bool:
        return call.name == "GET" and "/edges/" in call.path and call.path.endswith("/tree/draft/")

    assert_none(each(store_bench, OPERATIONS["first_on_branch"], STORE_WAYS["held"], looks))


def test_a_writer_that_comes_back_to_the_fork_of_another_is_not_told_of_damage(store_bench: StoreBench) -> None:
    def looks(call: Call) -> bool:
        asks = call.name == "HEAD" and call.path.endswith("/_refs/branches/draft.json")
        reads = call.name == "GET" and "/tree/draft/" in call.path and call.path.endswith(".manifest")
        return call.path.startswith("edges/") and (asks or reads)

    assert_none(each(store_bench, OPERATIONS["first_on_branch"], STORE_WAYS["held"], looks))


def test_a_recovery_that_was_held_up_before_it_restored_a_table_needs_no_person_afterwards(
    store_bench: StoreBench,
) -> None:
    """A restore is never refused: it lands on top of what another writer did meanwhile, and is taken back there."""

    def opens_the_table(call: Call) -> bool:
        is_list = call.name == "GET" and "prefix=" in call.path and call.path.endswith("/_versions/")
        return "nodes/" in call.path and (is_list or (call.name == "HEAD" and "/_versions/" in call.path))

    assert_none(each(store_bench, OPERATIONS["recover_back"], STORE_WAYS["held"], opens_the_table))


def test_a_repair_takes_a_store_that_does_not_answer_for_no_damage(store_bench: StoreBench) -> None:
    """It says that the store did not answer; it does not report a table as beyond repair and leave it."""
    assert_none(each(store_bench, OPERATIONS["repair"], STORE_WAYS["closed-often"], _looks_at_a_version))


def _looks_at_a_version(call: Call) -> bool:
    """The version that the graph shows, where those above it are told from."""
    return call.name == "HEAD" and call.path.startswith("nodes/") and call.path.endswith(f"{2**64 - 1 - 5}.manifest")


@pytest.mark.parametrize("name", TRIED)
def test_every_operation_is_whole_or_absent_whatever_request_fails(store_bench: StoreBench, name: str) -> None:
    assert_none(sample(store_bench, OPERATIONS[name], ROTATING, PLACES_EACH, TRIED.index(name)))
