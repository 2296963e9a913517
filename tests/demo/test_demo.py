"""The demo as a newcomer runs it, with a small lake: on Spark, and on a machine without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def run_demo(tmp_path: Path, environment: dict[str, str]) -> str:
    """What it prints; it must leave nothing in the folder that it runs in, nor among the temporary files."""
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--rows", "2000"],
        cwd=here,
        env=environment | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert list(here.iterdir()) == []
    assert list(temporary.iterdir()) == []
    return done.stdout


def assert_the_graph_was_shown(output: str) -> None:
    assert "@range violation on Paper.year: value 20260 is not in 1900..2030" in output
    assert "main     {'papers': 600, 'oldest': 1990}" in output
    assert "review   {'papers': 568, 'oldest': 1992}" in output
    assert "{'papers': 520, 'oldest': 1990}" in output, "the graph before the rejected papers were corrected"
    assert "nodes/Paper/part-00000.parquet" in output
    assert "(0 error(s), 0 warning(s), 0 info item(s))" in output
    assert_the_branch_was_reviewed(output)


def assert_the_branch_was_reviewed(output: str) -> None:
    assert "Paper    +0 ~0 -32" in output
    assert "delete_vs_update of Paper 10.5555/0000000: ours 'Corrected', theirs 'deleted'" in output
    assert "merged, 1 conflict decided, 322 entities deleted" in output
    assert "main     {'papers': 569, 'oldest': 1990}" in output, "the merge took 31 of the 32 papers away"
    assert "322 entities are back" in output


def test_the_demo_loads_its_lake_on_spark_and_asks_it_in_sql(tmp_path: Path) -> None:
    output = run_demo(tmp_path, dict(os.environ))
    assert_the_graph_was_shown(output)
    assert "(spark), 80 rejected" in output
    assert "write   [##############################]" in output
    assert "Row(decade=1990, count=" in output


@pytest.mark.parametrize("java_home", [None, "nowhere"])
def test_without_java_the_demo_says_how_to_get_it_and_runs_in_process(tmp_path: Path, java_home: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    if java_home is not None:
        environment["JAVA_HOME"] = str(tmp_path / java_home)
    output = run_demo(tmp_path, environment)
    first = output.splitlines()[0]
    assert first.startswith("Without Spark: Spark needs Java 17 or newer")
    assert "install openjdk-17-jre-headless (Debian, Ubuntu)" in first
    assert_the_graph_was_shown(output)
    assert "(local), 80 rejected" in output
    assert "(spark)" not in output
