"""Leases of one second instead of fifteen, so that a test does not wait long for that of a dead or paused process."""

from __future__ import annotations

from omnigraph.storage.leases import s3 as lease_objects

TTL_S = 1.0
SHORT = {
    "LEASE_TTL_S": TTL_S,
    "RENEW_EVERY_S": TTL_S / 3,
    "RETRY_EVERY_S": TTL_S / 15,
    "CLOCK_SKEW_S": 0.0,
}


def shorten_leases() -> None:
    """For a program of its own; a test asks for the fixture `short_leases`."""
    for name, value in SHORT.items():
        setattr(lease_objects, name, value)
