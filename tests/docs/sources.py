"""What the program can say: the string literals of the sources, without docstrings and comments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.manual import ROOT

SOURCES = ROOT / "src" / "omnigraph"


@dataclass(frozen=True)
class Literal:
    """One string of the sources; a hole of an f-string is `{}`."""

    file: Path
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"


@cache
def literals() -> tuple[Literal, ...]:
    """Every string literal of the package, docstrings left out."""
    return tuple(_read_literals())


def _read_literals() -> Iterator[Literal]:
    for file in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        skipped = _docstrings(tree) | _parts_of_templates(tree)
        for node in ast.walk(tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield Literal(file, node.lineno, node.value)
            elif isinstance(node, ast.JoinedStr):
                yield Literal(file, node.lineno, "".join(_piece(part) for part in node.values))


@cache
def messages() -> tuple[Literal, ...]:
    """The literals that are sentences: names, keys and formats have no space."""
    return tuple(literal for literal in literals() if " " in literal.text.strip())


def _docstrings(tree: ast.AST) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _parts_of_templates(tree: ast.AST) -> set[int]:
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    return {id(part) for template in whole for part in ast.walk(template) if part is not template}


def _piece(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
