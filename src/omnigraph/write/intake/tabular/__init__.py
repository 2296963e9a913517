"""Tabular sources: rows of CSV, JSON, Parquet and DataFrames as records, by a mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.intake.tabular.binding import BatchReader as BatchReader
    from omnigraph.write.intake.tabular.binding import bind as bind
    from omnigraph.write.intake.tabular.mapping import InvalidMapping as InvalidMapping
    from omnigraph.write.intake.tabular.mapping import TypeMapping as TypeMapping
    from omnigraph.write.intake.tabular.mapping import read_mappings as read_mappings
    from omnigraph.write.intake.tabular.mapping import with_type as with_type
    from omnigraph.write.intake.tabular.sources import FORMATS as FORMATS
    from omnigraph.write.intake.tabular.sources import TABLE_ENDINGS as TABLE_ENDINGS
    from omnigraph.write.intake.tabular.sources import source_items as source_items
    from omnigraph.write.intake.tabular.suggest import Suggestion as Suggestion
    from omnigraph.write.intake.tabular.suggest import suggest_for as suggest_for
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "binding": (
                "BatchReader",
                "bind",
            ),
            "mapping": (
                "InvalidMapping",
                "TypeMapping",
                "read_mappings",
                "with_type",
            ),
            "sources": (
                "FORMATS",
                "TABLE_ENDINGS",
                "source_items",
            ),
            "suggest": (
                "Suggestion",
                "suggest_for",
            ),
        },
    )
