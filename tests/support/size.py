"""How large a test is: small where every commit runs it, full in `make soak-tests`."""

from __future__ import annotations

import os

IS_FULL = os.environ.get("OMNIGRAPH_TEST_SIZE") == "full"


def sized(small: int, full: int) -> int:
    """The number that this run uses. The small one must still meet what the test is about."""
    return full if IS_FULL else small
