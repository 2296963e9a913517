"""A lock ends with whoever took it: no forked child keeps it, no interrupt leaves it. Waiters keep their order."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from omnigraph.model.errors import LeaseTimeout
from omnigraph.storage.files.file_locks import FileLock
from omnigraph.storage.leases.lease import Leases
from omnigraph.storage.leases.local import acquire_file
from omnigraph.storage.leases.local_queue import LeaseQueue
from omnigraph.storage.objects.control_objects import open_store
from omnigraph.storage.root import parse_root


def soon(seconds: float = 10.0) -> float:
    return time.monotonic() + seconds


_FORKS_WHILE_HELD = """
import os, sys, signal
from omnigraph.storage.leases import Leases
from omnigraph.storage.objects import open_store
from omnigraph.storage.root import parse_root
root = parse_root(sys.argv[1])
with Leases(root, open_store(root)).hold("b"):
    child = os.fork()
    if child == 0:
        os.write(1, b"child\\n")
        sys.stdin.read()  # outlives the lease of its parent
        os._exit(0)
os.write(1, b"released\\n")
sys.stdin.read()
os.waitpid(child, 0)
"""


def test_a_forked_child_keeps_no_lease_of_its_parent(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _FORKS_WHILE_HELD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    lines = {parent.stdout.readline().split()[0] for _ in range(2)}
    assert lines == {"child", "released"}
    root = parse_root(str(tmp_path))
    with Leases(root, open_store(root)).hold("b", wait_s=5) as held:
        held.check()
    parent.communicate("")


_FORKED_WRITER = """
import os, sys, threading
from omnigraph.graph import Graph
from omnigraph.storage.failpoints import Point, armed
graph = Graph.open(sys.argv[1], durability="os")
forked = []
def fork():
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    forked.append(child)
ADD = "query add($n: String) { insert Person { name: $n } }"
with armed(Point.MUTATION_ARMED, fork):
    graph.mutate(ADD, n="while forking")
graph.mutate(ADD, n="after")
print("done", flush=True)
sys.stdin.read()
"""


def test_writers_go_on_while_a_child_lives_that_was_forked_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    from omnigraph.graph import Graph

    graph = Graph.init(str(tmp_path / "g"), "node Person { name: String @key }", durability="os")
    process = subprocess.Popen(
        [sys.executable, "-c", _FORKED_WRITER, graph.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    graph.mutate("query add($n: String) { insert Person { name: $n } }", n="elsewhere")
    assert graph.verify().ok
    process.communicate("")


def test_a_lock_whose_object_is_dropped_is_free(tmp_path: Path) -> None:
    """As after an interrupt between taking the lock and noting it."""
    lock = FileLock(str(tmp_path / "lock"))
    assert lock.take()
    other = FileLock(str(tmp_path / "lock"))
    assert not other.take()
    del lock
    gc.collect()
    assert other.take()


def test_a_lease_that_is_wanted_says_so(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    held = acquire_file(path, "b", soon())
    assert not held.is_wanted()
    waiting = LeaseQueue(path)
    waiting.join()
    assert held.is_wanted()
    waiting.leave()
    assert not held.is_wanted()


def test_nobody_passes_a_process_that_waits(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    held = acquire_file(path, "b", soon())
    first = LeaseQueue(path)
    first.join()
    held.release()
    with pytest.raises(LeaseTimeout):  # the lock is free, but it is not our turn
        acquire_file(path, "b", soon(0.05))
    first.leave()
    acquire_file(path, "b", soon()).release()


def test_waiting_processes_get_the_lease_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    held = acquire_file(path, "b", soon())
    order: list[int] = []

    def wait(number: int) -> None:
        lease = acquire_file(path, "b", soon(60))
        order.append(number)
        lease.release()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while _tickets_drawn(path) <= number:
            os.sched_yield()
    held.release()
    for thread in threads:
        thread.join()
    assert order == list(range(5))


def _tickets_drawn(path: str) -> int:
    queue = Path(f"{path}~queue")
    return int.from_bytes(queue.read_bytes()[:8], "little") if queue.exists() else 0


def test_a_lease_that_nobody_waits_for_leaves_no_queue_behind(tmp_path: Path) -> None:
    held = acquire_file(str(tmp_path / "lease"), "b", soon())
    assert not held.is_wanted()
    held.release()
    assert not LeaseQueue(str(tmp_path / "lease")).has_waiters()
    assert [file.name for file in tmp_path.iterdir()] == ["lease"]


def test_a_queue_that_begins_while_the_lease_is_held_is_seen(tmp_path: Path) -> None:
    held = acquire_file(str(tmp_path / "lease"), "b", soon())
    assert not held.is_wanted()  # looked before there was a queue to look at
    waiting = LeaseQueue(str(tmp_path / "lease"))
    waiting.join()
    assert held.is_wanted()
    waiting.leave()
    held.release()


def test_a_stopped_process_that_is_first_does_not_stop_the_others(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    stopped = LeaseQueue(path)
    stopped.join()  # and never looks again
    acquire_file(path, "b", soon(30)).release()


_WAITS = """
import sys
from omnigraph.storage.leases.local_queue import LeaseQueue
queue = LeaseQueue(sys.argv[1])
queue.join()
print("in", flush=True)
sys.stdin.read()
"""


def test_the_ticket_of_a_killed_process_is_void(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"
    probe = LeaseQueue(path)
    assert probe.has_waiters()
    process.kill()
    process.wait()
    assert not probe.has_waiters()
