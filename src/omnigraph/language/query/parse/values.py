"""Parsing of values: literals, variables, properties, calls, and the traversal inside `distance`."""

from __future__ import annotations

import math

from omnigraph.language.query.parse.cursor import Cursor, SyntaxRefusalError
from omnigraph.language.query.parse.literals import (
    NULL,
    BoolLit,
    DateLit,
    DateTimeLit,
    FloatLit,
    IntegerLit,
    ListLit,
    LiteralValue,
    StringLit,
)
from omnigraph.language.query.parse.syntax import (
    AggregateCall,
    Bm25Call,
    Constant,
    DistanceCall,
    Extent,
    Field,
    Hops,
    NearestCall,
    Now,
    Operand,
    RrfCall,
    Star,
    TextCall,
    Traversal,
    Value,
    Var,
    Word,
)
from omnigraph.language.query.parse.tokens import Token, string_value

_INT_MAX, _INT_MIN = 2**64 - 1, -(2**63)
HOPS_MAX = 2**32 - 1
AGGREGATES = ("count", "sum", "avg", "min", "max")
TEXT_FUNCTIONS = ("search", "match_text", "fuzzy")
FUNCTIONS = (*AGGREGATES, *TEXT_FUNCTIONS, "nearest", "bm25", "rrf", "now", "date", "datetime", "distance")


def parse_value(cursor: Cursor) -> Value:
    """Any value. A word followed by `(` is a call; any other word names an output column."""
    token = cursor.token
    if token.kind == "var":
        return _variable_or_field(cursor)
    if token.kind == "name":
        if cursor.at_sign("(", 1) and token.text not in ("date", "datetime"):
            return parse_call(cursor)
        if not _at_literal(cursor):
            cursor.advance()
            return Word(token.text, Extent(token.start, token.end))
    return parse_constant(cursor, "a value")


def parse_operand(cursor: Cursor) -> Operand:
    """A literal, a parameter or `now()`."""
    token = cursor.token
    if token.kind == "var":
        cursor.advance()
        if cursor.at_sign("."):
            raise SyntaxRefusalError(
                "a property is not allowed here",
                cursor.here,
                "give a literal, a parameter or now(); compare in a clause",
            )
        return Var(token.text[1:], Extent(token.start, token.end))
    if cursor.at_call("now"):
        return _parse_now(cursor)
    return parse_constant(cursor, "a literal, a parameter or now()")


def parse_constant(cursor: Cursor, what: str) -> Constant:
    start = cursor.token.start
    value = _parse_literal(cursor, what)
    return Constant(value, cursor.extent_from(start))


def _at_literal(cursor: Cursor) -> bool:
    if cursor.token.text in ("true", "false", "null"):
        return True
    return cursor.token.text in ("date", "datetime") and cursor.at_sign("(", 1)


def _parse_literal(cursor: Cursor, what: str) -> LiteralValue:
    token = cursor.token
    if token.kind == "string":
        return StringLit(string_value(cursor.advance()))
    if token.kind in ("int", "float"):
        return _number(cursor.advance(), negative=False)
    if cursor.at_sign("-"):
        cursor.advance()
        if cursor.token.kind not in ("int", "float"):
            raise cursor.refusal(["a number after '-'"])
        return _number(cursor.advance(), negative=True)
    if cursor.at_sign("["):
        return _parse_list(cursor)
    if token.kind == "name":
        if token.text in ("true", "false"):
            cursor.advance()
            return BoolLit(token.text == "true")
        if token.text == "null":
            cursor.advance()
            return NULL
        if token.text in ("date", "datetime") and cursor.at_sign("(", 1):
            cursor.advance()
            cursor.advance()
            text = string_value(cursor.expect_kind("string", f'the text of {token.text}("…")'))
            cursor.expect_sign(")")
            return DateLit(text) if token.text == "date" else DateTimeLit(text)
    raise cursor.refusal([what], ("true", "false", "null", *FUNCTIONS))


def _parse_list(cursor: Cursor) -> ListLit:
    cursor.enter()
    cursor.advance()
    items: list[LiteralValue] = []
    while not cursor.at_sign("]"):
        items.append(_parse_literal(cursor, "a literal"))
        if not cursor.take_sign(","):
            break
        if cursor.at_sign("]"):
            raise cursor.refusal(["a literal"], hint="remove the comma at the end of the list")
    cursor.expect_sign("]", "',' or ']'")
    cursor.depth -= 1
    return ListLit(tuple(items))


def _number(token: Token, *, negative: bool) -> IntegerLit | FloatLit:
    at = Extent(token.start, token.end)
    if token.kind == "float":
        number = float(token.text)
        if not math.isfinite(number):
            raise SyntaxRefusalError("this number is beyond the range of F64", at)
        return FloatLit(-number if negative else number)
    integer = integer_of(token)
    if integer is not None and negative:
        integer = -integer
    if integer is None or not _INT_MIN <= integer <= _INT_MAX:
        raise SyntaxRefusalError("this integer is out of range", at, "integers run from -2^63 to 2^64-1")
    return IntegerLit(integer)


def integer_of(token: Token) -> int | None:
    """The number, or None when it has far too many digits to be one."""
    digits = token.text.lstrip("0") or "0"
    return int(digits) if len(digits) <= 20 else None


def _variable_or_field(cursor: Cursor) -> Value:
    token = cursor.advance()
    name, start = token.text[1:], token.start
    if not cursor.take_sign("."):
        return Var(name, Extent(start, token.end))
    if cursor.take_sign("*"):
        return Star(name, cursor.extent_from(start))
    prop = cursor.expect_name("a property name or '*' after '.'")
    return Field(name, prop.text, cursor.extent_from(start), Extent(prop.start, prop.end))


def parse_call(cursor: Cursor) -> Value:
    """`name(…)`, by the table of functions."""
    token = cursor.token
    name, start = token.text, token.start
    if name not in FUNCTIONS:
        raise cursor.refusal(["a function of the language"], FUNCTIONS)
    cursor.enter()
    value: Value
    if name == "now":
        value = _parse_now(cursor)
    elif name in AGGREGATES:
        value = _parse_aggregate(cursor)
    elif name in TEXT_FUNCTIONS:
        value = parse_text_call(cursor)
    elif name == "nearest":
        value = parse_nearest(cursor)
    elif name == "distance":
        value = _parse_distance(cursor)
    else:
        arguments = _arguments(cursor, 2, 3 if name == "rrf" else 2)
        at = cursor.extent_from(start)
        if name == "bm25":
            value = Bm25Call(arguments[0], arguments[1], at)
        else:
            value = RrfCall(arguments[0], arguments[1], arguments[2] if len(arguments) > 2 else None, at)
    cursor.depth -= 1
    return value


def _parse_now(cursor: Cursor) -> Now:
    start = cursor.advance().start
    cursor.expect_sign("(")
    cursor.expect_sign(")", "')': now() takes no argument")
    return Now(cursor.extent_from(start))


def _arguments(cursor: Cursor, at_least: int, at_most: int) -> list[Value]:
    cursor.advance()
    cursor.expect_sign("(")
    values = [parse_value(cursor)]
    while len(values) < at_most and (len(values) < at_least or cursor.at_sign(",")):
        cursor.expect_sign(",")
        values.append(parse_value(cursor))
    cursor.expect_sign(")")
    return values


def _parse_aggregate(cursor: Cursor) -> AggregateCall:
    token = cursor.advance()
    cursor.expect_sign("(")
    distinct = False
    if cursor.at_word("distinct") and not cursor.at_sign(")", 1):
        if token.text != "count":
            raise SyntaxRefusalError(f"{token.text} takes no 'distinct'", cursor.here, "only count(distinct …) exists")
        cursor.advance()
        distinct = True
    if cursor.at_sign("*"):
        raise cursor.refusal(["a value"], hint="count a variable instead: count($p) counts rows")
    argument = parse_value(cursor)
    cursor.expect_sign(")")
    return AggregateCall(token.text, argument, distinct, cursor.extent_from(token.start))  # type: ignore[arg-type]


def parse_text_call(cursor: Cursor) -> TextCall:
    token = cursor.token
    arguments = _arguments(cursor, 2, 3 if token.text == "fuzzy" else 2)
    edits = arguments[2] if len(arguments) > 2 else None
    at = cursor.extent_from(token.start)
    return TextCall(token.text, arguments[0], arguments[1], edits, at)  # type: ignore[arg-type]


def parse_nearest(cursor: Cursor) -> NearestCall:
    start = cursor.advance().start
    cursor.expect_sign("(")
    target = parse_value(cursor) if cursor.at_kind("var") else None
    if not isinstance(target, Field):
        raise cursor.refusal(["a vector property like $d.embedding as the first argument of nearest"])
    cursor.expect_sign(",")
    query = parse_value(cursor)
    cursor.expect_sign(")")
    return NearestCall(target, query, cursor.extent_from(start))


def _parse_distance(cursor: Cursor) -> DistanceCall:
    start = cursor.advance().start
    cursor.expect_sign("(")
    if not cursor.at_kind("var"):
        raise cursor.refusal(["a traversal like $a knows{1,6} $b"])
    path = parse_traversal(cursor)
    if path.edge is not None:
        raise SyntaxRefusalError("distance does not name an edge", path.edge.at, "write distance($a knows{1,6} $b)")
    if path.hops is None:
        raise SyntaxRefusalError(
            "distance needs bounds",
            path.word_at,
            f"write {path.word}{{1,6}}, or {path.word}{{1,}} to search all the way",
        )
    cursor.expect_sign(")")
    return DistanceCall(path, cursor.extent_from(start))


# --- traversals -------------------------------------------------------------------------------------------


def parse_traversal(cursor: Cursor) -> Traversal:
    """`$left [$edge:] word[{m,M}] $right`; the cursor stands on `$left`."""
    left = parse_var(cursor, "a variable")
    edge: Var | None = None
    if cursor.at_kind("var"):
        edge = parse_var(cursor, "a variable")
        cursor.expect_sign(":", "':' after the edge variable")
    undirected = cursor.take_sign("<")
    word = cursor.expect_name("an edge name")
    if word.text == "not":
        raise SyntaxRefusalError("'not' cannot be an edge name", Extent(word.start, word.end))
    if undirected:
        cursor.expect_sign(">")
    hops = _parse_hops(cursor) if cursor.at_sign("{") else None
    right = parse_var(cursor, f"a variable after the edge '{word.text}'")
    at = cursor.extent_from(left.at.start)
    return Traversal(left, word.text, right, edge, undirected, hops, at, Extent(word.start, word.end))


def parse_var(cursor: Cursor, what: str) -> Var:
    token = cursor.expect_kind("var", what)
    return Var(token.text[1:], Extent(token.start, token.end))


def _parse_hops(cursor: Cursor) -> Hops:
    start = cursor.expect_sign("{").start
    minimum = _hop_bound(cursor)
    if cursor.at_sign("}"):
        raise cursor.refusal(
            ["',' and an upper bound"], hint=f"write {{{minimum},{minimum}}} for exactly {minimum} hops"
        )
    cursor.expect_sign(",")
    maximum = None if cursor.at_sign("}") else _hop_bound(cursor)
    cursor.expect_sign("}")
    return Hops(minimum, maximum, cursor.extent_from(start))


def _hop_bound(cursor: Cursor) -> int:
    token = cursor.expect_kind("int", "a number of hops")
    bound = integer_of(token)
    if bound is None or bound > HOPS_MAX:
        raise SyntaxRefusalError(f"a number of hops is at most {HOPS_MAX}", Extent(token.start, token.end))
    return bound
