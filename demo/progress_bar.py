"""A progress bar for `progress=`: it draws one line per stage of a load or an export."""

from __future__ import annotations

import sys

import omnigraph as og

WIDTH = 30


class ProgressBar:
    """Redraws its line on a terminal; elsewhere it prints each stage once, when the stage is done."""

    def __init__(self) -> None:
        self.done = ""

    def __call__(self, progress: og.Progress) -> None:
        if progress.stage == self.done:
            return
        if sys.stdout.isatty():
            print(f"\r{line_of(progress):<100}", end="\n" if progress.is_done else "", flush=True)
        elif progress.is_done:
            print(line_of(progress))
        if progress.is_done:
            self.done = progress.stage


def line_of(progress: og.Progress) -> str:
    filled = int(WIDTH * progress.fraction)
    bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}]"
    rate = f", {progress.rows_per_s:,.0f} rows/s" if progress.rows_per_s else ""
    return f"   {progress.stage:<7} {bar} {progress.tasks}/{progress.tasks_total} tasks, {progress.rows:,} rows{rate}"
