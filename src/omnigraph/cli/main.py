"""The console script. It imports nothing before it must, so that `--help` answers at once."""

from __future__ import annotations


def run() -> None:
    """Run one invocation and end the process with its exit code."""
    from omnigraph.cli.root import root

    root.main(prog_name="omnigraph")
