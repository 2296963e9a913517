"""Reads: snapshots, queries, the schema."""

from __future__ import annotations

from typing import Any

import pytest

from server.served_library import ADD_AUTHOR, ALL_AUTHORS, BORN_AFTER, TOKENS, G, library_server
from support.servers.http_server import TOKENS_JSON, HttpServer, to_bytes

TWO = f"{ALL_AUTHORS}\n{BORN_AFTER}"


def ask(server: HttpServer, path: str = "/query", **body: Any) -> Any:
    return server.send("POST", f"{G}{path}", json={"query": BORN_AFTER, "params": {"y": 1900}, **body})


def test_http_29_a_snapshot_lists_edges_before_nodes(library: HttpServer) -> None:
    answer = library.send("GET", f"{G}/snapshot", token="t-bo")
    document = answer.json
    assert (answer.status, document["graph_branch"], document["internal_schema_version"]) == (200, "main", 4)
    assert [(each["entity_kind"], each["type_name"]) for each in document["datasets"]] == [
        ("edge", "Wrote"),
        ("node", "Author"),
        ("node", "Book"),
    ]
    book = document["datasets"][2]
    assert (book["entity_count"], book["native_dataset_branch"]) == (4, None)
    assert list(book) == [
        "entity_kind",
        "type_name",
        "dataset_path",
        "published_dataset_version",
        "native_dataset_branch",
        "entity_count",
    ]


def test_http_30_a_missing_branch_is_named(library: HttpServer) -> None:
    answer = library.send("GET", f"{G}/snapshot?branch=zzz")
    assert (answer.status, answer.json["error"]) == (404, "branch 'zzz' not found")


def test_http_31_a_query_answers_with_its_columns_and_commit(library: HttpServer) -> None:
    answer = ask(library)
    document = answer.json
    assert (answer.status, document["row_count"], document["columns"]) == (200, 1, ["a.handle", "a.born"])
    assert document["rows"] == [{"a.handle": "le-guin", "a.born": 1929}]
    assert len(document["graph_commit_id"]) == 26
    assert answer.header("Deprecation") is None


def test_http_32_an_integer_may_come_as_decimal_text(library: HttpServer) -> None:
    assert ask(library, params={"y": "1900"}).json["row_count"] == 1


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"y": True}, "'y'"), ([1], "params must be a JSON object"), ({"y": None}, "y")],
)
def test_http_33_parameters_that_do_not_fit_are_named(library: HttpServer, params: Any, reason: str) -> None:
    answer = ask(library, params=params)
    assert (answer.status, answer.json["code"], reason in answer.json["error"]) == (400, "bad_request", True)


def test_http_34_a_missing_parameter_is_named(library: HttpServer) -> None:
    answer = ask(library, params={})
    assert (answer.status, "parameter 'y' not provided" in answer.json["error"]) == (400, True)


def test_undeclared_parameters_are_ignored_over_http(library: HttpServer) -> None:
    assert ask(library, params={"y": 1900, "$y": 5, "other": {"deep": 1}}).json["row_count"] == 1


def test_http_35_one_query_of_several_is_chosen_by_its_name(library: HttpServer) -> None:
    unnamed, wrong = ask(library, query=TWO), ask(library, query=TWO, name="nope")
    assert (unnamed.status, "multiple queries" in unnamed.json["error"]) == (400, True)
    assert (wrong.status, wrong.json["error"]) == (400, "query 'nope' not found")
    assert ask(library, query=TWO, name="all_authors", params={}).json["row_count"] == 3


def test_http_36_a_mutation_is_sent_elsewhere(library: HttpServer) -> None:
    answer = ask(library, query=ADD_AUTHOR, params={"h": "x"})
    assert answer.status == 400
    assert "contains mutations" in answer.json["error"]
    assert "POST /mutate" in answer.json["error"]


def test_http_37_a_text_that_does_not_parse_is_told_with_its_place(library: HttpServer) -> None:
    answer = ask(library, query="query q( {")
    assert (answer.status, answer.json["error"].startswith("parse error")) == (400, True)


def test_http_38_branch_and_snapshot_exclude_each_other(library: HttpServer) -> None:
    answer = ask(library, branch="main", snapshot="x")
    assert (answer.status, "not both" in answer.json["error"]) == (400, True)


def test_http_39_the_first_commit_is_empty(library: HttpServer) -> None:
    first = library.send("GET", f"{G}/commits").json["commits"][-1]["graph_commit_id"]
    document = ask(library, snapshot=first).json
    assert (document["row_count"], document["target"]) == (0, {"branch": None, "snapshot": first})


def test_http_40_an_unknown_snapshot_is_not_found(library: HttpServer) -> None:
    answer = ask(library, snapshot="nope")
    assert (answer.status, answer.json["error"]) == (404, "commit 'nope' not found")


def test_http_41_a_body_that_is_too_large_is_refused(library: HttpServer) -> None:
    answer = library.send("POST", f"{G}/query", body=b"x" * 1_100_000, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["code"]) == (413, "bad_request")


def test_http_42_another_content_type_is_refused(library: HttpServer) -> None:
    answer = library.send("POST", f"{G}/query", body=b"{}", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.json["code"]) == (415, "bad_request")
    headers = {"Content-Type": "application/vnd.x+json; charset=utf-8"}
    assert library.send("POST", f"{G}/query", body=to_bytes({"query": ALL_AUTHORS}), headers=headers).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"query":5}',
        b"{}",
        b"[]",
        b'["query q() {}",null,null,null,null]',
        b"{",
        b"",
        b'{"query":"a","query":"b"}',
        b'{"query":"\xff"}',
        b'{"query":NaN}',
        b'{"query":"a","name":7}',
    ],
)
def test_http_43_a_body_of_another_shape_is_refused_with_json(library: HttpServer, body: bytes) -> None:
    answer = library.send("POST", f"{G}/query", body=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["code"]) == (400, "bad_request")


def test_http_44_the_older_route_keeps_its_bytes_and_says_what_replaces_it(library: HttpServer) -> None:
    body = {"query_source": BORN_AFTER, "params": {"y": 1900}}
    answer = library.send("POST", f"{G}/read", json=body)
    assert answer.body == (
        b'{"query_name":"born_after","target":{"branch":"main","snapshot":null},"row_count":1,'
        b'"columns":["a.handle","a.born"],"rows":[{"a.handle":"le-guin","a.born":1929}]}'
    )
    assert answer.header("Deprecation") == "true"
    assert answer.header("Link") == '<query>; rel="successor-version"'
    refused = library.send("POST", f"{G}/read", json={})
    assert (refused.status, refused.header("Deprecation")) == (400, "true")


def test_http_45_the_schema_is_its_text(library: HttpServer) -> None:
    answer = library.send("GET", f"{G}/schema", token="t-bo")
    assert (answer.status, "node Author" in answer.json["schema_source"]) == (200, True)


PROTECTED = """version: 1
groups: {some: [pat], others: [una]}
protected_branches: [main]
rules:
  - {id: r, allow: {actors: {group: some}, actions: [read], branch_scope: protected}}
  - {id: u, allow: {actors: {group: others}, actions: [read, change], branch_scope: unprotected}}
"""


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import json

    with library_server(
        tmp_path_factory.mktemp("scoped"), policy=PROTECTED, **{TOKENS_JSON: json.dumps(TOKENS)}
    ) as server:
        yield server


def test_http_46_a_question_without_a_branch_fits_no_rule_about_branches(scoped: HttpServer) -> None:
    commits = scoped.send("GET", f"{G}/commits", token="t-pat")
    one = commits.json["commits"][0]["graph_commit_id"]
    assert scoped.send("GET", f"{G}/schema", token="t-pat").status == 403
    assert commits.status == 200
    assert scoped.send("GET", f"{G}/commits/{one}", token="t-pat").status == 403


def test_http_104_a_commit_that_may_not_be_read_is_one_that_does_not_exist(scoped: HttpServer) -> None:
    made = scoped.send(
        "POST", f"{G}/mutate", token="t-una", json={"query": ADD_AUTHOR, "params": {"h": "x"}, "branch": "drafts"}
    ).json["commit"]["graph_commit_id"]
    denied, unknown = (scoped.send("GET", f"{G}/commits/{commit}/changes", token="t-pat") for commit in (made, "nope"))
    assert (denied.status, denied.json["code"]) == (404, "not_found")
    assert (unknown.status, unknown.json["code"]) == (404, "not_found")
    for commit in (made, "nope"):
        answer = scoped.send("POST", f"{G}/query", token="t-pat", json={"query": ALL_AUTHORS, "snapshot": commit})
        assert (answer.status, answer.json["error"]) == (404, f"commit '{commit}' not found")


def test_http_108_a_padded_name_is_judged_as_the_branch_that_it_names(scoped: HttpServer) -> None:
    assert scoped.send("GET", f"{G}/changes?branch=%20main%20", token="t-una").status == 403
    assert scoped.send("GET", f"{G}/changes?branch=%20drafts%20", token="t-una").status == 200


def test_rows_come_as_arrow_when_they_are_asked_for(library: HttpServer) -> None:
    import pyarrow as pa

    headers = {"Accept": "application/vnd.apache.arrow.stream", "Content-Type": "application/json"}
    answer = library.send("POST", f"{G}/query", body=to_bytes({"query": ALL_AUTHORS}), headers=headers)
    assert answer.header("Content-Type") == "application/vnd.apache.arrow.stream"
    assert answer.header("Omnigraph-Query-Name") == "all_authors"
    table = pa.ipc.open_stream(answer.body).read_all()
    assert table.to_pylist() == [{"a.handle": "borges"}, {"a.handle": "calvino"}, {"a.handle": "le-guin"}]


def test_a_query_that_takes_longer_than_it_may_is_ended(library: HttpServer) -> None:
    body = to_bytes({"query": "query q() { match { $a: Author $b: Author $c: Book } return { count($a) as n } }"})
    headers = {"Omnigraph-Timeout": "0.001", "Content-Type": "application/json"}
    answer = library.send("POST", f"{G}/query", body=body, headers=headers)
    assert answer.status in (200, 504)
    assert library.send("POST", f"{G}/query", body=body, headers=headers | {"Omnigraph-Timeout": "soon"}).status == 400


def test_big_integers_come_as_text_when_they_are_asked_for(library: HttpServer) -> None:
    body = to_bytes({"query": "query q() { match { $a: Author } return { count($a) as n, sum($a.born) as s } }"})
    headers = {"Accept": "application/json; int64=string", "Content-Type": "application/json"}
    assert library.send("POST", f"{G}/query", body=body, headers=headers).json["rows"][0]["n"] == "3"
