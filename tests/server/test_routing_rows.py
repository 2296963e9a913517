"""Routing, the API document, and who a caller is."""

from __future__ import annotations

import pytest

from server.served_library import ADD_AUTHOR, G
from support.servers.http_server import HttpServer


def test_http_14_health_needs_no_token(library: HttpServer) -> None:
    answer = library.send("GET", "/healthz", token=None)
    assert (answer.status, answer.json) == (200, {"status": "ok", "version": "0.10.0", "internal_schema_version": 4})


def test_http_15_the_document_has_every_path_of_the_contract(library: HttpServer) -> None:
    from server.contract import PATHS

    answer = library.send("GET", "/openapi.json", token=None)
    document = answer.json
    assert (answer.status, document["openapi"]) == (200, "3.1.0")
    assert set(document["paths"]) >= PATHS
    assert len(PATHS) == 26
    assert document["components"]["securitySchemes"] == {"bearer_token": {"type": "http", "scheme": "bearer"}}


def test_http_16_an_open_server_asks_for_no_token_in_its_document(opened: HttpServer) -> None:
    document = opened.send("GET", "/openapi.json").json
    assert "securitySchemes" not in document["components"]
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert not any("security" in operation for operation in operations)


@pytest.mark.parametrize("path", ["/snapshot", "/", "/graphs/", f"{G}/query/", f"{G}", "/graphs/library//schema"])
def test_http_18_an_unknown_path_is_not_found_before_anything_is_asked(library: HttpServer, path: str) -> None:
    answer = library.send("GET", path, token=None)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_http_19_an_unknown_graph_is_told_to_known_callers_alone(library: HttpServer) -> None:
    known = library.send("GET", "/graphs/nope/schema")
    assert (known.status, known.json["error"]) == (404, "graph 'nope' not found")
    assert library.send("GET", "/graphs/nope/schema", token=None).status == 401


@pytest.mark.parametrize("name", ["my_graph", "healthz", "libr%61ry", "", "a" * 65, "policies", "%2e%2e"])
def test_http_20_what_is_no_graph_id_is_refused(library: HttpServer, name: str) -> None:
    answer = library.send("GET", f"/graphs/{name}/schema")
    assert (answer.status, answer.json["code"]) == (400, "bad_request")


def test_http_21_a_wrong_method_names_the_right_ones(library: HttpServer) -> None:
    answer = library.send("PUT", f"{G}/query", json={})
    assert (answer.status, answer.header("Allow"), answer.json["code"]) == (405, "POST", "method_not_allowed")
    assert library.send("OPTIONS", f"{G}/branches").header("Allow") == "GET, HEAD, POST"
    assert library.send("PUT", f"{G}/query", token=None).status == 401
    assert library.send("PUT", "/graphs/nope/query").status == 404


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "missing bearer token"),
        ("Basic x", "missing bearer token"),
        ("bearer t-bo", "missing bearer token"),
        ("Bearer", "missing bearer token"),
        ("Bearer nope", "invalid bearer token"),
        ("Bearer  t-bo", "invalid bearer token"),
    ],
)
def test_http_22_only_a_bearer_token_says_who_asks(library: HttpServer, header: str | None, reason: str) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = library.send("GET", f"{G}/branches", token=None, headers=headers)
    told = {"error": reason, "code": "unauthorized", "error_code": "not_authenticated"}
    assert (answer.status, answer.json) == (401, told)
    assert answer.header("WWW-Authenticate") == 'Bearer realm="omnigraph"'


def test_http_23_a_header_cannot_forge_an_actor(library: HttpServer) -> None:
    answer = library.send("POST", f"{G}/export", token="t-bo", json={}, headers={"X-Actor-Id": "cy"})
    assert (answer.status, answer.json["code"]) == (403, "forbidden")


def test_http_24_an_actor_without_a_group_is_denied(library: HttpServer) -> None:
    answer = library.send("GET", f"{G}/snapshot", token="t-zed")
    assert (answer.status, "unknown actor 'zed'" in answer.json["error"]) == (403, True)


def test_http_25_the_list_of_graphs_needs_its_own_permission(library: HttpServer) -> None:
    assert library.send("GET", "/graphs", token="t-bo").status == 403
    answer = library.send("GET", "/graphs")
    assert [each["graph_id"] for each in answer.json["graphs"]] == ["library", "spare"]
    assert answer.json["graphs"][0]["uri"] == library.extra["cluster"].uri_of("library")


def test_http_26_an_open_server_does_not_list_its_graphs(opened: HttpServer) -> None:
    assert opened.send("GET", "/graphs").status == 403


def test_http_27_a_graph_without_a_policy_may_only_be_read(library: HttpServer) -> None:
    denied = library.send("POST", "/graphs/spare/mutate", json={"query": ADD_AUTHOR, "params": {"h": "x"}})
    assert (denied.status, "default-deny" in denied.json["error"]) == (403, True)
    assert library.send("GET", "/graphs/spare/snapshot").status == 200


def test_http_28_an_open_server_writes_without_an_actor(opened: HttpServer) -> None:
    answer = opened.send("POST", f"{G}/mutate", json={"query": ADD_AUTHOR, "params": {"h": "lem"}})
    assert (answer.status, answer.json["actor_id"], answer.json["commit"]["actor_id"]) == (200, None, None)


def test_a_request_id_is_echoed_or_made(library: HttpServer) -> None:
    given = library.send("GET", "/healthz", headers={"X-Request-Id": "my-id-7"})
    assert given.header("X-Request-Id") == "my-id-7"
    made = library.send("GET", "/healthz", headers={"X-Request-Id": "bad id"}).header("X-Request-Id")
    assert made is not None
    assert len(made) == 26
    library.send(
        "GET", f"{G}/schema", headers={"X-Request-Id": "look-for-me", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    )
    assert f"trace_id={'a' * 32}" in library.logged("look-for-me", " request ")


def test_get_routes_answer_head_without_a_body(library: HttpServer) -> None:
    got, head = (library.send(method, f"{G}/schema") for method in ("GET", "HEAD"))
    assert (head.status, head.body, head.header("Content-Length")) == (200, b"", str(len(got.body)))
