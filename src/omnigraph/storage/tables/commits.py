"""Table commits: attaching a staged effect as the next version of its lineage, once, and proving that it is ours.

Lance may rebase a commit over a newer version without saying so, even when told not to retry. So the window is
exclusive (the caller holds the lease), and the achieved version and transaction are checked afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from omnigraph.model.errors import Conflict, ReadSetChanged
from omnigraph.storage import layout
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import Durability
from omnigraph.storage.lance import (
    Fault,
    Handles,
    LanceDataset,
    classify,
    require_whole,
    sync_operation,
    sync_version,
    sync_version_file,
    translate,
    translated,
    without_panics,
)
from omnigraph.storage.manifest import TableVersion
from omnigraph.storage.root import Root
from omnigraph.storage.tables.staging import StagedEffect
from omnigraph.storage.tables.table import Tables

COMMIT = "omnigraph.commit"
"""The property of a table's transaction that names the graph commit."""


class StaleEffect(Conflict):
    """The table moved between staging and commit; the effect was refused and nothing changed."""


class TableCommits:
    """Commits staged effects of one graph."""

    def __init__(self, root: Root, handles: Handles, tables: Tables, durability: Durability = "full") -> None:
        self._root = root
        self._handles = handles
        self._tables = tables
        self._durability = durability

    def commit(self, effect: StagedEffect, commit_id: str | None = None) -> TableVersion:
        """Attaches the effect as version pin + 1. The caller holds the lease of the branch.

        The version says for which graph commit it was made. If its writer was paused for so long that another one took
        over, and it lands after all, whoever finds it knows that it belongs to a commit that never came.
        """
        pin = effect.pin
        uri = self._root.join(pin.path)
        handle = self._tables.open(pin).handle
        self._require_head_at_pin(effect)
        options = self._root.lance_options
        durable = self._root.is_local and self._durability == "full"
        if self._root.is_local:
            require_whole(uri, effect.transaction.operation)
        # Synced before a version names them: so a power cut can tear the version's own file, and nothing else.
        synced = durable and sync_operation(uri, effect.transaction.operation)
        reach(Point.TABLE_COMMITTING)
        try:
            with without_panics():
                new = LanceDataset.commit(
                    handle, made_for(effect.transaction, commit_id), max_retries=0, storage_options=options
                )
        except (OSError, ValueError, RuntimeError) as error:
            if classify(error) is Fault.CONFLICT:
                raise StaleEffect(f"table '{pin.table_key}' moved past version {pin.version}") from error
            raise translate(error, uri) from error
        self._prove_ours(effect, new)
        with translated(uri):
            if synced:
                sync_version_file(new)
            elif durable:
                sync_version(handle, new)
            row_count = int(new.count_rows())
        self._handles.keep(pin.path, new, effect.transaction_id, pin.incarnation)
        reach(Point.TABLE_COMMITTED)
        return published_version(effect, row_count, self._root)

    def _require_head_at_pin(self, effect: StagedEffect) -> None:
        newest = self._tables.head_version(effect.pin)
        if newest > effect.pin.version:
            raise ReadSetChanged(f"table_version:{effect.pin.table_key}", str(effect.pin.version), str(newest))

    def _prove_ours(self, effect: StagedEffect, new: Any) -> None:
        """A version is made by one commit alone: if ours made pin + 1, then nothing lies between it and the pin."""
        if int(new.version) != effect.commits_as:
            member = f"table_version:{effect.pin.table_key}"
            raise ReadSetChanged(member, str(effect.commits_as), str(int(new.version)))


def made_for(transaction: Any, commit_id: str | None) -> Any:
    """The transaction with the graph commit that it is made for."""
    return transaction if commit_id is None else replace(transaction, transaction_properties={COMMIT: commit_id})


def commit_of(transaction: Any) -> str | None:
    """The graph commit that a transaction was made for; None when it does not say."""
    properties = transaction.transaction_properties or {}
    return properties.get(COMMIT)


def published_version(effect: StagedEffect, row_count: int, root: Root) -> TableVersion:
    """The manifest row that makes a committed effect visible."""
    pin = effect.pin
    return TableVersion(
        table_key=str(pin.table_key),
        table_version=effect.commits_as,
        table_branch=pin.lineage,
        row_count=row_count,
        manifest_path=object_path(root, layout.manifest_file(pin.path, effect.commits_as)),
    )


def object_path(root: Root, path: str) -> str:
    """A path as the object store names it: no scheme, no bucket, no leading slash."""
    base = root.uri if root.is_local else root.prefix
    return f"{base}/{path}".lstrip("/")
