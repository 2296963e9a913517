"""The examples of the manuals run: Python blocks in order, shell blocks of the README through the command line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = ["README.md", "docs/writing.md", "docs/querying.md", "docs/search.md", "docs/spark.md", "docs/pipeline.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) if kind == language]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_to_its_end(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "")  # a page may choose one; afterwards nobody has
    scope: dict[str, object] = {}
    found = blocks(page, "python")
    assert found
    for text in found:
        exec(compile(text, page, "exec"), scope)


def test_the_commands_of_the_readme_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "people.pg").write_text("node Person { name: String @key  age: I32? }\n")
    (tmp_path / "people.gq").write_text("query all() { match { $p: Person } return { $p.name } }\n")
    (tmp_path / "people.jsonl").write_text('{"type": "Person", "data": {"name": "Ada"}}\n')
    commands = [line for block in blocks("README.md", "console") for line in block.splitlines() if line.strip()]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "omnigraph"
        result = subprocess.run([sys.executable, "-m", "omnigraph.cli", *arguments], capture_output=True, check=False)
        assert result.returncode == 0, f"{command}\n{result.stderr.decode()}"


def test_every_page_that_the_readme_names_exists() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
