"""Parsing of read bodies: the clauses of `match`, then `return`, `order`, `limit` and `offset`."""

from __future__ import annotations

from omnigraph.language.query.parse.cursor import Cursor, SyntaxRefusalError
from omnigraph.language.query.parse.literals import IntegerLit
from omnigraph.language.query.parse.syntax import (
    Binding,
    Block,
    Clause,
    Comparison,
    Constant,
    Extent,
    Item,
    Maybe,
    Membership,
    Not,
    NullCheck,
    Or,
    Pair,
    Reading,
    Sort,
    TextClause,
    Value,
    Var,
)
from omnigraph.language.query.parse.values import (
    TEXT_FUNCTIONS,
    integer_of,
    parse_nearest,
    parse_operand,
    parse_text_call,
    parse_traversal,
    parse_value,
)

_SIGNS = ("=", "!=", ">", "<", ">=", "<=")
_WORD_SIGNS = ("contains", "starts_with")
_LIMIT_MAX = 2**64 - 1


def parse_reading(cursor: Cursor) -> Reading:
    start = cursor.expect_word("match").start
    block = parse_block(cursor)
    return_start = cursor.expect_word("return").start
    distinct = cursor.take_word("distinct")
    items = _parse_items(cursor)
    return_at = cursor.extent_from(return_start)
    order: tuple[Sort, ...] = ()
    order_at = Extent(0, 0)
    limit: Constant | Var | None = None
    offset: Constant | Var | None = None
    if cursor.at_word("order"):
        order_start = cursor.advance().start
        order = _parse_order(cursor)
        order_at = cursor.extent_from(order_start)
    while not cursor.at_sign("}"):
        if limit is None and cursor.take_word("limit"):
            limit = _parse_count(cursor, "limit")
        elif offset is None and cursor.take_word("offset"):
            offset = _parse_count(cursor, "offset")
        else:
            raise _refuse_tail(cursor, ordered=bool(order), limit=limit, offset=offset)
    return Reading(block, items, distinct, order, limit, offset, cursor.extent_from(start), return_at, order_at)


def _refuse_tail(
    cursor: Cursor, *, ordered: bool, limit: Constant | Var | None, offset: Constant | Var | None
) -> SyntaxRefusalError:
    words = [
        word
        for word, open_ in (
            ("order", not ordered and limit is None and offset is None),
            ("limit", limit is None),
            ("offset", offset is None),
        )
        if open_
    ]
    hint = None
    if cursor.token.text in ("order", "limit", "offset"):
        hint = f"'{cursor.token.text}' can occur only once, and 'order' comes before 'limit' and 'offset'"
    if cursor.token.text == "skip":
        hint = "did you mean 'offset'?"
    return cursor.refusal([*(f"'{word}'" for word in words), "'}'"], words, hint)


# --- match ------------------------------------------------------------------------------------------------


def parse_block(cursor: Cursor) -> Block:
    """`{ clause { clause } }`, never empty."""
    cursor.enter()
    start = cursor.expect_sign("{").start
    clauses = [parse_clause(cursor)]
    while not cursor.at_sign("}"):
        clauses.append(parse_clause(cursor))
    cursor.advance()
    cursor.depth -= 1
    return Block(tuple(clauses), cursor.extent_from(start))


def parse_clause(cursor: Cursor) -> Clause:
    """One clause. What follows the first token decides which kind; a traversal wins over a comparison."""
    token = cursor.token
    if token.kind == "name" and cursor.at_sign("{", 1):
        if token.text in ("not", "or", "maybe"):
            return _parse_block_clause(cursor)
        raise cursor.refusal(["a clause"], ("not", "or", "maybe"))
    if token.kind == "name" and token.text in TEXT_FUNCTIONS and cursor.at_sign("(", 1):
        call = parse_text_call(cursor)
        if not _at_operator(cursor):
            return TextClause(call, call.at)
        return _parse_test(cursor, call)
    if token.kind == "var":
        if cursor.at_sign(":", 1):
            return _parse_binding(cursor)
        if _at_traversal(cursor):
            return parse_traversal(cursor)
    if cursor.at_sign("}") or token.kind == "end":
        raise cursor.refusal(["a clause"])
    return _parse_test(cursor, parse_value(cursor))


def _at_traversal(cursor: Cursor) -> bool:
    """Whether the variable here begins a traversal. Word operators need something else than a variable behind them."""
    if cursor.at_kind("var", 1):
        return True
    if cursor.at_sign("<", 1):
        return cursor.at_kind("name", 2) and cursor.at_sign(">", 3)
    if not cursor.at_kind("name", 1):
        return False
    word = cursor.ahead(1).text
    if cursor.at_kind("var", 2) or cursor.at_sign("{", 2):
        return True
    return word not in (*_WORD_SIGNS, "is", "in")


def _parse_block_clause(cursor: Cursor) -> Clause:
    token = cursor.advance()
    if token.text == "or":
        alternatives = _parse_alternatives(cursor)
        return Or(alternatives, cursor.extent_from(token.start))
    block = parse_block(cursor)
    at = cursor.extent_from(token.start)
    return Not(block, at) if token.text == "not" else Maybe(block, at)


def _parse_alternatives(cursor: Cursor) -> tuple[Block, ...]:
    cursor.enter()
    cursor.expect_sign("{")
    alternatives: list[Block] = []
    while not cursor.at_sign("}") or not alternatives:
        if cursor.at_sign("{"):
            alternatives.append(parse_block(cursor))
        else:
            clause = parse_clause(cursor)
            alternatives.append(Block((clause,), clause.at))
    cursor.advance()
    cursor.depth -= 1
    return tuple(alternatives)


def _parse_binding(cursor: Cursor) -> Binding:
    variable = cursor.advance()
    cursor.advance()
    type_name = cursor.expect_type("a node type")
    pairs: list[Pair] = []
    if cursor.take_sign("{"):
        if cursor.at_sign("}"):
            raise cursor.refusal(["a property"], hint=f"remove the braces: {variable.text}: {type_name.text}")
        while not cursor.at_sign("}"):
            pairs.append(parse_pair(cursor))
            if not cursor.take_sign(","):
                break
        cursor.expect_sign("}", "',' or '}'")
    at = cursor.extent_from(variable.start)
    return Binding(variable.text[1:], type_name.text, tuple(pairs), at, Extent(type_name.start, type_name.end))


def parse_pair(cursor: Cursor) -> Pair:
    name = cursor.expect_name("a property name")
    cursor.expect_sign(":", f"':' after '{name.text}'")
    value = parse_operand(cursor)
    return Pair(name.text, value, cursor.extent_from(name.start), Extent(name.start, name.end))


def _at_operator(cursor: Cursor) -> bool:
    token = cursor.token
    if token.kind == "sign":
        return token.text in _SIGNS
    return token.kind == "name" and (token.text in _WORD_SIGNS or token.text in ("is", "in"))


def _parse_test(cursor: Cursor, left: Value) -> Clause:
    """A comparison, a null test or a membership test; its left side is read already."""
    if not _at_operator(cursor):
        words = (*_WORD_SIGNS, "is", "in")
        raise cursor.refusal(["a comparison"], words, "a clause is a binding, a traversal, a comparison or a block")
    sign = cursor.advance().text
    if sign == "is":
        negated = cursor.take_word("not")
        cursor.expect_word("null")
        return NullCheck(left, negated, cursor.extent_from(left.at.start))
    right = parse_value(cursor)
    at = cursor.extent_from(left.at.start)
    if sign == "in":
        return Membership(left, right, at)
    return Comparison(left, sign, right, at)  # type: ignore[arg-type]


# --- return, order, limit ---------------------------------------------------------------------------------


def _parse_items(cursor: Cursor) -> tuple[Item, ...]:
    cursor.expect_sign("{", "'{' or 'distinct'")
    if cursor.at_sign("}"):
        raise cursor.refusal(["something to return"])
    items: list[Item] = []
    while not cursor.at_sign("}"):
        value = parse_value(cursor)
        alias = cursor.expect_name("an alias after 'as'").text if cursor.take_word("as") else None
        items.append(Item(value, alias, cursor.extent_from(value.at.start)))
        cursor.take_sign(",")
    cursor.advance()
    return tuple(items)


def _parse_order(cursor: Cursor) -> tuple[Sort, ...]:
    cursor.expect_sign("{")
    keys = [_parse_sort(cursor)]
    while cursor.take_sign(","):
        keys.append(_parse_sort(cursor))
    cursor.expect_sign("}", "',' or '}'")
    return tuple(keys)


def _parse_sort(cursor: Cursor) -> Sort:
    if cursor.at_call("nearest"):
        nearest = parse_nearest(cursor)
        if cursor.at_word("asc") or cursor.at_word("desc"):
            raise cursor.refusal(["',' or '}'"], hint="nearest always puts the nearest first")
        return Sort(nearest, None, nearest.at)
    value = parse_value(cursor)
    direction = None
    if cursor.at_word("asc") or cursor.at_word("desc"):
        direction = cursor.advance().text
    return Sort(value, direction, cursor.extent_from(value.at.start))  # type: ignore[arg-type]


def _parse_count(cursor: Cursor, word: str) -> Constant | Var:
    token = cursor.token
    at = Extent(token.start, token.end)
    if token.kind == "var":
        cursor.advance()
        return Var(token.text[1:], at)
    cursor.expect_kind("int", f"an integer or a parameter after '{word}'")
    number = integer_of(token)
    if number is None or number > _LIMIT_MAX:
        raise SyntaxRefusalError(f"{word} is at most {_LIMIT_MAX}", at)
    return Constant(IntegerLit(number), at)
