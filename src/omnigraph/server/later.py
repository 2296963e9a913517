"""Later: writes whose callers do not wait. They get the address of an operation, and ask there for its outcome."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from omnigraph.model.identifiers import new_ulid
from omnigraph.server.http import Reply

KEPT_MAX = 1000
"""So many operations are remembered; of those that are done the oldest are forgotten first."""


@dataclass(slots=True)
class Operation:
    """One write that is under way or done. Only its caller may ask for it."""

    operation_id: str
    graph_id: str
    actor: str | None
    task: asyncio.Task[Reply]

    @property
    def reply(self) -> Reply | None:
        """The answer that its caller would have got; None while it runs."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return None
        return self.task.result()


class Operations:
    """The operations of this process. They are gone when it ends; their commits are not."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Operation] = OrderedDict()

    def start(self, graph_id: str, actor: str | None, work: Coroutine[Any, Any, Reply]) -> Operation:
        task = asyncio.get_running_loop().create_task(work)
        operation = Operation(new_ulid(), graph_id, actor, task)
        self._kept[operation.operation_id] = operation
        while len(self._kept) > KEPT_MAX:
            done = next((name for name, each in self._kept.items() if each.task.done()), None)
            if done is None:
                break
            del self._kept[done]
        return operation

    def find(self, operation_id: str, graph_id: str, actor: str | None) -> Operation | None:
        found = self._kept.get(operation_id)
        return found if found is not None and (found.graph_id, found.actor) == (graph_id, actor) else None

    async def finish(self, seconds: float) -> None:
        """Waits for those that are under way: what was promised with 202 has not all begun to write."""
        running = [each.task for each in self._kept.values() if not each.task.done()]
        if running:
            await asyncio.wait(running, timeout=seconds)
