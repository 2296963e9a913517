"""Checking of `order`, `limit` and `offset`."""

from __future__ import annotations

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check.returns import Output, column_word
from omnigraph.language.query.check.scope import RefusalError, Scope
from omnigraph.language.query.check.values import Typed, check_value
from omnigraph.language.query.ir import (
    Aggregate,
    AliasRef,
    Bm25,
    Distance,
    Expr,
    Nearest,
    OrderKey,
    Param,
    PropAccess,
    Rrf,
)
from omnigraph.language.query.parse import AggregateCall, Constant, Extent, IntegerLit, Reading, Sort, Var


def check_order(scope: Scope, reading: Reading, outputs: tuple[Output, ...]) -> tuple[OrderKey, ...]:
    """The sort keys. Ranks reached through an alias stand in the IR as the rank itself."""
    keys: list[OrderKey] = []
    aliases: list[Sort] = []
    for sort in reading.order:
        try:
            key = _check_key(scope, reading, sort, outputs)
            _require_rank_rules(reading, sort, key, first=not keys)
        except RefusalError as refusal:
            scope.session.report.refuse(refusal)
            continue
        names = [output.name for output in outputs]
        if column_word(sort.value, names) is not None and not _is_rank(key.expr):
            aliases.append(sort)
        keys.append(key)
    if aliases and any(isinstance(key.expr, Nearest) for key in keys):
        scope.session.report.refuse(
            RefusalError("T18", "an alias cannot be a sort key beside nearest", aliases[0].at, "sort by the property")
        )
    return tuple(keys)


def _is_rank(expr: Expr) -> bool:
    return isinstance(expr, Nearest | Bm25 | Rrf)


def _check_key(scope: Scope, reading: Reading, sort: Sort, outputs: tuple[Output, ...]) -> OrderKey:
    names = [output.name for output in outputs]
    word = column_word(sort.value, names)
    expr = _value_key(scope, reading, sort, outputs) if word is None else _column_key(scope, word, outputs, sort.at)
    if isinstance(expr, Nearest) and sort.direction == "desc":
        raise RefusalError("T92", "nearest always puts the nearest first", sort.at, "remove 'desc'")
    best_first = isinstance(expr, Bm25 | Rrf) and sort.direction is None
    return OrderKey(expr, best_first or sort.direction == "desc")


def _column_key(scope: Scope, word: str, outputs: tuple[Output, ...], at: Extent) -> Expr:
    for index, output in enumerate(outputs):
        if output.name == word:
            target = _behind_alias(output, outputs)
            _require_sortable(target, word, at)
            return target.expr if _is_rank(target.expr) else AliasRef(word, index)
    if word in scope.session.broken_columns:
        raise RefusalError("T91", "", at, silent=True)
    hint = did_you_mean(word, [output.name for output in outputs])
    raise RefusalError("T91", f"no output column is called '{word}'", at, hint)


def _behind_alias(output: Output, outputs: tuple[Output, ...]) -> Typed:
    typed = output.typed
    while isinstance(typed.expr, AliasRef):
        typed = outputs[typed.expr.column].typed
    return typed


def _require_sortable(typed: Typed, shown: str, at: Extent) -> None:
    if typed.kind == "object" or typed.type.is_list or typed.type.is_vector:
        what = "a whole entity" if typed.kind == "object" else str(typed.type)
        raise RefusalError("T92", f"'{shown}' is {what}, which has no order", at)


def _value_key(scope: Scope, reading: Reading, sort: Sort, outputs: tuple[Output, ...]) -> Expr:
    if isinstance(sort.value, AggregateCall):
        raise RefusalError("T92", "an aggregate is sorted by its alias", sort.at, "return it as n, then order { n }")
    typed = check_value(scope, sort.value)
    if not isinstance(typed.expr, PropAccess | Distance | Nearest | Bm25 | Rrf):
        hint = "sort by a property, an output column or a rank"
        if isinstance(sort.value, Var) and typed.kind == "node":
            hint = f"sort by a property of ${sort.value.name}"
        raise RefusalError("T92", "this is not something to sort by", sort.at, hint)
    _require_sortable(typed, "this", sort.at)
    grouped = any(isinstance(output.typed.expr, Aggregate) for output in outputs)
    if reading.distinct or (grouped and not _is_rank(typed.expr)):
        return _returned(typed.expr, reading, outputs, sort.at)
    return typed.expr


def _returned(expr: Expr, reading: Reading, outputs: tuple[Output, ...], at: Extent) -> Expr:
    """After grouping or `distinct` only output columns are left to sort by."""
    for index, output in enumerate(outputs):
        if output.typed.expr == expr:
            return expr if _is_rank(expr) else AliasRef(output.name, index)
    why = "after 'distinct'" if reading.distinct else "in a grouped query"
    raise RefusalError("T92", f"{why} a sort key must be returned", at, "add it to 'return'")


def _require_rank_rules(reading: Reading, sort: Sort, key: OrderKey, *, first: bool) -> None:
    if not _is_rank(key.expr):
        return
    if isinstance(key.expr, Nearest) and reading.limit is None:
        raise RefusalError("T17", "an order by nearest needs a limit", sort.at, "add 'limit 10'")
    if isinstance(key.expr, Rrf) and reading.limit is None:
        raise RefusalError("T21", "an order by rrf needs a limit", sort.at, "add 'limit 10'")
    if not first:
        raise RefusalError("T92", "only the first sort key can rank", sort.at, "put it first")


def check_count(scope: Scope, count: Constant | Var | None, word: str) -> int | Param | None:
    """The number behind `limit` or `offset`, or the integer parameter that gives it."""
    if count is None:
        return None
    if isinstance(count, Constant):
        assert isinstance(count.value, IntegerLit)
        return count.value.value
    try:
        return _count_param(scope, count, word)
    except RefusalError as refusal:
        scope.session.report.refuse(refusal)
        return None


def _count_param(scope: Scope, count: Var, word: str) -> Param:
    param = scope.session.params.get(count.name)
    if param is None:
        hint = did_you_mean(count.name, scope.session.params)
        raise RefusalError(
            "T14", f"{word} takes an integer or a parameter; ${count.name} is not a parameter", count.at, hint
        )
    if not param.type.scalar.is_integer or param.type.is_list:
        raise RefusalError("T7", f"{word} needs an integer; ${count.name} is {param.type}", count.at)
    return param
