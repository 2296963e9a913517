"""The processes of a case: long-lived programs that are asked one thing after another."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
ANSWER_WITHIN_S = 120.0
LOOK_EVERY_S = 0.01


class Died(Exception):
    """The process ended instead of answering."""


class NoAnswer(Exception):
    """The process did not answer within a time that is far beyond everything it may wait for."""


class Child:
    """A program of `fault_operations`, in a process of its own."""

    def __init__(self, part: str, environment: Mapping[str, str], log: Path) -> None:
        self._log = log.open("ab")
        paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(TESTS)]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.faults.fault_operations", part],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": paths, **environment},
        )
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        self.send(do, **given)
        answer = self.answer_unless(lambda: False)
        assert answer is not None, "nothing interrupts it"
        return answer

    def send(self, do: str, **given: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Died(do) from error

    def answer_unless(self, is_interrupted: Callable[[], bool]) -> dict[str, Any] | None:
        """The answer; None as soon as it is interrupted instead."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while b"\n" not in self._rest:
            readable, _, _ = select.select([self._process.stdout], [], [], LOOK_EVERY_S)
            if readable:
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise Died(f"ended with {self._process.wait()}")
                self._rest += piece
            elif is_interrupted():
                return None
            elif time.monotonic() > deadline:
                raise NoAnswer(f"no answer within {ANSWER_WITHIN_S:.0f} s")
        line, _, self._rest = self._rest.partition(b"\n")
        answered: dict[str, Any] = json.loads(line)
        return answered

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._log.close()
