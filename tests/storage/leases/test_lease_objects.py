"""Leases on a store that fails now and then: only a takeover ends a lease, and giving it back never fails."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.model.errors import LeaseLost, LeaseTimeout, Unreachable
from omnigraph.storage.leases import s3 as lease_objects
from omnigraph.storage.leases.s3 import acquire_object
from omnigraph.storage.objects.local import LocalObjects

PATH = "__leases/b"
WAIT_S = 30.0


class Flaky(LocalObjects):
    """Conditional puts that fail on demand: before they happen, or after they did."""

    def __init__(self, root: str) -> None:
        super().__init__(root, durable=False)
        self.failing = 0
        self.losing_answers = 0
        self.renewed = threading.Event()

    def write_if_match(self, path: str, data: bytes, etag: str) -> str | None:
        if self.failing:
            self.failing -= 1
            raise Unreachable("the store did not answer")
        done = super().write_if_match(path, data, etag)
        if done is not None and self.losing_answers:
            self.losing_answers -= 1
            return None  # as after a retry whose first try had gone through
        self.renewed.set()
        return done


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flaky:
    monkeypatch.setattr(lease_objects, "RENEW_EVERY_S", 0.01)
    monkeypatch.setattr(lease_objects, "RETRY_EVERY_S", 0.01)
    return Flaky(str(tmp_path))


def soon() -> float:
    return time.monotonic() + WAIT_S


def eventually(holds: Callable[[], bool]) -> None:
    deadline = soon()
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def test_a_heartbeat_that_fails_is_tried_again(store: Flaky) -> None:
    lease = acquire_object(store, PATH, "b", soon())
    store.failing = 5
    eventually(lambda: store.failing == 0)
    store.renewed.clear()
    assert store.renewed.wait(WAIT_S)
    lease.check()
    lease.release()


def test_a_renewal_of_which_only_the_answer_was_lost_keeps_the_lease(store: Flaky) -> None:
    lease = acquire_object(store, PATH, "b", soon())
    store.losing_answers = 3
    for _ in range(3):
        lease.check()
    lease.release()
    acquire_object(store, PATH, "b", time.monotonic()).release()


def test_an_acquisition_of_which_only_the_answer_was_lost_is_ours(store: Flaky) -> None:
    acquire_object(store, PATH, "b", soon()).release()
    store.losing_answers = 1
    lease = acquire_object(store, PATH, "b", soon())
    lease.check()
    lease.release()


def test_an_error_while_the_lease_is_given_back_is_tried_again_and_never_raised(store: Flaky) -> None:
    lease = acquire_object(store, PATH, "b", soon())
    store.failing = 1
    lease.release()
    acquire_object(store, PATH, "b", time.monotonic()).release()
    stubborn = acquire_object(store, PATH, "b", soon())
    store.failing = 1_000_000
    stubborn.release()


def test_a_lease_that_is_dropped_is_given_back(store: Flaky) -> None:
    """As after an interrupt between taking the lease and noting it."""
    lease = acquire_object(store, PATH, "b", soon())
    del lease
    gc.collect()
    acquire_object(store, PATH, "b", soon()).release()


def test_a_lease_that_expires_while_the_store_fails_is_lost(store: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_objects, "LEASE_TTL_S", 0.2)
    lease = acquire_object(store, PATH, "b", soon())
    store.failing = 1_000_000
    lease._heartbeat.join(WAIT_S)  # it ends when the lease is lost
    store.failing = 0
    other = acquire_object(store, PATH, "b", soon())
    with pytest.raises(LeaseLost):
        lease.check()
    other.check()
    lease.release()
    other.check()
    other.release()


def test_who_waits_for_the_lease_of_a_dead_holder_leaves_it_to_one_that_shows_that_it_lives(store: Flaky) -> None:
    lease = acquire_object(store, PATH, "b", soon())
    with pytest.raises(LeaseTimeout):
        acquire_object(store, PATH, "b", time.monotonic() + 3600, of_the_dead=True)
    lease.check()
    lease.release()


def test_who_waits_for_the_lease_of_a_dead_holder_has_it_once_it_has_run_out(
    store: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_objects, "CLOCK_SKEW_S", 0.0)
    now = time.time()
    dead = lease_objects.LeaseRecord(owner="dead", host="x", pid=1, fence=4, acquired_at=now, expires_at=now + 0.3)
    store.write(PATH, lease_objects._encode(dead))
    lease = acquire_object(store, PATH, "b", soon(), of_the_dead=True)
    assert time.time() > dead.expires_at
    lease.check()
    lease.release()


def test_whoever_is_next_is_not_passed(store: Flaky) -> None:
    held = acquire_object(store, PATH, "b", soon())
    taken = threading.Event()

    def wait() -> None:
        lease = acquire_object(store, PATH, "b", soon())
        taken.set()
        lease.release()

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: held.is_wanted())
    held.check()
    held.release()
    acquire_object(store, PATH, "b", soon()).release()
    assert taken.is_set(), "it was next"
    waiting.join()
