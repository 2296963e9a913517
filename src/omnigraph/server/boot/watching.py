"""Watching: tokens, the applied revision and graphs that could not be served are looked at again while a server runs.

What is new takes the place of the old in one step. What cannot be read changes nothing, and is told in the log once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError, sentence_of
from omnigraph.server.auth import TokenSource
from omnigraph.server.boot.launch import Launch
from omnigraph.server.boot.memory import GIVE_BACK_SECONDS, give_freed_memory_back
from omnigraph.server.boot.opening import open_generation
from omnigraph.server.boot.sources import Source
from omnigraph.server.boot.upkeep import ServedUpkeep
from omnigraph.server.observe import event
from omnigraph.server.serving import Serving
from omnigraph.server.state import ServerState

RETRY_SECONDS_MAX = 60.0
RECOVERY_SECONDS = 30.0


class Watcher:
    """Follows what a server is made from."""

    def __init__(self, state: ServerState, launch: Launch, source: Source, tokens: TokenSource) -> None:
        self._state = state
        self._launch = launch
        self._source = source
        self._tokens = tokens
        self._stamp = tokens.stamp()
        self._told: dict[str, str] = {}
        self._retry_at = 0.0
        self._retry_after = 1.0
        self._refused: str | None = None
        """The revision that could not be served when it was tried last."""
        self._recover_at = 0.0
        self._give_back_at = 0.0
        self._upkeep = ServedUpkeep() if launch.upkeep else None

    async def follow(self, parent: int | None = None) -> None:
        """Looks again and again, until it is cancelled. A worker whose parent has died stops, too."""
        loop = asyncio.get_running_loop()
        self._recover_at = loop.time() + RECOVERY_SECONDS
        while True:
            await asyncio.sleep(self._state.settings.watch_seconds)
            if parent is not None and os.getppid() != parent:
                event("the parent has died, so this worker stops", level=logging.WARNING)
                signal.raise_signal(signal.SIGTERM)
                return
            await self.look()

    async def look(self, *, asked: bool = False) -> None:
        """One look; `asked` for by a signal reads the tokens whether or not they seem to have changed."""
        now = asyncio.get_running_loop().time()
        stamp = self._tokens.stamp()
        if asked or (stamp is not None and stamp != self._stamp):
            self._stamp = stamp
            await asyncio.to_thread(self._reload_tokens)
        await asyncio.to_thread(self._reload_serving, now)
        if self._upkeep is not None:
            await asyncio.to_thread(self._follow_upkeep, self._upkeep)
        if now >= self._recover_at:
            self._recover_at = now + RECOVERY_SECONDS
            await asyncio.to_thread(self._sweep)
        if now >= self._give_back_at:
            self._give_back_at = now + GIVE_BACK_SECONDS
            await asyncio.to_thread(give_freed_memory_back)

    async def stop(self, seconds: float) -> None:
        """Ends what runs beside the requests."""
        if self._upkeep is not None:
            await asyncio.to_thread(self._upkeep.stop, seconds)

    def _reload_tokens(self) -> None:
        try:
            tokens = self._tokens.read()
        except OmniGraphError as error:
            self._tell("tokens", f"the bearer tokens are kept as they were: {sentence_of(error)}")
            return
        if not len(tokens) and not self._state.is_open:
            self._tell("tokens", "the bearer tokens are kept as they were: there are none any more")
            return
        if self._state.is_open and len(tokens):
            self._tell("tokens", "this server was started without tokens; restart it to use some")
            return
        self._state.tokens = tokens
        self._told.pop("tokens", None)
        event("bearer tokens reloaded", source=self._tokens.name, actors=len(tokens))

    def _reload_serving(self, now: float) -> None:
        """Another revision, or a graph that could not be served and perhaps can be now."""
        current = self._state.generation
        try:
            serving = self._source.read()
        except OmniGraphError as error:
            self._tell("revision", f"what is served stays as it was: {sentence_of(error)}")
            return
        is_new = serving.revision != current.serving.revision
        waits = now < self._retry_at
        if (not is_new and (waits or not current.skipped)) or (serving.revision == self._refused and waits):
            return
        self._swap(serving, now, is_new)

    def _swap(self, serving: Serving, now: float, is_new: bool) -> None:
        current, is_open = self._state.generation, self._state.is_open
        if is_open and serving.has_policy:
            self._tell(
                "revision", "this server was started without tokens, and the new revision has a policy: restart it"
            )
            return
        try:
            made = open_generation(serving, is_open=is_open, require_all=False, before=current)
        except OmniGraphError as error:
            self._tell("revision", f"what is served stays as it was: {sentence_of(error)}")
            self._refused = serving.revision
            self._wait_longer(now)
            return
        self._refused = None
        if is_new or made.skipped.keys() != current.skipped.keys():
            self._state.generation = made
            self._told.pop("revision", None)
            event("revision served", revision=serving.revision[:12], graphs=len(made.graphs), skipped=len(made.skipped))
            self._retry_after, self._retry_at = 1.0, now + 1.0
        else:
            self._wait_longer(now)

    def _wait_longer(self, now: float) -> None:
        """What cannot be served is tried again, less and less often."""
        self._retry_after = min(2 * self._retry_after, RETRY_SECONDS_MAX)
        self._retry_at = now + self._retry_after

    def _follow_upkeep(self, upkeep: ServedUpkeep) -> None:
        try:
            upkeep.follow(self._state.generation)
        except OmniGraphError as error:
            self._tell("upkeep", sentence_of(error))

    def _sweep(self) -> None:
        """Writes that another process left unfinished are resolved also where nobody writes."""
        for routed in self._state.generation.graphs.values():
            try:
                if routed.bare.pending_recoveries():
                    Graph.open(routed.bare.uri).close()
            except OmniGraphError as error:
                self._tell(f"recovery of {routed.graph_id}", sentence_of(error))

    def _tell(self, about: str, text: str) -> None:
        """Once, until it changes."""
        if self._told.get(about) != text:
            self._told[about] = text
            event(f"{about}: {text}", level=logging.WARNING)
