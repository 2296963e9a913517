"""The newest version of a lineage, found without listing: the same answer as Lance's, whatever the hint says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import GraphStorage, open_storage
from support.writers import PERSON, SCHEMA, write_pair

VERSIONS = Path(PERSON.location, "_versions")


@pytest.fixture
def storage(tmp_path: Path) -> GraphStorage:
    Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    return open_storage(str(tmp_path / "g"), durability="os")


@pytest.mark.parametrize("opened_at", [1, 3, 6])
def test_a_handle_of_any_version_finds_what_lance_finds_by_listing(storage: GraphStorage, opened_at: int) -> None:
    for _ in range(5):
        write_pair(storage)
    handle = storage.handles.open_for_change(PERSON.location, opened_at)
    assert storage.handles.newest_version(PERSON.location, handle) == handle.latest_version == 6


HINTS: dict[str, Callable[[Path], object]] = {
    "missing": lambda hint: hint.unlink(),
    "torn": lambda hint: hint.write_bytes(b'{"vers'),
    "of another shape": lambda hint: hint.write_bytes(b'{"version": "x"}'),
    "late": lambda hint: hint.write_bytes(b'{"version": 2}'),
    "of a version that never was": lambda hint: hint.write_bytes(b'{"version": 99}'),
}


@pytest.mark.parametrize("spoil", HINTS.values(), ids=HINTS)
def test_a_hint_is_never_trusted(storage: GraphStorage, spoil: Callable[[Path], object]) -> None:
    for _ in range(3):
        write_pair(storage)
    spoil(Path(storage.root.uri) / VERSIONS / "latest_version_hint.json")
    handle = storage.handles.open_for_change(PERSON.location, 1)
    assert storage.handles.newest_version(PERSON.location, handle) == 4


def test_a_handle_whose_own_version_was_cleaned_away_still_finds_the_newest(storage: GraphStorage) -> None:
    for _ in range(4):
        write_pair(storage)
    handle = storage.handles.open_for_change(PERSON.location, 2)
    for version in (1, 2, 3):
        Path(storage.root.uri, VERSIONS, f"{2**64 - 1 - version:020d}.manifest").unlink()
    Path(storage.root.uri, VERSIONS, "latest_version_hint.json").unlink()
    assert storage.handles.newest_version(PERSON.location, handle) == 5
