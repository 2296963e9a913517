"""Storage: the seam to Lance and to the object store. Start with `open_storage`; nothing of Lance leaves here."""

from omnigraph.storage.birth import create_graph
from omnigraph.storage.contract import AcceptedSchema, ContractFiles, accept, files_stamp, read_files
from omnigraph.storage.durability import Durability
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.fragments import ChangedRows, FragmentState, changed_rows, fragment_states, scan_fragments
from omnigraph.storage.graph_storage import GraphStorage, open_storage
from omnigraph.storage.layout import MANIFEST
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import BranchRef, LoadedManifest, StagedRows
from omnigraph.storage.manifest_rows import GraphCommit, TableRegistration, TableTombstone, TableVersion
from omnigraph.storage.manifest_state import BranchIdentifier, Incarnation, ManifestState, TablePin
from omnigraph.storage.predicates import All, AnyOf, Compare, Contains, IsNull, Not, OneOf, Predicate
from omnigraph.storage.publish import (
    HeadIs,
    Lineage,
    Published,
    PublishPlan,
    VersionIs,
    head_of,
    publish,
    stage_publish,
)
from omnigraph.storage.root import Root, parse_root
from omnigraph.storage.staging import (
    IndexSpec,
    StagedEffect,
    existing_ids,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_insert,
    stage_overwrite,
    stage_upsert,
)
from omnigraph.storage.tables import IndexInfo, Table, TableIdentity

__all__ = [
    "MANIFEST",
    "AcceptedSchema",
    "All",
    "AnyOf",
    "BranchIdentifier",
    "BranchRef",
    "ChangedRows",
    "Compare",
    "Contains",
    "ContractFiles",
    "Durability",
    "FragmentState",
    "GraphCommit",
    "GraphStorage",
    "HeadIs",
    "HeldLeases",
    "Incarnation",
    "IndexInfo",
    "IndexSpec",
    "IsNull",
    "Lineage",
    "LoadedManifest",
    "ManifestState",
    "Not",
    "OneOf",
    "Point",
    "Predicate",
    "PublishPlan",
    "Published",
    "Root",
    "StagedEffect",
    "StagedRows",
    "Table",
    "TableIdentity",
    "TablePin",
    "TableRegistration",
    "TableTombstone",
    "TableVersion",
    "VersionIs",
    "accept",
    "changed_rows",
    "create_graph",
    "existing_ids",
    "files_stamp",
    "fragment_states",
    "head_of",
    "open_storage",
    "parse_root",
    "publish",
    "reach",
    "read_files",
    "scan_fragments",
    "stage_append",
    "stage_delete",
    "stage_indexes",
    "stage_insert",
    "stage_overwrite",
    "stage_publish",
    "stage_upsert",
]
