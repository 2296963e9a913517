"""Restoring a lineage: what lies above a published version, who made it, and a new version with the old content.

Nothing is ever taken away: a restore is one more version on top. It wins over whatever is there, so the caller holds
the lease of the branch and has looked at every version that it covers.
"""

from __future__ import annotations

from omnigraph.model.errors import Corrupt, HistoricalVersionReclaimed, ReadSetChanged
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import (
    Dataset,
    Fault,
    LanceDataset,
    LanceOperation,
    Transaction,
    VersionFiles,
    classify,
    sync_version,
    translate,
    translated,
)
from omnigraph.storage.manifest import TableVersion
from omnigraph.storage.tables import commit_of, made_for, object_path

UNREADABLE = "unreadable"
"""The operation of a version whose transaction Lance cannot read back."""
RESERVES = "ReserveFragments"
"""The first half of a compaction of Lance's own: it changes no row."""


@dataclass(frozen=True, slots=True)
class LineageVersion:
    """One version of a lineage and the transaction that made it."""

    version: int
    operation: str  # Lance's name of it: Append, Update, CreateIndex, Restore …
    transaction_id: str | None = None
    restores: int | None = None  # for a Restore: the version whose content it has
    commit_id: str | None = None  # the graph commit that it was made for, if it says so

    @property
    def is_readable(self) -> bool:
        """Whether anybody can say what made it."""
        return self.operation != UNREADABLE


def lineage_head(storage: GraphStorage, location: str, lineage: str | None) -> int | None:
    """The newest version of a lineage, published or not; None when there is no such lineage."""
    if lineage is not None and not storage.lineages.exists(location, lineage):
        return None
    path = layout.branch_tree(location, lineage)
    try:
        return int(storage.handles.open_for_change(path).version)
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) is Fault.MISSING:
            return None
        raise translate(error, storage.root.join(path)) from error


def remove_torn_version(storage: GraphStorage, location: str, lineage: str | None) -> int | None:
    """Removes the newest version of a lineage if a power cut tore it, and returns which it was.

    It was never confirmed: its file is synced before that. The caller holds the lease of the branch.
    """
    path = layout.branch_tree(location, lineage)
    torn = VersionFiles(storage.root, storage.objects).remove_torn(path)
    if torn is not None:
        storage.handles.forget(path)
    return torn


def lineage_versions(
    storage: GraphStorage, location: str, lineage: str | None, first: int, last: int
) -> tuple[LineageVersion, ...]:
    """The versions from `first` to `last`, both included; none when `first` is greater. Raises
    HistoricalVersionReclaimed when the last one was removed."""
    if first > last:
        return ()
    path = layout.branch_tree(location, lineage)
    uri = storage.root.join(path)
    try:
        handle = storage.handles.open_for_change(path, last)
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) is Fault.MISSING:
            raise HistoricalVersionReclaimed(uri, last) from error
        raise translate(error, uri) from error
    with translated(uri):
        return tuple(_origin(handle, version) for version in range(first, last + 1))


def _origin(handle: Dataset, version: int) -> LineageVersion:
    try:
        transaction = handle.read_transaction(version)
    except TypeError:  # a compaction that rewrote an index has no form in this library
        return LineageVersion(version, UNREADABLE)
    if transaction is None:
        return LineageVersion(version, UNREADABLE)
    operation = transaction.operation
    restores = int(operation.version) if isinstance(operation, LanceOperation.Restore) else None
    name = type(operation).__name__
    if type(operation) is LanceOperation.BaseOperation:  # one that has no form in this library
        name = RESERVES if _changes_nothing(handle, version) else UNREADABLE
    return LineageVersion(version, name, str(transaction.uuid), restores, commit_of(transaction))


def _changes_nothing(handle: Dataset, version: int) -> bool:
    """Whether a version has the columns and rows of the one before it, file by file."""
    after, before = (handle.checkout_version(number) for number in (version, version - 1))
    fragments = [[fragment.metadata.to_json() for fragment in each.get_fragments()] for each in (before, after)]
    return bool(after.schema.equals(before.schema)) and fragments[0] == fragments[1]


def settle_versions(storage: GraphStorage, location: str, lineage: str | None, since: int, head: int) -> None:
    """Makes durable what another writer committed after version `since`; it may have died before it did."""
    if not storage.root.is_local or storage.durability != "full":
        return
    path = layout.branch_tree(location, lineage)
    with translated(storage.root.join(path)):
        after = storage.handles.open_for_change(path, head)
        before = storage.handles.open_for_change(path, since) if _has_version(storage, path, since) else None
        sync_version(before, after)
    if lineage is not None:
        storage.lineages.settle(location, lineage, head)


def _has_version(storage: GraphStorage, path: str, version: int) -> bool:
    return version > 0 and storage.objects.exists(layout.manifest_file(path, version))


def restore_lineage(
    storage: GraphStorage, location: str, lineage: str | None, version: int, *, head: int, commit_id: str
) -> int:
    """Puts the content of `version` on top of `head`; returns the new head. The caller has seen all up to `head`.

    The new version says for which graph commit it was made: a restore that was held up until another writer had taken
    the branch over lands on top of that one's work, and is taken back as any other late version. Raises ReadSetChanged
    if it did not land on `head`.
    """
    path = layout.branch_tree(location, lineage)
    uri = storage.root.join(path)
    with translated(uri):
        before = storage.handles.open_for_change(path, head)
        transaction = made_for(Transaction(head, LanceOperation.Restore(version)), commit_id)
        after = _committed(storage, path, before, transaction)
        _prove(storage, path, after, version)
        if storage.root.is_local and storage.durability == "full":
            sync_version(before, after)
        return int(after.version)


def _committed(storage: GraphStorage, path: str, before: Dataset, transaction: Transaction) -> Dataset:
    head = int(before.version)
    try:
        after = LanceDataset.commit(before, transaction, max_retries=0, storage_options=storage.root.lance_options)
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) is not Fault.CONFLICT:
            raise
        raise ReadSetChanged(f"table_version:{path}", str(head), "a newer one") from error
    landed = after.read_transaction(int(after.version))
    is_ours = landed is not None and landed.uuid == transaction.uuid
    if not is_ours or int(after.version) != head + 1:  # it is never refused for what came between
        raise ReadSetChanged(f"table_version:{path}", str(head), str(int(after.version) - 1))
    return after


def _prove(storage: GraphStorage, path: str, after: Dataset, version: int) -> None:
    old = storage.handles.open_for_change(path, version)
    if not after.schema.equals(old.schema) or after.count_rows() != old.count_rows():
        raise Corrupt(storage.root.join(path), f"version {after.version} differs from the restored version {version}")


def version_row(
    storage: GraphStorage, table_key: str, location: str, lineage: str | None, version: int
) -> TableVersion:
    """The manifest row that publishes an existing version of a lineage."""
    path = layout.branch_tree(location, lineage)
    with translated(storage.root.join(path)):
        row_count = int(storage.handles.open_for_change(path, version).count_rows())
    return TableVersion(
        table_key=table_key,
        table_version=version,
        table_branch=lineage,
        row_count=row_count,
        manifest_path=object_path(storage.root, layout.manifest_file(path, version)),
    )
