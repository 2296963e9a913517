"""Which rows a publish writes on top of a state, and what it refuses. Pure."""

from __future__ import annotations

import pytest

from omnigraph.model.errors import Conflict, Internal, NotFound, OmniGraphError
from omnigraph.storage.manifest.publishing import Change, changed_rows
from omnigraph.storage.manifest.rows import TableRegistration, TableTombstone, TableVersion
from omnigraph.storage.manifest.state import fold_rows

TABLE = TableRegistration(table_key="node:P", location="nodes/p")


def version(number: int, lineage: str | None = None, rows: int = 5, path: str = "m") -> TableVersion:
    return TableVersion(
        table_key="node:P", table_version=number, table_branch=lineage, row_count=rows, manifest_path=path
    )


def tombstone(number: int) -> TableTombstone:
    return TableTombstone(table_key="node:P", table_version=number)


BASE = (TABLE, version(3), version(4))

ACCEPTED: list[tuple[str, tuple[Change, ...], tuple[Change, ...], int]] = [
    ("the next version", BASE, (version(5),), 1),
    ("a version of another lineage with a greater number", BASE, (version(9, "b"),), 1),
    ("an identical version is dropped", BASE, (version(4),), 0),
    ("an owner handoff", BASE, (version(4, "b"),), 1),
    ("the same registration is dropped", BASE, (TABLE,), 0),
    ("a registration and its first version", (), (TABLE, version(1)), 2),
    ("registration after its version in the batch", (), (version(1), TABLE), 2),
    ("a tombstone", BASE, (tombstone(5),), 1),
    ("a version above the tombstone", (*BASE, tombstone(5)), (version(6),), 1),
]


@pytest.mark.parametrize(("state", "changes", "written"), [case[1:] for case in ACCEPTED], ids=[c[0] for c in ACCEPTED])
def test_accepted_changes(state: tuple[Change, ...], changes: tuple[Change, ...], written: int) -> None:
    assert len(changed_rows(changes, fold_rows(state))) == written


REFUSED: list[tuple[str, tuple[Change, ...], tuple[Change, ...], type[OmniGraphError]]] = [
    ("a version of an unregistered table", (), (version(1),), NotFound),
    ("a tombstone of an unregistered table", (), (tombstone(1),), NotFound),
    ("a table at another place", BASE, (TableRegistration(table_key="node:P", location="nodes/q"),), Conflict),
    ("one version twice", BASE, (version(5), version(5)), Conflict),
    ("a published version with another row count", BASE, (version(4, "b", rows=6),), Conflict),
    ("a tombstone twice", (*BASE, tombstone(5)), (tombstone(5),), Conflict),
    ("a lower number of another lineage would never be seen", BASE, (version(2, "b"),), Internal),
    ("a number that a tombstone hides", (*BASE, tombstone(9)), (version(9),), Internal),
]


@pytest.mark.parametrize(("state", "changes", "error"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])
def test_refused_changes(state: tuple[Change, ...], changes: tuple[Change, ...], error: type[OmniGraphError]) -> None:
    with pytest.raises(error):
        changed_rows(changes, fold_rows(state))
