"""`make test-quick` runs what `tests/quick.txt` lists: something of every room, and nothing that is slow by nature."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTED = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").split()
LEFT_OUT = {
    "company": "histories of several processes take minutes",
    "demo": "it starts a session of its own",
    "faults": "it needs a C compiler, and lets many operations fail",
}
FOLDERS = sorted({path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("*/test_*.py")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_quick_selection_has_something_of_every_folder(folder: str) -> None:
    is_listed = any(path.split("/")[1] == folder for path in LISTED)
    assert is_listed != (folder in LEFT_OUT), f"list a quick test of tests/{folder} in tests/quick.txt"


@pytest.mark.parametrize("path", LISTED)
def test_what_the_quick_selection_lists_exists(path: str) -> None:
    file, _, name = path.partition("::")
    assert (ROOT / file).exists()
    assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
