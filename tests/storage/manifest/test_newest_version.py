"""The newest version of a lineage, found without listing: the same answer as Lance's."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import TablePin
from support.processes.writers import PERSON, write_pair

VERSIONS = Path(PERSON.location, "_versions")


@pytest.fixture
def storage(local: GraphStorage) -> GraphStorage:
    return local


@pytest.mark.parametrize("opened_at", [1, 3, 6])
def test_a_handle_of_any_version_finds_what_lance_finds_by_listing(storage: GraphStorage, opened_at: int) -> None:
    for _ in range(5):
        write_pair(storage)
    handle = storage.handles.open_for_change(PERSON.location, opened_at)
    pin = TablePin(PERSON, PERSON.location, opened_at, None, 0)
    assert storage.tables.head_version(pin) == handle.latest_version == 6


def test_a_handle_whose_own_version_was_cleaned_away_still_finds_the_newest(storage: GraphStorage) -> None:
    for _ in range(4):
        write_pair(storage)
    for version in (1, 2, 3):
        Path(storage.root.uri, VERSIONS, f"{2**64 - 1 - version:020d}.manifest").unlink()
    assert storage.tables.head_version(TablePin(PERSON, PERSON.location, 2, None, 0)) == 5
