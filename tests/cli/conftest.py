"""A command line to drive: the real root command, in a directory of its own, with an empty operator home."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import omnigraph as package
from omnigraph.cli.root import root

DATA = Path(__file__).parent / "data"
SOURCE = str(Path(package.__file__).parents[1])


@dataclass(frozen=True)
class Outcome:
    """What a user sees of one invocation."""

    exit_code: int
    stdout: str
    stderr: str


Omnigraph = Callable[..., Outcome]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the library's schema and queries, and nothing of the machine's own configuration."""
    place = tmp_path / "desk"
    place.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    for name in ("OMNIGRAPH_PROFILE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for source in (DATA / "library").iterdir():
        (place / source.name).write_bytes(source.read_bytes())
    return place


@pytest.fixture
def operator(desk: Path) -> Callable[[str], None]:
    """Write the operator's config.yaml."""

    def write(text: str) -> None:
        (desk.parent / "home" / "config.yaml").write_text(text)

    return write


@pytest.fixture
def omnigraph(desk: Path) -> Omnigraph:
    """Run a command line in this process."""

    def run(line: str, stdin: str = "") -> Outcome:
        result = CliRunner().invoke(root, shlex.split(line), input=stdin, prog_name="omnigraph")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def omnigraph_process(desk: Path) -> Omnigraph:
    """Run a command line in a process of its own: real streams, real exit code, real imports."""

    def run(line: str, stdin: str = "", **environ: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "omnigraph.cli", *shlex.split(line)],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=os.environ | environ,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def library(omnigraph: Omnigraph, desk: Path) -> Path:
    """An empty graph of the library's schema at `lib.omni`."""
    outcome = omnigraph("init --schema library.pg lib.omni")
    assert outcome.exit_code == 0, outcome.stderr
    return desk / "lib.omni"
