"""Body bytes: how much of requests that are not decided yet one process holds in memory.

A body is read before anybody knows what it asks for, so no write can be charged for it. All together are, and each
actor may hold half of it: else a crowd of large bodies, each of them allowed, would take the process down.
"""

from __future__ import annotations

from collections import Counter

from omnigraph.server.http.refusals import Overloaded, too_large

WAIT_SECONDS = 1


class BodyBytes:
    """For the event loop's thread alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_an_actor = most // 2
        self._held: Counter[str | None] = Counter()

    @property
    def held(self) -> int:
        return self._held.total()

    def take(self, actor: str | None, count: int, before: int) -> None:
        """Charges more bytes of a body that has some already. Raises 429, and 413 for one that can never fit."""
        if before + count > self._of_an_actor:
            raise too_large(
                f"the request body exceeds the {self._of_an_actor} bytes that one actor's requests may hold"
            )
        if self._held[actor] + count > self._of_an_actor or self.held + count > self._most:
            raise Overloaded(f"requests hold {self.held} bytes against cap {self._most}", WAIT_SECONDS)
        self._held[actor] += count

    def give_back(self, actor: str | None, count: int) -> None:
        self._held[actor] -= count
        if not self._held[actor]:
            del self._held[actor]
