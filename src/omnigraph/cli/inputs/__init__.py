"""What a command reads: files, query texts, mappings, and the options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.cli.inputs.change_filters import PAGE as PAGE
    from omnigraph.cli.inputs.change_filters import filter_options as filter_options
    from omnigraph.cli.inputs.change_filters import filters as filters
    from omnigraph.cli.inputs.change_filters import page_limits as page_limits
    from omnigraph.cli.inputs.conflict_options import on_conflict_option as on_conflict_option
    from omnigraph.cli.inputs.conflict_options import read_resolutions as read_resolutions
    from omnigraph.cli.inputs.conflict_options import resolve_option as resolve_option
    from omnigraph.cli.inputs.conflict_options import word_or_pairs as word_or_pairs
    from omnigraph.cli.inputs.files import read_text as read_text
    from omnigraph.cli.inputs.files import replace_text as replace_text
    from omnigraph.cli.inputs.mapping_file import read_mapping as read_mapping
    from omnigraph.cli.inputs.pipeline_options import engine_options as engine_options
    from omnigraph.cli.inputs.pipeline_options import key_values as key_values
    from omnigraph.cli.inputs.pipeline_options import refuse_master_without_spark as refuse_master_without_spark
    from omnigraph.cli.inputs.query_source import QuerySource as QuerySource
    from omnigraph.cli.inputs.query_source import given_parameters as given_parameters
    from omnigraph.cli.inputs.query_source import source_options as source_options
    from omnigraph.cli.inputs.schema_files import compile_file as compile_file
    from omnigraph.cli.inputs.write_options import condition_options as condition_options
    from omnigraph.cli.inputs.write_options import undo_options as undo_options
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "change_filters": ("PAGE", "filter_options", "filters", "page_limits"),
            "conflict_options": ("on_conflict_option", "read_resolutions", "resolve_option", "word_or_pairs"),
            "files": ("read_text", "replace_text"),
            "mapping_file": ("read_mapping",),
            "pipeline_options": ("engine_options", "key_values", "refuse_master_without_spark"),
            "query_source": ("QuerySource", "given_parameters", "source_options"),
            "schema_files": ("compile_file",),
            "write_options": ("condition_options", "undo_options"),
        },
    )
