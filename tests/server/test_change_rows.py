"""The change routes: what a commit changed, the feed, baselines."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from server.served_library import G, author
from support.servers.http_server import Answer, HttpServer

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def branch(scratch: HttpServer) -> str:
    """A branch of these tests' own."""
    assert scratch.send("POST", f"{G}/branches", json={"name": "feed"}).status == 200
    return "feed"


def load(server: HttpServer, branch: str, *handles: str) -> str:
    body = "\n".join(author(handle) for handle in handles).encode()
    answer = server.send("POST", f"{G}/load/ndjson?branch={branch}", body=body, headers=NDJSON)
    return str(answer.json["commit"]["graph_commit_id"])


def changes(server: HttpServer, query: str = "", **more: Any) -> Answer:
    return server.send("GET", f"{G}/changes{query}", **more)


def test_http_101_a_commit_is_told_page_by_page(scratch: HttpServer, branch: str) -> None:
    commit = load(scratch, branch, "p1", "p2", "p3")
    first = scratch.send("GET", f"{G}/commits/{commit}/changes?limit=2").json
    assert [each["id"] for each in first["changes"]] == ["p1", "p2"]
    assert first["cause"]["graph_commit_id"] == commit
    assert (first["cause"]["authored_branch"], first["cause"]["actor_id"]) == (branch, "cy")
    token = first["next_page_token"]
    second = scratch.send("GET", f"{G}/commits/{commit}/changes?limit=2&page_token={token}").json
    assert ([each["id"] for each in second["changes"]], "next_page_token" in second) == (["p3"], False)
    assert second["cause"] == first["cause"]
    assert first["changes"][0]["after"] == {"properties": {"born": None, "handle": "p1"}}
    assert "before" not in first["changes"][0]


@pytest.mark.parametrize("query", ["kind=table", "op=upsert", "max_bytes=1", "limit=0", "limit=x", "limit=1&limit=2"])
def test_http_102_filters_are_checked(scratch: HttpServer, branch: str, query: str) -> None:
    commit = load(scratch, branch, "f1")
    assert scratch.send("GET", f"{G}/commits/{commit}/changes?{query}").status == 400
    large = scratch.send("GET", f"{G}/commits/{commit}/changes?limit=8193")
    assert (large.status, large.json["resource_limit"]["resource"]) == (413, "commit_changes_page_changes")
    none = scratch.send("GET", f"{G}/commits/{commit}/changes?type=Nope")
    assert (none.status, none.json["changes"]) == (200, [])


def test_http_103_the_first_commit_has_nothing_to_compare_with(library: HttpServer) -> None:
    first = library.send("GET", f"{G}/commits").json["commits"][-1]["graph_commit_id"]
    answer = library.send("GET", f"{G}/commits/{first}/changes")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert answer.json["change_diff_refusal"] == {"reason": "parentless_commit", "graph_commit_id": first}


def test_http_105_the_feed_begins_now(library: HttpServer) -> None:
    document = changes(library).json
    assert (document["blocks"], document["caught_up"], "next_page_token" in document) == ([], True, False)
    assert document["cursor"]


def test_http_106_a_cursor_moves_over_whole_commits_alone(scratch: HttpServer, branch: str) -> None:
    cursor = changes(scratch, f"?branch={branch}").json["cursor"]
    load(scratch, branch, "c1", "c2")
    first = changes(scratch, f"?branch={branch}&cursor={cursor}&limit=1").json
    assert ("cursor" in first, len(first["blocks"][0]["changes"])) == (False, 1)
    token = first["next_page_token"]
    second = changes(scratch, f"?branch={branch}&page_token={token}&limit=1").json
    assert (second["caught_up"], second["blocks"][0]["changes"][0]["id"]) == (True, "c2")


def test_http_107_positions_are_checked(scratch: HttpServer, branch: str) -> None:
    cursor = changes(scratch, f"?branch={branch}").json["cursor"]
    load(scratch, branch, "q1", "q2")
    token = changes(scratch, f"?branch={branch}&cursor={cursor}&limit=1").json["next_page_token"]
    for query in ("start=later", "start=after:", "start=after:nope", f"cursor={cursor}&start=now"):
        assert changes(scratch, f"?branch={branch}&{query}").status == 400
    for query in (f"cursor={token}", f"cursor={cursor}&kind=node"):
        answer = changes(scratch, f"?branch={branch}&{query}")
        assert (answer.status, answer.json["error"].startswith("change cursor rejected")) == (400, True)
    unknown = changes(scratch, "?nope=1")
    assert (unknown.status, unknown.json["error"]) == (400, "unknown query parameter 'nope'")


def test_http_109_a_baseline_ends_with_the_cursor_that_continues_it(scratch: HttpServer, branch: str) -> None:
    assert scratch.send("POST", f"{G}/changes/baseline", token="t-bo", json={}).status == 403
    answer = scratch.send("POST", f"{G}/changes/baseline", json={"branch": branch})
    assert (answer.status, answer.header("Content-Type")) == (200, "application/x-ndjson; charset=utf-8")
    *rows, last = answer.lines
    assert all("baseline" not in row for row in rows)
    commit = load(scratch, branch, "after-baseline")
    page = changes(scratch, f"?branch={branch}&cursor={quote(last['baseline']['resume_cursor'])}").json
    assert page["blocks"][0]["cause"]["graph_commit_id"] == commit
    unknown = scratch.send("POST", f"{G}/changes/baseline", json={"type": ["Nope"]})
    assert unknown.status == 400


def test_http_110_reclaimed_history_is_gone(tmp_path: Any) -> None:
    from omnigraph.graph import Graph
    from server.served_library import library_server

    with library_server(tmp_path) as server:
        graph = Graph.open(server.extra["cluster"].uri_of("library"))
        graph.delete_branch("drafts")  # a branch keeps what a merge of it would need
        graph.load([author("g0").encode()], mode="merge")
        cursor = graph.changes().cursor
        for handle in ("g1", "g2", "g3"):  # by another process: a server that wrote them has them in memory
            graph.load([author(handle).encode()], mode="merge")
        assert graph.cleanup(keep_versions=1, grace=0, confirm=True).versions > 0
        answer = changes(server, f"?cursor={cursor}")
        assert (answer.status, "code" in answer.json) == (410, False)
        assert answer.json["change_feed_gap"]["cursor"] == cursor


def test_change_routes_use_no_word_of_the_storage(library: HttpServer) -> None:
    forbidden = {
        "table_key",
        "stable_table_id",
        "table_incarnation_id",
        "manifest_version",
        "table_version",
        "table_branch",
        "table_path",
        "row_addr",
        "part",
        "commit_complete",
        "change_index",
        "max_bytes",
    }
    document = library.send("GET", "/openapi.json").json
    schemas, seen = document["components"]["schemas"], set()

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            reference = value.get("$ref", "").rpartition("/")[2]
            if reference and reference not in seen:
                seen.add(reference)
                visit(schemas[reference])
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)

    for path in ("/commits/{commit_id}/changes", "/changes", "/changes/baseline"):
        visit(document["paths"]["/graphs/{graph_id}" + path])
    assert "ErrorOutput" not in seen
    assert not forbidden & {name for each in seen for name in schemas[each].get("properties", {})}
    assert json.dumps(sorted(seen)).count("Change") > 5
