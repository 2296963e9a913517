"""The parser: query text to declarations, with every syntax error of the text in one run.

Recursive descent over the tokens. After an error the parser goes on at the next `query name(`, so one mistake in
one query does not hide the mistakes in the others.
"""

from __future__ import annotations

from omnigraph.language.diagnostics import CompileError, Diagnostic, SourceText
from omnigraph.language.query.parse.cursor import Cursor, SyntaxRefusalError
from omnigraph.language.query.parse.reads import parse_reading
from omnigraph.language.query.parse.syntax import (
    Extent,
    Note,
    ParamDeclaration,
    ParamType,
    QueryDeclaration,
    Reading,
    Writing,
)
from omnigraph.language.query.parse.tokens import Comment, Lexed, lex, string_value
from omnigraph.language.query.parse.values import integer_of
from omnigraph.language.query.parse.writes import STATEMENTS, parse_writing
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text that parses: its declarations in order, and what the formatter needs besides."""

    source: SourceText
    declarations: tuple[QueryDeclaration, ...]
    comments: tuple[Comment, ...]


def parse(text: str, file: str | None = None) -> Parsed:
    """Parse a whole text, or raise CompileError with every syntax error found."""
    _require_unicode(text, file)
    source = SourceText(text, file)
    lexed = lex(text)
    declarations, diagnostics = _parse_declarations(lexed, source)
    diagnostics += [source.diagnostic("parse", c.message, c.start, c.end, hint=c.hint) for c in lexed.complaints]
    if diagnostics:
        raise CompileError(tuple(sorted(diagnostics, key=_place_of)))
    return Parsed(source, tuple(declarations), lexed.comments)


def _require_unicode(text: str, file: str | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text is not valid Unicode at character {error.start}"
        broken = Diagnostic(severity="error", stage="parse", message=message, file=file, hint="save it as UTF-8")
        raise CompileError((broken,)) from None


def _place_of(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span is not None else 0


def _parse_declarations(lexed: Lexed, source: SourceText) -> tuple[list[QueryDeclaration], list[Diagnostic]]:
    cursor = Cursor(lexed.tokens)
    declarations: list[QueryDeclaration] = []
    diagnostics: list[Diagnostic] = []
    while not cursor.at_kind("end"):
        begun = cursor.index
        cursor.depth = 0
        try:
            declarations.append(_parse_query(cursor))
        except SyntaxRefusalError as refusal:
            if refusal.message is not None:
                at = refusal.at
                diagnostics.append(source.diagnostic("parse", refusal.message, at.start, at.end, hint=refusal.hint))
            _resynchronise(cursor, begun)
    return declarations, diagnostics


def _resynchronise(cursor: Cursor, begun: int) -> None:
    """Step to the next `query name(` behind the declaration that failed."""
    if cursor.index == begun:
        cursor.advance()
    while not cursor.at_kind("end"):
        if cursor.at_word("query") and cursor.at_kind("name", 1) and cursor.at_sign("(", 2):
            return
        cursor.advance()


def _parse_query(cursor: Cursor) -> QueryDeclaration:
    start = cursor.expect_word("query").start
    name = cursor.expect_name("the name of the query")
    params = _parse_params(cursor)
    notes = _parse_notes(cursor)
    opened = cursor.expect_sign("{").start
    body = _parse_body(cursor)
    cursor.expect_sign("}")
    at, body_at = cursor.extent_from(start), cursor.extent_from(opened)
    return QueryDeclaration(name.text, params, notes, body, at, Extent(name.start, name.end), body_at)


def _parse_body(cursor: Cursor) -> Reading | Writing:
    if cursor.at_word("match"):
        return parse_reading(cursor)
    if cursor.token.kind == "name" and cursor.token.text in STATEMENTS:
        return parse_writing(cursor)
    words = ("match", *STATEMENTS)
    raise cursor.refusal([f"'{word}'" for word in words], words)


def _parse_params(cursor: Cursor) -> tuple[ParamDeclaration, ...]:
    cursor.expect_sign("(")
    params: list[ParamDeclaration] = []
    if not cursor.at_sign(")"):
        params.append(_parse_param(cursor))
        while cursor.take_sign(","):
            params.append(_parse_param(cursor))
    if cursor.at_sign("="):
        raise cursor.refusal(["',' or ')'"], hint="parameters have no default values; '?' makes one optional")
    cursor.expect_sign(")", "',' or ')'")
    return tuple(params)


def _parse_param(cursor: Cursor) -> ParamDeclaration:
    variable = cursor.expect_kind("var", "a parameter like $name: String")
    cursor.expect_sign(":", f"':' and a type after '{variable.text}'")
    written = _parse_param_type(cursor)
    return ParamDeclaration(variable.text[1:], written, cursor.extent_from(variable.start))


def _parse_param_type(cursor: Cursor) -> ParamType:
    start = cursor.token.start
    is_list = cursor.take_sign("[")
    if is_list and cursor.at_sign("["):
        raise cursor.refusal(["a scalar type"], hint="lists of lists do not exist")
    word = cursor.expect_type("a type")
    dimension: int | None = None
    if word.text == "Vector":
        if is_list:
            at = Extent(word.start, word.end)
            raise SyntaxRefusalError("lists of vectors do not exist", at, "declare Vector(N) without the brackets")
        cursor.expect_sign("(", "'(' and the dimension after 'Vector'")
        number = integer_of(cursor.expect_kind("int", "the dimension of the vector"))
        dimension = -1 if number is None else number
        cursor.expect_sign(")")
    if is_list:
        cursor.expect_sign("]")
    nullable = cursor.take_sign("?")
    return ParamType(word.text, dimension, is_list, nullable, cursor.extent_from(start))


def _parse_notes(cursor: Cursor) -> tuple[Note, ...]:
    notes: list[Note] = []
    while cursor.at_sign("@"):
        start = cursor.advance().start
        name = cursor.expect_word("description", "instruction").text
        if any(note.name == name for note in notes):
            raise SyntaxRefusalError(f"@{name} is given twice", cursor.extent_from(start), "keep one of them")
        cursor.expect_sign("(")
        text = string_value(cursor.expect_kind("string", f'the text of @{name}("…")'))
        cursor.expect_sign(")")
        notes.append(Note(name, text, cursor.extent_from(start)))  # type: ignore[arg-type]
    return tuple(notes)
