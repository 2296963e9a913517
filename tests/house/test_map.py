"""The map: ARCHITECTURE.md names every folder, and every path that it names is there."""

from __future__ import annotations

import re

from house.sources import ROOT, SOURCES

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_folder_of_the_house_has_a_row() -> None:
    folders = {
        path.parent.relative_to(SOURCES / "omnigraph").as_posix() for path in (SOURCES / "omnigraph").rglob("*.py")
    }
    rows = set(re.findall(r"^\| `([a-z_/]+)` \|", PAGE, re.MULTILINE))
    assert folders - {"."} == rows


def test_every_path_that_the_map_names_is_there() -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+(?:\.py)?)`", PAGE))
    missing = [path for path in named if not any((base / path).exists() for base in (ROOT, SOURCES / "omnigraph"))]
    assert missing == []
