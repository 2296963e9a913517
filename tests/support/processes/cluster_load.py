"""A load on separate executor processes, one of which is killed while it writes. A program of its own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from omnigraph.graph import Graph
from omnigraph.pipeline.load import spark_write as load_write
from omnigraph.pipeline.spark.spark_session import session, stop_session
from omnigraph.write.intake.line_files import line_source
from support.processes.signalling_writes import SIGNAL_VARIABLE, signalling_write


def kill_when_signalled(path: str, killed: list[int]) -> None:
    while not os.path.exists(path):
        time.sleep(0.05)
    with open(path) as file:
        executor = int(file.read())
    os.kill(executor, signal.SIGKILL)
    killed.append(executor)


def main() -> None:
    uri, quiet, disturbed = sys.argv[1:]
    spark = session("local-cluster[2,1,1024]")
    graph = Graph.open(uri, durability="os")
    graph.load(line_source(quiet, split_bytes=20_000), mode="append", spark=spark)
    killed: list[int] = []
    watcher = threading.Thread(target=kill_when_signalled, args=(os.environ[SIGNAL_VARIABLE], killed), daemon=True)
    watcher.start()
    load_write.write_rows = signalling_write
    result = graph.load(line_source(disturbed, split_bytes=20_000), mode="append", spark=spark)
    watcher.join(10)
    print(f"engine={result.engine} killed={len(killed)}")
    stop_session()


if __name__ == "__main__":
    main()
