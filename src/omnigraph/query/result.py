"""Results: the answer of a query. Arrow inside; rows, JSON, data frames and a notebook table outside."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from omnigraph.language.query import Column, EntityObject
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import json_value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

HTML_ROWS_MAX = 50

Row = dict[str, Json]


@dataclass(frozen=True)
class QueryResult:
    """The rows of one query on one snapshot: a sequence of dictionaries, in the order that the query asks for.

    >>> result = graph.query("query all() { match { $p: Person } return { $p.name } order { $p.name } }")
    >>> len(result), result[0], [row["p.name"] for row in result]
    (2, {'p.name': 'Ada'}, ['Ada', 'Grace'])
    """

    query_name: str
    table: pa.Table
    column_types: tuple[Column, ...]
    branch: str | None = "main"
    snapshot: str | None = None
    """The commit that was asked for; None when it was the newest of the branch."""
    commit_id: str | None = None
    """The commit whose snapshot was read."""
    objects: dict[int, EntityObject] = field(default_factory=dict, repr=False)
    """The columns that hold whole entities."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns.

        >>> graph.query("query all() { match { $p: Person } return { $p.name, $p.age as years } }").columns
        ('p.name', 'years')
        """
        return tuple(column.name for column in self.column_types)

    @property
    def row_count(self) -> int:
        """How many rows there are; `len(result)` is the same.

        >>> graph.query("query all() { match { $p: Person } return { $p.name } }").row_count
        2
        """
        return int(self.table.num_rows)

    def rows(self) -> list[Row]:
        """Every row as a dictionary of JSON values: a date is text, a whole entity a dictionary.

        >>> graph.query("query all() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }").rows()
        [{'p.name': 'Ada', 'p.age': 36}, {'p.name': 'Grace', 'p.age': 45}]
        """
        columns = [self._json_column(i) for i in range(len(self.column_types))]
        names = self.columns
        if not columns:
            return [{} for _ in range(self.row_count)]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self.row_count

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return self.rows()[place]

    def to_arrow(self) -> pa.Table:
        """The columns in their stored types, without copying. A column is nullable when it holds a NULL.

        >>> graph.query("query all() { match { $p: Person } return { $p.age } }").to_arrow().schema.names
        ['p.age']
        """
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame; dates become `datetime64`.

        >>> frame = graph.query("query all() { match { $p: Person } return { $p.age } }").to_pandas()
        >>> int(frame["p.age"].sum())
        81
        """
        return self.table.to_pandas(date_as_object=False)

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars DataFrame.

        >>> frame = graph.query("query all() { match { $p: Person } return { $p.age } }").to_polars()
        >>> frame["p.age"].sum()
        81

        Raises BadRequest if polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise BadRequest("polars is not installed", "pip install 'omnigraph[polars]'") from error
        return polars.DataFrame(self.table)

    def to_json(self) -> dict[str, Json]:
        """The answer as one document: `{query_name, target, row_count, columns, rows, graph_commit_id?}`.

        >>> document = graph.query("query all() { match { $p: Person } return { $p.name } }").to_json()
        >>> document["query_name"], document["target"], document["row_count"]
        ('all', {'branch': 'main', 'snapshot': None}, 2)
        """
        document: dict[str, Any] = {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": self.snapshot},
            "row_count": self.row_count,
            "columns": list(self.columns),
            "rows": self.rows(),
        }
        if self.commit_id is not None:
            document["graph_commit_id"] = self.commit_id
        return document

    def _repr_html_(self) -> str:
        shown = self.table.slice(0, HTML_ROWS_MAX)
        part = QueryResult(self.query_name, shown, self.column_types, objects=self.objects)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
            for row in part.rows()
        )
        more = f"<p>{self.row_count - HTML_ROWS_MAX} more rows</p>" if self.row_count > HTML_ROWS_MAX else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _json_column(self, place: int) -> list[Json]:
        column, declared = self.table.column(place), self.column_types[place].type
        expr = self.objects.get(place)
        if expr is not None:
            return _entities(column, expr)
        if declared is None:
            return list(column.to_pylist())
        return json_values(column, declared)


def json_values(column: pa.ChunkedArray, declared: PropType) -> list[Json]:
    """A column as JSON values."""
    values: list[Any] = stored_values(column)
    simple = declared.scalar in (Scalar.STRING, Scalar.BOOL) or declared.scalar.is_integer
    if simple and not declared.is_vector:
        return values
    return [json_value(value, declared) for value in values]


def stored_values(column: pa.ChunkedArray) -> list[Any]:
    """Python values in their stored form: dates as numbers."""
    return [value for chunk in column.chunks for value in plain_numbers(chunk).to_pylist()]


def plain_numbers(values: pa.Array) -> pa.Array:
    """The same with days and milliseconds for dates and times: as Python values these would lose what they count."""
    kind = values.type
    if pa.types.is_date32(kind):
        return values.view(pa.int32())
    if pa.types.is_date64(kind):
        return values.view(pa.int64())
    if pa.types.is_list(kind) and pa.types.is_date(kind.value_type):
        if values.offset:
            values = pa.concat_arrays([values])  # a slice keeps the offsets of the whole
        items = plain_numbers(values.values)
        gone = values.is_null() if values.null_count else None
        return pa.ListArray.from_arrays(values.offsets, items, mask=gone)
    return values


def _entities(column: pa.ChunkedArray, expr: EntityObject) -> list[Json]:
    """Whole entities, member by member: each in the JSON form of its own type."""
    whole = column.combine_chunks()
    members: dict[str, list[Json]] = {
        name: whole.field(name).to_pylist() for name in ("id", "from", "to")[: 1 if expr.entity == "node" else 3]
    }
    for name, declared in expr.properties:
        members[name] = json_values(pa.chunked_array([whole.field(name)]), declared)
    names = list(members)
    made: list[Json] = [dict(zip(names, values, strict=True)) for values in zip(*members.values(), strict=True)]
    return [None if gone else each for gone, each in zip(whole.is_null().to_pylist(), made, strict=True)]


def _cell(value: Json) -> str:
    return "" if value is None else str(value)
