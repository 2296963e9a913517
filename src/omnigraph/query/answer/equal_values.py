"""Identity: what makes two values of an output column equal, as plain columns that Arrow can group by.

Nodes and whole entities are the same when their row numbers are. Lists and vectors are compared by their contents, as
text; times by their milliseconds; the two zeros of a float are one. NULL equals NULL here.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.query import EntityObject, Expr, Literal, Param, PropAccess, Variable
from omnigraph.query.expressions import Evaluation
from omnigraph.query.frames import Frame, Rows
from omnigraph.query.result import plain_numbers


def entity_variable(expr: Expr) -> str | None:
    """The variable whose row number is the value's identity."""
    if isinstance(expr, Variable):
        return expr.name
    return expr.variable if isinstance(expr, EntityObject) else None


def identities(expr: Expr, frame: Frame, evaluation: Evaluation) -> pa.Array:
    """One identity per row: equal exactly when the values are."""
    variable = entity_variable(expr)
    if variable is not None:
        rows = frame.columns[variable]
        return pa.array(rows, mask=rows < 0)
    return value_identities(evaluation.array(expr, frame))


def value_identities(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_nested(kind):
        return pa.array(
            [None if each is None else repr(each) for each in plain_numbers(values).to_pylist()], pa.string()
        )
    if pa.types.is_date64(kind):
        return values.view(pa.int64())
    if pa.types.is_floating(kind):
        return pc.add(values, pa.scalar(0.0, kind))
    return values


def is_nested(expr: Expr) -> bool:
    """Whether an identity is the text of a list, which cannot be turned back into it."""
    return isinstance(expr, PropAccess | Param | Literal) and (expr.type.is_list or expr.type.is_vector)


def restored(expr: Expr, identity: pa.Array, evaluation: Evaluation, kind: pa.DataType | None) -> pa.Array:
    """The values behind identities that are no text of a list: the entity of a number, the time of a count."""
    variable = entity_variable(expr)
    if variable is not None:
        rows: Rows = identity.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return evaluation.array(expr, Frame(len(rows), {variable: rows}))
    return identity.view(kind) if kind is not None and pa.types.is_date64(kind) else identity
