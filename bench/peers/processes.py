"""Running the peers: each in a process of its own, with a time limit per question, and what they said."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from bench.peers.workloads import WORKLOADS

PEERS = {
    "omnigraph": "bench.peers.omni",
    "numpy kernel": "bench.peers.kernel",
    "Ladybug": "bench.peers.ladybug",
    "Kùzu": "bench.peers.kuzu",
    "DuckDB": "bench.peers.duck",
    "LanceDB": "bench.peers.lance_db",
}
"""Titles and programs; ours first."""
LOAD_LIMIT_S = 1_800


@dataclass
class Outcome:
    """What one peer did with one graph."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    too_slow: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """Questions that the engine could not answer, with its words."""
    prepared_s: float | None = None
    cold_ms: float | None = None
    peak_mb: float = 0.0
    failure: str = ""


def run_peer(module: str, size: str, limit_s: float, skip: frozenset[str]) -> Outcome:
    """All questions; one that exceeds the limit ends the process, and a new one goes on behind it."""
    outcome = Outcome()
    wanted = [workload.name for workload in WORKLOADS if workload.name not in skip]
    while wanted:
        stuck = _run(module, size, wanted, limit_s, outcome)
        if stuck is None:
            break
        outcome.too_slow.add(stuck)
        wanted = wanted[wanted.index(stuck) + 1 :]
    if not outcome.failure and "point" in outcome.answers:
        outcome.cold_ms = _cold_ms(module, size)
    return outcome


def _run(module: str, size: str, wanted: list[str], limit_s: float, outcome: Outcome) -> str | None:
    """One process. Returns the question that took too long, or None when it came to its end."""
    with _started(module, size, "--only", *wanted) as (process, lines):
        asked: str | None = None
        while True:
            try:
                line = lines.get(timeout=limit_s if asked else LOAD_LIMIT_S)
            except Empty:
                return asked
            if line is None:
                break
            asked = _note(json.loads(line), outcome)
        if process.wait() != 0:
            outcome.failure = (process.stderr.read() if process.stderr else "").strip()[-2000:]
            return None
    return None


def _note(said: dict[str, Any], outcome: Outcome) -> str | None:
    """Keeps what was said; the question that is being asked now, if one is."""
    match said.pop("what"):
        case "prepared":
            outcome.prepared_s = outcome.prepared_s or said["seconds"]
        case "begun":
            return str(said["name"])
        case "answer":
            outcome.answers[said.pop("name")] = said
            outcome.peak_mb = max(outcome.peak_mb, said["peak_mb"])
        case "failed":
            outcome.failed[said["name"]] = said["reason"]
    return None


def _cold_ms(module: str, size: str) -> float | None:
    """From the start of a process to its first answer, the best of three."""
    times = []
    for _ in range(3):
        begun = time.time()
        with _started(module, size, "--cold") as (process, lines):
            line = lines.get(timeout=LOAD_LIMIT_S)
            process.wait()
        if line is not None:
            times.append((json.loads(line)["at"] - begun) * 1000)
    return min(times, default=None)


@contextlib.contextmanager
def _started(module: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Queue[str | None]]]:
    """The program and its lines as they come; it is ended with this block."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"LANCE_LOG": "error", "RUST_LOG": "error"},
    )
    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
