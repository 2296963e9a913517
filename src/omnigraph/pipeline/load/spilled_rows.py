"""Spilled rows: what the checks and the writers of a load read back from staging.

The checks see the columns that they ask about, mapped into memory; whole rows are only ever read by the writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.load.spill import ABSENT, GENERATED, LINE, TEXT, DecodeReceipt, Spilled
from omnigraph.storage.bulk import StagingFiles
from omnigraph.write import Places
from omnigraph.write.intake import Decoded, DecodePlan, Refused, decode_plan
from omnigraph.write.load import Spool, TypeRows
from omnigraph.write.rules import checked_columns


@dataclass(frozen=True, slots=True)
class SpilledLoad:
    """Everything that the first stage left, in order of the items."""

    files: StagingFiles
    receipts: tuple[DecodeReceipt, ...]
    places: Places
    patch: bool

    def spilled(self) -> dict[TableKey, list[tuple[int, Spilled]]]:
        """Per type its files, with the numbers of their items."""
        found: dict[TableKey, list[tuple[int, Spilled]]] = {}
        for item, receipt in enumerate(self.receipts):
            for each in receipt.spilled:
                found.setdefault(each.key, []).append((item, each))
        return found

    def types(self, catalog: Catalog, spool: Spool) -> dict[TableKey, TypeRows]:
        """The rows of each type as the checks need them."""
        return {key: self._type(catalog, key, parts, spool) for key, parts in self.spilled().items()}

    def _type(self, catalog: Catalog, key: TableKey, parts: list[tuple[int, Spilled]], spool: Spool) -> TypeRows:
        entity = catalog.table(key)
        assert entity is not None
        plan, fine = decode_plan(entity), all(each.values_fine for _, each in parts)
        columns = self._columns(entity, plan, values=not fine)
        marks: list[_Marks] = []
        rows = self._rows(self._read(parts, columns, plan, marks), spool)
        absent = {
            prop.name: np.concatenate([mark.absent[prop.name] for mark in marks])
            for prop in (entity.properties if self.patch else ())
        }
        lines = np.concatenate([mark.lines for mark in marks])
        decoded = Decoded(rows, lines, np.concatenate([mark.generated for mark in marks]), absent, ())
        return TypeRows(plan, decoded, values_proven=fine and not self.patch)

    def _read(
        self, parts: Sequence[tuple[int, Spilled]], columns: Sequence[str], plan: DecodePlan, marks: list[_Marks]
    ) -> Iterator[pa.Table]:
        """The columns of each file; what else the checks need of it is added to the marks."""
        for item, each in parts:
            table = self.files.read(each.file, [*columns, LINE, *self._marks(each, plan)])
            absent = {
                prop.name: _mask(table[ABSENT + prop.name]) for prop in (plan.entity.properties if self.patch else ())
            }
            marks.append(_Marks(_numbers(table) + self.places.starts[item], _generated(table, each), absent))
            yield table.select(list(columns))

    def _rows(self, tables: Iterator[pa.Table], spool: Spool) -> pa.Table:
        """Local files are mapped and cost no memory. What comes over the network is kept beside this process."""
        if self.files.root.is_local:
            return pa.concat_tables(list(tables))
        first = next(tables)
        return spool.rows(first.schema, (batch for table in chain([first], tables) for batch in table.to_batches()))

    def _columns(self, entity: NodeType | EdgeType, plan: DecodePlan, *, values: bool) -> list[str]:
        if self.patch:
            return list(plan.schema.names)
        wanted = checked_columns(entity, values=values)
        return [name for name in plan.schema.names if name in wanted]

    def _marks(self, each: Spilled, plan: DecodePlan) -> list[str]:
        marks = [GENERATED] if 0 < each.generated < each.rows else []
        return marks + ([ABSENT + prop.name for prop in plan.entity.properties] if self.patch else [])

    def texts(self, key: TableKey, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """The texts of some records, by their running numbers."""
        by_item: dict[int, list[int]] = {}
        for number in numbers:
            by_item.setdefault(self.places.item_of(number), []).append(number)
        found: dict[int, bytes] = {}
        for item, wanted in by_item.items():
            [name] = [each.texts for each in self.receipts[item].spilled if each.key == key]
            assert name is not None, "texts are kept whenever records may be rejected"
            start = self.places.starts[item]
            table = self.files.read(name)
            own = table.filter(pc.is_in(table[LINE], value_set=pa.array([number - start for number in wanted])))
            for line, text in zip(own[LINE].to_pylist(), own[TEXT].to_pylist(), strict=True):
                found[line + start] = text.rstrip(b"\r\n")
        return found

    def refused(self, receipt: DecodeReceipt) -> list[Refused]:
        if receipt.refused is None:
            return []
        table = self.files.read(receipt.refused)
        pairs = zip(table[LINE].to_pylist(), table[TEXT].to_pylist(), strict=True)
        return [Refused(line, text) for line, text in pairs]


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a file says about its rows beside their columns."""

    lines: npt.NDArray[np.int64]
    generated: npt.NDArray[np.bool_]
    absent: Mapping[str, npt.NDArray[np.bool_]]


def _numbers(table: pa.Table) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = table[LINE].to_numpy()
    return numbers


def _mask(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = column.to_numpy()
    return mask


def _generated(table: pa.Table, each: Spilled) -> npt.NDArray[np.bool_]:
    if 0 < each.generated < each.rows:
        return _mask(table[GENERATED])
    return np.full(each.rows, each.generated > 0, np.bool_)


# --- selections -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selected:
    """A spilled file, and which of its rows are written: all of them, or those of a selection file."""

    file: str
    rows: int
    selection: str | None = None
    """An Arrow file of the lines that stay, with their ids where they are not the ones that were read."""


def select(
    load: SpilledLoad, key: TableKey, each: TypeRows, parts: Sequence[tuple[int, Spilled]], name: str
) -> list[Selected]:
    """The rows of a type that passed the checks, as files that a task can read."""
    kept = each.decoded.lines
    if len(kept) == sum(part.rows for _, part in parts) and not each.renamed:
        return [Selected(part.file, part.rows) for _, part in parts]
    found = []
    for item, part in parts:
        start = load.places.starts[item]
        first = int(np.searchsorted(kept, start, side="right"))
        last = int(np.searchsorted(kept, start + load.receipts[item].span, side="right"))
        if first == last:
            continue
        columns = {LINE: pa.array(kept[first:last] - start)}
        if each.renamed:
            columns["id"] = each.decoded.rows["id"].slice(first, last - first).combine_chunks()
        batch = pa.RecordBatch.from_pydict(columns)
        selection = f"select/{name}-{item:06d}-{key.kind}-{key.type_name}.arrow"
        load.files.write(selection, batch.schema, [batch])
        found.append(Selected(part.file, last - first, selection))
    return found


def selected_rows(files: StagingFiles, selected: Sequence[Selected], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows to write, in exactly the table's columns."""
    for each in selected:
        keep = None if each.selection is None else files.read(each.selection)
        for batch in files.batches(each.file):
            rows = batch if keep is None else _kept(batch, keep)
            if rows.num_rows:
                yield pa.RecordBatch.from_arrays([rows.column(name) for name in schema.names], schema=schema)


def _kept(batch: pa.RecordBatch, keep: pa.Table) -> pa.RecordBatch:
    places = pc.index_in(batch.column(LINE), value_set=keep[LINE].combine_chunks())
    rows = batch.filter(places.is_valid())
    if "id" not in keep.column_names:
        return rows
    ids = keep["id"].combine_chunks().take(places.drop_null())
    position = rows.schema.get_field_index("id")
    return rows.set_column(position, rows.schema.field("id"), ids)
