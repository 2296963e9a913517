"""A process with many writing threads on one branch, until its input ends. Says when the first commit is there."""

from __future__ import annotations

import sys
import threading

from omnigraph.graph import Graph

ADD = "query add($n: String) { insert Person { name: $n } }"


def main() -> int:
    uri, threads = sys.argv[1], int(sys.argv[2])
    graph = Graph.open(uri, durability="os", actor="busy")
    stop, first = threading.Event(), threading.Event()

    def write(number: int) -> None:
        count = 0
        while not stop.is_set():
            graph.mutate(ADD, n=f"busy-{number}-{count}")
            count += 1
            first.set()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
    for writer in writers:
        writer.start()
    first.wait()
    print("busy", flush=True)
    sys.stdin.read()
    stop.set()
    for writer in writers:
        writer.join()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
