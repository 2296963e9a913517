"""Snapshots: the set of table versions that a graph commit makes visible."""

from __future__ import annotations

from omnigraph.model.errors import TypeNotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest, TablePin


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The table versions that one branch shows at one moment. Immutable: it always has the same rows.

    >>> snapshot = graph.snapshot()
    >>> [(str(table.table_key), table.row_count) for table in snapshot.tables]
    [('edge:Knows', 1), ('node:Person', 2)]
    """

    branch: str
    version: int
    """The version of `__manifest` that this snapshot was read from."""
    commit: GraphCommit | None
    tables: tuple[TablePin, ...]
    """In order of their type keys."""

    @property
    def commit_id(self) -> str | None:
        """The id of the commit that made it visible.

        >>> graph.snapshot().commit_id == graph.commits(limit=1)[0].commit_id
        True
        """
        return self.commit.commit_id if self.commit is not None else None

    def table(self, key: TableKey) -> TablePin:
        """The version of one table.

        >>> person = graph.schema.catalog.node("Person").table_key
        >>> graph.snapshot().table(person).row_count
        2

        Raises TypeNotFound.
        """
        for pin in self.tables:
            if pin.table_key == key:
                return pin
        raise TypeNotFound(key.type_name)


def snapshot_of(loaded: LoadedManifest) -> Snapshot:
    return Snapshot(loaded.branch, loaded.version, loaded.state.head, loaded.state.pins())


def current_snapshot(storage: GraphStorage, branch: str = MAIN) -> Snapshot:
    """The newest snapshot of a branch."""
    return snapshot_of(storage.manifest.load(branch))
