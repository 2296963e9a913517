"""Blobs: bytes, ranges, conditions, external values."""

from __future__ import annotations

import pytest

from server.served_library import G
from support.servers.http_server import Answer, HttpServer


def blob(server: HttpServer, name: str = "b1", method: str = "GET", query: str = "", **headers: str) -> Answer:
    path = f"{G}/blob?entity=node&type=Book&id={name}&property=cover{query}"
    return server.send(method, path, headers={key.replace("_", "-"): value for key, value in headers.items()})


def test_http_111_a_blob_has_a_size_and_a_tag(library: HttpServer) -> None:
    answer = blob(library)
    assert (answer.status, answer.body, answer.header("Content-Length")) == (200, b"Hello World", "11")
    assert answer.header("Content-Type") == "application/octet-stream"
    assert answer.header("Accept-Ranges") == "bytes"
    etag = answer.header("ETag") or ""
    assert (etag[0], etag[-1]) == ('"', '"')
    assert answer.header("Omnigraph-Snapshot-Id")


@pytest.mark.parametrize(
    ("asked", "status", "body", "shown"),
    [
        ("bytes=1-4", 206, b"ello", "bytes 1-4/11"),
        ("bytes=6-", 206, b"World", "bytes 6-10/11"),
        ("bytes=-5", 206, b"World", "bytes 6-10/11"),
        ("BYTES=0-999", 206, b"Hello World", "bytes 0-10/11"),
        ("bytes=0-1,3-4", 200, b"Hello World", None),
        ("bytes=4-1", 200, b"Hello World", None),
        ("bytes= 1-4", 200, b"Hello World", None),
        ("items=1-4", 200, b"Hello World", None),
        ("bytes=1-99999999999999999999999", 200, b"Hello World", None),
        ("bytes=-", 200, b"Hello World", None),
    ],
)
def test_http_112_a_range_is_one_part(library: HttpServer, asked: str, status: int, body: bytes, shown: str) -> None:
    answer = blob(library, Range=asked)
    assert (answer.status, answer.body, answer.header("Content-Range")) == (status, body, shown)


@pytest.mark.parametrize(
    ("name", "asked", "start", "end", "length"),
    [
        pytest.param("b1", "bytes=99-", 99, 11, 11, id="http-113"),
        pytest.param("b1", "bytes=99-100", 99, 101, 11, id="http-113-both"),
        pytest.param("b1", "bytes=-0", 11, 11, 11, id="http-113-suffix"),
        pytest.param("b2", "bytes=0-0", 0, 1, 0, id="http-114"),
        pytest.param("b2", "bytes=-5", 0, 0, 0, id="http-114-suffix"),
    ],
)
def test_a_range_behind_the_end_is_refused(
    library: HttpServer, name: str, asked: str, start: int, end: int, length: int
) -> None:
    answer = blob(library, name, Range=asked)
    assert (answer.status, answer.json["code"]) == (416, "bad_request")
    assert answer.json["blob_range"] == {"start": start, "end": end, "length": length}
    assert answer.header("Content-Range") == f"bytes */{length}"


def test_an_empty_blob_is_there(library: HttpServer) -> None:
    answer = blob(library, "b2")
    assert (answer.status, answer.body, answer.header("Content-Length")) == (200, b"", "0")


def test_http_115_tags_are_compared(library: HttpServer) -> None:
    etag = blob(library).header("ETag") or ""
    for given in (f"W/{etag}", f'"x", {etag}', "*"):
        answer = blob(library, If_None_Match=given, Range="bytes=0-1")
        assert (answer.status, answer.body, answer.header("ETag")) == (304, b"", etag)
    head = blob(library, method="HEAD", If_None_Match=etag)
    assert (head.status, head.header("Content-Length")) == (304, "11")
    for given in ('"x"', f"W/{etag}", "not a tag"):
        answer = blob(library, If_Match=given)
        assert (answer.status, answer.json["code"]) == (412, "conflict")
    assert blob(library, If_Match=f'"x", {etag}').status == 200
    assert blob(library, If_None_Match="not a tag").status == 200
    assert blob(library, Range="bytes=0-1", If_Range=etag).status == 206
    for given in (f"W/{etag}", '"x"', "Wed, 21 Oct 2015 07:28:00 GMT"):
        assert blob(library, Range="bytes=0-1", If_Range=given).status == 200


def test_http_116_head_knows_no_ranges(library: HttpServer) -> None:
    answer = blob(library, method="HEAD", Range="bytes=99-")
    assert (answer.status, answer.header("Content-Length"), answer.body) == (200, "11", b"")


def test_http_117_a_selector_must_name_a_value(library: HttpServer) -> None:
    assert blob(library, "b3").status == 404
    assert blob(library, "zz").status == 404
    selected = f"{G}/blob?entity=node&type=Book&id=b1"
    assert library.send("GET", f"{selected}&property=title").status == 400
    missing = library.send("GET", selected)
    assert missing.status == 400
    assert missing.json["error"].startswith("invalid Blob selector query parameters:")
    assert library.send("GET", f"{G}/blob?entity=node&type=Nope&id=b1&property=cover").status == 400
    assert blob(library, query="&branch=main&snapshot=x").status == 400
    assert blob(library, query="&snapshot=nope").status == 404
    assert blob(library, "b3", method="HEAD").body == b""


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_http_118_an_external_value_is_a_redirect_that_nobody_follows(library: HttpServer, method: str) -> None:
    answer = blob(library, "b4", method)
    assert (answer.status, answer.body) == (302, b"")
    assert answer.header("Location") == f"file://{library.extra['folder']}/assets/b4.png"
    assert answer.header("Cache-Control") == "no-store"
    assert answer.header("ETag") is None
