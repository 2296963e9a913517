"""Whatever file-system call fails, and in whatever way: what was acknowledged is there, what was refused is not, or the
error says that it may be; nobody sees half of it, and everybody goes on.

Here are some of the calls; `make soak-faults` tries all of them.
"""

from __future__ import annotations

import pytest

from faults.local_disk import LocalBench
from faults.plan import LOCAL_WAYS, assert_none, each, sample
from support.faults.fault_operations import OPERATIONS
from support.faults.fault_shim import Call

DECISIVE = ("fsync", "rename", "link", "linkat", "write")
ONE_TABLE = "insert"
OTHERS = [name for name in OPERATIONS if name not in (ONE_TABLE, "load_spark")]
ROTATING = [LOCAL_WAYS[way] for way in ("error", "stop", "error-after", "gone", "torn", "stays-full", "read-error")]
PLACES_EACH = 5


@pytest.mark.parametrize("way", ["error", "error-after"])
def test_an_insert_is_whole_or_absent_whichever_write_sync_or_rename_fails(local_bench: LocalBench, way: str) -> None:
    assert_none(each(local_bench, OPERATIONS[ONE_TABLE], LOCAL_WAYS[way], lambda call: call.name in DECISIVE))


@pytest.mark.parametrize("name", OTHERS)
def test_every_operation_is_whole_or_absent_whatever_call_fails(local_bench: LocalBench, name: str) -> None:
    assert_none(sample(local_bench, OPERATIONS[name], ROTATING, PLACES_EACH, OTHERS.index(name)))


@pytest.mark.parametrize("name", ["insert_several", "delete_branch", "init", "clone_history"])
def test_a_process_that_dies_at_a_call_leaves_all_or_nothing(local_bench: LocalBench, name: str) -> None:
    deaths = [LOCAL_WAYS["kill"], LOCAL_WAYS["kill-after"]]
    assert_none(sample(local_bench, OPERATIONS[name], deaths, 2, len(name)))


def test_a_schema_change_whose_copied_rows_were_not_written_whole_is_not_acknowledged(local_bench: LocalBench) -> None:
    """Lance does not notice every write that a full disk refuses."""
    copies = each(
        local_bench,
        OPERATIONS["apply_schema"],
        LOCAL_WAYS["full"],
        lambda call: call.name == "write" and "__staging/" in call.path,
    )
    assert_none(copies)


def test_a_power_cut_while_the_manifest_is_compacted_leaves_a_graph_that_opens(local_bench: LocalBench) -> None:
    """No version of it names a file that is not on the disk yet."""
    syncs = each(
        local_bench,
        OPERATIONS["optimize"],
        LOCAL_WAYS["power-cut"],
        lambda call: call.name == "fsync" and call.path.startswith("__manifest/data"),
    )
    assert_none(syncs)


@pytest.mark.parametrize("way", ["torn", "error"])
def test_an_index_whose_own_files_were_not_written_whole_is_no_damage_of_the_table(
    local_bench: LocalBench, way: str
) -> None:
    """A build reads its files again, and takes one that was cut short for damage."""
    builds = each(
        local_bench,
        OPERATIONS["ensure_indices"],
        LOCAL_WAYS[way],
        lambda call: call.name == "write" and call.path.startswith("__staging/") and "/staging/.tmp" in call.path,
    )
    assert_none(builds)


@pytest.mark.parametrize("way", ["power-cut", "power-cut-some"])
def test_a_power_cut_in_the_middle_of_an_insert_needs_no_person(local_bench: LocalBench, way: str) -> None:
    """What was not synced is gone, files and names: the graph is read, opened and written as if nothing had been."""
    version_files = ("rename", "link", "linkat", "unlink", "fsync")

    def is_decisive(call: Call) -> bool:
        return (
            call.name in version_files and "_versions" in call.path and call.path.endswith((".manifest", "_versions"))
        )

    assert_none(each(local_bench, OPERATIONS[ONE_TABLE], LOCAL_WAYS[way], is_decisive))
