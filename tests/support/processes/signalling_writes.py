"""A writing task that says, in a file, that it is in the middle of its work, and then waits to be killed. Once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from omnigraph.pipeline.load import spark_write as load_write

SIGNAL_VARIABLE = "OMNIGRAPH_TEST_SIGNAL"
real_rows = load_write.selected_rows
real_write = load_write.write_rows


def signalling_write(task: Any) -> Any:
    """Stands for `write_rows`; runs on executors."""
    load_write.selected_rows = signalling_rows
    return real_write(task)


def signalling_rows(*arguments: Any) -> Iterator[Any]:
    for number, batch in enumerate(real_rows(*arguments)):
        yield batch
        if number == 0:
            _signal_once()


def _signal_once() -> None:
    """The process that runs this task's worker: the executor is the parent of the worker's daemon."""
    path = os.environ[SIGNAL_VARIABLE]
    with suppress(FileExistsError):
        descriptor = os.open(path + ".taken", os.O_CREAT | os.O_EXCL)
        os.close(descriptor)
        with open(path + ".new", "w") as file:
            file.write(str(executor_of(os.getpid())))
        os.rename(path + ".new", path)
        time.sleep(300)  # until it is killed


def executor_of(process: int) -> int:
    """The nearest ancestor that is a Java program."""
    while process > 1:
        with open(f"/proc/{process}/stat") as file:
            process = int(file.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{process}/comm") as file:
            if file.read().strip() == "java":
                return process
    raise RuntimeError("no executor above this process")
