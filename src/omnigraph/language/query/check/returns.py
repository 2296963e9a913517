"""Checking of `return`: output columns, aggregates and grouping."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.values import Typed, check_value
from omnigraph.language.query.describe import Column, object_column, typed_column
from omnigraph.language.query.ir import (
    FLOAT,
    INTEGER,
    NOW,
    Aggregate,
    AliasRef,
    Distance,
    EntityObject,
    Param,
    PropAccess,
    ReturnExpr,
    Variable,
)
from omnigraph.language.query.parse import (
    AggregateCall,
    Bm25Call,
    Constant,
    DistanceCall,
    Extent,
    Field,
    Item,
    NearestCall,
    Now,
    NullLit,
    RrfCall,
    Star,
    TextCall,
    Value,
    Var,
    Word,
)
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import Scalar


@dataclass(frozen=True, slots=True)
class Output:
    """One checked item of `return`."""

    name: str
    typed: Typed
    at: Extent

    @property
    def column(self) -> Column:
        if self.typed.kind == "object":
            return object_column(self.name, nullable=self.typed.type.nullable)
        return typed_column(self.name, self.typed.type)

    @property
    def item(self) -> ReturnExpr:
        return ReturnExpr(self.typed.expr, self.name)


def check_items(scope: Scope, items: tuple[Item, ...]) -> tuple[Output, ...]:
    """Every output column; a refused item is reported and left out."""
    outputs: list[Output] = []
    for item in items:
        try:
            output = _check_item(scope, item, outputs)
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
            scope.session.broken_columns.add(item.alias or column_name(item.value))
        else:
            outputs.append(output)
    if any(isinstance(output.typed.expr, Aggregate) for output in outputs):
        _require_groupable(scope, outputs)
    return tuple(outputs)


def _check_item(scope: Scope, item: Item, earlier: list[Output]) -> Output:
    name = item.alias or column_name(item.value)
    typed = _check_output(scope, item.value, earlier)
    if any(output.name == name for output in earlier):
        raise RefusalError("T90", f"two output columns are called '{name}'", item.at, "give one of them another alias")
    return Output(name, typed, item.at)


def _check_output(scope: Scope, value: Value, earlier: list[Output]) -> Typed:
    word = column_word(value, [output.name for output in earlier])
    if word is not None:
        for index, output in enumerate(earlier):
            if output.name == word:
                return replace(output.typed, expr=AliasRef(word, index))
        if word in scope.session.broken_columns:
            raise RefusalError("T91", "", value.at, silent=True)
        names = [output.name for output in earlier]
        hint = did_you_mean(word, names) or f'write "{word}" for text; an alias must be given by an earlier item'
        raise RefusalError("T91", f"no earlier item is called '{word}'", value.at, hint)
    if isinstance(value, AggregateCall):
        return _check_aggregate(scope, value)
    return check_value(scope, value)


def column_word(value: Value, names: list[str]) -> str | None:
    """The column that a value names, if it is a word. `null` is one only where a column is really called so."""
    if isinstance(value, Word):
        return value.name
    if isinstance(value, Constant) and isinstance(value.value, NullLit) and "null" in names:
        return "null"
    return None


def column_name(value: Value) -> str:
    """The name of a column without an alias."""
    match value:
        case Field(variable=variable, name=name):
            return f"{variable}.{name}"
        case Var(name=name) | Word(name=name):
            return name
        case Star(variable=variable):
            return variable
        case Constant():
            return "literal"
        case Now():
            return "now"
        case AggregateCall(argument=argument):
            return column_name(argument)
        case TextCall(function=function):
            return function
        case NearestCall():
            return "nearest"
        case Bm25Call():
            return "bm25"
        case RrfCall():
            return "rrf"
        case DistanceCall():
            return "distance"


# --- aggregates -------------------------------------------------------------------------------------------


def _check_aggregate(scope: Scope, call: AggregateCall) -> Typed:
    function, argument = call.function, call.argument
    if isinstance(argument, AggregateCall):
        raise RefusalError("T8", "aggregates do not nest", argument.at)
    if isinstance(argument, Word):
        raise RefusalError("T8", f"{function} takes a property or a variable, not an alias", argument.at)
    typed = check_value(scope, argument)
    if typed.kind in ("object", "rank"):
        raise RefusalError("T8", f"{function} takes a property or a variable", argument.at)
    if typed.type.is_blob:
        raise RefusalError("T24", "a Blob cannot be aggregated", argument.at)
    result = INTEGER
    if function in ("sum", "avg"):
        if typed.kind == "node" or typed.type.is_list or not typed.type.scalar.is_numeric:
            shown = "a node" if typed.kind == "node" else str(typed.type)
            raise RefusalError("T8", f"{function} needs numeric values; this is {shown}", argument.at)
        result = FLOAT
    elif function in ("min", "max"):
        if typed.type.is_list or not _has_order(typed.type.scalar):
            raise RefusalError("T8", f"{function} needs numbers, text or dates; this is {typed.type}", argument.at)
        result = typed.type
    nullable = replace(result, nullable=True)
    return Typed(Aggregate(function, typed.expr, call.distinct, nullable), nullable)


def _has_order(scalar: Scalar) -> bool:
    return scalar.is_numeric or scalar in (Scalar.STRING, Scalar.DATE, Scalar.DATETIME)


def _require_groupable(scope: Scope, outputs: list[Output]) -> None:
    for output in outputs:
        expr = output.typed.expr
        groupable = isinstance(expr, Aggregate | PropAccess | Variable | Param | Distance | EntityObject)
        if not groupable or (isinstance(expr, Param) and expr.name == NOW):
            scope.session.report.refuse(
                RefusalError(
                    "T9",
                    f"'{output.name}' cannot be returned together with an aggregate",
                    output.at,
                    "group by properties, variables or parameters",
                )
            )
