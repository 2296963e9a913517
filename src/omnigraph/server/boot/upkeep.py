"""Upkeep: the graphs that a server serves are kept in good shape while it runs, if its operator asked for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from omnigraph.model.errors import OmniGraphError
from omnigraph.server.observe import event
from omnigraph.server.state import Generation

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.write.upkeep import Upkeep


class ServedUpkeep:
    """Background upkeep of the main branch of each graph that is served. Several processes may do it: they give way."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Graph, Upkeep]] = {}
        """By address, with the handle: an address may come again with another one."""
        self._told: dict[Upkeep, int] = {}

    def follow(self, generation: Generation) -> None:
        """Starts it for graphs that have come, and ends it for those that are served no more.

        Raises what stands against one of them, after it has begun for all others.
        """
        failed: OmniGraphError | None = None
        bare = {routed.bare.uri: routed.bare for routed in generation.graphs.values()}
        for uri in [uri for uri, (graph, _) in self._running.items() if bare.get(uri) is not graph]:
            ended = self._running.pop(uri)[1]
            ended.stop()
            self._told.pop(ended, None)
        for uri in bare.keys() - self._running.keys():
            try:
                self._running[uri] = bare[uri], bare[uri].upkeep()
            except OmniGraphError as error:
                failed = error
                continue
            event("upkeep runs", uri=uri)
        self._tell()
        if failed is not None:
            raise failed

    def _tell(self) -> None:
        """What was done since the last look."""
        for uri, (_, upkeep) in self._running.items():
            status = upkeep.status
            if status.commits > self._told.get(upkeep, 0):
                self._told[upkeep] = status.commits
                event("upkeep worked", uri=uri, commits=status.commits, seconds=round(status.work_seconds, 3))

    def stop(self, seconds: float) -> None:
        """What has begun is finished, for at most so long together."""
        until = time.monotonic() + seconds
        for _, upkeep in self._running.values():
            upkeep.stop(0)
        for _, upkeep in self._running.values():
            upkeep.stop(max(0.0, until - time.monotonic()))
