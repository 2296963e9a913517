"""Somebody who computes for a while at each byte that comes in: work beside what a benchmark measures.

The standard library alone, so that a process with it starts at once: python bench/computing.py SECONDS < bytes
"""

from __future__ import annotations

import os
import sys
import time


def compute(source: int, seconds: float) -> None:
    """Reads bytes until the end of the source, and takes so many seconds of processor for each."""
    while os.read(source, 1):
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass


if __name__ == "__main__":
    compute(0, float(sys.argv[1]))
