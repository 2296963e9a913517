"""The decision log: who asked for what, and what the policy said. The newest ones are kept and can be asked for."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from omnigraph.server.observe.log_lines import event
from omnigraph.server.wire import change_answers

if TYPE_CHECKING:
    from omnigraph.policy import Decision, PolicyRequest


class DecisionLog:
    """Append-only and bounded: the oldest decisions make room for new ones."""

    def __init__(self, kept: int) -> None:
        self._lock = threading.Lock()
        self._kept: deque[change_answers.DecisionOutput] = deque(maxlen=kept)
        self._count = 0

    def add(
        self, actor: str | None, asked: PolicyRequest, said: Decision, *, graph_id: str | None, request_id: str
    ) -> change_answers.DecisionOutput:
        with self._lock:
            self._count += 1
            entry = change_answers.DecisionOutput(
                number=self._count,
                at=time.time_ns() // 1000,
                actor_id=actor,
                action=str(asked.action),
                graph_id=graph_id,
                branch=asked.branch,
                target_branch=asked.target_branch,
                allowed=said.allowed,
                rule=said.rule,
                request_id=request_id,
            )
            self._kept.append(entry)
        event(
            "policy decision",
            actor_id=actor,
            action=entry.action,
            graph=graph_id,
            branch=entry.branch,
            target_branch=entry.target_branch,
            allowed=str(entry.allowed).lower(),
            matched_rule_id=entry.rule,
            request_id=request_id,
        )
        return entry

    def page(self, graph_id: str, after: int, limit: int) -> list[change_answers.DecisionOutput]:
        """Decisions about one graph that came after a number, oldest first."""
        with self._lock:
            found = [each for each in self._kept if each.number > after and each.graph_id == graph_id]
        return found[:limit]
