"""Export in parallel: one snapshot to a folder of files, a part per group of fragments, with a manifest written last.

    out/nodes/Person/part-00000.parquet
    out/edges/Knows/part-00000.parquet
    out/_schema.pg          what `init` needs to load it all back
    out/_manifest.json      branch, commit, format, every file with its rows; its presence says that all is there

Programs that read folders pass over names with `_`. A failed export leaves the folder as empty as it was.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.history import Snapshot
from omnigraph.history.export import Dates, exported_tables, has_foreign_commits
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.export.folder import MANIFEST_FILE, SCHEMA_FILE, ExportFolder
from omnigraph.pipeline.export.parts import ExportFormat, Part, PartItem, amount_exported, write_part
from omnigraph.pipeline.spark import Stage, run, running_session, session
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.tables import GROUP_ROWS, scan_groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ExportFormat", "ExportResult", "export_to"]

LOCAL_ROWS_MAX = 5_000_000
"""Up to so many rows an export that may choose runs in this process: starting Spark would take longer."""

Engine = Literal["auto", "local", "spark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """The receipt of an export.

    >>> receipt = graph.export_to("backup", engine="local")
    >>> receipt.nodes, receipt.edges, len(receipt.files)
    ({'Person': 2}, {'Knows': 1}, 2)
    """

    folder: str
    format: ExportFormat
    branch: str
    commit_id: str | None
    engine: Literal["local", "spark"]
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    bytes: int = 0
    seconds: float = 0.0

    @property
    def total_entities(self) -> int:
        """Nodes and edges together.

        >>> graph.export_to("backup", engine="local").total_entities
        3
        """
        return sum(self.nodes.values()) + sum(self.edges.values())


def export_to(
    storage: GraphStorage,
    schema: AcceptedSchema,
    snapshot: Snapshot,
    target: str,
    *,
    format: ExportFormat = "jsonl",  # noqa: A002 — the word of the public call
    types: Sequence[str] | None = None,
    dates: Dates | None = None,
    engine: Engine = "auto",
    spark: SparkSession | str | None = None,
    progress: ProgressListener | None = None,
    part_rows: int = GROUP_ROWS,
) -> ExportResult:
    """Writes a snapshot to a folder that is empty or not there yet."""
    if format not in ("jsonl", "parquet", "csv"):
        raise BadRequest(f"cannot export as '{format}'", "the formats are jsonl, parquet and csv")
    started = time.monotonic()
    folder = ExportFolder.of(target)
    chosen = exported_tables(snapshot, schema.catalog, types)
    rows = sum(pin.row_count for _, pin in chosen)
    runs = _engine(engine, spark, rows)
    folder.prepare()
    try:
        items = _items(storage, snapshot, chosen, folder, format, dates or _dates(format), part_rows)
        parts = _run(items, runs, spark, rows, progress)
        result = _result(folder, format, snapshot, runs, items, parts, time.monotonic() - started)
        folder.write(SCHEMA_FILE, schema.source.encode())
        folder.write(MANIFEST_FILE, json.dumps(_manifest(result, parts, schema), indent=2, ensure_ascii=False).encode())
    except BaseException:
        folder.discard()
        raise
    return result


def _dates(format: ExportFormat) -> Dates:  # noqa: A002
    """Lines keep the numbers of the load's contract; people and spreadsheets read CSV."""
    return "iso" if format == "csv" else "raw"


def _engine(asked: Engine, spark: SparkSession | str | None, rows: int) -> Literal["local", "spark"]:
    if asked not in ("auto", "local", "spark"):
        raise BadRequest(f"there is no engine '{asked}'", "the engines are auto, local and spark")
    if asked != "auto":
        return asked
    wanted = spark is not None or rows > LOCAL_ROWS_MAX or running_session() is not None
    return "spark" if wanted else "local"


def _items(
    storage: GraphStorage,
    snapshot: Snapshot,
    chosen: Iterable[tuple[Any, Any]],
    folder: ExportFolder,
    format: ExportFormat,  # noqa: A002
    dates: Dates,
    part_rows: int,
) -> list[PartItem]:
    nothing_is_null = has_foreign_commits(storage, snapshot)
    items = []
    for entity, pin in chosen:
        groups = scan_groups(storage.tables.open(pin), rows=part_rows)
        if not groups and format != "jsonl":
            groups = [()]  # a file without rows still has its columns
        for number, fragments in enumerate(groups):
            item = PartItem(
                graph=storage.root.uri,
                pin=pin,
                entity=entity,
                fragments=fragments,
                folder=folder,
                file=f"{entity.kind}s/{entity.name}/part-{number:05}.{format}",
                format=format,
                dates=dates,
                nothing_is_null=nothing_is_null,
            )
            items.append(item)
    return items


def _run(
    items: Sequence[PartItem],
    engine: Literal["local", "spark"],
    spark: SparkSession | str | None,
    rows: int,
    progress: ProgressListener | None,
) -> list[Part]:
    active = None
    if engine == "spark" and items:
        active = session(spark) if spark is None or isinstance(spark, str) else spark
    stage = Stage(name="export", listener=progress, amount_of=amount_exported, rows_total=rows)
    return run(active, write_part, items, stage=stage)


def _result(
    folder: ExportFolder,
    format: ExportFormat,  # noqa: A002
    snapshot: Snapshot,
    engine: Literal["local", "spark"],
    items: Sequence[PartItem],
    parts: Sequence[Part],
    seconds: float,
) -> ExportResult:
    rows: Counter[tuple[str, str]] = Counter()
    for item, part in zip(items, parts, strict=True):
        rows[item.entity.kind, item.entity.name] += part.rows
    return ExportResult(
        folder=folder.uri,
        format=format,
        branch=snapshot.branch,
        commit_id=snapshot.commit_id,
        engine=engine,
        nodes={name: count for (kind, name), count in rows.items() if kind == "node"},
        edges={name: count for (kind, name), count in rows.items() if kind == "edge"},
        files=tuple(part.file for part in parts),
        bytes=sum(part.bytes for part in parts),
        seconds=round(seconds, 3),
    )


def _manifest(result: ExportResult, parts: Sequence[Part], schema: AcceptedSchema) -> dict[str, Json]:
    return {
        "format": result.format,
        "branch": result.branch,
        "commit_id": result.commit_id,
        "schema_ir_hash": schema.ir_hash,
        "nodes": dict(result.nodes),
        "edges": dict(result.edges),
        "files": [{"file": part.file, "rows": part.rows, "bytes": part.bytes} for part in parts],
    }
