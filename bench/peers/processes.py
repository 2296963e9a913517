"""Running the peers: each in a process of its own, with limits of memory and of time per question, and what they said.

The parent watches the memory that a peer really uses: limits of the address space are of no use with engines that
reserve terabytes of it.
"""

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

from bench.peers.harness import MEMORY_MB, MEMORY_VARIABLE
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
LOAD_LIMIT_S = 900
LOOK_EVERY_S = 0.1
QUICK_MS = 500
"""Questions up to here are asked again in later rounds."""
SLOW_START_MS = 5_000
"""A peer that takes longer to its first answer is started once, not three times."""


@dataclass
class Outcome:
    """What one peer did with one graph."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    too_slow: set[str] = field(default_factory=set)
    out_of_memory: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """Questions that the engine could not answer, with its words."""
    prepared_s: float | None = None
    cold_ms: float | None = None
    peak_mb: float = 0.0
    failure: str = ""


def run_peer(module: str, size: str, limit_s: float, memory_mb: int, before: Outcome | None = None) -> Outcome:
    """All questions; one that exceeds a limit ends the process, and a new one goes on behind it.

    After a round before it, the quick ones again: of each question the better round counts.
    """
    outcome = before or Outcome()
    wanted = [workload.name for workload in WORKLOADS if before is None or _is_quick(before, workload.name)]
    while wanted:
        stuck = _run(module, size, wanted, limit_s, memory_mb, outcome)
        if stuck is None:
            break
        wanted = wanted[wanted.index(stuck) + 1 :]
    if not outcome.failure and "point" in outcome.answers:
        found = [ms for ms in (outcome.cold_ms, _cold_ms(module, size)) if ms is not None]
        outcome.cold_ms = min(found, default=None)
    return outcome


def _is_quick(outcome: Outcome, name: str) -> bool:
    return name in outcome.answers and float(outcome.answers[name]["ms"]) <= QUICK_MS


def _run(module: str, size: str, wanted: list[str], limit_s: float, memory_mb: int, outcome: Outcome) -> str | None:
    """One process. Returns the question that exceeded a limit, or None when it came to its end."""
    with _started(module, size, "--only", *wanted, memory_mb=memory_mb) as (process, lines):
        asked: str | None = None
        while True:
            said = _next_line(process.pid, lines, limit_s if asked else LOAD_LIMIT_S, memory_mb)
            if isinstance(said, _Exceeded):
                if asked is None:
                    outcome.failure = f"{said.what} before the first question"
                else:
                    (outcome.too_slow if said.what == TIME else outcome.out_of_memory).add(asked)
                return asked
            if said is None:
                break
            asked = _note(json.loads(said), outcome)
        if process.wait() != 0:
            return _died(process, asked, outcome)
    return None


def _died(process: subprocess.Popen[str], asked: str | None, outcome: Outcome) -> str | None:
    """A process that ended by itself: at a question it counts as failed there, and the others are still asked."""
    said = (process.stderr.read() if process.stderr else "").strip()[-2000:]
    reason = said or f"the process ended with {process.returncode}"
    if asked is None:
        outcome.failure = reason
    else:
        _failed(asked, reason, outcome)
    return asked


TIME, MEMORY = "out of time", "out of memory"


@dataclass(frozen=True)
class _Exceeded:
    """Which limit a process ran into."""

    what: str


def _next_line(pid: int, lines: Queue[str | None], limit_s: float, memory_mb: int) -> str | _Exceeded | None:
    """The next line, None at the end, or the limit that was reached before."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            return lines.get(timeout=LOOK_EVERY_S)
        except Empty:
            if resident_mb(pid) > memory_mb:
                return _Exceeded(MEMORY)
    return _Exceeded(TIME)


def resident_mb(pid: int) -> float:
    """What a process uses now; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _note(said: dict[str, Any], outcome: Outcome) -> str | None:
    """Keeps what was said; the question that is being asked now, if one is."""
    match said.pop("what"):
        case "prepared":
            outcome.prepared_s = outcome.prepared_s or said["seconds"]
        case "begun":
            return str(said["name"])
        case "answer":
            name = said.pop("name")
            known = outcome.answers.get(name)
            if known is None or said["ms"] < known["ms"]:
                outcome.answers[name] = said
            outcome.peak_mb = max(outcome.peak_mb, said["peak_mb"])
        case "failed":
            _failed(said["name"], said["reason"], outcome)
    return None


def _failed(name: str, reason: str, outcome: Outcome) -> None:
    """Engines say in words of their own that memory is short."""
    words = reason.lower()
    if "memory" in words or "buffer pool is full" in words or "bad_alloc" in words:
        outcome.out_of_memory.add(name)
    else:
        outcome.failed[name] = reason


def _cold_ms(module: str, size: str) -> float | None:
    """From the start of a process to its first answer, the best of three."""
    times: list[float] = []
    while len(times) < 3 and not any(each > SLOW_START_MS for each in times):
        begun = time.time()
        with _started(module, size, "--cold") as (process, lines):
            line = lines.get(timeout=LOAD_LIMIT_S)
            process.wait()
        if line is None:
            break
        times.append((json.loads(line)["at"] - begun) * 1000)
    return min(times, default=None)


def _environment() -> dict[str, str]:
    """Quiet, and with bytecode: whoever installs a package has it, whatever this shell says."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {"LANCE_LOG": "error", "RUST_LOG": "error"}


@contextlib.contextmanager
def _started(
    module: str, *arguments: str, memory_mb: int = MEMORY_MB
) -> Iterator[tuple[subprocess.Popen[str], Queue[str | None]]]:
    """The program and its lines as they come; it is ended with this block."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment() | {MEMORY_VARIABLE: str(memory_mb)},
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
