"""Memory: what many threads have freed goes back to the system, so that a server under load takes up what it uses.

The C library (glibc) gives each thread a heap of its own and keeps what was freed there. With the threads of a server
that came to twice as much memory as was in use, and it rose for as long as the load went on. So there are few heaps,
and now and then their free pages are given back. To give them back at every call (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)
would make each commit a sixth slower: it takes and frees buffers of megabytes.
"""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache

ARENA_MAX = -8
"""The name that glibc gives to the number of heaps."""
HEAPS = 4
GIVE_BACK_SECONDS = 10.0
"""How often the watcher of a server calls `give_freed_memory_back`."""


def use_few_heaps() -> bool:
    """Called before there are threads. False with another C library, and where the operator set it by MALLOC_*."""
    library = _glibc()
    return library is not None and library.mallopt(ARENA_MAX, HEAPS) == 1


def give_freed_memory_back() -> bool:
    """Gives the free pages of all heaps back. False where `use_few_heaps` is, or where there was nothing to give."""
    library = _glibc()
    return library is not None and library.malloc_trim(0) == 1


@lru_cache(maxsize=1)
def _glibc() -> ctypes.CDLL | None:
    """The C library; None if it is another one, or if the operator chose its settings."""
    if any(name.startswith("MALLOC_") for name in os.environ):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
