"""The storage of one graph: every part of this package, put together once and handed to the rooms above."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.model.errors import OpenedReadOnly
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.external import BlobBases
from omnigraph.storage.files import Durability
from omnigraph.storage.lance import Handles, VersionFiles, new_session
from omnigraph.storage.leases import Leases
from omnigraph.storage.manifest import ManifestStore
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.reclaim import CondemnedVersions, OldVersions
from omnigraph.storage.root import Address, Root, parse_root
from omnigraph.storage.tables import Lineages, TableCommits, Tables

if TYPE_CHECKING:
    from omnigraph.embeddings import EmbeddingConfig


@dataclass(frozen=True, slots=True)
class GraphStorage:
    """Where a graph is kept. Opening one touches nothing; each part does its I/O when it is used."""

    root: Root
    durability: Durability
    read_only: bool
    objects: ObjectStore
    handles: Handles
    manifest: ManifestStore
    tables: Tables
    table_commits: TableCommits
    lineages: Lineages
    old_versions: OldVersions
    condemned: CondemnedVersions
    leases: Leases
    blob_bases: BlobBases = field(default_factory=BlobBases)
    """The external blobs that writes of this handle may name."""
    embedding: EmbeddingConfig | None = None
    """Who embeds texts for this handle; None: whom the environment names."""

    def require_writable(self) -> None:
        if self.read_only:
            raise OpenedReadOnly(f"graph '{self.root.uri}' was opened read-only")


def open_storage(
    uri: Address,
    *,
    durability: Durability = "full",
    read_only: bool = False,
    blob_bases: BlobBases | None = None,
    embedding: EmbeddingConfig | None = None,
) -> GraphStorage:
    """The storage that an address names."""
    root = parse_root(uri)
    return _assembled(root, durability, read_only, Handles(root), blob_bases, embedding)


def reading(root: Root) -> GraphStorage:
    """The storage of a root that was parsed elsewhere, for a task that only reads."""
    return _assembled(root, "os", True, Handles(root))


def from_disk(storage: GraphStorage) -> GraphStorage:
    """The same graph without anything that this process remembers of it: a file that is gone is missed."""
    fresh = new_session()
    return _assembled(storage.root, storage.durability, True, Handles(storage.root, lambda: fresh))


def _assembled(
    root: Root,
    durability: Durability,
    read_only: bool,
    handles: Handles,
    blob_bases: BlobBases | None = None,
    embedding: EmbeddingConfig | None = None,
) -> GraphStorage:
    objects = open_store(root, durable=durability == "full")
    versions = VersionFiles(root, objects)
    manifest = ManifestStore(root, objects, handles, versions, durability)
    tables = Tables(handles, root.uri, versions, manifest.require, lambda: manifest.genesis)
    leases = Leases(root, objects)
    return GraphStorage(
        root=root,
        durability=durability,
        read_only=read_only,
        objects=objects,
        handles=handles,
        manifest=manifest,
        tables=tables,
        table_commits=TableCommits(root, handles, tables, durability),
        lineages=Lineages(root, objects, handles, leases, durability),
        old_versions=OldVersions(root, objects, handles),
        condemned=CondemnedVersions(objects),
        leases=leases,
        blob_bases=blob_bases or BlobBases(),
        embedding=embedding,
    )
