"""Memory: a server asks the C library to give freed memory back, unless the operator has set that already."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

ASK = "from omnigraph.server.boot.memory import give_freed_memory_back; print(give_freed_memory_back())"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has nothing to set")
@pytest.mark.parametrize(("variables", "is_set"), [({}, "True"), ({"MALLOC_ARENA_MAX": "2"}, "False")])
def test_freed_memory_goes_back_unless_the_operator_said_how(variables: dict[str, str], is_set: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, env=kept | variables, check=True)
    assert done.stdout.strip() == is_set
