"""What a power cut can leave of a lineage that was just being made: Lance syncs nothing, so anything may be missing."""

from __future__ import annotations

import shutil
from pathlib import Path

from omnigraph.storage import layout


def leave_unmade(root: Path, location: str, name: str, left: str) -> None:
    """Takes away from a whole lineage what was not synced yet."""
    if left == "a ref without content":
        (root / layout.branch_ref(location, name)).write_bytes(b"")
    else:
        shutil.rmtree(root / layout.branch_tree(location, name))
