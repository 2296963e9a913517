"""Memory: what many threads have freed goes back to the system, so that a server under load takes up what it uses.

The C library (glibc) gives each thread a heap of its own and keeps what was freed there. With the threads of a server
that came to twice as much memory as was in use, and it rose for as long as the load went on.
"""

from __future__ import annotations

import ctypes
import os

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""The names that glibc gives to what can be set."""
HEAPS = 4
LARGE_BYTES = 128 * 1024
"""What is at least so large is not taken from a heap, and is given back at once."""
KEPT_BYTES = 256 * 1024
"""Free memory at the end of a heap beyond this is given back."""


def give_freed_memory_back() -> bool:
    """Called before there are threads. False with another C library, and where the operator set it by MALLOC_*."""
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc: there is nothing to set
        return False
    settings = ((ARENA_MAX, HEAPS), (MMAP_THRESHOLD, LARGE_BYTES), (TRIM_THRESHOLD, KEPT_BYTES))
    answers = [mallopt(what, value) for what, value in settings]
    return all(answer == 1 for answer in answers)
