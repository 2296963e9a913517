"""Scanner: takes one token at a time where the parser stands, because `.pg` tokens depend on their context.

An enum value may be `2fa` or `-`, a keyword may be a property name: a lexer that runs ahead of the parser would have
to guess. Trivia is skipped after every token, so `at` always stands on a token or at the end.
"""

from __future__ import annotations

import re

from omnigraph.language.diagnostics import Stage
from omnigraph.language.schema.syntax import Argument, Comment, Name, Place

_TRIVIA = re.compile(r"[ \t\r\n]+|//[^\n]*|/\*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9_]*")
_PROPERTY_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")
_ENUM_VALUE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INTEGER = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIGNED_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DECLARATION_AHEAD = re.compile(r"(?:interface|node|edge)[ \t\r\n]+[A-Za-z_]")

_GAP = r"(?:[ \t\r\n]|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
_CONSTRAINT_AHEAD = re.compile(rf"@{_GAP}(key|unique|index|range|check)(?![A-Za-z0-9_]){_GAP}\(")
_CARDINALITY_AHEAD = re.compile(rf"@{_GAP}card(?![A-Za-z0-9_]){_GAP}\(")
_CARDINALITY_RANGE_AHEAD = re.compile(rf"@{_GAP}card(?![A-Za-z0-9_]){_GAP}\({_GAP}[0-9]+{_GAP}\.\.")

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


class PgSyntaxError(Exception):
    """The text cannot be read any further here. The parser records it and continues at the next declaration."""

    def __init__(self, message: str, place: Place, hint: str | None = None, stage: Stage = "syntax") -> None:
        super().__init__(message)
        self.message, self.place, self.hint, self.stage = message, place, hint, stage


class Scanner:
    """A place in a text. `strict` demands a word boundary after keywords and scalar names."""

    def __init__(self, text: str, *, strict: bool = True) -> None:
        self.text = text
        self.strict = strict
        self.at = 0
        self.end = 0
        """Where the last token ended, before trivia."""
        self.comments: list[Comment] = []

    # --- moving ---------------------------------------------------------------------------------------

    def skip_trivia(self) -> None:
        while match := _TRIVIA.match(self.text, self.at):
            start, stop = match.span()
            if self.text.startswith("/*", start):
                close = self.text.find("*/", stop)
                if close < 0:
                    self.at = len(self.text)
                    raise PgSyntaxError(
                        "this block comment is never closed", Place(start, start + 2), "close it with */"
                    )
                stop = close + 2
            if self.text[start] == "/":
                self.comments.append(Comment(self.text[start:stop].rstrip(), Place(start, stop)))
            self.at = stop

    def _advance(self, stop: int) -> Place:
        place = Place(self.at, stop)
        self.at = self.end = stop
        self.skip_trivia()
        return place

    def resynchronise(self) -> None:
        """Step over the rest of a broken declaration, to the next thing that looks like the start of one."""
        while not self.at_end and not self.sees_declaration():
            string = _STRING.match(self.text, self.at)
            word = _WORD.match(self.text, self.at)
            self._advance(string.end() if string else word.end() if word else self.at + 1)

    # --- looking --------------------------------------------------------------------------------------

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.text)

    def sees(self, symbol: str) -> bool:
        return self.text.startswith(symbol, self.at)

    def sees_declaration(self) -> bool:
        return _DECLARATION_AHEAD.match(self.text, self.at) is not None

    def sees_constraint(self) -> bool:
        return _CONSTRAINT_AHEAD.match(self.text, self.at) is not None

    def sees_cardinality(self) -> bool:
        """`@card(`; without strictness only the full form, everything else was once an unknown annotation."""
        pattern = _CARDINALITY_AHEAD if self.strict else _CARDINALITY_RANGE_AHEAD
        return pattern.match(self.text, self.at) is not None

    def sees_number(self) -> bool:
        return _SIGNED_NUMBER.match(self.text, self.at) is not None

    def peek_word(self) -> str | None:
        match = _WORD.match(self.text, self.at)
        return match.group() if match else None

    def found(self) -> tuple[str, Place]:
        """What stands here, for a message."""
        if self.at_end:
            return "the end of the text", Place(max(0, len(self.text) - 1), len(self.text))
        match = _WORD.match(self.text, self.at) or _NUMBER.match(self.text, self.at)
        stop = match.end() if match else self.at + 1
        return f"'{self.text[self.at : stop]}'", Place(self.at, stop)

    def unexpected(self, expected: str, hint: str | None = None) -> PgSyntaxError:
        found, place = self.found()
        return PgSyntaxError(f"expected {expected}, found {found}", place, hint)

    # --- taking ---------------------------------------------------------------------------------------

    def accept(self, symbol: str) -> Place | None:
        return self._advance(self.at + len(symbol)) if self.sees(symbol) else None

    def expect(self, symbol: str, hint: str | None = None) -> Place:
        place = self.accept(symbol)
        if place is None:
            raise self.unexpected(f"'{symbol}'", hint)
        return place

    def accept_keyword(self, *words: str) -> Name | None:
        """The first of `words` that stands here, as a whole word when strict."""
        ahead = self.peek_word()
        if ahead is None:
            return None
        for word in words:
            if ahead == word or (not self.strict and ahead.startswith(word)):
                return Name(word, self._advance(self.at + len(word)))
        return None

    def type_name(self, what: str) -> Name:
        match = _TYPE_NAME.match(self.text, self.at)
        if match is None:
            word = self.peek_word()
            better = f"{word[:1].upper()}{word[1:]}" if word and word[0].islower() else None
            hint = f"type names start with a capital letter: '{better}'" if better else None
            raise self.unexpected(what, hint)
        return Name(match.group(), self._advance(match.end()))

    def property_name(self, what: str) -> Name:
        match = _PROPERTY_NAME.match(self.text, self.at)
        if match is None:
            word = self.peek_word()
            better = f"{word[:1].lower()}{word[1:]}" if word else None
            hint = f"these names start with a small letter or '_': '{better}'" if better else None
            raise self.unexpected(what, hint)
        return Name(match.group(), self._advance(match.end()))

    def enum_value(self) -> Name:
        match = _ENUM_VALUE.match(self.text, self.at)
        if match is None:
            hint = "enum values are bare words of letters, digits, '_' and '-'" if self.sees('"') else None
            raise self.unexpected("an enum value", hint)
        return Name(match.group(), self._advance(match.end()))

    def integer(self, what: str) -> tuple[int, Place]:
        match = _INTEGER.match(self.text, self.at)
        if match is None:
            raise self.unexpected(what)
        return integer_of(match.group()), self._advance(match.end())

    def signed_number(self) -> tuple[int | float, Argument]:
        """A number with an optional '-'. Integers beyond I64 become floats, as the stored form has it."""
        match = _SIGNED_NUMBER.match(self.text, self.at)
        if match is None:
            raise self.unexpected("a number")
        text = match.group()
        form = "float" if "." in text else "integer"
        value: int | float = integer_of(text) if form == "integer" else float(text)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            value = float(text)
        place = self._advance(match.end())
        return value, Argument("float" if form == "float" else "integer", text, place)

    def string(self) -> tuple[Argument, Place | None]:
        """A string, decoded, and the place of its first unknown escape if it has one."""
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise PgSyntaxError("this string is never closed", Place(self.at, self.at + 1), 'close it with "')
        start = self.at + 1
        bad: Place | None = None

        def decode(escape: re.Match[str]) -> str:
            nonlocal bad
            if escape.group(1) not in _ESCAPES:
                bad = bad or Place(start + escape.start(), start + escape.end())
            return _ESCAPES.get(escape.group(1), escape.group())

        text = _ESCAPE.sub(decode, match.group()[1:-1])
        return Argument("string", text, self._advance(match.end())), bad


def integer_of(digits: str) -> int:
    """The number of a run of digits. Beyond 40 of them only its size matters, and Python limits such conversions."""
    sign = -1 if digits.startswith("-") else 1
    significant = digits.lstrip("-").lstrip("0") or "0"
    return sign * (int(significant) if len(significant) <= 40 else 10**40)
