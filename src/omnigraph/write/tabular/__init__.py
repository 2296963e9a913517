"""Tabular sources: rows of CSV, JSON, Parquet and DataFrames as records, by a mapping. Start with `source_items`."""

from omnigraph.write.tabular.binding import BatchReader, Binding, bind
from omnigraph.write.tabular.mapping import InvalidMapping, MappingSet, TypeMapping, read_mappings
from omnigraph.write.tabular.sources import FORMATS, source_items
from omnigraph.write.tabular.suggest import Suggestion, suggest_for, suggest_mapping

__all__ = [
    "FORMATS",
    "BatchReader",
    "Binding",
    "InvalidMapping",
    "MappingSet",
    "Suggestion",
    "TypeMapping",
    "bind",
    "read_mappings",
    "source_items",
    "suggest_for",
    "suggest_mapping",
]
