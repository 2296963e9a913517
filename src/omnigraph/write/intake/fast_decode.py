"""Fast decode: many lines of one type straight to columns by Arrow's JSON reader, as long as nothing is unusual.

It accepts a part of what `records` and `decode` accept and gives the same rows for it. For anything else (a wrong type,
an unknown or repeated member, a missing value that must be there, a spelling of its own) it gives nothing at all, and
the caller takes the exact way, which knows the reasons.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar
from omnigraph.storage.tables import arrow_type
from omnigraph.write.intake.columns import UNFIT, plain_dates
from omnigraph.write.intake.decode import Decoded, DecodePlan, Lines, key_ids
from omnigraph.write.intake.embedding import is_embedded
from omnigraph.write.intake.generated_ids import IdSource

ID = "id"


@dataclass(frozen=True, slots=True)
class LinesOfOneType:
    """Lines that begin as records of one type do, each of them one object at least, with their ends."""

    text: pa.Buffer
    lines: Lines
    offsets: Lines


def fast_decode(batch: LinesOfOneType, plan: DecodePlan, ids: IdSource, *, patch: bool) -> Decoded | None:
    """The rows of all of these lines, or None when one of them needs a closer look."""
    options = _parse_options(plan.entity)
    if options is None or is_embedded(plan.entity, plan.embedding):
        return None
    try:
        read = pj.ReadOptions(use_threads=False, block_size=batch.text.size + 1)
        table = pj.read_json(pa.BufferReader(batch.text), read_options=read, parse_options=options)
        return _decoded(table, batch, plan, ids, patch=patch)
    except UNFIT:
        return None


def _decoded(table: pa.Table, batch: LinesOfOneType, plan: DecodePlan, ids: IdSource, *, patch: bool) -> Decoded | None:
    if table.num_rows != len(batch.lines):  # several values on a line
        return None
    data = table["data"].combine_chunks()
    if data.null_count:
        return None
    columns: dict[str, pa.Array] = {}
    for prop in plan.entity.properties:
        column = _column(data.field(prop.name), prop.type)
        if column is None:
            return None
        must_be_stated = patch or not prop.type.nullable or prop.name in plan.defaults
        if must_be_stated and column.null_count:
            return None
        columns[prop.name] = column
    if plan.entity.kind == "edge":
        for name, member in (("src", "from"), ("dst", "to")):
            columns[name] = table[member].combine_chunks()
            if columns[name].null_count:
                return None
    generated = np.zeros(table.num_rows, np.bool_)
    columns[ID], given = data.field(ID), data.field(ID)
    if plan.key is not None:
        columns[ID] = key_ids([columns[name] for name in plan.key])
        if given.null_count < len(given) and not pc.all(pc.equal(given, columns[ID])).as_py():
            return None
    elif given.null_count:
        generated = given.is_null().to_numpy(zero_copy_only=False).copy()
        fresh = ids.ids(batch.offsets[generated].tolist())
        columns[ID] = fresh if generated.all() else pc.replace_with_mask(given, pa.array(generated), fresh)
    rows = pa.Table.from_arrays([columns[name] for name in plan.schema.names], schema=plan.schema)
    absent = {prop.name: np.zeros(table.num_rows, np.bool_) for prop in plan.entity.properties} if patch else {}
    return Decoded(rows, batch.lines, generated, absent, ())


# --- what Arrow is asked to read --------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _parse_options(entity: NodeType | EdgeType) -> pj.ParseOptions | None:
    """None for types whose values only the exact way understands."""
    if any(prop.type.is_blob or prop.name == ID for prop in entity.properties):
        return None
    members = [pa.field(prop.name, _asked(prop.type)) for prop in entity.properties]
    data = pa.field("data", pa.struct([pa.field(ID, pa.string()), *members]))
    names = ("type",) if entity.kind == "node" else ("edge", "from", "to")
    envelope = pa.schema([*(pa.field(name, pa.string()) for name in names), data])
    return pj.ParseOptions(explicit_schema=envelope, unexpected_field_behavior="error")


def _asked(declared: PropType) -> pa.DataType:
    """Floats are read as doubles and rounded once, as the exact way does; dates are read as they are spelled."""
    if declared.is_vector:
        return pa.list_(pa.float64())
    scalar = declared.scalar
    if scalar.is_float:
        asked: pa.DataType = pa.float64()
    elif scalar in (Scalar.DATE, Scalar.DATETIME):
        asked = pa.string()
    else:
        asked = arrow_type(PropType(scalar))
    return pa.list_(asked) if declared.is_list else asked


# --- what came, as it is stored ---------------------------------------------------------------------------


def _column(read: pa.Array, declared: PropType) -> pa.Array | None:
    if not declared.is_list and not declared.is_vector:
        return _scalars(read, declared)
    items = read.flatten()
    if items.null_count:
        return None
    if declared.is_vector:
        return _vectors(read, items, declared)
    stored = _scalars(items, declared)
    if stored is None:
        return None
    if stored.type == items.type:
        return read
    lengths = pc.fill_null(pc.list_value_length(read), 0).to_numpy(zero_copy_only=False)
    ends = np.zeros(len(read) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    mask = read.is_null() if read.null_count else None
    return pa.ListArray.from_arrays(pa.array(ends), stored, type=arrow_type(declared), mask=mask)


def _scalars(read: pa.Array, declared: PropType) -> pa.Array | None:
    scalar = declared.scalar
    if scalar.is_float:
        column = read.cast(pa.float32(), safe=False) if scalar is Scalar.F32 else read
        return column if pc.all(pc.is_finite(column), min_count=0).as_py() else None
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        return plain_dates(read, scalar)
    if declared.enum_values is not None:
        allowed = pa.array(declared.enum_values, pa.string())
        if not pc.all(pc.is_in(read.drop_null(), value_set=allowed), min_count=0).as_py():
            return None
    return read


def _vectors(read: pa.Array, items: pa.Array, declared: PropType) -> pa.Array | None:
    dimension = declared.dimension or 0
    if not pc.all(pc.equal(pc.list_value_length(read), dimension), min_count=0).as_py():
        return None
    stored = items.cast(pa.float32(), safe=False)
    if not pc.all(pc.is_finite(stored), min_count=0).as_py():
        return None
    if not read.null_count:
        return pa.FixedSizeListArray.from_arrays(stored, type=arrow_type(declared))
    filled = np.zeros((len(read), dimension), np.float32)
    missing = read.is_null().to_numpy(zero_copy_only=False)
    filled[~missing] = stored.to_numpy().reshape(-1, dimension)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(filled.reshape(-1)), type=arrow_type(declared), mask=pa.array(missing)
    )
