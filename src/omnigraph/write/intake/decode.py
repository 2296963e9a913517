"""Decode: records of one type to rows of exactly the table's columns, with everything that does not fit.

A plan is compiled once per type and used for every chunk. Neither knows who calls: a loop in this process, or a task
on another machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema import EdgeType, NodeType, Property
from omnigraph.model.errors import InvalidValue
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import coerce_text, node_id
from omnigraph.storage.external import BlobIntake
from omnigraph.storage.tables import table_schema
from omnigraph.write.intake.columns import Faults, to_column
from omnigraph.write.intake.embedding import embedded_records
from omnigraph.write.intake.generated_ids import IdSource
from omnigraph.write.intake.records import RESERVED_NAMES, Record
from omnigraph.write.rules import Violation, canonical_column

if TYPE_CHECKING:
    from omnigraph.embeddings import EmbeddingConfig

CHUNK_RECORDS = 16_384
"""Records per decoded chunk: large enough for column speed, small enough that their Python values never pile up."""

Mask = npt.NDArray[np.bool_]
Lines = npt.NDArray[np.int64]
_TEXT = PropType(Scalar.STRING, nullable=True)


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """How the records of one type become rows."""

    entity: NodeType | EdgeType
    schema: pa.Schema
    known: frozenset[str]
    defaults: Mapping[str, Any]
    """Stored values of `@default`, which are JSON values of their property too."""
    blobs: BlobIntake | None = None
    """What becomes of external blobs; without it they are denied."""
    embedding: EmbeddingConfig | None = None
    """Who embeds texts; None: whom the environment names."""

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.entity.key if isinstance(self.entity, NodeType) else None


def decode_plan(
    entity: NodeType | EdgeType, blobs: BlobIntake | None = None, embedding: EmbeddingConfig | None = None
) -> DecodePlan:
    defaults = {
        prop.name: coerce_text(prop.default, prop.type, f"{entity.name}.{prop.name}")
        for prop in entity.properties
        if prop.default is not None
    }
    known = frozenset(prop.name for prop in entity.properties)
    return DecodePlan(entity, table_schema(entity), known, defaults, blobs, embedding)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of a chunk that fit, in input order, and what was wrong with the others."""

    rows: pa.Table
    lines: Lines
    generated: Mask
    """The rows whose id no record gave and no key implies."""
    absent: Mapping[str, Mask]
    """In a patch: per property the rows that do not state it. Otherwise empty: they are filled already."""
    violations: tuple[Violation, ...]
    """In order of their lines; several per record where several things are wrong."""

    def where(self, keep: Mask) -> Decoded:
        """The rows that the mask keeps."""
        absent = {name: mask[keep] for name, mask in self.absent.items()}
        rows = self.rows.filter(pa.array(keep))
        return Decoded(rows, self.lines[keep], self.generated[keep], absent, self.violations)

    def take(self, order: Lines) -> Decoded:
        """The rows of these positions, in this order."""
        absent = {name: mask[order] for name, mask in self.absent.items()}
        rows = self.rows.take(pa.array(order))
        return Decoded(rows, self.lines[order], self.generated[order], absent, self.violations)


def concat_chunks(parts: Sequence[Decoded]) -> Decoded:
    """Chunks of one type as one, without their violations. No row is copied."""
    absent = {name: np.concatenate([part.absent[name] for part in parts]) for name in parts[0].absent}
    rows = pa.concat_tables([part.rows for part in parts])
    lines = np.concatenate([part.lines for part in parts])
    return Decoded(rows, lines, np.concatenate([part.generated for part in parts]), absent, ())


@dataclass(slots=True)
class _Chunk:
    """A chunk in work."""

    plan: DecodePlan
    records: Sequence[Record]
    file: str | None
    patch: bool
    found: list[tuple[int, str, str | None, str, str | None]] = field(default_factory=list)
    """row, rule, property, message, value"""

    def report(self, row: int, rule: str, name: str | None, message: str, value: str | None = None) -> None:
        self.found.append((row, rule, name, message, value))

    def report_faults(self, faults: Faults, name: str, declared: PropType) -> None:
        for row, error in faults.items():
            self.report(row, _rule(declared, error), name, str(error), error.value)


def decode(records: Sequence[Record], plan: DecodePlan, ids: IdSource, *, patch: bool = False) -> Decoded:
    """The rows of these records of the plan's type. In a patch, absent properties stay open for `fill_absent`."""
    chunk = _Chunk(plan, records, ids.file, patch)
    stated = [record.data for record in records]
    data = embedded_records(plan.entity, stated, plan.defaults, plan.embedding, patch=patch)
    _check_names(chunk, data)
    absent: dict[str, Mask] = {}
    columns = {prop.name: _property(chunk, prop, data, absent) for prop in plan.entity.properties}
    if plan.entity.kind == "edge":
        for name, texts in (("src", [r.src for r in records]), ("dst", [r.dst for r in records])):
            columns[name], faults = to_column(texts, _TEXT, f"{plan.entity.name}.{name}")
            chunk.report_faults(faults, name, _TEXT)
    columns["id"], generated = _ids(chunk, columns, ids)
    rows = pa.Table.from_arrays([columns[name] for name in plan.schema.names], schema=plan.schema)
    lines = np.fromiter((record.line for record in records), np.int64, len(records))
    violations = _violations(chunk, columns["id"], generated)
    if not violations:
        return Decoded(rows, lines, generated, absent, ())
    fits = np.ones(len(records), np.bool_)
    fits[[row for row, *_ in chunk.found]] = False
    return Decoded(rows, lines, generated, absent, violations).where(fits)


# --- properties -------------------------------------------------------------------------------------------


def _check_names(chunk: _Chunk, data: Sequence[dict[str, Any]]) -> None:
    known = chunk.plan.known
    if set().union(*data) <= known:
        return
    for row, members in enumerate(data):
        for name in sorted(members.keys() - known):
            chunk.report(row, "property", name, _unknown(chunk.plan.entity, name))


def _unknown(entity: NodeType | EdgeType, name: str) -> str:
    if name in RESERVED_NAMES:
        return f"{entity.name}: reserved name '{name}' in data"
    if entity.kind == "edge" and name in ("src", "dst"):
        end = "from" if name == "src" else "to"
        return f"{entity.name}: reserved name '{name}' in data; an edge record names its endpoint as '{end}'"
    near = difflib.get_close_matches(name, list(entity.by_name), n=1)
    return f"{entity.name} has no property '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _property(chunk: _Chunk, prop: Property, data: Sequence[dict[str, Any]], absent: dict[str, Mask]) -> pa.Array:
    name, where = prop.name, f"{chunk.plan.entity.name}.{prop.name}"
    if chunk.patch:
        absent[name] = np.fromiter((name not in members for members in data), np.bool_, len(data))
    elif name in chunk.plan.defaults:
        default = chunk.plan.defaults[name]
        values = [members.get(name, default) for members in data]
        return _checked(chunk, prop, values, where, data)
    return _checked(chunk, prop, [members.get(name) for members in data], where, data)


def _checked(chunk: _Chunk, prop: Property, values: list[Any], where: str, data: Sequence[dict[str, Any]]) -> pa.Array:
    column, faults = to_column(values, prop.type, where, chunk.plan.blobs)
    chunk.report_faults(faults, prop.name, prop.type)
    if prop.type.nullable or not column.null_count:
        return column
    in_key = chunk.plan.key is not None and prop.name in chunk.plan.key
    for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        stated = prop.name in data[row]
        if row in faults or (chunk.patch and not stated and not in_key):
            continue
        chunk.report(row, "required", prop.name, missing_value(chunk.plan.entity, prop.name, null=stated))
    return column


def missing_value(entity: NodeType | EdgeType, name: str, *, null: bool = False) -> str:
    """What is said of a required property that has no value."""
    word = "null" if null else "missing value"
    message = f"{entity.name}: {word} for non-nullable property '{name}'"
    embed = entity.by_name[name].embed
    if embed is None or null:
        return message
    how = "state the vector, or choose a provider that embeds it with OMNIGRAPH_EMBED_PROVIDER"
    return f"{message}, which follows the text of '{embed.source}': {how}"


# --- ids --------------------------------------------------------------------------------------------------


def _ids(chunk: _Chunk, columns: Mapping[str, pa.Array], source: IdSource) -> tuple[pa.Array, Mask]:
    """The id column, and which ids were generated."""
    records, entity = chunk.records, chunk.plan.entity
    given = [record.id for record in records]
    explicit, faults = to_column(given, _TEXT, f"{entity.name}.id")
    chunk.report_faults(faults, "id", _TEXT)
    nothing = np.zeros(len(records), np.bool_)
    if chunk.plan.key is not None:
        derived = key_ids([columns[name] for name in chunk.plan.key])
        if explicit.null_count < len(records):
            _compare_ids(chunk, explicit, derived)
        return derived, nothing
    if not explicit.null_count:
        return explicit, nothing
    open_rows = explicit.is_null().to_numpy(zero_copy_only=False).copy()
    open_rows[list(faults)] = False
    fresh = source.ids([record.offset for record, is_open in zip(records, open_rows, strict=True) if is_open])
    if open_rows.all():
        return fresh, open_rows
    return pc.replace_with_mask(explicit, pa.array(open_rows), fresh), open_rows


def key_ids(members: Sequence[pa.Array]) -> pa.Array:
    """The ids of keyed nodes from their key columns, in the key's order. NULL where a member is NULL."""
    texts = [canonical_column(member) for member in members]
    if len(texts) == 1:
        return texts[0]
    tuples = zip(*(text.to_pylist() for text in texts), strict=True)
    return pa.array([None if None in parts else node_id(parts) for parts in tuples], pa.string())


def _compare_ids(chunk: _Chunk, explicit: pa.Array, derived: pa.Array) -> None:
    differs = pc.fill_null(pc.not_equal(explicit, derived), False).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(differs).tolist():
        given, wanted = explicit[row].as_py(), derived[row].as_py()
        message = f"{chunk.plan.entity.name}: id '{given}' does not match the key, which makes it '{wanted}'"
        chunk.report(row, "id", "id", message, given)


# --- violations -------------------------------------------------------------------------------------------


def _rule(declared: PropType, error: InvalidValue) -> str:
    if declared.is_enum and error.what.startswith("invalid enum value"):
        return "enum"
    return "blob policy" if declared.is_blob and "blob policy" in error.what else "type"


def _violations(chunk: _Chunk, ids: pa.Array, generated: Mask) -> tuple[Violation, ...]:
    chunk.found.sort(key=lambda fact: fact[0])
    return tuple(
        Violation(
            rule=rule,
            message=message,
            entity_kind=chunk.plan.entity.kind,
            type_name=chunk.plan.entity.name,
            entity_id=None if generated[row] else ids[row].as_py(),
            property=name,
            value=value,
            file=chunk.file,
            line=chunk.records[row].line,
        )
        for row, rule, name, message, value in chunk.found
    )
