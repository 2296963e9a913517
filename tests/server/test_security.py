"""What an attacker would try: tokens of others, tricks in names and paths, bodies that cost, clients that stall."""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from omnigraph.server.auth import TokenSet
from omnigraph.server.operations import OPERATIONS
from policy.library import LIBRARY
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, TOKENS, G, author, library_server, write_library
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import TOKENS_JSON, Answer, HttpServer, server_command, serving

OTHER = """version: 1
groups: {owners: [olga]}
rules:
  - id: all
    allow:
      actors: {group: owners}
      actions: [read, change, export, branch_create, branch_delete, branch_merge, admin, invoke_query]
"""
BODIES: dict[str, Any] = {
    "query": {"query": ALL_AUTHORS},
    "read": {"query_source": ALL_AUTHORS},
    "explain": {"query": ALL_AUTHORS},
    "mutate": {"query": ADD_AUTHOR, "params": {"h": "evil"}},
    "change": {"query": ADD_AUTHOR, "params": {"h": "evil"}},
    "mutate/if-graph-commit": {"query": ADD_AUTHOR, "params": {"h": "evil"}},
    "queries/{name}": {},
    "queries/{name}/if-graph-commit": {},
    "schema/apply": {"schema_source": "node Evil { name: String @key }"},
    "load": {"data": author("evil")},
    "ingest": {"data": author("evil")},
    "load/ndjson": author("evil"),
    "export": {},
    "branches": {"name": "evil"},
    "branches/merge": {"source": "drafts"},
    "changes/baseline": {},
    "restore": {"to": "drafts"},
    "revert": {"what": "drafts"},
    "tags": {"name": "evil"},
}
MASKED = {"queries/{name}", "queries/{name}/if-graph-commit", "commits/{commit_id}/changes"}
MASKED |= {"operations/{operation_id}"}
"""Routes on which a denial looks like something that is not there."""
READS = {"snapshot", "query", "read", "explain", "schema", "branches", "commits", "commits/{commit_id}", "log", "diff"}
READS |= {"changes", "commits/{commit_id}/changes", "indexes", "tags", "blob", "queries"}
"""What a caller who may only read may do, by GET or as a question."""
ON_GRAPH = [operation for operation in OPERATIONS if operation.on_graph]


def send(server: HttpServer, operation: Any, token: str | None, graph: str = "library") -> Answer:
    name = operation.path.removeprefix("/graphs/{graph_id}/")
    path = operation.path.replace("{graph_id}", graph).replace("{name}", "all_authors").replace("{branch}", "drafts")
    path = path.replace("{commit_id}", server.extra["head"]).replace("{tag}", "none")
    query = {"blob": "?entity=node&type=Book&id=b1&property=cover", "diff": "?from=main"}.get(name, "")
    headers = {"Content-Type": "application/json"}
    if "if-graph-commit" in name:
        headers["Omnigraph-If-Graph-Commit"] = "01J9Z8Q5W3V7C2B4N6M8K0H1G3"
    body = BODIES.get(name) if operation.method == "POST" else None
    if name == "load/ndjson":
        headers["Content-Type"] = "application/x-ndjson"
    raw = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    return server.send(operation.method, path + query, token=token, body=raw, headers=headers)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two graphs with policies of their own; olga owns the other one and nothing here."""
    folder = tmp_path_factory.mktemp("guarded")
    cluster = write_library(folder)
    cluster.graph("others")
    cluster.policy("others", OTHER, ["graph.others"])
    cluster.write()
    tokens = {TOKENS_JSON: json.dumps(TOKENS | {"olga": "t-olga"})}
    with serving(server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0"), folder, **tokens) as server:
        head = server.send("GET", f"{G}/commits", token="t-cy").json["commits"][0]["graph_commit_id"]
        server.extra = {"cluster": cluster, "head": head}
        yield server


def identity(operation: Any) -> str:
    return f"{operation.method} {operation.path.removeprefix('/graphs/{graph_id}')}"


@pytest.mark.parametrize("operation", ON_GRAPH, ids=identity)
def test_a_route_is_for_known_callers_with_permission_alone(guarded: HttpServer, operation: Any) -> None:
    """Every route × {no token, wrong token, a token that may only read, a token of another graph's owner}."""
    name = operation.path.removeprefix("/graphs/{graph_id}/")
    before = state_of(guarded)
    assert send(guarded, operation, None).status == 401
    assert send(guarded, operation, "nope").status == 401
    refused = {404} if name in MASKED else {403}
    assert send(guarded, operation, "t-olga").status in refused
    reading = send(guarded, operation, "t-bo").status
    may_read = (name in READS and operation.method in ("GET", "HEAD")) or name in ("query", "read", "explain")
    assert reading in ({200, 302, 409} if may_read else refused)
    assert state_of(guarded) == before, "nothing was changed by any of them"


def state_of(server: HttpServer) -> Any:
    commits = server.send("GET", f"{G}/commits", token="t-cy").body
    return commits, server.send("GET", f"{G}/branches", token="t-cy").body


@pytest.mark.parametrize("branch", ["MAIN", "Main", "main/", "/main", "main\u0000", "refs/main", "main%20", "ｍａｉｎ"])
def test_a_name_that_looks_like_main_is_not_main(guarded: HttpServer, branch: str) -> None:
    before = state_of(guarded)
    body = {"query": ADD_AUTHOR, "params": {"h": "evil"}, "branch": branch}
    assert guarded.send("POST", f"{G}/mutate", token="t-ann", json=body).status in (400, 403, 404)
    assert state_of(guarded) == before


@pytest.mark.parametrize("branch", ["\u2003main\u2003", "\tmain\n", "main ", " main"])
def test_every_kind_of_padding_is_taken_off_before_the_policy_is_asked(guarded: HttpServer, branch: str) -> None:
    body = {"query": ADD_AUTHOR, "params": {"h": "evil"}, "branch": branch}
    assert guarded.send("POST", f"{G}/mutate", token="t-ann", json=body).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/graphs/../library/schema",
        "/graphs/library/../others/schema",
        "/graphs/..%2flibrary/schema",
        "/graphs/library%00/schema",
        "/graphs/library/branches/..%2F..%2Fmain",
        "/graphs/library/branches/%2e%2e",
        "/graphs/library/branches/%ff",
        "/graphs/library/commits/..%2F..%2Fetc%2Fpasswd",
        "/graphs/library/queries/..%2Fall_authors",
        "//graphs/library/schema",
        "/graphs/library;x/schema",
    ],
)
def test_tricks_in_paths_lead_nowhere(guarded: HttpServer, path: str) -> None:
    method = "DELETE" if "/branches/" in path else "POST" if "/queries/" in path else "GET"
    before = state_of(guarded)
    assert guarded.send(method, path, token="t-ann").status in (400, 403, 404)
    assert state_of(guarded) == before


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"query":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"query":"q","params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"query":"q","params":{"y":' + b"9" * 500_000 + b"}}",
        b'{"query":"' + b"(" * 50_000 + b'"}',
        b'{"query":"query q() { match { ' + b"or { " * 5_000 + b'} return { 1 } }"}',
    ],
    ids=["arrays", "deep member", "deep params", "long number", "long text", "deep query"],
)
def test_a_body_that_is_made_to_hurt_is_refused_and_the_next_one_is_served(guarded: HttpServer, body: bytes) -> None:
    answer = guarded.send("POST", f"{G}/query", token="t-cy", body=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["code"]) == (400, "bad_request")
    assert guarded.send("GET", f"{G}/schema", token="t-cy").status == 200


def test_secrets_are_in_no_log_and_in_no_answer(guarded: HttpServer) -> None:
    answers = [
        guarded.send("GET", f"{G}/schema", token="t-secret-guess"),
        guarded.send("GET", f"{G}/schema?token=t-in-the-query", token="t-cy"),
        guarded.send("POST", f"{G}/query", token="t-cy", json={"query": "t-in-the-body"}),
        guarded.send("GET", f"{G}/blob?entity=node&type=Book&id=t-in-an-id&property=cover", token="t-cy"),
    ]
    guarded.logged("status=404")
    log = guarded.log_text()
    for secret in (*TOKENS.values(), "t-secret-guess", "t-in-the-query", "t-in-the-body", "t-in-an-id"):
        assert secret not in log
    assert all(b"t-secret-guess" not in answer.body for answer in answers)


def test_failures_of_the_server_name_no_place_in_the_storage(tmp_path: Path) -> None:
    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("one")
    cluster.write()
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", "--unauthenticated")
    with serving(command, tmp_path) as server:
        body = {"query": 'query q() { insert Thing { name: "x" } }'}
        assert server.send("POST", "/graphs/one/mutate", json=body).status == 200
        for path in Path(cluster.uri_of("one")).rglob("data/*.lance"):
            path.write_bytes(b"broken")
        for path in Path(cluster.uri_of("one")).glob("__manifest/_versions/*"):
            path.write_bytes(b"broken")
        answer = server.send("GET", "/graphs/one/commits")
        if answer.status == 200:
            answer = server.send("POST", "/graphs/one/export", json={})
        assert answer.status == 500
        assert str(tmp_path).encode() not in answer.body
        request_id = answer.header("X-Request-Id") or "?"
        assert request_id in answer.json["error"]
        server.logged("request failed", request_id)


# --- tokens ---------------------------------------------------------------------------------------------------


def test_every_digest_is_compared_whatever_the_answer() -> None:
    """In constant time by construction: no comparison is left out, and each is that of the standard library."""
    compared: list[bytes] = []

    def counting(known: bytes, presented: bytes) -> bool:
        compared.append(known)
        return hmac.compare_digest(known, presented)

    tokens = TokenSet({f"actor-{number}": f"token-{number}" for number in range(20)}, counting)
    for token, actor in ((b"token-0", "actor-0"), (b"token-19", "actor-19"), (b"nope", None)):
        compared.clear()
        assert tokens.actor_of(token) == actor
        assert len(compared) == len(set(compared)) == 20


def test_no_token_is_kept_as_text() -> None:
    tokens = TokenSet({"ann": "a-very-secret-token"})
    assert "a-very-secret-token" not in repr(vars(tokens))


# --- clients that stall ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with library_server(
        tmp_path_factory.mktemp("impatient"), "--head-seconds", "0.5", "--idle-seconds", "0.5"
    ) as server:
        yield server


def until_closed(connection: socket.socket) -> bytes:
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionError:
        pass
    return received


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nX-A: b\r\n"])
def test_a_head_that_does_not_come_is_not_waited_for(impatient: HttpServer, sent: bytes) -> None:
    with impatient.raw() as connection:
        connection.sendall(sent)
        assert until_closed(connection) == b""


def test_a_body_that_does_not_come_is_not_waited_for(impatient: HttpServer) -> None:
    with impatient.raw() as connection:
        head = f"POST {G}/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-cy\r\n"
        connection.sendall((head + 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"que').encode())
        assert until_closed(connection).startswith(b"HTTP/1.1 408")


def test_a_head_without_end_is_refused(impatient: HttpServer) -> None:
    with impatient.raw() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        for _ in range(2000):
            connection.sendall(b"X-A: " + b"b" * 1000 + b"\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 400")
    assert impatient.send("GET", "/healthz").status == 200


def test_an_answer_that_is_not_taken_is_broken_off_and_its_room_given_back(impatient: HttpServer) -> None:
    lines = "\n".join(
        json.dumps({"type": "Book", "data": {"isbn": f"s-{n}", "title": "x" * 4000}}) for n in range(6000)
    )
    headers = {"Content-Type": "application/x-ndjson"}
    assert impatient.send("POST", f"{G}/load/ndjson", body=lines.encode(), headers=headers).status == 200
    request = f"POST {G}/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-cy\r\n"
    request += "Content-Type: application/json\r\nX-Request-Id: stalled\r\nContent-Length: 2\r\n\r\n{}"
    stalled = [impatient.raw() for _ in range(8)]
    for connection in stalled:
        connection.sendall(request.encode())
    for connection in stalled:
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
    impatient.logged("request_id=stalled", " request ", times=8)
    answer = impatient.send("POST", f"{G}/export", json={"type_names": ["Author"]})
    assert (answer.status, len(answer.lines)) == (200, 3)
    assert not until_closed(stalled[0]).endswith(b"0\r\n\r\n"), "the body has no end: it is not whole"
    for connection in stalled:
        connection.close()


# --- a policy that changes ------------------------------------------------------------------------------------


def test_a_policy_that_changes_while_requests_run_decides_each_of_them_whole(tmp_path: Path) -> None:
    """Before the change ann may write main, after it she may not; nothing in between is ever answered."""
    allowing = LIBRARY.replace("admins: [cy]", "admins: [cy, ann]")
    with library_server(tmp_path, policy=allowing) as server:
        cluster, stop = server.extra["cluster"], threading.Event()

        def keep_writing(number: int) -> list[int]:
            statuses, count = [], 0
            while not stop.is_set():
                body = {"query": ADD_AUTHOR, "params": {"h": f"w-{number}-{count}"}}
                statuses.append(server.send("POST", f"{G}/mutate", token="t-ann", json=body).status)
                count += 1
            return statuses

        with ThreadPoolExecutor(3) as pool:
            running = [pool.submit(keep_writing, number) for number in range(3)]
            cluster.policy("rules", LIBRARY, ["graph.library"])
            cluster.write()
            server.logged("revision served")
            last = server.send(
                "POST", f"{G}/mutate", token="t-ann", json={"query": ADD_AUTHOR, "params": {"h": "late"}}
            )
            stop.set()
            told = [future.result() for future in running]
        assert last.status == 403
        for statuses in told:
            assert set(statuses) <= {200, 403}
            assert statuses == sorted(statuses), "once denied, always denied"


def test_links_and_urls_are_followed_by_nobody(guarded: HttpServer) -> None:
    """An external blob of a write may only lie where the cluster allows it: no address of the caller is contacted."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    port = listener.getsockname()[1]
    for uri in (f"http://127.0.0.1:{port}/x", f"s3://127.0.0.1:{port}/x", "file:///etc/passwd", "gopher://x/y"):
        line = json.dumps({"type": "Book", "data": {"isbn": "e", "title": "t", "cover": uri}}).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        answer = guarded.send("POST", f"{G}/load/ndjson?branch=drafts", token="t-cy", body=line, headers=headers)
        assert answer.status == 400
        assert re.search("base|allow|scheme|URI|external", answer.json["error"])
    with pytest.raises(TimeoutError):
        listener.accept()
    listener.close()
