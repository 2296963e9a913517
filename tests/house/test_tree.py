"""The tree: what lies in the root, how large folders, files and functions are, and that nothing strays into it."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from house.sources import ROOT, functions, modules

ROOT_ENTRIES = {
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "bench",
    "demo",
    "docs",
    "examples",
    "pyproject.toml",
    "requirements-bench.lock",
    "requirements.lock",
    "src",
    "tests",
    "tools",
}
MODULES_PER_FOLDER_MAX = 25
FUNCTION_LINES_MAX, FUNCTION_LINES_P95 = 70, 25
FILE_LINES_P95 = 320
VAGUE = {"utils", "util", "helpers", "common", "misc", "base"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: an archive of the sources has no index to look at")
    return [Path(name) for name in listed.stdout.decode().split("\0") if name]


def p95(numbers: list[int]) -> int:
    return sorted(numbers)[int(len(numbers) * 0.95)]


def test_the_root_holds_what_is_listed_here_and_nothing_else() -> None:
    assert {path.parts[0] for path in tracked()} <= ROOT_ENTRIES


def test_no_folder_has_more_modules_than_one_can_read_at_a_glance() -> None:
    counted = Counter(path.parent for path in tracked() if path.suffix == ".py" and path.name != "__init__.py")
    assert {str(folder): count for folder, count in counted.items() if count > MODULES_PER_FOLDER_MAX} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [str(path) for path in tracked() if path.suffix == ".py" and path.stem in VAGUE] == []


def test_nothing_that_a_tool_writes_is_in_the_repository() -> None:
    written = {"__pycache__", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "node_modules"}
    assert [str(path) for path in tracked() if written & set(path.parts) or path.parts[0].startswith("tmp")] == []


def test_functions_fit_on_a_screen() -> None:
    lines = dict(functions())
    assert {name: count for name, count in lines.items() if count > FUNCTION_LINES_MAX} == {}
    assert p95(list(lines.values())) <= FUNCTION_LINES_P95


def test_files_can_be_read_in_one_go() -> None:
    lines = [len(module.path.read_text(encoding="utf-8").splitlines()) for module in modules().values()]
    assert p95(lines) <= FILE_LINES_P95


def test_every_module_says_in_its_first_line_what_it_does() -> None:
    silent = [
        module.name
        for module in modules().values()
        if not (module.tree.body and module.path.read_text(encoding="utf-8").startswith('"""'))
    ]
    assert silent == []
