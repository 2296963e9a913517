"""Images: an entity as it was at one commit, with the values that an export would write."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.history.diff.side import TableSide
from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass

DateKind = Literal["date", "datetime"]
IMAGE_ROWS = 512
"""So many images are made at a time."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The nodes that an edge goes from and to."""

    src: str
    dst: str

    def to_json(self) -> dict[str, Json]:
        return {"from": self.src, "to": self.dst}


@dataclass(frozen=True, slots=True)
class Image:
    """The properties of one entity by name. Dates are integers and blobs are text, as in an export; `values` has dates.

    >>> Image({"born": 13148, "name": "Ada"}, dates={"born": "date"}).values()
    {'born': datetime.date(2005, 12, 31), 'name': 'Ada'}
    """

    properties: Mapping[str, Json]
    endpoints: Endpoints | None = None
    dates: Mapping[str, DateKind] = field(default_factory=dict, compare=False, repr=False, hash=False)
    """The properties that are days or moments."""

    def values(self) -> dict[str, Any]:
        """The properties with days and moments as such, for people."""
        return {name: _dated(value, self.dates.get(name)) for name, value in self.properties.items()}

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {"properties": dict(self.properties)}
        if self.endpoints is not None:
            members["endpoints"] = self.endpoints.to_json()
        return members


def read_images(side: TableSide, row_ids: npt.NDArray[np.uint64]) -> list[Image]:
    """The images of rows by their row ids, in the given order."""
    images: list[Image] = []
    for start in range(0, len(row_ids), IMAGE_ROWS):
        images += _images(side, row_ids[start : start + IMAGE_ROWS])
    return images


def _images(side: TableSide, row_ids: npt.NDArray[np.uint64]) -> list[Image]:
    ends = [name for name in ("src", "dst") if name in side.light]
    rows = side.take(row_ids, [*ends, *side.properties, *(() if ends or side.properties else ("id",))])
    columns = [json_column(side, rows, name) for name in side.properties]
    values = zip(*columns, strict=True) if columns else ((),) * rows.num_rows
    properties = [dict(zip(side.properties, row, strict=True)) for row in values]
    dates = _dates(side)
    if not ends:
        return [Image(each, None, dates) for each in properties]
    pairs = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
    return [Image(each, Endpoints(*pair), dates) for each, pair in zip(properties, pairs, strict=True)]


def json_column(side: TableSide, rows: pa.Table, name: str) -> list[Json]:
    """The values of one property as JSON."""
    if name in side.blobs:
        return [_blob_text(content) for content in side.blob_contents(rows, name)]
    values: list[Any] = _as_stored(rows[name].combine_chunks()).to_pylist()
    kind = rows.schema.field(name).type
    if pa.types.is_nested(kind):
        floats = pa.types.is_floating(kind.value_type)
        return [_finite_list(value) if floats and value is not None else value for value in values]
    return [_finite(value) for value in values] if pa.types.is_floating(kind) else values


def _blob_text(content: bytes | str | None) -> str | None:
    return f"base64:{base64.b64encode(content).decode()}" if isinstance(content, bytes) else content


def _as_stored(column: pa.Array) -> pa.Array:
    """Dates as the integers that they are: days, or milliseconds."""
    kind = column.type
    if pa.types.is_list(kind):
        stored = _STORED.get(kind.value_type)
        return column if stored is None else column.cast(pa.list_(stored))
    stored = _STORED.get(kind)
    return column if stored is None else column.cast(stored)


_STORED = {pa.date32(): pa.int32(), pa.date64(): pa.int64()}


def _dates(side: TableSide) -> dict[str, DateKind]:
    """The properties of a table that are days or moments, or lists of them."""
    found: dict[str, DateKind] = {}
    for name in side.properties:
        kind = side.schema.field(name).type
        kind = kind.value_type if pa.types.is_list(kind) else kind
        if pa.types.is_date32(kind) or pa.types.is_date64(kind):
            found[name] = "date" if pa.types.is_date32(kind) else "datetime"
    return found


def _dated(value: Any, kind: DateKind | None) -> Any:
    """A stored number as what it stands for. One that no calendar has stays a number."""
    if isinstance(value, list):
        return [_dated(each, kind) for each in value]
    if kind is None or value is None:
        return value
    try:
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        moment = epoch + (dt.timedelta(days=value) if kind == "date" else dt.timedelta(milliseconds=value))
    except OverflowError:
        return value
    return moment.date() if kind == "date" else moment


def _finite(value: float | None) -> Json:
    """A number that JSON can carry, or the word for one that it cannot."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _finite_list(values: Sequence[float | None]) -> list[Json]:
    return [_finite(value) for value in values]
