"""Page limits: how much one call of the change feed returns at most."""

from __future__ import annotations

from omnigraph.model.errors import BadRequest, ResourceLimitExceeded
from omnigraph.model.late_dataclass import dataclass

MIB = 1024 * 1024
_LARGEST = {
    "max_changes": ("commit_changes_page_changes", 8192),
    "max_bytes": ("commit_changes_page_bytes", 32 * MIB),
    "max_commits": ("change_feed_commits_per_poll", 512),
}


@dataclass(frozen=True, slots=True)
class PageLimits:
    """The most that a page holds. A single change that is larger than `max_bytes` is returned on a page of its own."""

    max_changes: int = 1000
    max_bytes: int = 4 * MIB
    """Of the changes as JSON."""
    max_commits: int = 128
    """Only the feed has pages of several commits."""

    def __post_init__(self) -> None:
        for name, (resource, largest) in _LARGEST.items():
            asked = getattr(self, name)
            if asked < 1:
                raise BadRequest(f"{name} must be at least 1, not {asked}")
            if asked > largest:
                raise ResourceLimitExceeded(resource, largest, asked)
