"""Every refusal has its code: a program that reads `error_code` never has to read a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.client.failures import error_of
from omnigraph.client.requests import Answer as Received
from omnigraph.model.errors import CommitNotDurable, OmniGraphError, OutcomeUnknown
from omnigraph.server.failures import failure_of
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, G, library_server
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import Answer, HttpServer, server_command, serving, to_bytes

ERRORS = (Path(__file__).parents[3] / "docs" / "errors.md").read_text(encoding="utf-8")
DOCUMENTED = {
    code for cell in re.findall(r"^\| (`.+?) \|", ERRORS, re.MULTILINE) for code in re.findall(r"`(\w+)`", cell)
}
JSON, LINES = {"Content-Type": "application/json"}, {"Content-Type": "application/x-ndjson"}
BLOB = f"{G}/blob?entity=node&type=Book&id=b1&property=cover"
ABSENT = "01J9Z8Q5W3V7C2B4N6M8K0H1G3"
REFUSALS: list[tuple[int, str, str, str, dict[str, Any]]] = [
    (404, "not_found", "GET", "/nowhere", {}),
    (404, "not_found", "GET", "/graphs/nope/schema", {}),
    (400, "bad_request", "GET", "/graphs/no_id/schema", {}),
    (405, "http_refusal", "PUT", f"{G}/query", {}),
    (401, "not_authenticated", "GET", f"{G}/branches", {"token": None}),
    (401, "not_authenticated", "GET", f"{G}/branches", {"token": "nope"}),
    (403, "policy_denied", "GET", f"{G}/snapshot", {"token": "t-zed"}),
    (400, "bad_request", "POST", f"{G}/query", {"body": b"{", "headers": JSON}),
    (400, "bad_request", "POST", f"{G}/query", {"json": []}),
    (400, "bad_request", "POST", f"{G}/query", {"json": {"query": 5}}),
    (400, "bad_request", "POST", f"{G}/query", {"json": {"query": ALL_AUTHORS, "branch": " "}}),
    (413, "limit_exceeded", "POST", f"{G}/query", {"body": b" " * 1_100_000, "headers": JSON}),
    (415, "http_refusal", "POST", f"{G}/query", {"body": b"{}", "headers": {"Content-Type": "text/plain"}}),
    (415, "http_refusal", "POST", f"{G}/load/ndjson", {"body": b"{}", "headers": JSON}),
    (404, "branch_not_found", "POST", f"{G}/load/ndjson?branch=nope", {"body": b"", "headers": LINES}),
    (404, "branch_not_found", "GET", f"{G}/snapshot?branch=nope", {}),
    (404, "commit_not_found", "GET", f"{G}/commits/{ABSENT}", {}),
    (404, "not_found", "POST", f"{G}/queries/nope", {"json": {}}),
    (404, "not_found", "GET", f"{G}/operations/{ABSENT}", {}),
    (400, "bad_request", "GET", f"{G}/changes?start=beginning&more=1", {}),
    (400, "change_cursor_rejected", "GET", f"{G}/changes?cursor=nope", {}),
    (412, "conflict", "GET", BLOB, {"headers": {"If-Match": '"other"'}}),
    (416, "blob_range_not_satisfiable", "GET", BLOB, {"headers": {"Range": "bytes=99-"}}),
]


def check(answer: Answer, status: int, code: str) -> None:
    """The code, and that the client raises what it would raise for an older server, which has no code."""
    assert (answer.status, answer.json.get("error_code")) == (status, code)
    assert code in DOCUMENTED
    plain = {name: value for name, value in answer.json.items() if name != "error_code"}
    now, before = (error_of(Received(status, {}, body)) for body in (answer.body, to_bytes(plain)))
    assert isinstance(now, type(before))
    assert (now.sentence(), bool(now.details() or True)) == (before.sentence(), True)


@pytest.mark.parametrize(("status", "code", "method", "path", "more"), REFUSALS)
def test_a_refusal_has_the_code_of_its_error(
    library: HttpServer, status: int, code: str, method: str, path: str, more: dict[str, Any]
) -> None:
    check(library.send(method, path, **more), status, code)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Takes no writes, and waits for nobody."""
    limits = {"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "0"}
    with library_server(tmp_path_factory.mktemp("strict"), "--idle-seconds", "0.5", **limits) as server:
        yield server


def test_a_write_that_is_not_admitted_has_a_code(strict: HttpServer) -> None:
    body = {"query": ADD_AUTHOR, "params": {"h": "x"}}
    check(strict.send("POST", f"{G}/mutate", json=body), 429, "overloaded")


def test_a_body_that_does_not_come_has_a_code(strict: HttpServer) -> None:
    with strict.raw() as connection:
        head = f"POST {G}/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-cy\r\n"
        connection.sendall((head + 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"que').encode())
        check(received(connection), 408, "http_refusal")


def test_what_is_no_http_is_refused_like_everything_else(strict: HttpServer) -> None:
    with strict.raw() as connection:
        connection.sendall(b"HELLO\r\n\r\n")
        answer = received(connection)
        check(answer, 400, "bad_request")
        assert (answer.json["code"], answer.header("Content-Type")) == ("bad_request", "application/json")


def received(connection: Any) -> Answer:
    """What a server sends before it closes a connection."""
    text = b""
    while part := connection.recv(65536):
        text += part
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().splitlines()
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Answer(int(first.split()[1]), headers, body)


def test_what_went_wrong_inside_and_a_graph_that_is_away_have_codes(tmp_path: Path) -> None:
    cluster = WrittenCluster(tmp_path / "c")
    for name in ("one", "two"):
        cluster.graph(name)
    cluster.policy("rules", ALL_MAY_READ, ["graph.one", "graph.two"])
    cluster.write()
    away = Path(cluster.uri_of("two")) / "_schema.pg"
    away.unlink()
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0")
    with serving(command, tmp_path, OMNIGRAPH_SERVER_BEARER_TOKENS_JSON='{"ann": "t-ann"}') as server:
        check(server.send("GET", "/graphs/two/schema", token="t-ann"), 503, "still_unavailable")
        for path in Path(cluster.uri_of("one")).glob("__manifest/_versions/*"):
            path.write_bytes(b"broken")
        for path in ("commits", "changes?start=beginning"):
            check(server.send("GET", f"/graphs/one/{path}", token="t-ann"), 500, "server_failed")


ALL_MAY_READ = """version: 1
groups: {all: [ann]}
rules: [{id: r, allow: {actors: {group: all}, actions: [read]}}]
"""


@pytest.mark.parametrize(
    "error",
    [OutcomeUnknown(f"commit {ABSENT}", "/data/graph: broken"), CommitNotDurable(ABSENT, "/data/graph: broken")],
    ids=lambda error: error.code,
)
def test_a_write_that_may_have_happened_says_so_and_names_its_commit(error: OmniGraphError) -> None:
    told = failure_of(error, "request-7")
    assert (told.status, told.body["code"], told.body["error_code"]) == (500, "internal", error.code)
    assert told.is_hidden, "the log has the reason"
    text = to_bytes(told.body).decode()
    assert ABSENT in text
    assert "request-7" in text
    assert "/data" not in text
    raised = error_of(Received(500, {}, to_bytes(told.body)))
    assert type(raised) is type(error)
    assert ABSENT in raised.sentence()
    assert error.code in DOCUMENTED
