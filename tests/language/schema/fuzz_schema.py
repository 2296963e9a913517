"""Fuzzing the schema compiler: whatever the bytes say, the answer is a schema or a CompileError with places."""

from __future__ import annotations

import random
from pathlib import Path

from omnigraph.language import CompileError
from omnigraph.language.schema import compile_schema, format_schema

_TOKENS = [
    "node",
    "interface",
    "edge",
    "implements",
    "enum",
    "Vector",
    "String",
    "Blob",
    "Bool",
    "I32",
    "I64",
    "U32",
    "U64",
    "F32",
    "F64",
    "Date",
    "DateTime",
    "A",
    "B",
    "Knows",
    "a",
    "b",
    "id",
    "src",
    "dst",
    "from",
    "true",
    "false",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "->",
    ",",
    "?",
    ".",
    "..",
    "=",
    "@",
    "@key",
    "@unique",
    "@index",
    "@range",
    "@check",
    "@card",
    "@embed",
    "@description",
    "@default",
    "@rename_from",
    "@pii",
    "0",
    "1",
    "-1",
    "2.5",
    "99999999999999999999",
    '"a"',
    '"^x$"',
    '"\\q"',
    '"',
    "//",
    "/*",
    "*/",
    "#",
    "é",
    "\n",
]
_SEEDS = tuple(path.read_text() for path in sorted((Path(__file__).parent / "accepted").glob("*/_schema.pg")))


def fuzz_once(data: bytes) -> None:
    """One round: the bytes as text, as a stream of tokens, and as mutations of a real schema."""
    for text in (data.decode(errors="replace"), _token_stream(data), _mutation(data)):
        check_text(text)


def check_text(text: str) -> None:
    """Compile and format. A text that compiles formats to one with the same meaning, and only once."""
    for strict in (True, False):
        try:
            compiled = compile_schema(text, strict=strict)
        except CompileError as error:
            _check_error(error, text)
            continue
        if strict:
            formatted = format_schema(text)
            assert compile_schema(formatted).ir_hash == compiled.ir_hash
            assert format_schema(formatted) == formatted


def _check_error(error: CompileError, text: str) -> None:
    size = len(text.encode())
    assert error.diagnostics
    assert str(error)
    assert error.render()
    for diagnostic in error.diagnostics:
        assert diagnostic.span is not None
        assert 0 <= diagnostic.span.start <= size


def _token_stream(data: bytes) -> str:
    return " ".join(_TOKENS[byte % len(_TOKENS)] for byte in data)


def _mutation(data: bytes) -> str:
    chance = random.Random(data)
    text = chance.choice(_SEEDS)
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(text) + 1)
        stop = min(len(text), start + chance.choice((0, 1, 1, 3, 20)))
        insert = chance.choice(("", chance.choice(_TOKENS), text[start:stop] * 2))
        text = text[:start] + insert + text[stop:]
    return text
