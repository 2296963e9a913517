"""Loads and exports."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from server.served_library import SCHEMA, G, author, book, library_server, wrote
from support.servers.http_server import Answer, HttpServer

NDJSON = {"Content-Type": "application/x-ndjson"}


def load(server: HttpServer, actor: str = "ann", path: str = "/load", **body: Any) -> Answer:
    return server.send("POST", f"{G}{path}", token=f"t-{actor}", json=body)


def lines(server: HttpServer, *records: str, actor: str = "ann", query: str = "branch=drafts", **more: Any) -> Answer:
    body = "\n".join(records).encode()
    headers = NDJSON | more.pop("headers", {})
    return server.send("POST", f"{G}/load/ndjson?{query}", token=f"t-{actor}", body=body, headers=headers)


def branches(server: HttpServer) -> list[str]:
    return list(server.send("GET", f"{G}/branches").json["branches"])


def test_http_65_a_load_merges_by_default(scratch: HttpServer) -> None:
    answer = load(scratch, branch="drafts", data=author("row65"))
    document = answer.json
    assert (answer.status, document["mode"], document["base_branch"], document["branch_created"]) == (
        200,
        "merge",
        None,
        False,
    )
    assert document["nodes"] == [{"name": "Author", "entities_loaded": 1}]
    assert (document["total_entities"], document["commit"]["graph_branch"]) == (1, "drafts")


def test_http_66_a_missing_branch_needs_a_source(scratch: HttpServer) -> None:
    answer = load(scratch, branch="row66", data=author("x"))
    assert (answer.status, answer.json["error"]) == (404, "branch 'row66' not found; pass `from` to create it")
    assert "row66" not in branches(scratch)


def test_http_67_a_branch_is_made_for_a_load_and_goes_with_it(scratch: HttpServer) -> None:
    answer = load(scratch, branch="row67", **{"from": "main"}, data=author("x"))
    assert (answer.status, answer.json["branch_created"], answer.json["base_branch"]) == (200, True, "main")
    for data in ('{"type":"Author"', '{"type":"Nothing","data":{}}'):
        failed = load(scratch, branch="row67b", **{"from": "main"}, data=data)
        assert failed.status == 400
    assert "row67b" not in branches(scratch)


def test_http_68_making_a_branch_needs_its_own_permission(scratch: HttpServer) -> None:
    answer = load(scratch, "bo", branch="row68", **{"from": "main"}, data=author("x"))
    assert (answer.status, "branch_create" in answer.json["error"]) == (403, True)


def test_http_69_a_source_means_nothing_for_a_branch_that_exists(scratch: HttpServer) -> None:
    answer = load(scratch, branch="drafts", **{"from": "whatever"}, data=author("row69"))
    assert (answer.status, answer.json["base_branch"], answer.json["branch_created"]) == (200, "whatever", False)


def test_http_70_the_older_route_says_what_replaces_it(scratch: HttpServer) -> None:
    answer = load(scratch, path="/ingest", branch="drafts", data=author("row70"))
    assert (answer.status, answer.header("Link")) == (200, '<load>; rel="successor-version"')


def test_http_71_an_envelope_that_is_too_large_is_refused(scratch: HttpServer) -> None:
    answer = scratch.send(
        "POST", f"{G}/load", body=b"", headers={"Content-Type": "application/json", "Content-Length": str(33 << 20)}
    )
    assert (answer.status, answer.json["code"]) == (413, "bad_request")


def test_an_envelope_takes_records_in_any_layout(scratch: HttpServer) -> None:
    pretty = json.dumps({"type": "Author", "data": {"handle": "pretty", "unknown": 1}, "more": 2}, indent=2)
    answer = load(scratch, branch="drafts", data=f"\n{pretty} {author('beside')}\n")
    assert (answer.status, answer.json["total_entities"]) == (200, 2)
    wrong = load(scratch, branch="drafts", data=f"{pretty}\n\n" + '{"type":"Author","data":{"handle":"w","born":"7"}}')
    assert (wrong.status, "born" in wrong.json["error"]) == (400, True)
    assert wrong.json["violations"][0]["line"] == len(pretty.splitlines()) + 2


def test_http_72_lines_become_one_commit(scratch: HttpServer) -> None:
    records = author("row72"), book("row72", "T"), wrote("row72", "row72")
    answer = lines(scratch, *records, query="branch=drafts&mode=append")
    assert (answer.status, answer.json["total_entities"]) == (200, 3)
    assert b"table_key" not in answer.body
    assert b'"uri"' not in answer.body


def test_http_73_an_appended_id_must_be_new(scratch: HttpServer) -> None:
    answer = lines(scratch, author("borges"), query="branch=drafts&mode=append")
    assert (answer.status, answer.json["error"]) == (409, "node type 'Author' already has id 'borges'")
    assert answer.json["key_conflict"] == {"entity_kind": "node", "type_name": "Author", "entity_id": "borges"}


def test_http_74_a_line_that_is_no_json_is_named(scratch: HttpServer) -> None:
    answer = lines(scratch, author("row74"), "not-json")
    assert (answer.status, "line 2" in answer.json["error"]) == (400, True)
    assert b"row74" not in scratch.send("POST", f"{G}/export", json={"branch": "drafts"}).body


@pytest.mark.parametrize(
    "record",
    [
        '{"type":"Author","data":{"handle":"x","nope":1}}',
        '{"type":"Author","data":{"handle":"x","_rowid":1}}',
        '{"type":"Author","data":{"handle":"x","handle":"y"}}',
        '{"type":"Author","edge":"Wrote","data":{}}',
        '{"edge":"Wrote","from":"borges","to":"b1","data":{"src":"borges"}}',
        '{"type":"Author","data":{"id":"other","handle":"x"}}',
        '{"type":"Author","data":{"handle":"x","born":"1900"}}',
    ],
)
def test_http_75_every_violation_has_its_line(scratch: HttpServer, record: str) -> None:
    answer = lines(scratch, "", author("row75"), record)
    assert (answer.status, "line 3" in answer.json["error"]) == (400, True)


def test_http_76_lines_have_their_own_content_type(scratch: HttpServer) -> None:
    assert lines(scratch, author("x"), headers={"Content-Type": "application/json"}).status == 415
    assert lines(scratch, author("row76"), headers={"Content-Type": "Application/X-NDJSON; x=y"}).status == 200


def test_http_77_lines_that_are_too_many_are_refused_before_they_are_read(scratch: HttpServer) -> None:
    headers = NDJSON | {"Content-Length": "33554433"}
    answer = scratch.send("POST", f"{G}/load/ndjson?branch=drafts", body=b"", headers=headers)
    assert answer.status == 413
    assert answer.json["resource_limit"] == {
        "resource": "graph_batch_request_bytes",
        "limit": 33554432,
        "actual": 33554433,
    }


def test_http_78_who_may_not_write_is_told_before_the_body_is_read(scratch: HttpServer) -> None:
    """A client that waits to be asked for its body is never asked."""
    with scratch.raw() as connection:
        head = f"POST {G}/load/ndjson?branch=drafts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-bo\r\n"
        head += "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head.encode())
        first = connection.recv(65536)
    assert first.startswith(b"HTTP/1.1 403")


def test_http_79_an_unknown_mode_is_refused(scratch: HttpServer) -> None:
    answer = lines(scratch, author("x"), query="branch=drafts&mode=upsert")
    assert (answer.status, answer.json["code"]) == (400, "bad_request")


def test_http_80_replaced_a_load_has_no_limit_of_rows(scratch: HttpServer) -> None:
    """The contract had a ceiling of 8,192 entities; a load has none here but the size of its body."""
    scratch.send("POST", f"{G}/branches", json={"name": "row80"})
    records = [book(f"row80-{number}", "T") for number in range(8193)]
    answer = lines(scratch, *records, query="branch=row80")
    assert (answer.status, answer.json["total_entities"]) == (200, 8193)


def test_http_81_an_export_is_ordered_by_id(library: HttpServer) -> None:
    answer = library.send("POST", f"{G}/export", json={"type_names": ["Author"]})
    assert (answer.status, answer.header("Content-Type")) == (200, "application/x-ndjson; charset=utf-8")
    assert [each["data"]["id"] for each in answer.lines] == ["borges", "calvino", "le-guin"]
    assert answer.lines[0] == {"type": "Author", "data": {"id": "borges", "born": 1899, "handle": "borges"}}


def test_http_82_an_export_that_makes_no_sense_is_refused_before_it_begins(library: HttpServer) -> None:
    unknown = library.send("POST", f"{G}/export", json={"type_names": ["Nope"]})
    assert (unknown.status, unknown.json["error"]) == (400, "unknown export type 'Nope'")
    assert library.send("POST", f"{G}/export", json={"table_keys": []}).status == 400
    assert library.send("POST", f"{G}/export", body=b"{}", headers={"Content-Type": "text/plain"}).status == 415
    assert library.send("POST", f"{G}/export", json={"branch": "zzz"}).status == 404


def unread_export(server: HttpServer, path: str = G, branch: str = "big") -> http.client.HTTPConnection:
    """An export whose body nobody takes: the client has read the head alone."""
    body = json.dumps({"branch": branch}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer t-cy"}
    for _ in range(200):  # the stream of an earlier test may still unwind
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", f"{path}/export", body=body, headers=headers)
        if connection.getresponse().status == 200:
            return connection
        connection.close()
    raise AssertionError("there is no room for a stream")


@pytest.fixture(scope="module")
def with_much(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A branch whose export does not fit into the buffers of a connection."""
    folder = tmp_path_factory.mktemp("much")
    with library_server(folder) as server:
        graph = Graph.open(server.extra["cluster"].uri_of("library"), durability="os")
        graph.create_branch("big")
        many = (book(f"much-{number:06}", "x" * 4000).encode() for number in range(6000))
        graph.load(list(many), mode="merge", branch="big", engine="local")
        yield server


def test_http_83_replaced_exports_run_beside_each_other(with_much: HttpServer) -> None:
    """The contract had one export per graph; a snapshot is pinned here, so nobody waits. Its branch stays meanwhile."""
    first = unread_export(with_much)
    try:
        second = with_much.send("POST", f"{G}/export", json={"type_names": ["Author"]})
        assert (second.status, len(second.lines)) == (200, 3)
        assert with_much.send("POST", f"{G}/branches", json={"name": "beside"}).status == 200
        kept = with_much.send("DELETE", f"{G}/branches/big")
        assert (kept.status, kept.json["resource_limit"]["resource"]) == (413, "stream_export_slots")
    finally:
        first.close()


def test_http_84_streams_of_a_process_have_a_budget(with_much: HttpServer) -> None:
    """Eight at once, of whatever graphs; the ninth waits a moment and is refused."""
    held = [unread_export(with_much) for _ in range(8)]
    try:
        answer = with_much.send("POST", f"{G}/export", json={"branch": "big"})
        assert answer.status == 413
        assert answer.json["resource_limit"] == {
            "resource": "stream_export_transport_bytes",
            "limit": 2097152,
            "actual": 2359296,
        }
    finally:
        for connection in held:
            connection.close()
    for _ in range(200):  # the producers of clients that have gone unwind, and their room is there again
        again = with_much.send("POST", f"{G}/export", json={"type_names": ["Author"]})
        if again.status == 200:
            break
    assert (again.status, len(again.lines)) == (200, 3)


def test_http_85_an_export_loads_into_a_fresh_graph_and_exports_the_same(library: HttpServer, tmp_path: Path) -> None:
    exported = library.send("POST", f"{G}/export", json={"type_names": ["Author", "Wrote"]}).body
    books = library.send("POST", f"{G}/export", json={"type_names": ["Book"]}).lines
    plain = "\n".join(json.dumps(each) for each in books if each["data"]["id"] != "b4").encode() + b"\n"
    whole = b"".join(sorted((exported + plain).splitlines(keepends=True), key=lambda line: b'"edge"' in line))
    fresh = Graph.init(str(tmp_path / "fresh.omni"), SCHEMA, durability="os")
    fresh.load(whole.splitlines(keepends=True), mode="overwrite", engine="local")
    assert b"".join(fresh.export(types=["Author", "Wrote"])) == exported


def test_http_86_external_blobs_must_lie_where_they_may(scratch: HttpServer) -> None:
    outside = lines(scratch, book("row86", "T", cover="s3://elsewhere/x.png"))
    assert outside.status == 400
    assert "s3://elsewhere" in outside.json["error"]
    missing = f"file://{scratch.extra['folder']}/assets/missing.png"
    answer = lines(scratch, book("row86", "T", cover=missing))
    assert (answer.status, "code" in answer.json) == (424, False)
    assert answer.json["external_blob_source"]["uri"] == missing


def test_a_chunked_body_is_charged_as_it_arrives(tmp_path: Path) -> None:
    with library_server(tmp_path, "--load-body-max", "5000") as server, server.raw() as connection:
        head = f"POST {G}/load/ndjson?branch=drafts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-ann\r\n"
        head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        for _ in range(6):
            connection.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


def test_dates_come_as_text_when_they_are_asked_for(library: HttpServer) -> None:
    assert library.send("POST", f"{G}/export?dates=iso", json={"type_names": ["Author"]}).status == 200
    assert library.send("POST", f"{G}/export?dates=nice", json={}).status == 400
