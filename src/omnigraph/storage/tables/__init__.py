"""Tables: read at a pin, staged, committed, forked and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.tables.column_changes import field_numbers as field_numbers
    from omnigraph.storage.tables.column_changes import stage_columns as stage_columns
    from omnigraph.storage.tables.column_changes import stored_bytes as stored_bytes
    from omnigraph.storage.tables.columns import BLOB_TYPE as BLOB_TYPE
    from omnigraph.storage.tables.columns import arrow_type as arrow_type
    from omnigraph.storage.tables.columns import plainly_typed as plainly_typed
    from omnigraph.storage.tables.columns import table_schema as table_schema
    from omnigraph.storage.tables.commits import StaleEffect as StaleEffect
    from omnigraph.storage.tables.commits import TableCommits as TableCommits
    from omnigraph.storage.tables.commits import commit_of as commit_of
    from omnigraph.storage.tables.commits import made_for as made_for
    from omnigraph.storage.tables.commits import object_path as object_path
    from omnigraph.storage.tables.commits import published_version as published_version
    from omnigraph.storage.tables.fragments import FragmentState as FragmentState
    from omnigraph.storage.tables.fragments import changed_rows as changed_rows
    from omnigraph.storage.tables.fragments import fragment_states as fragment_states
    from omnigraph.storage.tables.fragments import rows_given as rows_given
    from omnigraph.storage.tables.fragments import scan_fragments as scan_fragments
    from omnigraph.storage.tables.hashing import Hashes as Hashes
    from omnigraph.storage.tables.hashing import text_hash as text_hash
    from omnigraph.storage.tables.hashing import text_hashes as text_hashes
    from omnigraph.storage.tables.key_map import key_maps as key_maps
    from omnigraph.storage.tables.lineages import Lineages as Lineages
    from omnigraph.storage.tables.patches import row_addresses as row_addresses
    from omnigraph.storage.tables.patches import stage_patch as stage_patch
    from omnigraph.storage.tables.row_changes import CandidateRows as CandidateRows
    from omnigraph.storage.tables.row_changes import all_rows as all_rows
    from omnigraph.storage.tables.row_changes import candidate_rows as candidate_rows
    from omnigraph.storage.tables.row_changes import most_changed_rows as most_changed_rows
    from omnigraph.storage.tables.row_changes import read_candidates as read_candidates
    from omnigraph.storage.tables.row_changes import shared_fragments as shared_fragments
    from omnigraph.storage.tables.row_changes import shared_version as shared_version
    from omnigraph.storage.tables.row_changes import take_at as take_at
    from omnigraph.storage.tables.row_changes import take_with_row_ids as take_with_row_ids
    from omnigraph.storage.tables.row_versions import read_row_versions as read_row_versions
    from omnigraph.storage.tables.row_versions import run_count as run_count
    from omnigraph.storage.tables.row_versions import told_apart_from as told_apart_from
    from omnigraph.storage.tables.row_versions import written_row_versions as written_row_versions
    from omnigraph.storage.tables.scan_partitions import GROUP_ROWS as GROUP_ROWS
    from omnigraph.storage.tables.scan_partitions import scan_group as scan_group
    from omnigraph.storage.tables.scan_partitions import scan_groups as scan_groups
    from omnigraph.storage.tables.staging import IndexSpec as IndexSpec
    from omnigraph.storage.tables.staging import StagedEffect as StagedEffect
    from omnigraph.storage.tables.staging import discard as discard
    from omnigraph.storage.tables.staging import existing_ids as existing_ids
    from omnigraph.storage.tables.staging import on_newer_version as on_newer_version
    from omnigraph.storage.tables.staging import segments_named as segments_named
    from omnigraph.storage.tables.staging import stage_append as stage_append
    from omnigraph.storage.tables.staging import stage_delete as stage_delete
    from omnigraph.storage.tables.staging import stage_indexes as stage_indexes
    from omnigraph.storage.tables.staging import stage_insert as stage_insert
    from omnigraph.storage.tables.staging import stage_overwrite as stage_overwrite
    from omnigraph.storage.tables.staging import stage_upsert as stage_upsert
    from omnigraph.storage.tables.staging import staged_effect as staged_effect
    from omnigraph.storage.tables.staging import sync_staged as sync_staged
    from omnigraph.storage.tables.table import IndexInfo as IndexInfo
    from omnigraph.storage.tables.table import Table as Table
    from omnigraph.storage.tables.table import TableIdentity as TableIdentity
    from omnigraph.storage.tables.table import Tables as Tables
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "column_changes": (
                "field_numbers",
                "stage_columns",
                "stored_bytes",
            ),
            "columns": (
                "BLOB_TYPE",
                "arrow_type",
                "plainly_typed",
                "table_schema",
            ),
            "commits": (
                "StaleEffect",
                "TableCommits",
                "commit_of",
                "made_for",
                "object_path",
                "published_version",
            ),
            "fragments": (
                "FragmentState",
                "changed_rows",
                "fragment_states",
                "rows_given",
                "scan_fragments",
            ),
            "hashing": (
                "Hashes",
                "text_hash",
                "text_hashes",
            ),
            "key_map": ("key_maps",),
            "lineages": ("Lineages",),
            "patches": (
                "row_addresses",
                "stage_patch",
            ),
            "row_changes": (
                "CandidateRows",
                "all_rows",
                "candidate_rows",
                "most_changed_rows",
                "read_candidates",
                "shared_fragments",
                "shared_version",
                "take_at",
                "take_with_row_ids",
            ),
            "row_versions": (
                "read_row_versions",
                "run_count",
                "told_apart_from",
                "written_row_versions",
            ),
            "scan_partitions": (
                "GROUP_ROWS",
                "scan_group",
                "scan_groups",
            ),
            "staging": (
                "IndexSpec",
                "StagedEffect",
                "discard",
                "existing_ids",
                "on_newer_version",
                "segments_named",
                "stage_append",
                "stage_delete",
                "stage_indexes",
                "stage_insert",
                "stage_overwrite",
                "stage_upsert",
                "staged_effect",
                "sync_staged",
            ),
            "table": (
                "IndexInfo",
                "Table",
                "TableIdentity",
                "Tables",
            ),
        },
    )
