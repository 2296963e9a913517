"""Indexes: built, probed and searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.indexes.analyser import WORD_BYTES_MAX as WORD_BYTES_MAX
    from omnigraph.storage.indexes.analyser import analysed as analysed
    from omnigraph.storage.indexes.analyser import folded_words as folded_words
    from omnigraph.storage.indexes.analyser import tokens_of_words as tokens_of_words
    from omnigraph.storage.indexes.analyser import words_of as words_of
    from omnigraph.storage.indexes.builds import BuildTask as BuildTask
    from omnigraph.storage.indexes.builds import BuiltSegment as BuiltSegment
    from omnigraph.storage.indexes.builds import BuiltSegments as BuiltSegments
    from omnigraph.storage.indexes.builds import ExistingIndex as ExistingIndex
    from omnigraph.storage.indexes.builds import IndexBuild as IndexBuild
    from omnigraph.storage.indexes.builds import build_in_threads as build_in_threads
    from omnigraph.storage.indexes.builds import build_segment as build_segment
    from omnigraph.storage.indexes.builds import built_segments as built_segments
    from omnigraph.storage.indexes.builds import existing_indexes as existing_indexes
    from omnigraph.storage.indexes.builds import index_identities as index_identities
    from omnigraph.storage.indexes.builds import is_worn as is_worn
    from omnigraph.storage.indexes.builds import rewritten_fragments as rewritten_fragments
    from omnigraph.storage.indexes.builds import stage_segments as stage_segments
    from omnigraph.storage.indexes.builds import still_fits as still_fits
    from omnigraph.storage.indexes.builds import values_in as values_in
    from omnigraph.storage.indexes.builds import why_broken as why_broken
    from omnigraph.storage.indexes.probes import probe_index as probe_index
    from omnigraph.storage.indexes.text_search import TextIndex as TextIndex
    from omnigraph.storage.indexes.text_search import text_index as text_index
    from omnigraph.storage.indexes.vector_search import TEXT_KINDS as TEXT_KINDS
    from omnigraph.storage.indexes.vector_search import VECTOR_KINDS as VECTOR_KINDS
    from omnigraph.storage.indexes.vector_search import give_up as give_up
    from omnigraph.storage.indexes.vector_search import vector_index as vector_index
    from omnigraph.storage.indexes.vector_search import vector_ranked as vector_ranked
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "analyser": (
                "WORD_BYTES_MAX",
                "analysed",
                "folded_words",
                "tokens_of_words",
                "words_of",
            ),
            "builds": (
                "BuildTask",
                "BuiltSegment",
                "BuiltSegments",
                "ExistingIndex",
                "IndexBuild",
                "build_in_threads",
                "build_segment",
                "built_segments",
                "existing_indexes",
                "index_identities",
                "is_worn",
                "rewritten_fragments",
                "stage_segments",
                "still_fits",
                "values_in",
                "why_broken",
            ),
            "probes": ("probe_index",),
            "text_search": (
                "TextIndex",
                "text_index",
            ),
            "vector_search": (
                "TEXT_KINDS",
                "VECTOR_KINDS",
                "give_up",
                "vector_index",
                "vector_ranked",
            ),
        },
    )
