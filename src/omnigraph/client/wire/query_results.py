"""Query results: an Arrow stream with its types, or the rows of a JSON document, as the result of a query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.client.requests import ARROW, Answer
from omnigraph.language.query import Column, EntityObject, Param, describe_param
from omnigraph.model.types import PropType, Scalar
from omnigraph.query import QueryResult

Document = Mapping[str, Any]

_SCALARS: tuple[tuple[Any, Scalar], ...] = (
    (pa.types.is_boolean, Scalar.BOOL),
    (pa.types.is_int32, Scalar.I32),
    (pa.types.is_int64, Scalar.I64),
    (pa.types.is_uint32, Scalar.U32),
    (pa.types.is_uint64, Scalar.U64),
    (pa.types.is_float32, Scalar.F32),
    (pa.types.is_float64, Scalar.F64),
    (pa.types.is_date32, Scalar.DATE),
    (pa.types.is_date64, Scalar.DATETIME),
    (pa.types.is_string, Scalar.STRING),
    (pa.types.is_large_string, Scalar.STRING),
)


def result_of(answer: Answer, branch: str | None, snapshot: str | None) -> QueryResult:
    """The result, whichever of the two forms the server chose."""
    if answer.media != ARROW:
        return json_result(json.loads(answer.body))
    with pa.ipc.open_stream(answer.body) as stream:
        table = stream.read_all()
    objects = {place: whole for place, each in enumerate(table.schema) if (whole := _entity(each)) is not None}
    return QueryResult(
        answer.headers.get("omnigraph-query-name", ""),
        table,
        tuple(_column(each) for each in table.schema),
        branch=branch,
        snapshot=snapshot,
        commit_id=answer.headers.get("omnigraph-graph-commit-id"),
        objects=objects,
    )


def _column(field: pa.Field) -> Column:
    declared = _type(field.type, field.nullable)
    if declared is None:
        return Column(field.name, "object", field.nullable)
    facts: dict[str, Any] = describe_param(Param(field.name, declared))
    return Column(**facts, type=declared)


def _type(kind: pa.DataType, nullable: bool) -> PropType | None:
    """The type of a column; None for whole entities."""
    if pa.types.is_fixed_size_list(kind):
        return PropType(Scalar.VECTOR, nullable, dimension=kind.list_size)
    if pa.types.is_list(kind):
        items = _type(kind.value_type, False)
        return None if items is None else PropType(items.scalar, nullable, is_list=True)
    scalar = next((scalar for is_kind, scalar in _SCALARS if is_kind(kind)), None)
    return None if scalar is None else PropType(scalar, nullable)


def _entity(field: pa.Field) -> EntityObject | None:
    """What a column of whole entities holds, from the members that it has."""
    if not pa.types.is_struct(field.type):
        return None
    members = {each.name: each for each in field.type}
    is_edge = {"id", "from", "to"} <= members.keys() and list(members)[:3] == ["id", "from", "to"]
    fixed = ("id", "from", "to") if is_edge else ("id",)
    typed = tuple(
        (name, declared)
        for name, each in members.items()
        if name not in fixed and (declared := _type(each.type, each.nullable)) is not None
    )
    return EntityObject(field.name, "edge" if is_edge else "node", "", typed, field.nullable)


def json_result(document: Document) -> QueryResult:
    """Rows as JSON values: their types are those of JSON, because the document says no more."""
    names, rows, target = list(document.get("columns", ())), document["rows"], document["target"]
    arrays = [pa.array([row.get(name) for row in rows]) for name in names]
    table = pa.Table.from_arrays(arrays, names=names) if names else pa.table({"": pa.nulls(len(rows))}).select([])
    return QueryResult(
        document["query_name"],
        table,
        tuple(Column(name, "object", True) for name in names),
        branch=target.get("branch"),
        snapshot=target.get("snapshot"),
        commit_id=document.get("graph_commit_id"),
    )
