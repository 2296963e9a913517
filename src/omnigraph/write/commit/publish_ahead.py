"""Publishing ahead: while the tables of a write are committed, the files of its publish are written beside it.

What will be published is known before: a write that only appends makes the next version of each table, with its rows
more. If anything comes out otherwise, the files are not used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache

from omnigraph.model.errors import OmniGraphError, SyncFailed
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import LoadedManifest, PublishPlan, StagedRows, stage_publish
from omnigraph.storage.tables import StagedEffect, published_version

PUBLISHES_AT_A_TIME = 4


def publish_ahead(
    storage: GraphStorage, loaded: LoadedManifest, plan: PublishPlan, effects: Sequence[StagedEffect]
) -> Callable[[], StagedRows | None]:
    """Starts to write the files of a publish of these effects; the result waits for them, and is None if it failed."""
    counts = [effect.rows_appended for effect in effects]
    if not effects or None in counts:
        return lambda: None
    changes = tuple(
        published_version(effect, effect.pin.row_count + (count or 0), storage.root)
        for effect, count in zip(effects, counts, strict=True)
    )
    future = _pool().submit(stage_publish, storage.manifest, replace(plan, changes=changes), loaded)
    return lambda: _result(future)


def _result(future: Future[StagedRows | None]) -> StagedRows | None:
    try:
        return future.result()
    except SyncFailed:
        raise  # a failed sync is final: whoever wrote to this disk must hear of it
    except OmniGraphError:
        return None  # the publish itself will meet the same trouble, and report it


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(PUBLISHES_AT_A_TIME, thread_name_prefix="omnigraph-publish")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
