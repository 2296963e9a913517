"""Stages of a schema change that may take long, told to whoever listens. A listener that raises ends the change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from omnigraph.model.progress import Progress, ProgressListener

TELL_EVERY_S = 0.5
LOOK_EVERY_S = 2.0
"""How often a change that runs looks whether the graph is still its own: on S3 a look is a request."""


def now_and_then(look: Callable[[], None]) -> Callable[[], None]:
    """Looks at most that often, however often it is called."""
    looked = time.monotonic()

    def look_again() -> None:
        nonlocal looked
        if time.monotonic() - looked >= LOOK_EVERY_S:
            looked = time.monotonic()
            look()

    return look_again


def after(before: int, tell: Callable[[int], None]) -> Callable[[int], None]:
    """Tells the rows of one table on top of those of the tables before it."""

    def add(done: int) -> None:
        tell(before + done)

    return add


@contextmanager
def stage(listener: ProgressListener | None, name: str, rows_total: int) -> Iterator[Callable[[int], None]]:
    """A stage over so many rows; the block is given a function that takes the number of rows that are done."""
    begun = told = time.monotonic()

    def tell(done: int, *, tasks: int = 0) -> None:
        if listener is not None:
            seconds = time.monotonic() - begun
            listener(Progress(stage=name, tasks=tasks, rows=done, rows_total=rows_total, seconds=seconds))

    def tell_again(done: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_EVERY_S:
            told = time.monotonic()
            tell(done)

    tell(0)
    yield tell_again
    tell(rows_total, tasks=1)
