"""Intake: a work item of a source to decoded rows per type, and what could not be read. The first kernel of a load.

It knows neither the graph nor who calls it: a loop in this process, or a task on another machine. Line numbers are the
item's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.external import BlobIntake
from omnigraph.write.intake.decode import (
    CHUNK_RECORDS,
    Decoded,
    DecodePlan,
    Lines,
    Mask,
    concat_chunks,
    decode,
    decode_plan,
)
from omnigraph.write.intake.fast_decode import LinesOfOneType, fast_decode
from omnigraph.write.intake.generated_ids import IdSource
from omnigraph.write.intake.line_blocks import Block
from omnigraph.write.intake.line_files import LineItem
from omnigraph.write.intake.line_groups import groups_of, lines_of
from omnigraph.write.intake.records import Record, RecordReader
from omnigraph.write.intake.sources import SourceItem, Unreadable, record_text
from omnigraph.write.rules import Violation

if TYPE_CHECKING:
    from omnigraph.embeddings import EmbeddingConfig


class Part(NamedTuple):
    """Decoded rows of one type, in order of their lines."""

    plan: DecodePlan
    decoded: Decoded
    texts: pa.BinaryArray | None
    """The lines of these rows, where they may be rejected later."""


class Refused(NamedTuple):
    """A record that could not be read or decoded."""

    line: int
    text: bytes


@dataclass(slots=True)
class FirstViolations:
    """The violations of the smallest lines, and how many there are in all. The order of adding does not matter."""

    limit: int
    total: int = 0
    _kept: list[Violation] = field(default_factory=list)

    def add(self, violations: Sequence[Violation]) -> None:
        self.total += len(violations)
        self._kept += violations
        if len(self._kept) > 4 * self.limit + 64:
            self._kept = self.first()

    def first(self) -> list[Violation]:
        """Sorted by line; those of one line in the order in which they were found."""
        return sorted(self._kept, key=lambda each: each.line or 0)[: self.limit]


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How the items of one load are read. Picklable."""

    catalog: Catalog
    load_id: str
    started_ms: int
    patch: bool
    keeps_texts: bool
    max_errors: int
    blobs: BlobIntake | None = None
    embedding: EmbeddingConfig | None = None

    def read(self, item: SourceItem) -> ItemReading:
        ids = IdSource(self.load_id, item.file, self.started_ms)
        return ItemReading(self, item, ids, FirstViolations(self.max_errors))


@dataclass(slots=True)
class ItemReading:
    """One item in work: iterate over `parts`, then ask for the rest."""

    plan: ReadPlan
    item: SourceItem
    ids: IdSource
    violations: FirstViolations
    span: int = 0
    """The highest line number of the item."""
    refused: list[Refused] = field(default_factory=list)
    _plans: dict[tuple[EntityKind, str], DecodePlan] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        if isinstance(self.item, LineItem):
            for block in self.item.blocks():
                yield from self._block(block)
        else:
            yield from self._chunks(self.item.records(self.plan.catalog))
        self.refused.sort(key=lambda each: each.line)

    # --- lines --------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> Iterator[Part]:
        lines = lines_of(block)
        before, self.span = self.span, self.span + len(lines)
        numbers = np.arange(before + 1, self.span + 1, dtype=np.int64)
        exact = np.ones(len(lines), np.bool_)
        quick: dict[tuple[EntityKind, str], list[Decoded]] = {}
        for group in groups_of(lines, self.plan.catalog):
            plan = self._plan(group.entity.kind, group.entity.name)
            batch = LinesOfOneType(group.text, numbers[group.rows], lines.offsets[group.rows])
            decoded = fast_decode(batch, plan, self.ids, patch=self.plan.patch)
            if decoded is not None:
                exact[group.rows] = False
                quick.setdefault((group.entity.kind, group.entity.name), []).append(decoded)
        slow = self._exactly(lines.texts, lines.offsets, exact, before)
        for name in dict.fromkeys([*quick, *slow]):
            decoded = _in_order([*quick.get(name, ()), *slow.get(name, ())])
            texts = lines.texts.take(pa.array(decoded.lines - before - 1)) if self.plan.keeps_texts else None
            yield Part(self._plan(*name), decoded, texts)

    def _exactly(
        self,
        texts: pa.BinaryArray,
        offsets: Lines,
        wanted: Mask,
        before: int,
    ) -> dict[tuple[EntityKind, str], list[Decoded]]:
        """Line by line: the way that knows every reason."""
        reader = RecordReader(self.plan.catalog, self.item.file)
        waiting: dict[tuple[EntityKind, str], list[Record]] = {}
        raw_of: dict[int, bytes] = {}
        for row in np.flatnonzero(wanted).tolist():
            raw, number = texts[row].as_py(), before + row + 1
            parsed = reader.parse_bytes(raw, number, int(offsets[row]))
            if isinstance(parsed, Violation):
                self._refuse(number, raw, [parsed])
            elif parsed is not None:
                raw_of[number] = raw
                waiting.setdefault((parsed.kind, parsed.type_name), []).append(parsed)
        return {name: [self._decode(name, records, raw_of)] for name, records in waiting.items()}

    # --- records ------------------------------------------------------------------------------------------

    def _chunks(self, found: Iterator[Record | Unreadable]) -> Iterator[Part]:
        waiting: dict[tuple[EntityKind, str], list[Record]] = {}
        for each in found:
            self.span = max(self.span, each.line)
            if isinstance(each, Unreadable):
                self._refuse(each.line, each.text, [each.violation])
                continue
            chunk = waiting.setdefault((each.kind, each.type_name), [])
            chunk.append(each)
            if len(chunk) >= CHUNK_RECORDS:
                yield self._chunk((each.kind, each.type_name), chunk)
                waiting[each.kind, each.type_name] = []
        for name, chunk in waiting.items():
            if chunk:
                yield self._chunk(name, chunk)

    def _chunk(self, name: tuple[EntityKind, str], records: list[Record]) -> Part:
        raw_of = {record.line: record for record in records}
        decoded = self._decode(name, records, raw_of)
        texts = None
        if self.plan.keeps_texts:
            texts = pa.array([record_text(raw_of[line]) for line in decoded.lines.tolist()], pa.binary())
        return Part(self._plan(*name), decoded, texts)

    # --- both ---------------------------------------------------------------------------------------------

    def _decode(
        self, name: tuple[EntityKind, str], records: list[Record], texts: Mapping[int, bytes | Record]
    ) -> Decoded:
        decoded = decode(records, self._plan(*name), self.ids, patch=self.plan.patch)
        by_line: dict[int, list[Violation]] = {}
        for violation in decoded.violations:
            by_line.setdefault(violation.line or 0, []).append(violation)
        for line, violations in by_line.items():
            text = texts[line]
            self._refuse(line, text if isinstance(text, bytes) else record_text(text), violations)
        return decoded

    def _refuse(self, line: int, text: bytes, violations: Sequence[Violation]) -> None:
        self.violations.add(violations)
        self.refused.append(Refused(line, text.rstrip(b"\r\n")))

    def _plan(self, kind: EntityKind, name: str) -> DecodePlan:
        plan = self._plans.get((kind, name))
        if plan is None:
            entity = self.plan.catalog.table(TableKey(kind, name))
            assert entity is not None  # whoever names it has resolved it
            plan = self._plans[kind, name] = decode_plan(entity, self.plan.blobs, self.plan.embedding)
        return plan


def _in_order(parts: Sequence[Decoded]) -> Decoded:
    """Parts of one block and type by their lines: what the fast way read, among what the exact way did."""
    if len(parts) == 1:
        return parts[0]
    together = concat_chunks(parts)
    return together.take(np.argsort(together.lines, kind="stable"))
