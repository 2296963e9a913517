"""Filters of the feed in their plain form, and the digest that binds a token to one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import TypeVar

from omnigraph.history.diff import ChangeFilter

T = TypeVar("T", bound=str)
_KINDS, _OPS = frozenset({"node", "edge"}), frozenset({"insert", "update", "delete"})


def plain_filter(wanted: ChangeFilter | None) -> ChangeFilter:
    """The same filter with None wherever everything is wanted: nothing is named, or everything is."""
    if wanted is None:
        return ChangeFilter()
    return ChangeFilter(_plain(wanted.kinds, _KINDS), wanted.types or None, _plain(wanted.ops, _OPS))


def _plain(named: frozenset[T] | None, everything: Collection[str]) -> frozenset[T] | None:
    return None if not named or named == everything else named


def filter_digest(wanted: ChangeFilter) -> str:
    """The same for filters that want the same, in whatever order they name it."""
    plain = plain_filter(wanted)
    canonical = {"kinds": _listed(plain.kinds), "ops": _listed(plain.ops), "types": _listed(plain.types), "v": 1}
    text = json.dumps(canonical, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(named: Collection[str] | None) -> list[str] | None:
    return None if named is None else sorted(named, key=str.encode)
