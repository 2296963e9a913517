"""An interrupt at any moment of taking, holding or passing on a branch leaves nothing held: the next writer goes on.

Ctrl-C is raised at every place in the queue and in the locks where the interpreter looks for it, one place per write.
"""

from __future__ import annotations

import dis
import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import LeaseTimeout
from omnigraph.storage.files import file_locks
from omnigraph.storage.leases import lease as leases
from omnigraph.storage.leases import local as lease_files
from omnigraph.storage.leases import local_queue as lease_queue
from omnigraph.write.commit import branch_queue as gates

WATCHED = {str(module.__file__) for module in (gates, leases, lease_files, lease_queue, file_locks)}
ADD = "query add($n: String) { insert Person { name: $n } }"
NAMES = "query names() { match { $p: Person } return { $p.name as name } }"


class _Interrupt:
    """Raises at the n-th place in a watched file where the interpreter would: after a call that returned, at the start
    of a function, at the end of a loop's turn."""

    def __init__(self, n: int) -> None:
        self.left = n
        self._last: dict[int, str] = {}

    def trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in WATCHED or frame.f_code.co_name == "__del__":
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = self._last.get(id(frame), "RESUME")
            now = self._last[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if now != "PUSH_EXC_INFO" and before in ("CALL", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"):
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt
        return self.trace


def interrupted(write: Callable[[], object], n: int) -> bool:
    """Runs a write that is interrupted at its n-th place; False when it had fewer."""
    interrupt = _Interrupt(n)
    sys.settrace(interrupt.trace)
    try:
        write()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return interrupt.left <= 0


def test_an_interrupt_at_any_place_in_the_queue_leaves_the_branch_free(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node Person { name: String @key }", durability="os")
    graph.mutate(ADD, n="warm")
    gc.collect()
    gc.disable()  # nothing may wait for a collection of garbage
    request.addfinalizer(gc.enable)
    n, acknowledged = 1, {"warm"}
    while interrupted(partial(graph.mutate, ADD, {"n": f"interrupted-{n}"}), n):
        with graph._storage.leases.hold("main", wait_s=0):  # nobody of this process holds it …
            pass
        elsewhere = threading.Thread(target=graph.mutate, args=(ADD, {"n": f"next-{n}"}))
        elsewhere.start()
        elsewhere.join(30)  # … nor is it in the way of another thread
        assert not elsewhere.is_alive(), f"the branch stayed held after an interrupt at place {n}"
        acknowledged.add(f"next-{n}")
        n += 1
    assert n > 40, "the queue has more places than that"
    names = {row["name"] for row in Graph.open(graph.uri, durability="os").query(NAMES)}
    assert acknowledged <= names
    assert graph.verify().ok


def test_a_thread_cannot_wait_for_itself(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), "node Person { name: String @key }", durability="os")
    window = partial(gates.window, graph._storage, "main")
    with window(), pytest.raises(LeaseTimeout, match="very thread"), window():
        pytest.fail("held twice")
