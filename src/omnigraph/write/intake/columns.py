"""Columns: JSON values of one property to one Arrow column. A whole column at once while everything fits; value by
value, with the reasons, when something does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.errors import InvalidValue, OmniGraphError
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import DATE_BOUNDS, coerce_json
from omnigraph.storage.external import BlobBases, BlobIntake, ExternalBlobDenied
from omnigraph.storage.tables import arrow_type
from omnigraph.write.intake.blob_values import denied, is_external, managed_blob

Faults = dict[int, InvalidValue]
_NOTHING = type(None)
_ACCEPTED: dict[Scalar, frozenset[type]] = {
    Scalar.STRING: frozenset((str,)),
    Scalar.BOOL: frozenset((bool,)),
    Scalar.F32: frozenset((int, float)),
    Scalar.F64: frozenset((int, float)),
    **dict.fromkeys((Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64), frozenset((int,))),
}
# Narrower than what is accepted: these spellings mean the same to Arrow and to us. Others go value by value.
_PLAIN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PLAIN_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$"
UNFIT = (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError)
"""What Arrow raises for values that do not fit a column."""


def to_column(
    values: Sequence[Any], declared: PropType, where: str, blobs: BlobIntake | None = None
) -> tuple[pa.Array, Faults]:
    """The column of these values, and per row that does not fit its reason (the row is NULL then).

    None is NULL whatever the declaration says: whether a value may be missing is the caller's question. Without
    `blobs` every external one is denied.
    """
    if declared.is_blob:
        return _blobs(values, replace(declared, nullable=True), where, blobs)
    column = _whole(values, declared)
    if column is not None:
        return column, {}
    return _one_by_one(values, replace(declared, nullable=True), where)


def _whole(values: Sequence[Any], declared: PropType) -> pa.Array | None:
    kinds = set(map(type, values))
    kinds.discard(_NOTHING)
    if not kinds:
        return pa.nulls(len(values), arrow_type(declared))
    if not declared.is_list and not declared.is_vector:
        return _whole_scalars(values, declared, kinds)
    if kinds != {list}:
        return None
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    build = _vectors if declared.is_vector else _lists
    return build(values, declared, lengths, missing)


def _whole_scalars(values: Sequence[Any], declared: PropType, kinds: set[type]) -> pa.Array | None:
    scalar = declared.scalar
    try:
        if scalar in (Scalar.DATE, Scalar.DATETIME):
            return _dates(values, scalar, kinds)
        if not kinds <= _ACCEPTED[scalar]:
            return None
        if scalar.is_float:
            column = pa.array(values, pa.float64())
            if scalar is Scalar.F32:
                column = column.cast(pa.float32(), safe=False)
            return column if pc.all(pc.is_finite(column), min_count=0).as_py() else None
        column = pa.array(values, arrow_type(declared) if not declared.is_list else arrow_type(PropType(scalar)))
        if declared.enum_values is not None:
            allowed = pa.array(declared.enum_values, pa.string())
            if not pc.all(pc.is_in(column.drop_null(), value_set=allowed), min_count=0).as_py():
                return None
        return column
    except UNFIT:
        return None


def _dates(values: Sequence[Any], scalar: Scalar, kinds: set[type]) -> pa.Array | None:
    days = scalar is Scalar.DATE
    if kinds == {int}:
        stored, shown = (pa.int32(), pa.date32()) if days else (pa.int64(), pa.date64())
        return _in_calendar(pa.array(values, stored), scalar, shown)
    if kinds != {str}:
        return None
    return plain_dates(pa.array(values, pa.string()), scalar)


def plain_dates(texts: pa.Array, scalar: Scalar) -> pa.Array | None:
    """Dates or moments in their plain spelling; None when any is spelled otherwise. May raise what `UNFIT` lists."""
    days = scalar is Scalar.DATE
    plain = pc.match_substring_regex(texts, _PLAIN_DATE if days else _PLAIN_MOMENT)
    if not pc.all(plain, min_count=0).as_py():
        return None
    if days:
        return _in_calendar(texts.cast(pa.date32()).view(pa.int32()), scalar, pa.date32())
    return _in_calendar(texts.cast(pa.timestamp("ms", "UTC")).view(pa.int64()), scalar, pa.date64())


def _in_calendar(stored: pa.Array, scalar: Scalar, shown: pa.DataType) -> pa.Array | None:
    """Days or milliseconds as dates; None when any lies outside of the years that dates have."""
    low, high = DATE_BOUNDS[scalar]
    bounds = pc.min_max(stored).as_py()
    if bounds["min"] is not None and not low <= bounds["min"] <= bounds["max"] <= high:
        return None
    return stored.view(shown)


def _lists(values: Sequence[Any], declared: PropType, lengths: Any, missing: Any) -> pa.Array | None:
    flat = list(chain.from_iterable(value for value in values if value is not None))
    kinds = set(map(type, flat))
    element = replace(declared, is_list=False, nullable=False)
    items = _whole_scalars(flat, element, kinds) if kinds else pa.nulls(0, arrow_type(element))
    if items is None or items.null_count:
        return None
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        items,
        type=arrow_type(declared),
        mask=pa.array(missing) if missing.any() else None,
    )


def _vectors(values: Sequence[Any], declared: PropType, lengths: Any, missing: Any) -> pa.Array | None:
    dimension = declared.dimension or 0
    if not (missing | (lengths == dimension)).all():
        return None
    flat = list(chain.from_iterable(value for value in values if value is not None))
    items = _whole_scalars(flat, PropType(Scalar.F32), set(map(type, flat)))
    if items is None or items.null_count:
        return None
    filled = np.zeros((len(values), dimension), np.float32)
    filled[~missing] = items.to_numpy().reshape(-1, dimension)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(filled.reshape(-1)), type=arrow_type(declared), mask=pa.array(missing) if missing.any() else None
    )


def _one_by_one(values: Sequence[Any], declared: PropType, where: str) -> tuple[pa.Array, Faults]:
    faults: Faults = {}
    stored: list[Any] = []
    for row, value in enumerate(values):
        try:
            stored.append(coerce_json(value, declared, where))
        except InvalidValue as error:
            faults[row] = error
            stored.append(None)
    return pa.array(stored, arrow_type(declared)), faults


def _blobs(values: Sequence[Any], declared: PropType, where: str, blobs: BlobIntake | None) -> tuple[pa.Array, Faults]:
    """Bytes are decoded one by one; the objects of addresses are asked for together."""
    faults: Faults = {}
    stored: list[Any] = [None] * len(values)
    addresses: dict[int, str] = {}
    for row, value in enumerate(values):
        try:
            text = coerce_json(value, declared, where)
            if text is not None and is_external(text):
                addresses[row] = text
            elif text is not None:
                stored[row] = managed_blob(text, where)
        except InvalidValue as error:
            faults[row] = error
    taken = (blobs or BlobIntake(BlobBases())).take_all(list(addresses.values()))
    for (row, uri), cell in zip(addresses.items(), taken, strict=True):
        if isinstance(cell, ExternalBlobDenied):
            faults[row] = denied(uri, where, cell)
        elif isinstance(cell, OmniGraphError):
            raise cell  # it may be there the next time: no fault of the record
        else:
            stored[row] = cell
    return pa.array(stored, arrow_type(declared)), faults
