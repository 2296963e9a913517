"""The members of the company as the test sees them: one in this process, the others in processes of their own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from company.worker import ANSWERS, LIFELINE, Command, Worker
from company.worlds import Answer

TESTS = Path(__file__).parents[1]
ANSWER_WITHIN_S = 90.0
DIED: Answer = {"error": {"type": "Died", "message": "the process was killed", "typed": True, "where": ""}}
_PROGRAM = f"""
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # also a stopped process ends with the one that started it
for given, wanted in zip(sys.argv[1:], ({ANSWERS}, {LIFELINE})):
    os.dup2(int(given), wanted)
    os.close(int(given))
from company.worker import main
raise SystemExit(main())
"""


class Stuck(Exception):
    """A process did not answer within a time that is far beyond everything it may wait for."""


class Actor(Protocol):
    """Whoever can be asked."""

    can_be_troubled: bool

    def send(self, command: Command) -> None: ...

    def answer(self) -> Answer | None:
        """The answer, also that the process died; None when it was stopped instead."""

    def end(self) -> None: ...


class Here:
    """The member in this process."""

    can_be_troubled = False

    def __init__(self) -> None:
        self._worker = Worker()
        self._answer: Answer | None = None

    def send(self, command: Command) -> None:
        self._answer = self._worker.obey(command)
        if "error" in self._answer and self._answer["error"]["type"] == "KeyboardInterrupt":
            raise KeyboardInterrupt  # nobody interrupts this process but whoever runs the tests

    def answer(self) -> Answer | None:
        return self._answer

    def end(self) -> None:
        self._worker.handles.clear()


class Elsewhere:
    """A member in a process of its own. Children that it forked outlive it, until `end`."""

    can_be_troubled = True

    def __init__(self, log: Path) -> None:
        self._rest = b""
        self._answers, answers = os.pipe()
        lifeline, self._lifeline = os.pipe()
        paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(answers), str(lifeline)],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=(answers, lifeline),
                start_new_session=True,  # an interrupt of the tests is none of theirs
                env={**os.environ, "PYTHONPATH": paths},
            )
        os.close(answers)
        os.close(lifeline)

    def send(self, command: Command) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self) -> Answer | None:
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while b"\n" not in self._rest:
            readable, _, _ = select.select([self._answers], [], [], 0.02)
            if readable:
                piece = os.read(self._answers, 1 << 20)
                if not piece:
                    self._process.wait()
                    return DIED
                self._rest += piece
            elif os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG) is not None:
                return None
            elif time.monotonic() > deadline:
                raise Stuck(f"no answer within {ANSWER_WITHIN_S:.0f} s")
        line, _, self._rest = self._rest.partition(b"\n")
        answer: Answer = json.loads(line)
        return answer

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._lifeline)
        os.close(self._answers)
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
