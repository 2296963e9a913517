"""Cursor: where the parser stands in the token stream, and how it says what it expected."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.parse.syntax import Extent
from omnigraph.language.query.parse.tokens import Token, TokenKind

NESTING_MAX = 64
"""Blocks, lists and calls nest at most this deep, so that no text can exhaust the stack."""


class SyntaxRefusalError(Exception):
    """Parsing cannot go on here. `message` is None when the lexer has complained about this place already."""

    def __init__(self, message: str | None, at: Extent, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint


class Cursor:
    """Reads tokens left to right; looking ahead is free, stepping back does not exist."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def ahead(self, distance: int) -> Token:
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    @property
    def last_end(self) -> int:
        return self.tokens[self.index - 1].end if self.index else 0

    def extent_from(self, start: int) -> Extent:
        """From `start` to the end of the token read last."""
        return Extent(start, max(self.last_end, start))

    # --- questions ---

    def at_sign(self, sign: str, distance: int = 0) -> bool:
        token = self.ahead(distance)
        return token.kind == "sign" and token.text == sign

    def at_word(self, word: str, distance: int = 0) -> bool:
        token = self.ahead(distance)
        return token.kind == "name" and token.text == word

    def at_kind(self, kind: TokenKind, distance: int = 0) -> bool:
        return self.ahead(distance).kind == kind

    def at_call(self, name: str) -> bool:
        return self.at_word(name) and self.at_sign("(", 1)

    # --- steps ---

    def take_sign(self, sign: str) -> bool:
        if self.at_sign(sign):
            self.index += 1
            return True
        return False

    def take_word(self, word: str) -> bool:
        if self.at_word(word):
            self.index += 1
            return True
        return False

    def expect_sign(self, sign: str, what: str | None = None) -> Token:
        if not self.at_sign(sign):
            raise self.refusal([what or f"'{sign}'"])
        return self.advance()

    def expect_word(self, *words: str) -> Token:
        if self.token.kind != "name" or self.token.text not in words:
            raise self.refusal([f"'{word}'" for word in words], words)
        return self.advance()

    def expect_kind(self, kind: TokenKind, what: str, hint: str | None = None) -> Token:
        if self.token.kind != kind:
            raise self.refusal([what], hint=hint)
        return self.advance()

    def expect_name(self, what: str) -> Token:
        hint = None
        if self.token.kind == "type":
            lowered = self.token.text[0].lower() + self.token.text[1:]
            hint = f"names start in lower case: '{lowered}'"
        return self.expect_kind("name", what, hint)

    def expect_type(self, what: str) -> Token:
        hint = None
        if self.token.kind == "name":
            hint = f"types start in upper case: '{self.token.text[0].upper()}{self.token.text[1:]}'"
        return self.expect_kind("type", what, hint)

    def enter(self) -> None:
        """One level deeper; leave with `depth -= 1`."""
        self.depth += 1
        if self.depth > NESTING_MAX:
            raise SyntaxRefusalError(f"blocks and values nest deeper than {NESTING_MAX} levels", self.here)

    # --- refusals ---

    @property
    def here(self) -> Extent:
        return Extent(self.token.start, self.token.end)

    def refusal(
        self, expected: Iterable[str], words: Iterable[str] = (), hint: str | None = None
    ) -> SyntaxRefusalError:
        """`expected …, found …`, with the closest keyword when a word stands here."""
        if self.token.kind == "error":
            return SyntaxRefusalError(None, self.here)
        if hint is None and self.token.kind in ("name", "type"):
            hint = did_you_mean(self.token.text, words)
        return SyntaxRefusalError(f"expected {_either(list(expected))}, found {self.found()}", self.here, hint)

    def found(self) -> str:
        token = self.token
        if token.kind == "end":
            return "the end of the text"
        text = (
            token.text if len(token.text) <= 40 and "\n" not in token.text else f"{token.text.split(chr(10))[0][:37]}…"
        )
        return text if token.kind == "string" else f"'{text}'"


def _either(options: list[str]) -> str:
    if len(options) == 1:
        return options[0]
    return f"{', '.join(options[:-1])} or {options[-1]}"
