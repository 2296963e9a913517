"""The user's cache folder: derived state that outlives a process, outside of any graph. Deletable at any time."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`OMNIGRAPH_CACHE_DIR`, or the place where the platform keeps a user's caches."""
    named = os.environ.get("OMNIGRAPH_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "omnigraph"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "omnigraph" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnigraph"
