"""Late names: a package's face. It offers names of its modules and imports each module on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def late_names(
    package: str, contents: Mapping[str, tuple[str, ...]], *, root: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package: the names that its modules offer, or those of `root`."""
    homes = {name: module for module, names in contents.items() for name in names}

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{root or package}.{home}"), name)
        setattr(sys.modules[package], name, value)  # the next access finds it without this function
        return value

    return get, lambda: sorted(homes)
