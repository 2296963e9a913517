"""The console script. It imports nothing before it must, so that `--help` answers at once."""

from __future__ import annotations

import gc

GARBAGE_AFTER_OBJECTS = 50_000
"""Imports make tens of thousands of objects that stay: looking for garbage among them after every 700 new ones, as
Python does by itself, takes a twentieth of the time of a short command."""


def run() -> None:
    """Run one invocation and end the process with its exit code."""
    gc.set_threshold(GARBAGE_AFTER_OBJECTS, *gc.get_threshold()[1:])
    from omnigraph.cli.root import root

    root.main(prog_name="omnigraph")
