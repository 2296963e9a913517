"""Workers: several processes on one socket. The parent starts them, replaces those that die, and restarts them in turn.

SIGHUP reaches every worker (tokens, revision); SIGUSR2 replaces the workers one after another: a new one serves before
an old one is told to finish, so a connection is always answered.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.server.boot.launch import Launch
from omnigraph.server.boot.run import FAILED, address_of, boot
from omnigraph.server.observe import event

START_SECONDS = 120.0
PAUSE_MAX = 10.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2, signal.SIGCHLD)


@dataclass(slots=True)
class Worker:
    process: subprocess.Popen[bytes]
    ready: int
    """The end of a pipe that the worker writes to when it serves."""


class Parent:
    """Watches the workers. Serves nothing itself."""

    def __init__(self, launch: Launch, sock: socket.socket, announce: Callable[[str], None]) -> None:
        self._launch = launch
        self._sock = sock
        self._announce = announce
        self._workers: list[Worker] = []
        self._is_stopping = False
        self._pause = 0.1

    def run(self) -> int:
        boot(self._launch).state.work.close()  # what cannot start is told once, by the parent
        wake = _signal_pipe()
        for _ in range(self._launch.workers):
            if not self._start():
                self._stop()
                return FAILED
        self._announce(address_of(self._sock))
        while not self._is_stopping:
            self._handle(_next_signal(wake))
        return self._stop()

    def _handle(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._is_stopping = True
        elif number == signal.SIGHUP:
            for worker in self._workers:
                worker.process.send_signal(signal.SIGHUP)
        elif number == signal.SIGUSR2:
            self._replace_all()
        else:
            self._replace_dead()

    def _start(self) -> bool:
        """One more worker; returns when it serves."""
        ours, theirs = os.pipe()
        fd = self._sock.fileno()
        command = [sys.executable, "-m", "omnigraph.server", "--worker", self._launch.to_text()]
        command += ["--socket", str(fd), "--ready", str(theirs)]
        process = subprocess.Popen(command, pass_fds=(fd, theirs))
        os.close(theirs)
        worker = Worker(process, ours)
        if not _is_ready(worker):
            event("a worker did not start", level=logging.ERROR, pid=process.pid)
            process.kill()
            process.wait()
            return False
        self._workers.append(worker)
        event("worker serves", pid=process.pid)
        return True

    def _replace_all(self) -> None:
        for old in list(self._workers):
            if not self._start():
                event("the workers stay as they are", level=logging.ERROR)
                return
            old.process.terminate()
            old.process.wait()
            self._forget(old)

    def _replace_dead(self) -> None:
        for worker in [each for each in self._workers if each.process.poll() is not None]:
            self._forget(worker)
            code = worker.process.returncode
            event("a worker died and is replaced", level=logging.ERROR, pid=worker.process.pid, code=code)
            if not self._start():
                time.sleep(self._pause)
                self._pause = min(2 * self._pause, PAUSE_MAX)
                signal.raise_signal(signal.SIGCHLD)

    def _forget(self, worker: Worker) -> None:
        self._workers.remove(worker)
        os.close(worker.ready)

    def _stop(self) -> int:
        for worker in self._workers:
            worker.process.terminate()
        codes = [worker.process.wait() for worker in self._workers]
        return FAILED if any(codes) else 0


def _signal_pipe() -> int:
    """Signals as bytes of a pipe, so that they can be waited for."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    return ours


def _next_signal(pipe: int) -> int:
    return os.read(pipe, 1)[0]


def _is_ready(worker: Worker) -> bool:
    """Waits until the worker serves, or dies."""
    with selectors.DefaultSelector() as selector:
        selector.register(worker.ready, selectors.EVENT_READ)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(InterruptedError):
                if selector.select(1.0):
                    return os.read(worker.ready, 1) == b"1"
            if worker.process.poll() is not None:
                return False
    return False
