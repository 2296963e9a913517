"""Tokens: query text cut into words, numbers, strings and signs, with the comments kept aside.

Words are cut at their real borders, so `limit10` is one word and never the keyword `limit`. The lexer never stops:
what it cannot read becomes an `error` token with a complaint, and reading goes on behind it. Offsets are counted in
characters; `SourceText` turns them into byte spans and into lines and columns.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

TokenKind = Literal["name", "type", "var", "int", "float", "string", "sign", "error", "end"]


class Token(NamedTuple):
    kind: TokenKind
    text: str
    start: int
    end: int


class Comment(NamedTuple):
    text: str
    start: int
    end: int


class Complaint(NamedTuple):
    """A text that is not a token: what is wrong, where, and a hint."""

    message: str
    start: int
    end: int
    hint: str | None = None


class Lexed(NamedTuple):
    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    complaints: tuple[Complaint, ...]


_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n\ufeff]+)
    | (?P<comment>//[^\n]*|/\*(?s:.*?)\*/)
    | (?P<var>\$[a-z_][A-Za-z0-9_]*)
    | (?P<name>[a-z_][A-Za-z0-9_]*)
    | (?P<type>[A-Z][A-Za-z0-9_]*)
    | (?P<float>[0-9]+\.[0-9]+)
    | (?P<int>[0-9]+)
    | (?P<string>"[^"\\]*(?:\\(?s:.)[^"\\]*)*")
    | (?P<sign>>=|<=|!=|[{}()\[\],:.<>=@*?-])
    """,
    re.VERBOSE,
)
_WORD_AFTER_NUMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BAD_ESCAPE = re.compile(r'\\(?:["\\nrt]|(?P<bad>(?s:.)))')
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def lex(text: str) -> Lexed:
    """The tokens of a text, ending with one `end` token, its comments, and whatever could not be read."""
    tokens: list[Token] = []
    comments: list[Comment] = []
    complaints: list[Complaint] = []
    place, length = 0, len(text)
    match = _TOKEN.match
    while place < length:
        found = match(text, place)
        if found is None:
            complaint = _complaint_at(text, place, tokens)
            complaints.append(complaint)
            tokens.append(Token("error", text[place : complaint.end], place, complaint.end))
            place = complaint.end
            continue
        kind, end = found.lastgroup, found.end()
        if kind == "comment":
            comments.append(Comment(found.group(), place, end))
        elif kind != "space":
            complaint_here = _complaint_in(text, kind, place, end)
            if complaint_here is None:
                tokens.append(Token(kind, found.group(), place, end))  # type: ignore[arg-type]
            else:
                complaints.append(complaint_here)
                end = max(end, complaint_here.end)
                tokens.append(Token("error", text[place:end], place, end))
        place = end
    tokens.append(Token("end", "", length, length))
    return Lexed(tuple(tokens), tuple(comments), tuple(complaints))


def string_value(token: Token) -> str:
    """The text that a string token means; its escapes were checked when it was cut."""
    inner = token.text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda found: _ESCAPES[found.group(1)], inner)


def quote(value: str) -> str:
    """A string literal for this value, on one line."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _complaint_in(text: str, kind: str | None, start: int, end: int) -> Complaint | None:
    """What is wrong with something that has the shape of a token."""
    if kind in ("int", "float"):
        word = _WORD_AFTER_NUMBER.match(text, end)
        if word is None:
            return None
        exponent = word.group()[0] in "eE" and word.group()[1:].isdigit()
        hint = "write the number without an exponent" if exponent else "put a space between the number and the word"
        return Complaint(f"the number {text[start:end]} runs into '{word.group()}'", start, word.end(), hint)
    if kind == "string":
        for escape in _BAD_ESCAPE.finditer(text, start, end):
            if escape.group("bad") is not None:
                return Complaint(
                    f"unknown escape {escape.group()!r} in a string".replace("\\\\", "\\"),
                    escape.start(),
                    escape.end(),
                    r"the escapes are \" \\ \n \r \t; write any other character as itself",
                )
    return None


def _complaint_at(text: str, place: int, tokens: list[Token]) -> Complaint:
    """What is wrong at a place where no token begins."""
    char = text[place]
    line_end = text.find("\n", place)
    line_end = len(text) if line_end < 0 else line_end
    if char == '"':
        spanning = next((t for t in tokens if t.kind == "string" and "\n" in t.text), None)
        hint = "close it with a double quote"
        if spanning is not None:
            line = text.count("\n", 0, spanning.start) + 1
            hint += f"; the string that opens on line {line} runs over several lines, is its closing quote missing?"
        return Complaint("this string is never closed", place, line_end, hint)
    if text.startswith("/*", place):
        return Complaint("this comment is never closed", place, line_end, "close it with */")
    if char == "$":
        word = _WORD_AFTER_NUMBER.match(text, place + 1)
        end = word.end() if word else place + 1
        return Complaint(
            "a variable is '$' directly followed by a lower-case name",
            place,
            end,
            f"write ${word.group()[0].lower()}{word.group()[1:]}" if word else None,
        )
    if char == "'":
        closing = text.find("'", place + 1, line_end)
        end = closing + 1 if closing > 0 else place + 1
        return Complaint("single quotes are not part of the language", place, end, 'write strings as "…"')
    return Complaint(f"unexpected character {char!r}", place, place + 1)
