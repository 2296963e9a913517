"""Stored queries, and the questions that the server asks the policy."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.policy import Action, PolicyRequest, compile_policy, parse_bundle
from policy.library import LIBRARY
from server.served_library import ADD_AUTHOR, G, library_server
from support.servers.http_server import TOKENS_JSON, Answer, HttpServer, serving

CONDITION = "Omnigraph-If-Graph-Commit"


def invoke(server: HttpServer, name: str, actor: str = "ann", body: Any = ..., **more: Any) -> Answer:
    return server.send("POST", f"{G}/queries/{name}", token=f"t-{actor}", json=body, **more)


def test_http_119_the_catalogue_is_sorted(library: HttpServer) -> None:
    queries = library.send("GET", f"{G}/queries", token="t-bo").json["queries"]
    assert [each["name"] for each in queries] == ["add_author", "all_authors", "born_after"]
    assert queries[0] == {
        "name": "add_author",
        "tool_name": "add_author",
        "mutation": True,
        "params": [
            {"name": "h", "kind": "string", "nullable": False, "type": "String"},
            {"name": "b", "kind": "int", "nullable": True, "type": "I32"},
        ],
    }


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b" "])
def test_http_120_an_invocation_needs_no_body(library: HttpServer, body: bytes) -> None:
    answer = library.send("POST", f"{G}/queries/all_authors", token="t-ann", body=body)
    assert (answer.status, answer.json["row_count"]) == (200, 3)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"branch":5}'])
def test_http_121_a_body_that_is_there_must_fit(library: HttpServer, body: bytes) -> None:
    answer = library.send("POST", f"{G}/queries/all_authors", token="t-ann", body=body)
    assert (answer.status, answer.json["error"].startswith("invalid stored-query invocation body")) == (400, True)


def test_http_122_a_query_that_may_not_be_run_is_one_that_does_not_exist(library: HttpServer) -> None:
    denied, unknown = invoke(library, "born_after", "bo", {}), invoke(library, "nope", "ann", {})
    told = b'{"error":"stored query not found","code":"not_found","error_code":"not_found"}'
    assert (denied.status, denied.body) == (404, told)
    assert (unknown.status, unknown.body) == (404, denied.body)


def test_http_123_who_may_run_it_may_not_read_by_it(library: HttpServer) -> None:
    assert invoke(library, "born_after", "iv", {"params": {"y": 1}}).status == 403
    assert invoke(library, "nope", "iv", {}).status == 404


def test_http_124_a_stored_mutation_needs_the_permission_to_change(scratch: HttpServer) -> None:
    assert invoke(scratch, "add_author", body={"params": {"h": "row124"}}).status == 403
    answer = invoke(scratch, "add_author", body={"params": {"h": "row124"}, "branch": "drafts"})
    assert (answer.status, answer.json["affected_nodes"], answer.json["branch"]) == (200, 1, "drafts")


def test_http_125_a_query_is_run_as_what_it_is(scratch: HttpServer) -> None:
    wrong = invoke(scratch, "all_authors", body={"expect_mutation": True})
    assert (wrong.status, wrong.json["error"]) == (400, "'all_authors' is a read — use omnigraph query all_authors")
    assert invoke(scratch, "add_author", body={"expect_mutation": False}).status == 400
    past = invoke(scratch, "add_author", body={"params": {"h": "x"}, "snapshot": "x"})
    assert (past.status, past.json["error"]) == (400, "stored mutation cannot target a snapshot")
    assert invoke(scratch, "all_authors/if-graph-commit", body={}, headers={CONDITION: "x"}).status == 400


def test_http_126_the_plain_route_refuses_a_condition(scratch: HttpServer) -> None:
    answer = invoke(scratch, "add_author", body={"params": {"h": "x"}}, headers={CONDITION: "x"})
    assert (answer.status, "if-graph-commit" in answer.json["error"]) == (400, True)


def test_http_127_a_stored_mutation_may_have_a_condition(scratch: HttpServer) -> None:
    read = scratch.send("POST", f"{G}/queries/all_authors", json={"branch": "drafts"}).json
    path, body = "add_author/if-graph-commit", {"params": {"h": "row127"}, "branch": "drafts"}
    assert invoke(scratch, path, body=body, headers={CONDITION: read["graph_commit_id"]}).status == 200
    assert invoke(scratch, path, body=body, headers={CONDITION: read["graph_commit_id"]}).status == 412


def test_http_131_the_server_and_the_graph_decide_the_same(scratch: HttpServer) -> None:
    policy = compile_policy(parse_bundle(LIBRARY), "library")
    graph = Graph.open(scratch.extra["cluster"].uri_of("library"), policy=policy)
    for actor, branch in itertools.product(("ann", "bo", "cy", "mo", "iv", "zed"), ("main", "drafts")):
        asked = PolicyRequest(action=Action.CHANGE, branch=branch)
        allowed = policy.authorize(actor, asked).allowed
        assert graph.as_actor(actor).allows("change", branch=branch) == allowed
        body = {"query": ADD_AUTHOR, "params": {"h": "row131"}, "branch": branch}
        assert (scratch.send("POST", f"{G}/mutate", token=f"t-{actor}", json=body).status == 200) == allowed


def test_a_rule_may_name_queries_and_the_catalogue_shows_those_alone(tmp_path: Path) -> None:
    rules = """version: 1
groups: {all: [ann, bo]}
rules:
  - {id: r, allow: {actors: {group: all}, actions: [read]}}
  - {id: q, allow: {actors: {group: all}, actions: [invoke_query], queries: [all_authors]}}
"""
    with library_server(tmp_path, policy=rules) as server:
        listed = server.send("GET", f"{G}/queries", token="t-ann").json["queries"]
        assert [each["name"] for each in listed] == ["all_authors"]
        assert invoke(server, "all_authors", "ann", {}).status == 200
        assert invoke(server, "born_after", "ann", {"params": {"y": 1}}).status == 404


def test_http_132_dates_are_text_in_rows_and_numbers_in_exports(tmp_path: Path) -> None:
    schema = "node Day { name: String @key  on: Date?  at: DateTime? }"
    graph = Graph.init(str(tmp_path / "days.omni"), schema, durability="os")
    command = ["-m", "omnigraph.cli", "serve", graph.uri, "--port", "0"]
    import sys

    with serving([sys.executable, *command], tmp_path, **{TOKENS_JSON: ""}) as server:
        texts = {"name": "text", "on": "2020-02-29", "at": "2020-02-29T12:00:00.250Z"}
        numbers = {"name": "number", "on": 18321, "at": 1582977600250}
        lines = "\n".join(json.dumps({"type": "Day", "data": data}) for data in (texts, numbers)).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        assert server.send("POST", "/graphs/days/load/ndjson", body=lines, headers=headers).status == 200
        query = "query q() { match { $d: Day } return { $d.on, $d.at } }"
        rows = server.send("POST", "/graphs/days/query", json={"query": query}).json["rows"]
        assert rows == [{"d.on": "2020-02-29", "d.at": "2020-02-29T12:00:00.250Z"}] * 2
        exported = server.send("POST", "/graphs/days/export", json={}).lines
        assert [(each["data"]["on"], each["data"]["at"]) for each in exported] == [(18321, 1582977600250)] * 2
        for dates, shown in (("raw", (18321, 1582977600250)), ("iso", ("2020-02-29", "2020-02-29T12:00:00.250Z"))):
            page = server.send("GET", f"/graphs/days/changes?start=beginning&dates={dates}").json
            properties = page["blocks"][0]["changes"][0]["after"]["properties"]
            assert (properties["on"], properties["at"]) == shown
        check_schema_change(server, schema)


def check_schema_change(server: HttpServer, schema: str) -> None:
    """A server of one graph changes its schema: no cluster owns it."""
    path, wider = "/graphs/days/schema/apply", schema.replace("at:", "note: String?  at:")
    done = server.send("POST", path, json={"schema_source": wider})
    assert (done.status, done.json["applied"], done.json["steps"][0]["kind"]) == (200, True, "add_property")
    assert list(done.json)[:6] == ["uri", "supported", "applied", "step_count", "graph_manifest_version", "steps"]
    assert server.send("GET", "/graphs/days/schema").json["schema_source"] == wider
    assert server.send("POST", path, json={"schema_source": wider}).json["applied"] is False
    assert server.send("POST", path, json={"schema_source": "node Day {"}).status == 400
    narrower = wider.replace("name: String @key", "name: I32 @key")
    assert server.send("POST", path, json={"schema_source": narrower}).status == 400
