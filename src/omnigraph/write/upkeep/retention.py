"""Retention: which old versions of a table may go. Pure.

A version is *live* when a branch shows it, or has shown it within the grace time, or since the commit that everything
is to be kept from. From the oldest live version of a lineage on everything stays. Below that goes what neither a tag
nor a merge of live branches needs and what every stated limit allows.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.model.durations import Duration, seconds_of
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.reclaim import VersionOnDisk

GRACE_S = 3600.0
"""Readers say nothing of themselves: a read that began within this time never misses a file."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What the caller wants kept. Limits add up: a version goes only if each of them lets it go."""

    keep_versions: int | None = None
    """Of each lineage so many of the newest versions; at least one stays."""
    older_than_s: float | None = None
    """Only what was written longer ago than this goes."""
    since: str | None = None
    """A commit, tag or time: this and everything later stays."""
    grace_s: float = GRACE_S


def policy_of(
    keep_versions: int | None, older_than: Duration | None, since: str | None, grace: Duration | None
) -> RetentionPolicy:
    """A policy as callers state it. Raises BadRequest for one that states nothing, or something impossible."""
    if keep_versions is None and older_than is None and since is None:
        raise BadRequest(
            "cleanup needs to know what to keep",
            "pass keep_versions (--keep), older_than (--older-than) or since (--since); 10 versions are a good start",
        )
    if keep_versions is not None and (isinstance(keep_versions, bool) or keep_versions < 0):
        raise BadRequest(f"the number of versions to keep must be at least 0, not {keep_versions!r}")
    return RetentionPolicy(
        keep_versions,
        None if older_than is None else seconds_of(older_than, "older_than"),
        since,
        GRACE_S if grace is None else seconds_of(grace, "grace"),
    )


@dataclass(frozen=True, slots=True)
class Claims:
    """What is needed of one lineage."""

    live: frozenset[int] = frozenset()
    """By branches: from the first of these on everything stays."""
    held: frozenset[int] = frozenset()
    """By tags and merges: exactly these stay."""

    @property
    def is_empty(self) -> bool:
        return not self.live and not self.held


def removable(
    versions: Sequence[VersionOnDisk], claims: Claims, policy: RetentionPolicy, now: float
) -> tuple[int, ...]:
    """The versions of a lineage that may go, of those that it has; oldest first. The newest never does."""
    if not versions:
        return ()
    floor = min(claims.live, default=versions[-1].version)
    kept = claims.held
    if policy.keep_versions is not None:
        kept |= {each.version for each in versions[-max(1, policy.keep_versions) :]}
    last = now - policy.older_than_s if policy.older_than_s is not None else None
    return tuple(
        each.version
        for each in versions[:-1]
        if each.version < floor and each.version not in kept and (last is None or each.written_at <= last)
    )
