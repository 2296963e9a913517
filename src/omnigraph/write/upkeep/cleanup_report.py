"""What `cleanup` tells: what goes, or went, of each table."""

from __future__ import annotations

from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.upkeep.retention import RetentionPolicy


@dataclass(frozen=True, slots=True)
class CleanedTable:
    """One table: what was removed of it, or would be."""

    type: str
    """`node:Person`"""
    versions: int
    files: int
    bytes: int
    forks: tuple[str, ...] = ()
    """Forks of the table that no branch, tag or merge needs, by the names of the branches that they were of."""
    error: str | None = None
    """What stood against it. The other tables are done all the same."""


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """What `cleanup` removed, or would remove.

    >>> preview = graph.cleanup(keep_versions=10)
    >>> preview.confirmed, [(table.type, table.versions) for table in preview.tables]
    (False, [('node:Person', 0), ('edge:Knows', 0)])
    """

    confirmed: bool
    """False for a preview: nothing was changed."""
    policy: RetentionPolicy
    tables: tuple[CleanedTable, ...]
    """Nodes before edges, in the order of their names."""
    manifest_files: int = 0
    """Old transaction files of `__manifest`. Its versions stay."""
    manifest_bytes: int = 0

    @property
    def versions(self) -> int:
        """Of all tables.

        >>> graph.cleanup(keep_versions=10).versions
        0
        """
        return sum(table.versions for table in self.tables)

    @property
    def files(self) -> int:
        """Of all tables and of `__manifest`.

        >>> graph.cleanup(keep_versions=10).files >= 0
        True
        """
        return sum(table.files for table in self.tables) + self.manifest_files

    @property
    def bytes(self) -> int:
        """Of all tables and of `__manifest`.

        >>> graph.cleanup(keep_versions=10).bytes >= 0
        True
        """
        return sum(table.bytes for table in self.tables) + self.manifest_bytes

    @property
    def failed(self) -> tuple[CleanedTable, ...]:
        """The tables of which not everything could be removed.

        >>> graph.cleanup(keep_versions=10).failed
        ()
        """
        return tuple(table for table in self.tables if table.error is not None)
