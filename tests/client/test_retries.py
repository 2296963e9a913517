"""What is sent again and what is not: the retry matrix of the contract, row by row, over real connections."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.client import RemoteGraph, RetryBudget, connect
from support.servers.http_server import HttpServer
from support.servers.scripted_http import DROP, FORWARD, FORWARD_AND_DROP, Scripted, scripted

QUICK = RetryBudget(attempts=3, seconds=5, first_wait=0.001)
READ = "query all() { match { $a: Author } return { $a.handle } }"
INSERT = 'query add() { insert Author { handle: "x" } }'
UPDATE = 'query set() { update Author set { born: 1 } where handle = "x" }'
ROWS = {"query_name": "all", "target": {"branch": "main", "snapshot": None}, "row_count": 0, "rows": []}
DONE = {"branch": "main", "query_name": "add", "affected_nodes": 1, "affected_edges": 0, "actor_id": None}
BRANCH = {"uri": "u", "from": "main", "name": "b", "actor_id": None}
LIMIT = {"error": "busy", "resource_limit": {"resource": "stream_export_slots", "limit": 1, "actual": 2}}
SIZE = {"error": "large", "resource_limit": {"resource": "keyed entities", "limit": 1, "actual": 2}}
RECOVERY = {"error": "recovery required for operation X: y", "recovery_required": {"operation_id": "X"}}


def calls() -> dict[str, tuple[Any, Any]]:
    """What is called, and the answer with which it succeeds."""
    return {
        "read": (lambda g: g.query(READ), ROWS),
        "insert": (lambda g: g.mutate(INSERT), DONE),
        "update": (lambda g: g.mutate(UPDATE), DONE),
        "update with a key": (lambda g: g.mutate(UPDATE, idempotency_key="k"), DONE),
        "branch": (lambda g: g.create_branch("b"), BRANCH),
    }


ALL, SAFE = tuple(calls()), ("read", "insert", "update with a key")
MATRIX: dict[str, tuple[Scripted | str, tuple[str, ...], type[og.OmniGraphError]]] = {
    "answer lost": (DROP, SAFE, og.OmniGraphError),
    "502 of a proxy": (Scripted(502, b"<html>"), SAFE, og.Unreachable),
    "504 of a proxy": (Scripted(504, b""), SAFE, og.Unreachable),
    "502 of a provider": (Scripted(502, {"error": "x", "embedding_provider": {"provider": "p"}}), (), og.Unreachable),
    "429": (Scripted(429, {"error": "enough"}, (("Retry-After", "0"),)), ALL, og.errors.TooManyRequests),
    "503 recovery": (Scripted(503, RECOVERY, (("Retry-After", "0"),)), ALL, og.errors.RecoveryRequired),
    "413 slots": (Scripted(413, LIMIT), ALL, og.errors.ResourceLimitExceeded),
    "413 size": (Scripted(413, SIZE), (), og.errors.ResourceLimitExceeded),
    "500": (Scripted(500, {"error": "internal error"}), ("read",), og.errors.ServerFailed),
    "400": (Scripted(400, {"error": "no"}), (), og.BadRequest),
    "401": (Scripted(401, {"error": "missing bearer token"}), (), og.Denied),
    "403": (Scripted(403, {"error": "no"}), (), og.Denied),
    "404": (Scripted(404, {"error": "no"}), (), og.NotFound),
    "409": (Scripted(409, {"error": "no"}), (), og.Conflict),
    "409 read set": (
        Scripted(409, {"error": "no", "read_set_conflict": {"member": "graph_head:main"}}),
        (),
        og.errors.ReadSetChanged,
    ),
    "410": (Scripted(410, {"error": "no"}), (), og.Gone),
    "412": (Scripted(412, {"error": "no", "precondition_failure": {"expected": "c"}}), (), og.PreconditionFailed),
}


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize(("step", "repeated", "error"), MATRIX.values(), ids=MATRIX)
def test_the_matrix_says_what_is_sent_again(
    step: Scripted | str, repeated: tuple[str, ...], error: type[og.OmniGraphError], call: str
) -> None:
    run, success = calls()[call]
    with scripted([step, Scripted(200, success)]) as server, connect(server.graph, retries=QUICK) as graph:
        if call in repeated:
            run(graph)
            assert len(server.received) == 2
            keys = {each.headers.get("idempotency-key") for each in server.received}
            assert len(keys) == 1, "the second one has the key of the first"
        else:
            with pytest.raises(error):
                run(graph)
            assert len(server.received) == 1


def test_the_budget_ends_and_the_last_answer_is_the_error() -> None:
    with scripted([Scripted(503, RECOVERY)]) as server, connect(server.graph, retries=QUICK) as graph:
        with pytest.raises(og.errors.RecoveryRequired) as caught:
            graph.query(READ)
        assert (len(server.received), caught.value.operation_id) == (3, "X")


def test_a_wait_beyond_the_budget_is_not_waited() -> None:
    refused = Scripted(429, {"error": "enough"}, (("Retry-After", "3600"),))
    with scripted([refused]) as server, connect(server.graph, retries=QUICK) as graph:
        with pytest.raises(og.errors.TooManyRequests):
            graph.mutate(UPDATE)
        assert len(server.received) == 1


def test_a_server_that_is_not_there_is_unreachable_for_reads_and_writes_alike() -> None:
    with scripted([DROP]) as server:
        gone = server.graph
    graph = connect(gone, retries=QUICK)
    for call in (lambda: graph.query(READ), lambda: graph.mutate(UPDATE), lambda: graph.create_branch("b")):
        with pytest.raises(og.errors.ServerUnreachable):
            call()


def test_a_write_whose_answer_is_lost_has_an_unknown_outcome() -> None:
    with scripted([DROP]) as server, connect(server.graph, retries=QUICK) as graph:
        with pytest.raises(og.errors.OutcomeUnknown, match="the mutation"):
            graph.mutate(UPDATE)
        with pytest.raises(og.errors.OutcomeUnknown, match="the merge"):
            graph.merge("b")
        assert len(server.received) == 2


def test_a_redirect_is_not_followed_and_the_token_goes_nowhere_else() -> None:
    with scripted([Scripted(200, ROWS)]) as other:
        moved = Scripted(302, b"", (("Location", f"{other.graph}/query"),))
        with scripted([moved]) as server, connect(server.graph, token="secret", retries=QUICK) as graph:
            with pytest.raises(og.BadRequest, match="redirects are not followed"):
                graph.query(READ)
            assert server.received[0].headers["authorization"] == "Bearer secret"
        assert other.received == []


def test_the_token_is_in_no_message_and_in_no_representation() -> None:
    graph = connect("http://127.0.0.1:9/graphs/x", token="very-secret", retries=RetryBudget(attempts=1))
    with pytest.raises(og.errors.ServerUnreachable) as caught:
        graph.branches()
    assert "very-secret" not in f"{caught.value}{caught.value!r}{graph!r}{graph._transport.connection!r}"
    with pytest.raises(og.errors.InvalidServerAddress) as refused:
        connect("http://h/graphs/x", token="se\ncret")
    assert "cret" not in str(refused.value)


def test_a_server_without_conditional_writes_is_too_old() -> None:
    """`cli-50`: the request goes to the route of conditions, which an older server does not have."""
    with scripted([Scripted(404, b"")]) as server, connect(server.graph, retries=QUICK) as graph:
        with pytest.raises(og.NotFound):
            graph.mutate(UPDATE, if_commit="01J9Z8Q5W3V7C2B4N6M8K0H1G3")
        assert (server.received[0].method, server.received[0].path) == (
            "POST",
            "/graphs/library/mutate/if-graph-commit",
        )


def test_names_are_encoded_one_by_one() -> None:
    with scripted([Scripted(200, BRANCH)]) as server, connect(f"{server.base}/at/graphs/g", retries=QUICK) as graph:
        graph.delete_branch("etl/x/1")
        assert server.received[0].path == "/at/graphs/g/branches/etl%2Fx%2F1"


def test_rows_as_json_are_taken_from_a_server_without_arrow() -> None:
    document = ROWS | {"columns": ["a.handle", "n"], "rows": [{"a.handle": "x", "n": 2**60}], "row_count": 1}
    with scripted([Scripted(200, document | {"graph_commit_id": "c"})]) as server, connect(server.graph) as graph:
        result = graph.query(READ)
        assert (result.rows(), result.commit_id) == ([{"a.handle": "x", "n": 2**60}], "c")
        assert server.received[0].json == {"query": READ, "name": None, "params": None, "branch": "main"}


def test_an_export_that_breaks_off_is_an_error_and_a_baseline_leaves_nothing(tmp_path: Path) -> None:
    cut = Scripted(
        200, b'{"type":"Author","data":{"id":"a"}}\n{"type":"Au', (("Content-Type", "application/x-ndjson"),)
    )
    with scripted([cut]) as server, connect(server.graph, retries=QUICK) as graph:
        lines = graph.export()
        assert next(lines).endswith(b"\n")
        with pytest.raises(og.errors.ServerUnreachable):
            list(lines)
        (tmp_path / "b.jsonl").write_text("before")
        with pytest.raises(og.errors.ServerUnreachable):
            graph.baseline(tmp_path / "b.jsonl")
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("b.jsonl", "before")]


def test_an_insert_whose_answer_was_lost_is_there_once(server: HttpServer) -> None:
    """Through a proxy that loses the first answer of a real server."""
    with scripted([FORWARD, FORWARD_AND_DROP, FORWARD], behind=server.port) as proxy:
        graph = connect(proxy.graph, token="t-cy", retries=QUICK)
        draft = graph.create_branch("lossy", source="drafts")
        done = draft.mutate("query add($h: String) { insert Author { handle: $h } }", h="once")
        assert (done.replayed, done.affected_nodes) == (True, 1)
        assert draft.commits(limit=1)[0].commit_id == done.commit_id
        assert len(draft.commits()) == len(graph.commits("drafts")) + 1


def test_a_load_whose_answer_was_lost_is_there_once(server: HttpServer) -> None:
    with scripted([FORWARD, FORWARD_AND_DROP, FORWARD], behind=server.port) as proxy:
        graph: RemoteGraph = connect(proxy.graph, token="t-cy", retries=QUICK)
        draft = graph.create_branch("lossy2", source="drafts")
        done = draft.load([b'{"type":"Author","data":{"handle":"once"}}'], mode="append")
        assert (done.replayed, len(draft.commits())) == (True, len(graph.commits("drafts")) + 1)


def test_a_query_with_a_timeout_says_so_to_the_server() -> None:
    with scripted([Scripted(504, {"error": "the query took longer", "error_code": "query_timeout"})]) as server:
        begun = time.monotonic()
        with pytest.raises(og.OmniGraphError):
            connect(server.graph, retries=QUICK).query(READ, timeout=2.5)
        assert server.received[0].headers["omnigraph-timeout"] == "2.500"
        assert time.monotonic() - begun < 60
