"""Leases: one writer at a time per branch, across threads and processes; a dead holder does not block."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.model.errors import LeaseLost, LeaseTimeout
from omnigraph.storage.layout import lease_name
from omnigraph.storage.leases import s3 as lease_objects
from omnigraph.storage.leases.lease import Leases
from omnigraph.storage.objects.control_objects import open_store
from omnigraph.storage.root import parse_root
from support.servers.s3_server import S3Server


@pytest.fixture
def leases(new_root: Callable[[str], str]) -> Leases:
    root = parse_root(new_root("leases"))
    return Leases(root, open_store(root))


def test_a_held_lease_excludes_every_other_holder(leases: Leases) -> None:
    with leases.hold("b"), pytest.raises(LeaseTimeout), leases.hold("b", wait_s=0.05):
        pytest.fail("two holders at once")


def test_a_released_lease_is_free(leases: Leases) -> None:
    for _ in range(3):
        with leases.hold("b", wait_s=5):
            pass


def test_leases_of_different_branches_do_not_exclude_each_other(leases: Leases) -> None:
    with leases.hold("a"), leases.hold("b/c", wait_s=1) as held:
        held.check()


def test_the_graph_lease_is_another_one_than_any_branch(leases: Leases) -> None:
    with leases.hold("a", graph=True), leases.hold("b", wait_s=1):
        pass
    with leases.hold(graph=True), pytest.raises(LeaseTimeout), leases.hold("x", graph=True, wait_s=0.05):
        pytest.fail("two holders of the graph at once")


def test_who_waits_for_a_branch_keeps_nobody_from_the_graph(leases: Leases) -> None:
    with ThreadPoolExecutor(1) as pool:
        with leases.hold("b") as held:
            waiting = pool.submit(_hold_once, leases, "b")
            while not held.is_wanted():
                os.sched_yield()
            for _ in range(3):
                with leases.hold("other", graph=True, wait_s=10):
                    pass
            assert not waiting.done()
        waiting.result()


def test_who_waits_for_the_graph_gives_its_branches_back_meanwhile(leases: Leases) -> None:
    with ThreadPoolExecutor(1) as pool:
        with leases.hold(graph=True):
            waiting = pool.submit(_hold_once, leases, "b")
            while not _is_held(leases, "b"):
                os.sched_yield()
            with leases.hold("b", wait_s=30):
                assert not waiting.done()
        waiting.result()


def test_a_graph_that_stays_held_is_given_up_at_the_deadline_with_every_lease(leases: Leases) -> None:
    with leases.hold(graph=True):
        with pytest.raises(LeaseTimeout, match="__graph__"), leases.hold("a", "b", graph=True, wait_s=1.5):
            pytest.fail("two holders of the graph at once")
        with leases.hold("a", "b", wait_s=10):
            pass


def _hold_once(leases: Leases, branch: str) -> None:
    with leases.hold(branch, graph=True, wait_s=60) as held:
        held.check()


def _is_held(leases: Leases, branch: str) -> bool:
    try:
        with leases.hold(branch, wait_s=0):
            return False
    except LeaseTimeout:
        return True


def test_threads_that_need_the_same_leases_in_any_order_never_deadlock(leases: Leases) -> None:
    inside, most = 0, 0
    guard = threading.Lock()

    def work(number: int) -> None:
        nonlocal inside, most
        names = ("a", "b") if number % 2 else ("b", "a")
        with leases.hold(*names, graph=number % 3 == 0):
            with guard:
                inside += 1
                most = max(most, inside)
            with guard:
                inside -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    assert most == 1


_HOLD_AND_WAIT = """
import sys
from omnigraph.storage.leases import Leases
from omnigraph.storage.objects import open_store
from omnigraph.storage.root import parse_root
root = parse_root(sys.argv[1])
with Leases(root, open_store(root)).hold("b"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lease_of_a_killed_process_becomes_free(
    new_root: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = new_root("leases")
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD_AND_WAIT, uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    root = parse_root(uri)
    mine = Leases(root, open_store(root))
    with pytest.raises(LeaseTimeout), mine.hold("b", wait_s=0.05):
        pytest.fail("two holders at once")
    holder.kill()
    holder.wait()
    # On an object store nothing frees the lease but time: the new term is short so that the test need not wait long.
    monkeypatch.setattr(lease_objects, "LEASE_TTL_S", 0.5)
    with mine.hold("b", wait_s=30) as held:
        held.check()


def test_a_folder_that_is_cleaned_up_before_its_lock_is_in_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load's staging folder is born while another handle, just opened, removes empty ones."""
    root = parse_root(str(tmp_path))
    real, removed = os.makedirs, list[str]()

    def then_cleaned_up(path: str, **options: bool) -> None:
        real(path, **options)
        if len(removed) < 3 and path.endswith("load"):
            removed.append(path)
            os.rmdir(path)

    monkeypatch.setattr(os, "makedirs", then_cleaned_up)
    lease = Leases(root, open_store(root)).take("__staging/load/alive")
    assert removed == [str(tmp_path / "__staging" / "load")] * 3
    assert (tmp_path / "__staging" / "load" / "alive").is_file()
    lease.release()


@pytest.mark.s3
def test_a_holder_that_was_taken_over_is_fenced_and_the_fence_only_grows(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = parse_root(s3.uri("fenced"))
    objects = open_store(root)
    monkeypatch.setattr(lease_objects, "RENEW_EVERY_S", 3600.0)  # a holder that is stuck and does not renew
    monkeypatch.setattr(lease_objects, "LEASE_TTL_S", 0.5)
    with Leases(root, objects).hold("b") as lost:
        first = objects.read(lease_name("b"))
        with Leases(root, objects).hold("b", wait_s=30):
            second = objects.read(lease_name("b"))
            with pytest.raises(LeaseLost):
                lost.check()
    assert first is not None
    assert second is not None
    assert b'"fence": 1' in first.data
    assert b'"fence": 2' in second.data
