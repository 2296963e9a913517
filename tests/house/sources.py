"""The sources of the project as facts: modules, their imports, their functions. Read from the files, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "src"


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    tree: ast.Module

    @property
    def is_face(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        return self.name if self.is_face else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Import:
    line: int
    module: str
    names: tuple[str, ...]
    for_types_only: bool


@cache
def modules() -> dict[str, Module]:
    found = {}
    for path in sorted((SOURCES / "omnigraph").rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
    return found


def imports(module: Module) -> Iterator[Import]:
    """Imports from our own package, the late ones in functions too."""
    for_types = {
        id(node)
        for branch in ast.walk(module.tree)
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for inside in branch.body
        for node in ast.walk(inside)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "omnigraph":
            names = tuple(alias.name for alias in node.names)
            yield Import(node.lineno, node.module or "", names, id(node) in for_types)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "omnigraph":
                    yield Import(node.lineno, alias.name, (), id(node) in for_types)


def functions() -> Iterator[tuple[str, int]]:
    """Every function with the number of its lines."""
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module.name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1
