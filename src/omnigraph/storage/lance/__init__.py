"""Lance itself: the session, its errors, the files that its commits create and name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.lance.created_files import files_of_operation as files_of_operation
    from omnigraph.storage.lance.created_files import require_whole as require_whole
    from omnigraph.storage.lance.created_files import require_whole_fragments as require_whole_fragments
    from omnigraph.storage.lance.created_files import sync_operation as sync_operation
    from omnigraph.storage.lance.created_files import sync_version as sync_version
    from omnigraph.storage.lance.created_files import sync_version_file as sync_version_file
    from omnigraph.storage.lance.errors import Fault as Fault
    from omnigraph.storage.lance.errors import classify as classify
    from omnigraph.storage.lance.errors import translate as translate
    from omnigraph.storage.lance.errors import translated as translated
    from omnigraph.storage.lance.errors import without_panics as without_panics
    from omnigraph.storage.lance.field_numbers import numbered_paths as numbered_paths
    from omnigraph.storage.lance.field_numbers import renumbered_schema as renumbered_schema
    from omnigraph.storage.lance.messages import decoded as decoded
    from omnigraph.storage.lance.messages import member as member
    from omnigraph.storage.lance.messages import pieces as pieces
    from omnigraph.storage.lance.messages import whole_number as whole_number
    from omnigraph.storage.lance.session import Compaction as Compaction
    from omnigraph.storage.lance.session import Dataset as Dataset
    from omnigraph.storage.lance.session import FragmentMetadata as FragmentMetadata
    from omnigraph.storage.lance.session import Handles as Handles
    from omnigraph.storage.lance.session import Index as Index
    from omnigraph.storage.lance.session import LanceDataset as LanceDataset
    from omnigraph.storage.lance.session import LanceFileReader as LanceFileReader
    from omnigraph.storage.lance.session import LanceOperation as LanceOperation
    from omnigraph.storage.lance.session import MatchQuery as MatchQuery
    from omnigraph.storage.lance.session import SharedHandle as SharedHandle
    from omnigraph.storage.lance.session import Transaction as Transaction
    from omnigraph.storage.lance.session import new_session as new_session
    from omnigraph.storage.lance.session import serialize_row_addrs as serialize_row_addrs
    from omnigraph.storage.lance.session import tokenize as tokenize
    from omnigraph.storage.lance.session import write_fragments as write_fragments
    from omnigraph.storage.lance.version_files import Stamp as Stamp
    from omnigraph.storage.lance.version_files import VersionFiles as VersionFiles
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "created_files": (
                "files_of_operation",
                "require_whole",
                "require_whole_fragments",
                "sync_operation",
                "sync_version",
                "sync_version_file",
            ),
            "errors": (
                "Fault",
                "classify",
                "translate",
                "translated",
                "without_panics",
            ),
            "field_numbers": (
                "numbered_paths",
                "renumbered_schema",
            ),
            "messages": (
                "decoded",
                "member",
                "pieces",
                "whole_number",
            ),
            "session": (
                "Compaction",
                "Dataset",
                "FragmentMetadata",
                "Handles",
                "Index",
                "LanceDataset",
                "LanceFileReader",
                "LanceOperation",
                "MatchQuery",
                "SharedHandle",
                "Transaction",
                "new_session",
                "serialize_row_addrs",
                "tokenize",
                "write_fragments",
            ),
            "version_files": (
                "Stamp",
                "VersionFiles",
            ),
        },
    )
