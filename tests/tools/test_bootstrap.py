"""The set-up of a fresh machine: which Java counts, and that the lock file names no address."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "11.0.2"', 11),
        ("command not found", None),
    ],
)
def test_the_major_version_of_java_is_read_from_its_own_words(text: str, major: int | None) -> None:
    assert bootstrap().java_major(text) == major


def test_the_lock_files_name_versions_and_hashes_and_no_address() -> None:
    for lock in ROOT.glob("requirements*.lock"):
        text = lock.read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text
