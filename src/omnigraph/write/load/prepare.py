"""Preparing a load in this process: the items of a source to a change set, with everything that stands against it.

Items are read one after another and kept as Arrow alone. Nothing is on disk when this is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import GraphStorage
from omnigraph.storage.external import BlobIntake
from omnigraph.write.intake import Decoded, DecodePlan, ItemReading, ItemSource, LineItem, Part, ReadPlan, concat_chunks
from omnigraph.write.load.checks import LoadChecks, LoadMode, OnError, PreparedLoad, Reject, TypeRows
from omnigraph.write.load.edge_matching import MatchEdges
from omnigraph.write.load.kept_lines import KeptLines
from omnigraph.write.places import Places
from omnigraph.write.rules import MAX_ERRORS_DEFAULT, CommittedView, ViolationLog

if TYPE_CHECKING:
    from omnigraph.embeddings import EmbeddingConfig

__all__ = ["LoadMode", "OnError", "PreparedLoad", "Reject", "prepare_load"]


def blob_intake(storage: GraphStorage, mode: LoadMode) -> BlobIntake:
    """What becomes of external blobs: an overwrite refers to them, every other mode copies them."""
    return BlobIntake(storage.blob_bases, "reference" if mode == "overwrite" else "copy")


class ReadListener(Protocol):
    """Hears how far the reading is."""

    def rows_read(self, rows: int) -> None: ...

    def item_read(self, size: int) -> None: ...


def prepare_load(
    source: ItemSource | Iterable[bytes],
    *,
    file: str | None = None,
    catalog: Catalog,
    mode: LoadMode,
    view: CommittedView,
    load_id: str,
    started_ms: int,
    patch: bool = False,
    match_edges: MatchEdges = None,
    max_errors: int = MAX_ERRORS_DEFAULT,
    on_error: OnError = "fail",
    listener: ReadListener | None = None,
    blobs: BlobIntake | None = None,
    embedding: EmbeddingConfig | None = None,
) -> PreparedLoad:
    """Reads the source and says what it changes. `patch` and `match_edges` matter to a merge alone.

    `file` names lines that come from memory. Without `blobs` external ones are denied; without `embedding` the
    environment says who embeds texts.
    """
    items = source.items if isinstance(source, ItemSource) else (LineItem(file, content=tuple(source)),)
    patch = patch and mode == "merge"
    plan = ReadPlan(catalog, load_id, started_ms, patch, on_error == "skip", max_errors, blobs, embedding)
    read = _Read(listener)
    for item in items:
        read.item(plan.read(item))
    load = LoadChecks(
        catalog=catalog,
        mode=mode,
        view=view,
        patch=patch,
        match_edges=match_edges,
        skips=on_error == "skip",
        findings=ViolationLog(max_errors),
        places=Places.of(items, [reading.span for reading in read.readings]),
        types=read.types(),
        texts=read.texts,
    )
    for number, reading in enumerate(read.readings):
        load.note(number, reading.refused, reading.violations.first(), reading.violations.total)
    load.assemble()
    load.check()
    return load.result()


@dataclass(slots=True)
class _Read:
    """What the items gave, in this process's memory."""

    listener: ReadListener | None = None
    readings: list[ItemReading] = field(default_factory=list)
    start: int = 0
    plans: dict[TableKey, DecodePlan] = field(default_factory=dict)
    parts: dict[TableKey, list[Decoded]] = field(default_factory=dict)
    kept: KeptLines = field(default_factory=KeptLines)

    def item(self, reading: ItemReading) -> None:
        for part in reading.parts():
            self._keep(part)
            if self.listener is not None:
                self.listener.rows_read(part.decoded.rows.num_rows)
        self.readings.append(reading)
        self.start += reading.span
        if self.listener is not None:
            self.listener.item_read(reading.item.size)

    def _keep(self, part: Part) -> None:
        decoded = replace(part.decoded, lines=part.decoded.lines + self.start, violations=())
        if not decoded.rows.num_rows:
            return
        key = part.plan.entity.table_key
        self.plans.setdefault(key, part.plan)
        self.parts.setdefault(key, []).append(decoded)
        if part.texts is not None:
            self.kept.add(decoded.lines.tolist(), part.texts.to_pylist())

    def types(self) -> dict[TableKey, TypeRows]:
        return {key: TypeRows(self.plans[key], concat_chunks(parts)) for key, parts in self.parts.items()}

    def texts(self, key: TableKey, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return self.kept.texts(numbers)
