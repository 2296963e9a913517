"""Tabular sources: files of a format and a mapping to work items, checked against the schema before rows are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from omnigraph.model.errors import BadRequest
from omnigraph.write.intake.source_files import SourceFile, find_files
from omnigraph.write.intake.sources import ItemSource, SourceItem
from omnigraph.write.intake.tabular.csv_items import csv_items
from omnigraph.write.intake.tabular.csv_rows import Dialect
from omnigraph.write.intake.tabular.json_items import json_items
from omnigraph.write.intake.tabular.mapping import MappingSet
from omnigraph.write.intake.tabular.parquet_items import parquet_items

FORMATS = ("csv", "json", "parquet")
_SUFFIXES = {"csv": (".csv", ".tsv"), "json": (".json", ".jsonl", ".ndjson"), "parquet": (".parquet", ".parq", ".pq")}
TABLE_ENDINGS = {"csv": (".csv", ".tsv"), "parquet": _SUFFIXES["parquet"]}
"""What a file is by the ending of its name; `.json` is JSON lines unless the caller says otherwise."""
_OPTIONS = {"csv": ("delimiter", "quote", "header", "names"), "json": (), "parquet": ()}


def source_items(
    paths: Iterable[str | Path],
    file_format: str,
    mappings: MappingSet,
    options: Mapping[str, str] | None = None,
) -> ItemSource:
    """The items of these files, folders and patterns. A mapping that does not fit the columns is refused here."""
    chosen = dict(options or {})
    check_options(file_format, chosen)
    items: list[SourceItem] = []
    for file in source_files(paths, file_format):
        items += _items(file, file_format, mappings, chosen)
    return ItemSource(tuple(items))


def source_files(paths: Iterable[str | Path], file_format: str) -> list[SourceFile]:
    return find_files(paths, _SUFFIXES[file_format])


def check_options(file_format: str, options: Mapping[str, str]) -> None:
    if file_format not in FORMATS:
        raise BadRequest(f"unknown table format '{file_format}'", f"the formats are {', '.join(FORMATS)}")
    for name in options:
        if name not in _OPTIONS[file_format]:
            known = ", ".join(_OPTIONS[file_format]) or "none"
            raise BadRequest(f"the format {file_format} has no option '{name}'", f"its options: {known}")


def _items(file: SourceFile, file_format: str, mappings: MappingSet, options: Mapping[str, str]) -> list[SourceItem]:
    mapping = mappings.of(file.inner)
    if file_format == "json":
        return list(json_items(file.path, mapping))
    if file_format == "parquet":
        return list(parquet_items(file, mapping, mappings.catalog))
    found = csv_items(file, mapping, dialect(file.path, options))
    found[0].bound(mappings.catalog)
    return list(found)


def dialect(path: str, options: Mapping[str, str]) -> Dialect:
    """How a CSV file is written, by its options; a `.tsv` file is separated by tabs."""
    tabs = ".tsv" in path.rsplit("/", 1)[-1]
    delimiter = options.get("delimiter", "\t" if tabs else ",").replace("\\t", "\t")
    quote = options.get("quote", '"')
    for name, text in (("delimiter", delimiter), ("quote", quote)):
        if len(text) != 1 or text in "\r\n" or not text.isascii():
            raise BadRequest(f"the option {name} must be one ASCII character, not {text!r}")
    if options.get("header", "true") not in ("true", "false"):
        raise BadRequest(f"the option header must be true or false, not '{options['header']}'")
    named = options.get("names")
    if (options.get("header", "true") == "false") != (named is not None):
        raise BadRequest("a file without a header needs the names of its columns", "pass header=false and names=a,b,c")
    return Dialect(delimiter, quote, None if named is None else tuple(named.split(",")))
