"""Deprecated spellings: old words at the start of the command line that still work, with a warning."""

from __future__ import annotations

from collections.abc import Sequence

REWRITES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("read",), ("query",)),
    (("change",), ("mutate",)),
    (("check",), ("lint",)),
    (("query", "lint"), ("lint",)),
    (("query", "check"), ("lint",)),
)
"""What was typed first, and what it means today."""


def modern(argv: Sequence[str]) -> tuple[list[str], str | None]:
    """The command line in today's words, and the warning to print when it was not."""
    for old, new in REWRITES:
        if tuple(argv[: len(old)]) == old:
            return [*new, *argv[len(old) :]], f"`omnigraph {' '.join(old)}` is deprecated; use `omnigraph {new[0]}`"
    return list(argv), None
