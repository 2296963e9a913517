"""Storage: the seam to Lance and to the object store. Start with `graph_storage`; nothing of Lance leaves here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.contract import AcceptedSchema as AcceptedSchema
    from omnigraph.storage.contract import ContractFiles as ContractFiles
    from omnigraph.storage.contract import accept as accept
    from omnigraph.storage.contract import accept_now as accept_now
    from omnigraph.storage.contract import archive as archive
    from omnigraph.storage.contract import archived as archived
    from omnigraph.storage.contract import contract_of as contract_of
    from omnigraph.storage.contract import files_stamp as files_stamp
    from omnigraph.storage.contract import read_files as read_files
    from omnigraph.storage.contract import staged_files as staged_files
    from omnigraph.storage.contract import staged_name as staged_name
    from omnigraph.storage.create import create_graph as create_graph
    from omnigraph.storage.failpoints import InjectedFault as InjectedFault
    from omnigraph.storage.failpoints import Point as Point
    from omnigraph.storage.failpoints import reach as reach
    from omnigraph.storage.graph_storage import GraphStorage as GraphStorage
    from omnigraph.storage.graph_storage import from_disk as from_disk
    from omnigraph.storage.graph_storage import open_storage as open_storage
    from omnigraph.storage.graph_storage import reading as reading
    from omnigraph.storage.inspection import fork_pin as fork_pin
    from omnigraph.storage.inspection import manifest_faults as manifest_faults
    from omnigraph.storage.inspection import table_faults as table_faults
    from omnigraph.storage.layout import MANIFEST as MANIFEST
    from omnigraph.storage.layout import RECOVERY as RECOVERY
    from omnigraph.storage.layout import SCHEMA_FILES as SCHEMA_FILES
    from omnigraph.storage.layout import SCHEMA_SOURCE as SCHEMA_SOURCE
    from omnigraph.storage.layout import STAGING as STAGING
    from omnigraph.storage.layout import TAGS as TAGS
    from omnigraph.storage.layout import tag_object as tag_object
    from omnigraph.storage.layout import tag_of as tag_of
    from omnigraph.storage.new_tables import empty_table as empty_table
    from omnigraph.storage.new_tables import make_table as make_table
    from omnigraph.storage.predicates import All as All
    from omnigraph.storage.predicates import AnyOf as AnyOf
    from omnigraph.storage.predicates import Compare as Compare
    from omnigraph.storage.predicates import Contains as Contains
    from omnigraph.storage.predicates import IsNull as IsNull
    from omnigraph.storage.predicates import Not as Not
    from omnigraph.storage.predicates import OneOf as OneOf
    from omnigraph.storage.predicates import Operator as Operator
    from omnigraph.storage.predicates import Predicate as Predicate
    from omnigraph.storage.predicates import Value as Value
    from omnigraph.storage.recovery_audit import RecoveryKind as RecoveryKind
    from omnigraph.storage.recovery_audit import RecoveryRecord as RecoveryRecord
    from omnigraph.storage.recovery_audit import TableOutcome as TableOutcome
    from omnigraph.storage.recovery_audit import append_record as append_record
    from omnigraph.storage.recovery_audit import recovery_records as recovery_records
    from omnigraph.storage.restore import LineageVersion as LineageVersion
    from omnigraph.storage.restore import lineage_head as lineage_head
    from omnigraph.storage.restore import lineage_versions as lineage_versions
    from omnigraph.storage.restore import remove_torn_version as remove_torn_version
    from omnigraph.storage.restore import restore_lineage as restore_lineage
    from omnigraph.storage.restore import settle_versions as settle_versions
    from omnigraph.storage.restore import version_row as version_row
    from omnigraph.storage.root import Address as Address
    from omnigraph.storage.root import Root as Root
    from omnigraph.storage.root import parse_root as parse_root
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "contract": (
                "AcceptedSchema",
                "ContractFiles",
                "accept",
                "accept_now",
                "archive",
                "archived",
                "contract_of",
                "files_stamp",
                "read_files",
                "staged_files",
                "staged_name",
            ),
            "create": ("create_graph",),
            "failpoints": (
                "InjectedFault",
                "Point",
                "reach",
            ),
            "graph_storage": (
                "GraphStorage",
                "from_disk",
                "open_storage",
                "reading",
            ),
            "inspection": (
                "fork_pin",
                "manifest_faults",
                "table_faults",
            ),
            "layout": (
                "MANIFEST",
                "RECOVERY",
                "SCHEMA_FILES",
                "SCHEMA_SOURCE",
                "STAGING",
                "TAGS",
                "tag_object",
                "tag_of",
            ),
            "new_tables": (
                "empty_table",
                "make_table",
            ),
            "predicates": (
                "All",
                "AnyOf",
                "Compare",
                "Contains",
                "IsNull",
                "Not",
                "OneOf",
                "Operator",
                "Predicate",
                "Value",
            ),
            "recovery_audit": (
                "RecoveryKind",
                "RecoveryRecord",
                "TableOutcome",
                "append_record",
                "recovery_records",
            ),
            "restore": (
                "LineageVersion",
                "lineage_head",
                "lineage_versions",
                "remove_torn_version",
                "restore_lineage",
                "settle_versions",
                "version_row",
            ),
            "root": (
                "Address",
                "Root",
                "parse_root",
            ),
        },
    )
