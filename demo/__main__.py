"""`python -m demo`: plays the acts in order in a scratch folder, which is removed at the end."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from demo.acts import branches, export, lake, load, questions, rejects, review, spark_sql, time_travel
from demo.stage import Stage, java_missing

ROWS = 600_000
ACTS = [lake, load, rejects, questions, spark_sql, branches, time_travel, export, review]
"""Each act has a `play(stage)` that opens the graph itself, so each reads as an example of its own."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows in the lake (default: {ROWS:,})")
    rows = parser.parse_args().rows
    missing = java_missing()
    if missing is not None:
        print(f"Without Spark: {missing}. The steps run in this process instead.")
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as folder:
        stage = Stage(Path(folder), rows, "spark" if missing is None else "local")
        for act in ACTS:
            act.play(stage)
    print(f"\nDone in {time.perf_counter() - started:.0f} s; the scratch folder is removed.")
    print("Next: docs/README.md, or `.venv/bin/omnigraph --help`.")


if __name__ == "__main__":
    main()
