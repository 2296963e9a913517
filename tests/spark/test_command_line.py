"""The command line on Spark, as a person runs it: a process of its own, quiet, with the engine in its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support.graphs.people import fx, people


def test_a_table_is_loaded_on_spark_without_a_word_of_the_jvm(tmp_path: Path) -> None:
    graph = fx(tmp_path / "g.omni")
    (tmp_path / "more.csv").write_text("name,age\nEve,40\n")
    words = ["load", "--data", "more.csv", "--type", "Person", "--mode", "merge", "g.omni", "--json"]
    command = [sys.executable, "-m", "omnigraph.cli", *words, "--engine", "spark", "--spark", "local[2]"]
    environ = os.environ | {"OMNIGRAPH_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "omnigraph load → g.omni (direct, local)\n"
    assert json.loads(done.stdout)["engine"] == "spark"
    assert people(graph)["Eve"] == 40
