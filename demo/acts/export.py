"""Act 8: an export to Parquet files, and a check of the whole graph."""

from __future__ import annotations

import subprocess
import sys

import omnigraph as og
from demo.progress_bar import ProgressBar
from demo.stage import Stage, say, step


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")
    out, engine = stage.folder / "out", stage.engine

    @step("Export one snapshot as Parquet files")
    def exported() -> og.ExportResult:
        return graph.export_to(out, format="parquet", engine=engine, progress=ProgressBar())

    for file in sorted(path for path in out.rglob("*") if path.is_file()):
        say(f"{file.relative_to(out)!s:<40} {file.stat().st_size / 1e6:.1f} MB")
    say(f"of commit {exported.commit_id}")

    @step("Check the whole graph from a terminal: omnigraph verify papers.omni")
    def checked() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "omnigraph.cli", "verify", stage.uri]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    say(checked.stdout.rstrip())
