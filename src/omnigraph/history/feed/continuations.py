"""Continuations: blocks that were read in part, kept for whoever asks for the next page.

A page token says where to continue, and that is enough: the block is read again up to there. For a block of many pages
that would be many times the work, so the last few blocks wait here for their tokens. They may be dropped at any time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from omnigraph.history.diff import EntityChange
from omnigraph.storage import GraphStorage

KEPT_MAX = 4
"""Each may hold a run of sorted rows, up to a hundred megabytes."""

_lock = threading.Lock()
_kept: OrderedDict[tuple[str, str], Iterator[EntityChange]] = OrderedDict()


def keep_rest(storage: GraphStorage, page_token: str, rest: Iterator[EntityChange]) -> None:
    """Keeps the changes that come after a page."""
    with _lock:
        _kept[storage.root.uri, page_token] = rest
        dropped = _kept.popitem(last=False)[1] if len(_kept) > KEPT_MAX else None
    del dropped  # closes its files, which needs no lock


def take_rest(storage: GraphStorage, page_token: str | None) -> Iterator[EntityChange] | None:
    """What was kept for this token, once; None when there is nothing."""
    if page_token is None:
        return None
    with _lock:
        return _kept.pop((storage.root.uri, page_token), None)
