"""The example of the contract: a cluster with the graphs `library` and `spare`, and a server that serves it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omnigraph.graph import Graph
from policy.library import LIBRARY, SERVER
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import TOKENS_JSON, HttpServer, server_command, serving

G = "/graphs/library"
SCHEMA = """node Author { handle: String @key  born: I32? }
node Book { isbn: String @key  title: String  cover: Blob? }
edge Wrote: Author -> Book { year: I32? }
"""
BORN_AFTER = (
    "query born_after($y: I32) { match { $a: Author  $a.born > $y } return { $a.handle, $a.born } order { $a.born } }"
)
ALL_AUTHORS = "query all_authors() { match { $a: Author } return { $a.handle } order { $a.handle } }"
ADD_AUTHOR = "query add_author($h: String, $b: I32?) { insert Author { handle: $h, born: $b } }"
QUERIES = {"born_after": BORN_AFTER, "all_authors": ALL_AUTHORS, "add_author": ADD_AUTHOR}
ACTORS = ("ann", "bo", "cy", "mo", "iv", "zed", "pat", "una")
TOKENS = {actor: f"t-{actor}" for actor in ACTORS}


def author(handle: str, **data: Any) -> str:
    return json.dumps({"type": "Author", "data": {"handle": handle, **data}})


def book(isbn: str, title: str, **data: Any) -> str:
    return json.dumps({"type": "Book", "data": {"isbn": isbn, "title": title, **data}})


def wrote(who: str, what: str, **data: Any) -> str:
    return json.dumps({"edge": "Wrote", "from": who, "to": what, "data": data})


def library_lines(external: str | None = None) -> list[bytes]:
    hello = f"base64:{base64.b64encode(b'Hello World').decode()}"
    lines = [
        author("le-guin", born=1929),
        author("borges", born=1899),
        author("calvino"),
        book("b1", "One", cover=hello),
        book("b2", "Two", cover="base64:"),
        book("b3", "Three"),
        book("b4", "Four", **({} if external is None else {"cover": external})),
        wrote("le-guin", "b1", year=1969),
        wrote("borges", "b2", year=1944),
        wrote("calvino", "b3", year=1972),
    ]
    return [line.encode() for line in lines]


def fill_library(uri: str, assets: Path) -> None:
    """The rows of the example; b4 refers to an object outside of the graph."""
    assets.mkdir(parents=True, exist_ok=True)
    (assets / "b4.png").write_bytes(b"not in the graph")
    graph = Graph.open(uri, durability="os", blob_bases=[f"file://{assets}/"])
    graph.load(library_lines(f"file://{assets}/b4.png"), mode="overwrite")
    graph.create_branch("drafts")


def write_library(folder: Path, policy: str | None = LIBRARY, server: str | None = SERVER) -> WrittenCluster:
    """The cluster of the example, with its graphs filled."""
    cluster, assets = WrittenCluster(folder / "cluster"), folder / "assets"
    cluster.graph("library", schema=SCHEMA, queries=QUERIES, blob_bases=[(f"file://{assets}/", "server_safe")])
    cluster.graph("spare", schema=SCHEMA)
    if policy is not None:
        cluster.policy("rules", policy, ["graph.library"])
    if server is not None:
        cluster.policy("front-door", server, ["cluster"])
    cluster.write()
    fill_library(cluster.uri_of("library"), assets)
    return cluster


@contextmanager
def library_server(folder: Path, *arguments: str, policy: str | None = LIBRARY, **extra: str) -> Iterator[HttpServer]:
    """A server with the example behind it; cy is who asks unless a test says otherwise."""
    cluster = write_library(folder, policy)
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", *arguments)
    extra.setdefault(TOKENS_JSON, json.dumps(TOKENS))
    with serving(command, folder, **extra) as running:
        running.default_token = "t-cy"
        running.extra = {"cluster": cluster, "folder": folder}
        yield running


@contextmanager
def open_server(folder: Path, *arguments: str, **extra: str) -> Iterator[HttpServer]:
    """A server without tokens and policies, on loopback."""
    cluster = write_library(folder, None, None)
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0", "--unauthenticated", *arguments)
    with serving(command, folder, **extra) as running:
        running.extra = {"cluster": cluster, "folder": folder}
        yield running
