"""Lifetimes: writes outlive their clients, servers outlive each other, and nothing that was acknowledged is lost."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.storage import open_storage
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, TOKENS, G, author, library_server, open_server, write_library
from support.servers.http_server import HttpServer, server_command, serving, start
from support.size import sized

LONG = "query q() { match { $a: Author $b: Author $c: Author } return { sum($a.born) as n, max($b.born) as m } }"
LONG_ID = "takes-long"
NDJSON = "Content-Type: application/x-ndjson\r\n"


def authors(server: HttpServer, branch: str = "main") -> set[str]:
    answer = server.send("POST", f"{G}/query", json={"query": ALL_AUTHORS, "branch": branch})
    return {row["a.handle"] for row in answer.json["rows"]}


def raw_request(server: HttpServer, path: str, body: bytes, headers: str, sent: int | None = None) -> socket.socket:
    """Sends a request, or the first bytes of its body, and leaves the connection to the caller."""
    connection = server.raw()
    head = f"POST {G}{path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body[:sent])
    return connection


def load_body(prefix: str, count: int) -> bytes:
    return "\n".join(author(f"{prefix}-{number}") for number in range(count)).encode()


def test_a_client_that_leaves_in_mid_write_leaves_a_whole_write_and_blocks_nobody(opened: HttpServer) -> None:
    """The load runs to its end, and the next write does not wait for a restart."""
    before = authors(opened)
    for number in range(3):
        body = load_body(f"left-{number}", 500)
        connection = raw_request(opened, "/load/ndjson", body, NDJSON + f"X-Request-Id: leaves-{number}\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        answer = opened.send("POST", f"{G}/mutate", json={"query": ADD_AUTHOR, "params": {"h": f"next-{number}"}})
        assert answer.status == 200
        opened.logged(f"request_id=leaves-{number}", " request ")
    added = authors(opened) - before
    for number in range(3):
        of_load = [name for name in added if name.startswith(f"left-{number}-")]
        assert len(of_load) in (0, 500), "all of it or nothing"
    assert {f"next-{number}" for number in range(3)} <= added


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing(opened: HttpServer) -> None:
    before, body = authors(opened), load_body("half", 2000)
    connection = raw_request(opened, "/load/ndjson", body, NDJSON + "X-Request-Id: half\r\n", sent=len(body) // 2)
    connection.close()
    opened.logged("request_id=half", "status=499")
    assert authors(opened) == before
    assert opened.send("POST", f"{G}/mutate", json={"query": ADD_AUTHOR, "params": {"h": "after-half"}}).status == 200


def test_a_query_ends_when_its_client_goes(opened: HttpServer) -> None:
    lines = [author(f"many-{number}") for number in range(400)]
    opened.send("POST", f"{G}/branches", json={"name": "walks"})
    assert opened.send("POST", f"{G}/load", json={"branch": "walks", "data": "\n".join(lines)}).status == 200
    body = json.dumps({"query": LONG, "branch": "walks"}).encode()
    connection = raw_request(opened, "/query", body, "Content-Type: application/json\r\nX-Request-Id: walks\r\n")
    connection.close()
    opened.logged("request_id=walks", "status=499")


def test_a_read_without_a_body_that_waits_ends_when_its_client_goes(tmp_path: Path) -> None:
    with library_server(tmp_path) as server:
        data = "\n".join(author(f"many-{number}", born=number) for number in range(2000))
        assert server.send("POST", f"{G}/load", json={"data": data}).status == 200
        head = f"Authorization: Bearer {TOKENS['ann']}\r\n"
        with ExitStack() as stack:
            for _ in range(6):
                long = json.dumps({"query": LONG}).encode()
                stack.enter_context(raw_request(server, "/query", long, head + "Content-Type: application/json\r\n"))
            connection = server.raw()
            connection.sendall(f"GET {G}/log HTTP/1.1\r\nHost: x\r\n{head}X-Request-Id: leaves\r\n\r\n".encode())
            server.send("GET", "/metrics")  # they have all been read
            connection.close()
            server.logged("request_id=leaves", "status=499")


def test_queries_of_one_actor_leave_threads_for_the_others(tmp_path: Path) -> None:
    """More long queries than there are threads: whoever else asks is answered, and so is everybody when they end."""
    with library_server(tmp_path) as server:
        data = "\n".join(author(f"many-{number}", born=number) for number in range(2000))
        assert server.send("POST", f"{G}/load", json={"data": data}).status == 200
        body = json.dumps({"query": LONG}).encode()
        with ExitStack() as stack:
            for _ in range(12):
                headers = f"Content-Type: application/json\r\nAuthorization: Bearer {TOKENS['ann']}\r\n"
                headers += f"X-Request-Id: {LONG_ID}\r\n"
                stack.enter_context(raw_request(server, "/query", body, headers))
            server.send("GET", "/metrics")  # they have all been read
            query = {"query": ALL_AUTHORS}
            assert "status=" not in " ".join(line for line in server.log_text().splitlines() if LONG_ID in line)
            assert server.send("POST", f"{G}/query", json=query, token=TOKENS["bo"], timeout=30).status == 200
        assert server.send("POST", f"{G}/query", json=query, token=TOKENS["ann"], timeout=30).status == 200


# --- kill -9 --------------------------------------------------------------------------------------------------


class Writers:
    """Clients that write until they are told to stop, and repeat a write that was not answered, with its key."""

    def __init__(self, port: Callable[[], int], count: int, prefix: str, *, retries: bool) -> None:
        self._port = port
        self._prefix = prefix
        self._retries = retries
        self._stop = threading.Event()
        self.acknowledged: set[str] = set()
        self.attempted: set[str] = set()
        self.refused: list[int] = []
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        count = 0
        while not self._stop.is_set():
            name = f"{self._prefix}-{number}-{count}"
            count += 1
            self.attempted.add(name)
            while not self._once(name):
                if not self._retries:
                    return
                time.sleep(0.02)

    def _once(self, name: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=30)
        body = json.dumps({"query": ADD_AUTHOR, "params": {"h": name}})
        headers = {"Content-Type": "application/json", "Idempotency-Key": name}
        try:
            connection.request("POST", f"{G}/mutate", body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if response.status == 200:
            self.acknowledged.add(name)
        else:
            self.refused.append(response.status)
        return True

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.acknowledged) < count:
            assert time.monotonic() < deadline, (len(self.acknowledged), self.refused)
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_a_server_that_is_killed_under_load_has_lost_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    cluster = write_library(tmp_path, None, None)
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", "--unauthenticated")
    acknowledged: set[str] = set()
    attempted: set[str] = set()
    for round_number in range(sized(2, 10)):
        server = start(command, tmp_path)
        writers = Writers(lambda server=server: server.port, 4, f"kill-{round_number}", retries=False)
        writers.wait_for(10)
        server.process.kill()
        server.process.wait()
        writers.stop()
        acknowledged |= writers.acknowledged
        attempted |= writers.attempted
    with serving(command, tmp_path) as server:
        found = {name for name in authors(server) if name.startswith("kill-")}
        assert acknowledged <= found <= attempted
        assert server.send("POST", f"{G}/mutate", json={"query": ADD_AUTHOR, "params": {"h": "alive"}}).status == 200
    assert Graph.open(cluster.uri_of("library")).verify().ok


# --- several processes ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    tmp_path = tmp_path_factory.mktemp("workers")
    cluster = write_library(tmp_path, None, None)
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", "--unauthenticated", "--workers", "2")
    with serving(command, tmp_path) as server:
        server.extra = {"cluster": cluster}
        yield server
        server.stop(signal.SIGTERM)


def worker_pids(server: HttpServer) -> list[int]:
    lines = [line for line in server.log_text().splitlines() if "worker serves" in line]
    return [int(line.rpartition("pid=")[2]) for line in lines]


def test_workers_are_replaced_in_turn_without_a_failed_write(two_workers: HttpServer) -> None:
    """The lease makes two writing processes safe; a write that met a closing worker is repeated with its key."""
    assert len(set(worker_pids(two_workers))) == 2
    writers = Writers(lambda: two_workers.port, 4, "roll", retries=True)
    writers.wait_for(8)
    two_workers.process.send_signal(signal.SIGUSR2)
    two_workers.logged("worker serves", times=4)
    writers.wait_for(len(writers.acknowledged) + 8)
    writers.stop()
    assert writers.refused == []
    assert writers.acknowledged == writers.attempted
    found = {name for name in authors(two_workers) if name.startswith("roll-")}
    assert found == writers.attempted
    assert two_workers.output.read_text().count("OMNIGRAPH_LISTEN_ADDR") == 1


def test_a_worker_that_dies_is_replaced(two_workers: HttpServer) -> None:
    known = worker_pids(two_workers)
    os.kill(known[-1], signal.SIGKILL)
    two_workers.logged("worker serves", times=len(known) + 1)
    assert two_workers.send("GET", f"{G}/schema").status == 200
    two_workers.process.kill()
    two_workers.logged("the parent has died", times=2)
    two_workers.logged("info stopped", times=2)


# --- stopping -------------------------------------------------------------------------------------------------


def test_a_server_that_is_told_to_stop_finishes_what_it_does(tmp_path: Path) -> None:
    with open_server(tmp_path) as server:
        uri = server.extra["cluster"].uri_of("library")
        connection = raw_request(server, "/load/ndjson", load_body("drain", 20000), NDJSON + "X-Request-Id: drain\r\n")
        while b"omnigraph_writes_running 1" not in server.send("GET", "/metrics").body:
            assert "request_id=drain" not in server.log_text(), "it was over before it could be interrupted"
        assert server.stop(signal.SIGTERM) == 0
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
    assert len([1 for line in Graph.open(uri).export(types=["Author"]) if b"drain-" in line]) == 20000


def test_a_stop_waits_once_for_all_that_runs_and_gives_no_answer_to_what_it_cuts_off(tmp_path: Path) -> None:
    """Whether such a write happens is not known. A client whose connection is lost repeats it with its key."""
    with open_server(tmp_path, "--drain-seconds", "2") as server:
        body = json.dumps({"query": ADD_AUTHOR, "params": {"h": "cut-off"}}).encode()
        headers = "Content-Type: application/json\r\n"
        with open_storage(server.extra["cluster"].uri_of("library")).leases.hold("main"):
            waits = raw_request(server, "/mutate", body, headers + "X-Request-Id: cut-off\r\n")
            later = raw_request(server, "/mutate", body, headers + "Prefer: respond-async\r\n")
            assert later.recv(12) == b"HTTP/1.1 202"
            while b"omnigraph_writes_running 2" not in server.send("GET", "/metrics").body:
                time.sleep(0.01)
            begun = time.monotonic()
            assert server.stop(signal.SIGTERM) == 1
            assert time.monotonic() - begun < 3.9, "it waits two seconds, and not for each kind of work again"
        assert waits.recv(100) == b""
        assert "Traceback" not in server.log_text()
        server.logged("request_id=cut-off", "status=503")
