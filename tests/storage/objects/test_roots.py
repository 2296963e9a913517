"""Roots: how an address becomes a place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import InvalidRoot
from omnigraph.storage.root import parse_root, s3_options

HERE = os.getcwd()


@pytest.mark.parametrize(
    ("address", "uri", "kind"),
    [
        ("/data/g.omni", "/data/g.omni", "local"),
        ("/data/g.omni/", "/data/g.omni", "local"),
        ("/data/./x/../g.omni", "/data/g.omni", "local"),
        ("g.omni", f"{HERE}/g.omni", "local"),
        ("file:///data/g.omni/", "/data/g.omni", "local"),
        ("file://localhost/data/g%20h", "/data/g h", "local"),
        ("s3://bucket/prefix/g.omni", "s3://bucket/prefix/g.omni", "s3"),
        ("s3://bucket/prefix/", "s3://bucket/prefix", "s3"),
    ],
)
def test_an_address_is_normalised_to_one_root(address: str, uri: str, kind: str) -> None:
    root = parse_root(address, {})
    assert (root.uri, root.kind) == (uri, kind)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "  ",
        "http://h/g",
        "https://h",
        "gs://bucket/x",
        "s3://bucket",
        "s3:///x",
        "s3://bu/x",
        "file://rel/x",
        "a\nb",
    ],
)
def test_an_address_that_is_not_storage_is_refused(address: str) -> None:
    with pytest.raises(InvalidRoot) as refused:
        parse_root(address, {})
    assert "\n" not in refused.value.sentence()


def test_the_s3_variables_reach_the_client_and_an_http_endpoint_allows_http() -> None:
    options = s3_options(
        {
            "AWS_ENDPOINT_URL": "http://ignored",
            "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000",
            "AWS_ACCESS_KEY_ID": "k",
            "AWS_SECRET_ACCESS_KEY": "s",
            "AWS_SESSION_TOKEN": "t",
            "AWS_REGION": "eu-west-1",
        }
    )
    assert options["aws_endpoint"] == "http://127.0.0.1:9000"
    assert options["allow_http"] == "true"
    assert options["aws_virtual_hosted_style_request"] == "false"
    assert (options["aws_access_key_id"], options["aws_session_token"]) == ("k", "t")
    assert options["aws_region"] == "eu-west-1"


def test_a_root_never_prints_its_secrets() -> None:
    root = parse_root("s3://bucket/x", {"AWS_SECRET_ACCESS_KEY": "hush"})
    assert "hush" not in repr(root)


@pytest.mark.parametrize(
    "name", ["p%20c", "h#y", "josé", "sp ace", "a:b", "[x]", "*s*", "~t", "a\\b", "100%", "{x}|<y>^`"]
)
def test_nothing_is_written_outside_of_a_root_whatever_its_path_holds(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    graph = Graph.init(str(folder / "g.omni"), "node Person { name: String @key }", durability="os")
    graph.mutate('query q() { insert Person { name: "main" } }')
    graph.create_branch("b")
    graph.mutate('query q() { insert Person { name: "b" } }', branch="b")
    graph.mutate('query q() { delete Person where name = "main" }', branch="b")
    graph.optimize(branch="b")
    fresh = Graph.open(graph.uri, durability="os")
    rows = fresh.query("query q() { match { $p: Person } return { $p.name as n } }", branch="b")
    assert [row["n"] for row in rows] == ["b"]
    assert fresh.verify().ok
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert [path.name for path in folder.iterdir()] == ["g.omni"]


def test_a_path_that_lance_cannot_branch_in_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidRoot, match=r"has a .\?"):
        Graph.init(str(tmp_path / "q?x" / "g.omni"), "node Person { name: String @key }")
    assert list(tmp_path.iterdir()) == []
