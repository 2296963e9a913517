"""The manual runs: the Python of a page in one folder, its commands in another, each from top to bottom."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.manual import PAGES, ROOT, Block, Command, blocks_of, commands_of, matches, text_of

README, ON_S3 = "README.md", "docs/s3.md"
SCRIPTED = [page for page in PAGES if blocks_of(page, "python") and page not in (README, ON_S3)]
TYPED = [page for page in PAGES if blocks_of(page, "console") and page not in (README, ON_S3)]
END = "--- end of command, exit code"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder with the example files, and no configuration from outside."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "")  # a page may choose one; afterwards nobody has
    return tmp_path


def run_python(page: str) -> None:
    scope: dict[str, object] = {"__name__": "manual"}
    printed = ""
    for block in blocks_of(page, "python", "output"):
        if block.language == "output":
            assert matches(block.text, printed), f"{block.place} shows\n{block.text}\nand the program prints\n{printed}"
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), scope)
        printed = out.getvalue()


def run_commands(page: str) -> None:
    typed = [(block, command) for block in blocks_of(page, "console") for command in commands_of(block)]
    script = "\n".join(f"{command.text}\ncode=$?; echo; echo '{END}' $code" for _, command in typed)
    start = f'omnigraph() {{ "{sys.executable}" -m omnigraph.cli "$@"; }}\nexec 2>&1\n'
    ran = subprocess.run(["bash", "-c", start + script], capture_output=True, text=True, check=False, timeout=240)
    answers = re.findall(rf"(.*?)\n{END} (\d+)\n", ran.stdout, re.DOTALL)
    assert len(answers) == len(typed), ran.stdout
    for (block, command), (printed, code) in zip(typed, answers, strict=True):
        check_answer(block, command, printed, int(code))


def check_answer(block: Block, command: Command, printed: str, code: int) -> None:
    said = f"{block.place}: {command.text}\nexit code {code}\n{printed}"
    assert (code != 0) == command.is_refused, said
    assert not command.printed or matches("\n".join(command.printed), printed), said


@pytest.mark.parametrize("page", SCRIPTED)
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(page: str) -> None:
    run_python(page)


@pytest.mark.parametrize("page", TYPED)
def test_the_commands_of_a_page_run_and_print_what_the_page_shows(page: str) -> None:
    run_commands(page)


def test_the_python_of_the_readme_runs_once_and_again() -> None:
    run_python(README)
    run_python(README)


def test_the_commands_of_the_readme_run_once_and_again() -> None:
    run_commands(README)
    run_commands(README)


@pytest.mark.s3
def test_the_page_on_s3_runs_on_a_real_server(s3: object) -> None:
    run_commands(ON_S3)
    run_python(ON_S3)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_exist(page: str) -> None:
    for target in re.findall(r"\]\(([^):]+)\)", text_of(page)):
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page} links to {target}"
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [slug(title) for title in titles], f"{page} links to {target}"


def slug(title: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_the_index_lists_every_page_with_one_line() -> None:
    listed = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \| .+ \|$", text_of("docs/README.md"), re.MULTILINE)
    assert sorted(listed) == sorted(Path(page).name for page in PAGES if page not in ("README.md", "docs/README.md"))
