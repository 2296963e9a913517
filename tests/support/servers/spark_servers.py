"""Spark's own servers on loopback, from the installed package: a Connect server, a standalone master with workers."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pyspark

START_S_MAX = 180.0
END_S_MAX = 60.0
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@contextmanager
def connect_server() -> Iterator[str]:
    """The address of a Spark Connect server, `sc://127.0.0.1:…`."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.progress.reportInterval": "100ms",
        "spark.driver.extraJavaOptions": _QUICK,
    }
    named = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    start = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2,4]", *named]
    start += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with _server(start, r"Connect server started at: 127\.0\.0\.1:(\d+)") as port:
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def standalone_master(folder: Path, workers: int) -> Iterator[str]:
    """The address of a standalone master whose workers, one core each, have registered: `spark://127.0.0.1:…`."""
    place = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with ExitStack() as stack:
        start = ["org.apache.spark.deploy.master.Master", *place]
        port = stack.enter_context(_server(start, r"Starting Spark master at spark://127\.0\.0\.1:(\d+)"))
        master = f"spark://127.0.0.1:{port}"
        for number in range(workers):
            own = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}"), master]
            start = ["org.apache.spark.deploy.worker.Worker", *place, *own]
            stack.enter_context(_server(start, r"Successfully registered with (master)"))
        yield master


@contextmanager
def _server(start: Sequence[str], ready: str) -> Iterator[str]:
    """A server; what the pattern catches in the line that says that it is ready."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": _QUICK,
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(home / "bin" / "spark-class"), *start]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found: queue.Queue[str | None] = queue.Queue()
    seen: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_listen, args=(process.stdout, re.compile(ready), found, seen), daemon=True)
    reader.start()
    try:
        caught = found.get(timeout=START_S_MAX)
        assert caught is not None, "".join(seen[-30:])
        yield caught
    finally:
        process.terminate()
        try:
            process.wait(END_S_MAX)
        finally:
            process.kill()
        reader.join(END_S_MAX)
        process.stdout.close()


def _listen(lines: IO[str], ready: re.Pattern[str], found: queue.Queue[str | None], seen: list[str]) -> None:
    """Reads to the end, so that the server never waits for a reader."""
    for line in lines:
        seen.append(line)
        caught = ready.search(line)
        if caught is not None:
            found.put(caught.group(1))
    found.put(None)
