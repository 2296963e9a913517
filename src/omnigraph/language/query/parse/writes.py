"""Parsing of mutation bodies: `insert`, `update` and `delete`."""

from __future__ import annotations

from omnigraph.language.query.parse.cursor import Cursor
from omnigraph.language.query.parse.reads import parse_pair
from omnigraph.language.query.parse.syntax import (
    Delete,
    Extent,
    Insert,
    Operand,
    Pair,
    Statement,
    Test,
    Update,
    Writing,
)
from omnigraph.language.query.parse.values import parse_operand

STATEMENTS = ("insert", "update", "delete")
_SIGNS = ("=", "!=", ">", "<", ">=", "<=")


def parse_writing(cursor: Cursor) -> Writing:
    start = cursor.token.start
    statements = [_parse_statement(cursor)]
    while not cursor.at_sign("}"):
        statements.append(_parse_statement(cursor))
    return Writing(tuple(statements), cursor.extent_from(start))


def _parse_statement(cursor: Cursor) -> Statement:
    hint = None
    if cursor.at_word("and") or cursor.at_word("or"):
        hint = "'where' takes one comparison; write one statement per condition"
    if cursor.token.text not in STATEMENTS or cursor.token.kind != "name":
        raise cursor.refusal(["'insert', 'update', 'delete'", "'}'"], STATEMENTS, hint)
    verb = cursor.advance()
    type_name = cursor.expect_type("a type name")
    type_at = Extent(type_name.start, type_name.end)
    if verb.text == "insert":
        assignments = _parse_assignments(cursor)
        return Insert(type_name.text, assignments, cursor.extent_from(verb.start), type_at)
    if verb.text == "update":
        cursor.expect_word("set")
        assignments = _parse_assignments(cursor)
        cursor.expect_word("where")
        test = _parse_where(cursor)
        return Update(type_name.text, assignments, test, cursor.extent_from(verb.start), type_at)
    cursor.expect_word("where")
    test = _parse_where(cursor)
    return Delete(type_name.text, test, cursor.extent_from(verb.start), type_at)


def _parse_assignments(cursor: Cursor) -> tuple[Pair, ...]:
    cursor.expect_sign("{")
    if cursor.at_sign("}"):
        raise cursor.refusal(["an assignment like name: $value"])
    assignments: list[Pair] = []
    while not cursor.at_sign("}"):
        assignments.append(parse_pair(cursor))
        cursor.take_sign(",")
    cursor.advance()
    return tuple(assignments)


def _parse_where(cursor: Cursor) -> Test:
    name = cursor.expect_name("a property name")
    name_at = Extent(name.start, name.end)
    sign: str
    value: Operand | None = None
    if cursor.take_word("is"):
        sign = "is not null" if cursor.take_word("not") else "is null"
        cursor.expect_word("null")
    elif cursor.take_word("in"):
        sign, value = "in", parse_operand(cursor)
    elif cursor.token.kind == "sign" and cursor.token.text in _SIGNS:
        sign = cursor.advance().text
        value = parse_operand(cursor)
    else:
        raise cursor.refusal([*(f"'{sign}'" for sign in _SIGNS), "'is'", "'in'"], ("is", "in"))
    at = cursor.extent_from(name.start)
    return Test(name.text, sign, value, at, name_at)  # type: ignore[arg-type]
