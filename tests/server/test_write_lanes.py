"""Write lanes: a branch that stands still, or is written by many, keeps nobody waiting who writes elsewhere."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from omnigraph.storage import open_storage
from server.served_library import ADD_AUTHOR, G, author, open_server
from support.servers.http_server import HttpServer

MANY = 80
"""More than there are threads."""
JSON = "Content-Type: application/json\r\n"
NDJSON = "Content-Type: application/x-ndjson\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    limit = {"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": str(2 * MANY)}
    with open_server(tmp_path_factory.mktemp("lanes"), **limit) as running:
        yield running


@contextmanager
def standing_still(server: HttpServer, *branches: str) -> Iterator[None]:
    """Another process has these branches, and does nothing with them."""
    with open_storage(server.extra["cluster"].uri_of("library")).leases.hold(*branches):
        yield


def running(server: HttpServer) -> int:
    text = server.send("GET", "/metrics").body.decode()
    line = next(line for line in text.splitlines() if line.startswith("omnigraph_writes_running "))
    return int(float(line.split()[1]))


def sent(server: HttpServer, path: str, headers: str, body: bytes) -> socket.socket:
    connection = server.raw()
    head = f"POST {G}{path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def mutation(handle: str) -> bytes:
    return json.dumps({"query": ADD_AUTHOR, "params": {"h": handle}}).encode()


def waiting(
    server: HttpServer, stack: ExitStack, count: int, path: str, headers: str, name: str
) -> list[socket.socket]:
    """That many writes of main, all of them admitted."""
    bodies = [mutation(f"{name}-{n}") if headers == JSON else author(f"{name}-{n}").encode() for n in range(count)]
    connections = [stack.enter_context(sent(server, path, headers, body)) for body in bodies]
    deadline = time.monotonic() + 60
    while running(server) < count:
        assert time.monotonic() < deadline, "they are all admitted"
        time.sleep(0.01)
    return connections


def answered(connection: socket.socket) -> int:
    connection.settimeout(60)
    return int(connection.recv(4096).split()[1])


@pytest.mark.parametrize(("path", "headers"), [("/mutate", JSON), ("/load/ndjson", NDJSON)], ids=["writes", "loads"])
def test_a_branch_that_stands_still_keeps_no_writer_of_another_branch_waiting(
    server: HttpServer, path: str, headers: str
) -> None:
    name = path[1:5]
    with ExitStack() as stack:
        with standing_still(server, "main"):
            connections = waiting(server, stack, MANY, path, headers, name)
            body = {"query": ADD_AUTHOR, "params": {"h": f"beside-{name}"}, "branch": "drafts"}
            assert server.send("POST", f"{G}/mutate", json=body, timeout=20).status == 200
            load = author(f"load-beside-{name}").encode()
            for place in (f"{G}/load/ndjson?branch=drafts", "/graphs/spare/load/ndjson"):
                headers_of = {"Content-Type": "application/x-ndjson"}
                assert server.send("POST", place, body=load, headers=headers_of, timeout=30).status == 200
            spare = {"query": ADD_AUTHOR, "params": {"h": f"beside-{name}"}}
            assert server.send("POST", "/graphs/spare/mutate", json=spare, timeout=20).status == 200
        assert {answered(connection) for connection in connections} == {200}


def test_every_write_that_waited_for_a_place_in_its_lane_is_answered(server: HttpServer) -> None:
    with ExitStack() as stack:
        with standing_still(server, "main"):
            connections = waiting(server, stack, MANY, "/mutate", JSON, "turn")
        assert [answered(connection) for connection in connections] == [200] * MANY
    assert running(server) == 0


def test_a_deletion_that_waits_is_answered_at_once_to_a_caller_who_does_not(server: HttpServer) -> None:
    assert server.send("POST", f"{G}/branches", json={"name": "old"}).status == 200
    with standing_still(server, "old"):
        answer = server.send("DELETE", f"{G}/branches/old", headers={"Prefer": "respond-async"}, timeout=20)
        assert answer.status == 202
    place = f"{G}/operations/{answer.json['operation_id']}"
    while server.send("GET", place).json["state"] == "running":
        time.sleep(0.01)
    assert server.send("GET", place).json["status"] == 200
