"""Memory: a server has few heaps and gives freed memory back, unless the operator has chosen that already."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

ASK = """
import threading
from omnigraph.server.boot.memory import give_freed_memory_back, use_few_heaps

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

few = use_few_heaps()
pieces = [bytearray(50_000) for _ in range(4_000)]  # 200 MB, each too small to be taken outside of a heap
last = pieces[-1]                                   # keeps the end of the heap in use
before = resident()
del pieces
give_freed_memory_back()
print(few, before - resident() > 100_000_000)
"""
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has nothing to set")


@glibc
@pytest.mark.parametrize(("variables", "says"), [({}, "True True"), ({"MALLOC_ARENA_MAX": "2"}, "False False")])
def test_freed_memory_goes_back_unless_the_operator_said_how(variables: dict[str, str], says: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, env=kept | variables, check=True)
    assert done.stdout.strip() == says
