"""The environment of tasks: what the driver's environment says about stores and embeddings holds in its tasks too.

A worker has the environment of its own machine, and of the moment at which its session was started. A load must not
depend on where its tasks run, so they are given the driver's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from omnigraph.embeddings import config_from_environment, is_chosen
from omnigraph.model.errors import BadRequest

STORE = "AWS_"
EMBEDDING = "OMNIGRAPH_EMBED"


def driver_settings() -> dict[str, str]:
    """The variables that tasks are given. The key of a provider goes with them if that provider was chosen."""
    found = {name: value for name, value in os.environ.items() if name.startswith((STORE, EMBEDDING))}
    return found | {name: os.environ[name] for name in _key_variables() if name in os.environ}


def _key_variables() -> tuple[str, ...]:
    try:
        config = config_from_environment() if is_chosen() else None
    except BadRequest:
        return ()  # a task that needs the embedder reports it
    return () if config is None else config.key_variables


@contextmanager
def use_settings(settings: Mapping[str, str]) -> Iterator[None]:
    """Applies the settings to this process for the block. Embedding settings are the driver's alone; for stores this
    machine may have settings of its own."""
    before = dict(os.environ)
    unsaid = [name for name in before if name.startswith(EMBEDDING) and name not in settings]
    for name in unsaid:
        del os.environ[name]
    os.environ.update(settings)
    try:
        yield
    finally:
        for name in {*unsaid, *settings}:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
