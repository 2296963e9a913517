"""What a load reads: the caller's paths, lines, items or DataFrame as a source that an engine can run."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load.file_formats import JSON_LINES, by_format
from omnigraph.pipeline.load.spark_sources import DataFrameSource
from omnigraph.write.intake import ItemSource, LineItem, SourceItem, Unreadable, line_source, record_text

if TYPE_CHECKING:
    from omnigraph.pipeline.load.data_source_write import StagedSource

Source: TypeAlias = "str | Path | Sequence[str | Path] | Iterable[bytes] | ItemSource | DataFrameSource | StagedSource"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFormat:
    """How files are to be understood: lines of records, or tables by a mapping."""

    format: str | None = None
    """None: by the endings of the files."""
    type: str | None = None
    mapping: Mapping[str, Any] | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def refuse_for_lines(self) -> None:
        for name in ("type", "mapping", "options"):
            if getattr(self, name):
                raise BadRequest(
                    f"'{name}' applies to tables; JSON lines name their own types",
                    "pass format='csv' or another table format",
                )


def item_source(source: Source, how: SourceFormat, catalog: Catalog) -> ItemSource | None:
    """The items of a source; None when only Spark can read it, or has done so already."""
    if isinstance(source, ItemSource):
        return source
    if is_frame(source) or is_staged(source):
        return None
    if how.format is None:
        return _by_ending(source, how, catalog)
    if how.format == JSON_LINES:
        how.refuse_for_lines()
        return line_source(cast("Iterable[bytes]", source))
    return _tables(paths_of(source), how.format, how, catalog)


def _by_ending(source: Source, how: SourceFormat, catalog: Catalog) -> ItemSource:
    """Files of any format that is known by its ending; lines in memory are JSON lines."""
    given = [source] if isinstance(source, str | Path) else list(cast("Iterable[Any]", source))
    if not given or not all(isinstance(each, str | Path) for each in given):
        how.refuse_for_lines()
        return line_source(given)
    items: list[SourceItem] = []
    for name, paths in by_format(given).items():
        if name == JSON_LINES:
            how.refuse_for_lines()
            items += line_source(paths).items
        else:
            found = _tables(paths, name, how, catalog)
            assert found is not None, "these formats are read without Spark"
            items += found.items
    return ItemSource(tuple(items))


def _tables(paths: list[str | Path], name: str, how: SourceFormat, catalog: Catalog) -> ItemSource | None:
    from omnigraph.write.intake.tabular import FORMATS, read_mappings, source_items

    if name not in FORMATS:
        return None
    mapping = None if how.mapping is None else dict(how.mapping)
    return source_items(paths, name, read_mappings(mapping, catalog, type_name=how.type), how.options)


def frame_source(source: Source, how: SourceFormat, catalog: Catalog, spark: Any) -> DataFrameSource:
    """A source that only Spark can read: a DataFrame, or a format of Spark's own."""
    from omnigraph.pipeline.load.frame_sources import frame_source as of_frame
    from omnigraph.pipeline.load.frame_sources import read_frame

    if isinstance(source, DataFrameSource):
        return source
    if is_frame(source):
        return of_frame(cast("Any", source), catalog, type_name=how.type, mapping=how.mapping)
    paths = [str(path) for path in paths_of(source)]
    assert how.format is not None, "files whose format is not stated are read without Spark's readers"
    frame = read_frame(spark, how.format, paths, how.options)
    return of_frame(frame, catalog, type_name=how.type, mapping=how.mapping, name=",".join(paths) or how.format)


def is_frame(source: object) -> bool:
    """A DataFrame of a Spark session, or a source made of one. Does not import pyspark."""
    if isinstance(source, DataFrameSource):
        return True
    return any(base.__name__ == "DataFrame" and base.__module__.startswith("pyspark.") for base in type(source).__mro__)


def is_staged(source: object) -> TypeGuard[StagedSource]:
    """Rows that tasks have spilled already. Who has some has imported their module."""
    module = sys.modules.get("omnigraph.pipeline.load.data_source_write")
    return module is not None and isinstance(source, module.StagedSource)


def paths_of(source: Source) -> list[str | Path]:
    if isinstance(source, str | Path):
        return [source]
    given = list(source) if isinstance(source, Iterable) else []
    paths = [each for each in given if isinstance(each, str | Path)]
    if len(paths) < len(given):
        raise BadRequest("this format is read from files only", "pass paths")
    return paths


def digest_of_content(source: ItemSource, catalog: Catalog) -> str:
    """What an idempotency key is bound to: the content, whatever the files are called."""
    running = hashlib.sha256()
    for item in source.items:
        if isinstance(item, LineItem):
            for block in item.blocks():
                running.update(block.data)
            continue
        for each in item.records(catalog):
            running.update(each.text if isinstance(each, Unreadable) else record_text(each))
            running.update(b"\n")
    return running.hexdigest()
