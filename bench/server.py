"""The HTTP server beside a bare Starlette handler that makes the same call, and beside the call in process.

The clients run in processes of their own on the same machine. Each pair of figures is from the same minute: the handler
and the server take turns. Run: python -m bench.server [--quick] [--parts latency writers beside mixed idle load]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import computing
from omnigraph.graph import Graph

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
LOOKUP = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
HOP = "query q($n: String) { match { $p: Person { name: $n }  $p knows $f } return { $f.name } }"
INSERT = "query q($n: String) { insert Person { name: $n } }"
WRITES_OF_A_TURN = 64
WARM_UP = 2
WRITERS = """
import sys
from bench.server import inserting, rate
from omnigraph.graph import Graph
graph = Graph.open(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    count, writes = map(int, line.split())
    print(rate([inserting(graph)] * count, writes), flush=True)
"""
PARTS = ("latency", "writers", "beside", "mixed", "idle", "load")
BARE = """
import sys, msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.concurrency import run_in_threadpool
import uvicorn
from omnigraph.graph import Graph
graph = Graph.open(sys.argv[1])
encode = msgspec.json.Encoder().encode
async def query(request):
    body = msgspec.json.decode(await request.body())
    result = await run_in_threadpool(graph.query, body["query"], body["params"])
    return Response(encode(result.to_json()), media_type="application/json")
async def mutate(request):
    body = msgspec.json.decode(await request.body())
    result = await run_in_threadpool(graph.mutate, body["query"], body["params"])
    return Response(encode({"commit": result.commit_id}), media_type="application/json")
app = Starlette(routes=[Route("/query", query, methods=["POST"]), Route("/mutate", mutate, methods=["POST"])])
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("OMNIGRAPH_LISTEN_ADDR=127.0.0.1:%d" % self.servers[0].sockets[0].getsockname()[1], flush=True)
Server(uvicorn.Config(app, port=0, log_level="error", access_log=False)).run()
"""


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    quick: bool
    crowd_seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small graph, short runs")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the many clients")
    given = parser.parse_args()
    people, edges = (10_000, 100_000) if given.quick else (100_000, 2_000_000)
    folder = Path(os.environ.get("OMNIGRAPH_BENCH_DIR", tempfile.gettempdir())) / f"omnigraph-server-{people}"
    uri = make(folder, people, edges)
    print(f"{people:,} nodes, {edges:,} edges; load of the machine {os.getloadavg()[0]:.1f}\n", flush=True)
    scale = Scale(given.quick, 10.0 if given.quick else given.seconds)
    for part in given.parts:
        RUNS[part](uri, people, scale)
    return 0


def make(folder: Path, people: int, edges: int) -> str:
    """The graph, made once and kept."""
    uri = str(folder / "people.omni")
    if (folder / "done").exists():
        return uri
    folder.mkdir(parents=True, exist_ok=True)
    random_numbers = np.random.default_rng(7)
    ends = random_numbers.integers(0, people, (edges, 2)).tolist()
    file = folder / "people.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f'{{"type":"Person","data":{{"name":"p{n}","age":{n % 90}}}}}\n' for n in range(people))
        out.writelines(f'{{"edge":"Knows","from":"p{one}","to":"p{other}"}}\n' for one, other in ends)
    graph = Graph.init(uri, SCHEMA)
    graph.load(file, mode="overwrite", engine="local")
    graph.ensure_indices()
    file.unlink()
    (folder / "done").touch()
    return uri


# --- servers and clients --------------------------------------------------------------------------------------


@contextmanager
def running(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    environment = os.environ | {"OMNIGRAPH_LOG": "warning"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("OMNIGRAPH_LISTEN_ADDR="), line
    threading.Thread(target=process.stdout.read, daemon=True).start()
    try:
        yield process, int(line.rpartition(":")[2])
    finally:
        process.terminate()
        process.wait()


def ours(uri: str, *more: str) -> list[str]:
    serve = [sys.executable, "-m", "omnigraph.cli", "serve", uri, "--port", "0", "--graph-id", "g"]
    return [*serve, "--load-body-max", "0", *more]


def bare(uri: str) -> list[str]:
    return [sys.executable, "-c", BARE, uri]


class Client:
    """One kept connection that sends a request and reads its answer, with nothing else in between."""

    def __init__(self, port: int, prefix: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._prefix = prefix
        self._file = self._socket.makefile("rb")

    def post(self, path: str, body: dict[str, Any]) -> int:
        data = json.dumps(body).encode()
        self._socket.sendall(head(self._prefix + path, len(data)) + data)
        status = int(self._file.readline().split()[1])
        length = 0
        while (line := self._file.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line[15:])
        self._file.read(length)
        return status


def head(path: str, length: int) -> bytes:
    fixed = "Host: x\r\nContent-Type: application/json\r\n"
    return f"POST {path} HTTP/1.1\r\n{fixed}Content-Length: {length}\r\n\r\n".encode()


def rss_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def peak_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


# --- one request after another --------------------------------------------------------------------------------


def latency(uri: str, people: int, scale: Scale) -> None:
    """Point lookup, one hop, single insert: in process, behind a bare handler, behind the server."""
    rounds, count = (2, 200) if scale.quick else (4, 500)
    graph = Graph.open(uri)
    found: dict[tuple[str, str], list[float]] = {}
    with running(bare(uri)) as (_, one), running(ours(uri)) as (_, other):
        sides: dict[str, Callable[[], Callable[[str, dict[str, Any]], object]]] = {
            "in process": lambda: lambda path, body: _call(graph, path, body),
            "bare Starlette": lambda: Client(one, "").post,
            "server": lambda: Client(other, "/graphs/g").post,
        }
        for turn in range(rounds + 1):
            for name, connect in sides.items():
                for what, times in _timed(connect(), people, count, f"{name}-{turn}").items():
                    if turn:  # the first turn warms everything up
                        found.setdefault((what, name), []).extend(times)
    print("| one client, ms | in process p50 | bare Starlette p50 | server p50 | p99 | server / bare |")
    print("|---|---:|---:|---:|---:|---:|")
    for what in ("point lookup", "one hop", "insert"):
        p50 = {name: statistics.median(found[what, name]) for name in sides}
        p99 = statistics.quantiles(found[what, "server"], n=100)[-1]
        cells = " | ".join(f"{p50[name]:.2f}" for name in sides)
        print(f"| {what} | {cells} | {p99:.1f} | {p50['server'] / p50['bare Starlette']:.2f} |", flush=True)
    print()


def _call(graph: Graph, path: str, body: dict[str, Any]) -> object:
    """What the handlers do, without them: rows are made into JSON values, too."""
    if path == "/query":
        return graph.query(body["query"], body["params"]).to_json()
    return graph.mutate(body["query"], body["params"])


def _timed(send: Callable[..., object], people: int, count: int, tag: str) -> dict[str, list[float]]:
    chosen = random.Random(7)
    questions = {
        "point lookup": ("/query", LOOKUP, count),
        "one hop": ("/query", HOP, count),
        "insert": ("/mutate", INSERT, count // 5),
    }
    found: dict[str, list[float]] = {}
    for what, (path, text, times) in questions.items():
        for number in range(times):
            name = f"new-{tag}-{number}-{time.time_ns()}" if path == "/mutate" else f"p{chosen.randrange(people)}"
            begun = time.perf_counter()
            send(path, {"query": text, "params": {"n": name}})
            found.setdefault(what, []).append((time.perf_counter() - begun) * 1000)
    return found


# --- writing clients ------------------------------------------------------------------------------------------


def writers(uri: str, people: int, scale: Scale) -> None:
    """Commits per second of several writing clients, in process and over HTTP, in brief turns that follow each other.

    Each side has a copy of the graph, so that none has to learn what the other one committed. Both are new processes in
    each round, which compacts both tables, lets both sides run warm, and takes so many pairs of turns, in random order.
    Nothing is deleted before the end: some file systems are slow for minutes after that.
    """
    rounds, pairs = (2, 4) if scale.quick else (11, 10)
    found: dict[int, list[dict[str, float]]] = {8: [], 16: [], 1: []}
    ratios: dict[int, list[float]] = {count: [] for count in found}
    with tempfile.TemporaryDirectory(prefix="omnigraph-bench-") as folder:
        for number in range(rounds):
            here, there = (str(shutil.copytree(uri, Path(folder) / f"{side}-{number}")) for side in ("process", "http"))
            with in_process(here) as turns, running(ours(there)) as (_, port):
                for count in found:
                    taken = _pairs(
                        {"process": partial(turns, count), "http": over_http(port, count)}, pairs, here, there
                    )
                    found[count] += taken
                    ratios[count].append(statistics.median(turn["http"] / turn["process"] for turn in taken))
    print(
        "| writing clients | in process, commits/s | over HTTP, commits/s | ratio: median of the rounds | all rounds |"
    )
    print("|---:|---:|---:|---:|---|")
    for count in sorted(found):
        rates = [statistics.median(turn[side] for turn in found[count]) for side in ("process", "http")]
        told = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios[count]))
        cells = f"{rates[0]:.0f} | {rates[1]:.0f} | {statistics.median(ratios[count]):.2f} | {told}"
        print(f"| {count} | {cells} |", flush=True)
    print()


class WritingClient:
    """A client that costs next to nothing: the machine is there for the server."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._before, self._after = json.dumps({"query": INSERT, "params": {"n": "@"}}).split("@")

    def insert(self, name: str) -> None:
        body = f"{self._before}{name}{self._after}".encode()
        self._socket.sendall(head("/graphs/g/mutate", len(body)) + body)
        answer = self._socket.recv(65536)  # head and body are one packet
        assert (answer[:12], answer[-1:]) == (b"HTTP/1.1 200", b"}"), answer


Insert = Callable[[str], object]
Turn = Callable[[int], float]
"""Makes so many writes, and tells commits per second."""


def inserting(graph: Graph) -> Insert:
    return lambda name: graph.mutate(INSERT, {"n": name})


@contextmanager
def in_process(uri: str) -> Iterator[Callable[[int, int], float]]:
    """A process that writes to a graph by itself: commits per second of so many threads that share so many writes."""
    command = [sys.executable, "-c", WRITERS, uri]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told, heard = process.stdin, process.stdout
        assert heard.readline() == "ready\n"

        def turn(count: int, writes: int) -> float:
            print(count, writes, file=told, flush=True)
            return float(heard.readline())

        yield turn
        told.close()


def over_http(port: int, count: int) -> Turn:
    return partial(rate, [WritingClient(port).insert for _ in range(count)])


def _pairs(sides: dict[str, Turn], pairs: int, *compact: str) -> list[dict[str, float]]:
    """Commits per second of every side, one right after the other, so many times."""
    for graph in compact:
        Graph.open(graph).optimize()
    order = [random.sample(list(sides), len(sides)) for _ in range(WARM_UP + pairs)]
    return [{side: sides[side](WRITES_OF_A_TURN) for side in turn} for turn in order][WARM_UP:]


def rate(writers: list[Insert], writes: int) -> float:
    """Commits per second of so many writes, which the writers share."""
    begun, left = time.perf_counter(), itertools.count()

    def run(insert: Insert) -> None:
        while next(left) < writes:
            insert(f"w-{time.time_ns()}-{threading.get_ident()}")

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return writes / (time.perf_counter() - begun)


def beside(uri: str, people: int, scale: Scale) -> None:
    """What work beside the commits costs: 8 writers in process, and for each commit somebody computes for a while, in a
    thread of the same process or in another process. A server has to do such work, and so have its clients."""
    writes, rounds = (192, 2) if scale.quick else (256, 8)
    cases = [("nobody", 0.0), *((who, ms) for who in ("a thread", "a process") for ms in (0.1, 0.2, 0.4))]
    rates: dict[tuple[str, float], list[float]] = {case: [] for case in cases}
    graph = Graph.open(uri)
    for turn in range(rounds):
        for case in cases if turn % 2 == 0 else cases[::-1]:
            graph.optimize()
            with _busy(*case) as work:

                def write(name: str, work: Callable[[], None] = work) -> None:
                    graph.mutate(INSERT, {"n": name})
                    work()

                for number in range(5):
                    write(f"first-{number}-{time.time_ns()}")
                rates[case].append(rate([write] * 8, writes))
    alone = rates[cases[0]]
    print("| who computes for each commit | ms | commits/s | ratio: median of pairs | range |")
    print("|---|---:|---:|---:|---|")
    for who, ms in cases:
        pairs = sorted(each / base for each, base in zip(rates[who, ms], alone, strict=True))
        mean, spread = statistics.mean(rates[who, ms]), f"{pairs[0]:.2f} to {pairs[-1]:.2f}"
        print(f"| {who} | {ms:g} | {mean:.0f} | {statistics.median(pairs):.2f} | {spread} |", flush=True)
    print()


@contextmanager
def _busy(who: str, ms: float) -> Iterator[Callable[[], None]]:
    """Somebody who computes for some milliseconds whenever it is called, and keeps nobody waiting."""
    if who == "nobody":
        yield lambda: None
    elif who == "a process":
        command = [sys.executable, computing.__file__, str(ms / 1000)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            number = process.stdin.fileno()
            yield lambda: os.write(number, b".") and None
    else:
        source, sink = os.pipe()
        thread = threading.Thread(target=computing.compute, args=(source, ms / 1000))
        thread.start()
        yield lambda: os.write(sink, b".") and None
        os.close(sink)
        thread.join()
        os.close(source)


# --- many clients ---------------------------------------------------------------------------------------------


def mixed(uri: str, people: int, scale: Scale) -> None:
    """64 clients, nine reads for each write."""
    seconds = scale.crowd_seconds
    with running(ours(uri, "--upkeep")) as (process, port):
        asyncio.run(_crowd(port, people, 64, 2.0))
        before = rss_mb(process.pid)
        times, statuses, memory = asyncio.run(_watched_crowd(process.pid, port, people, seconds))
    reads, writes = times["read"], times["write"]
    total = len(reads) + len(writes)
    print(f"64 clients for {seconds:.0f} s: {total / seconds:.0f} requests/s; statuses {dict(statuses)}")
    print("| | requests | p50, ms | p99, ms |\n|---|---:|---:|---:|")
    for name, each in (("reads", reads), ("writes", writes)):
        print(f"| {name} | {len(each)} | {statistics.median(each):.1f} | {statistics.quantiles(each, n=100)[-1]:.0f} |")
    told = ", ".join(f"{each:.0f}" for each in memory)
    print(f"\nmemory {before:.0f} MB before, then in {len(memory)} equal steps {told} MB\n", flush=True)


async def _watched_crowd(
    pid: int, port: int, people: int, seconds: float
) -> tuple[dict[str, list[float]], Counter[int], list[float]]:
    """The crowd, and what the server takes up at the end of each eighth of the time."""
    memory: list[float] = []

    async def watch() -> None:
        for _ in range(8):
            await asyncio.sleep(seconds / 8)
            memory.append(rss_mb(pid))

    watching = asyncio.ensure_future(watch())
    times, statuses = await _crowd(port, people, 64, seconds)
    await watching
    return times, statuses, memory


async def _crowd(port: int, people: int, count: int, seconds: float) -> tuple[dict[str, list[float]], Counter[int]]:
    times: dict[str, list[float]] = {"read": [], "write": []}
    statuses: Counter[int] = Counter()
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        chosen = random.Random(number)
        while time.perf_counter() < until:
            writes = chosen.random() < 0.1
            name = f"m-{number}-{time.time_ns()}" if writes else f"p{chosen.randrange(people)}"
            data = json.dumps({"query": INSERT if writes else HOP, "params": {"n": name}}).encode()
            begun = time.perf_counter()
            writer.write(head(f"/graphs/g/{'mutate' if writes else 'query'}", len(data)) + data)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(answer.partition(b"content-length: ")[2].split(b"\r\n")[0]))
            times["write" if writes else "read"].append((time.perf_counter() - begun) * 1000)
            statuses[int(answer.split()[1])] += 1
        writer.close()

    await asyncio.gather(*(client(number) for number in range(count)))
    return times, statuses


def idle(uri: str, people: int, scale: Scale) -> None:
    """A thousand connections that say nothing, and one that asks."""
    with running(ours(uri)) as (process, port):
        first = Client(port, "/graphs/g")
        first.post("/query", {"query": LOOKUP, "params": {"n": "p1"}})
        before = rss_mb(process.pid)
        held = []
        for _ in range(1000):
            client = Client(port, "/graphs/g")
            client.post("/query", {"query": LOOKUP, "params": {"n": "p1"}})
            held.append(client)
        times = []
        for number in range(200):
            begun = time.perf_counter()
            assert first.post("/query", {"query": LOOKUP, "params": {"n": f"p{number}"}}) == 200
            times.append((time.perf_counter() - begun) * 1000)
        more, p50 = rss_mb(process.pid) - before, statistics.median(times)
        print(f"1,000 idle connections: {more:.0f} MB more, lookups p50 {p50:.2f} ms\n", flush=True)


# --- a large load ---------------------------------------------------------------------------------------------


def load(uri: str, people: int, scale: Scale) -> None:
    """Lines that are made while they are sent, into a graph of their own."""
    megabytes = 50 if scale.quick else 500
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "target.omni")
        Graph.init(target, SCHEMA).close()
        with running(ours(target)) as (process, port):
            before, begun = peak_mb(process.pid), time.perf_counter()
            status = _stream(port, megabytes)
            took = time.perf_counter() - begun
            peak = peak_mb(process.pid)
    told = f"{status}, {took:.0f} s, peak memory {peak:.0f} MB ({before:.0f} MB before)"
    print(f"{megabytes} MB streamed: {told}\n", flush=True)


def _stream(port: int, megabytes: int) -> str:
    import http.client

    def chunks() -> Iterator[bytes]:
        sent, number = 0, 0
        while sent < megabytes * 1_000_000:
            people = range(number, number + 1000)
            lines = (f'{{"type":"Person","data":{{"name":"person-{n:012d}","age":{n % 90}}}}}\n' for n in people)
            chunk = "".join(lines).encode()
            number, sent = number + 1000, sent + len(chunk)
            yield chunk

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
    headers = {"Content-Type": "application/x-ndjson"}
    connection.request("POST", "/graphs/g/load/ndjson?mode=append", chunks(), headers, encode_chunked=True)
    answer = connection.getresponse()
    document = json.loads(answer.read())
    return f"{answer.status}, {document.get('total_entities', document)} entities"


RUNS: dict[str, Callable[[str, int, Scale], None]] = {
    "latency": latency,
    "writers": writers,
    "beside": beside,
    "mixed": mixed,
    "idle": idle,
    "load": load,
}

if __name__ == "__main__":
    raise SystemExit(main())
