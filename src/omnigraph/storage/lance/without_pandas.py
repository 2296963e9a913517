"""Importing Lance without pandas, which is installed for Spark and takes longer to import than Lance itself.

Arrow looks for pandas once, when the first scalar is made, and Lance makes one while it is imported. If it is not found
then, Arrow goes on without it, and looks again when somebody asks for a data frame: so nothing is lost but the wait.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NotNow:
    """Knows no module but pandas, and of that only that it cannot be had at the moment."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is imported when it is asked for", name=name)
        return None


@contextmanager
def without_pandas() -> Iterator[None]:
    """Imports in the block do not find pandas, unless it is imported already."""
    finder = _NotNow()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
