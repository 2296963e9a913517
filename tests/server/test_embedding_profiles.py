"""Each graph of a cluster embeds with the provider that its revision names; the key is a variable of the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clusters.written_ledger import WrittenCluster
from support.servers.embedding_server import Provider, embedding_server
from support.servers.http_server import TOKENS_JSON, HttpServer, server_command, serving

SCHEMA = 'node Note { slug: String @key  body: String  emb: Vector(4)? @embed("body") }'
INSERT = "query add($s: String, $b: String) { insert Note { slug: $s, body: $b } }"
NEAREST = "query near($t: String) { match { $n: Note } return { $n.slug } order { nearest($n.emb, $t) } limit 1 }"
POLICY = """
version: 1
groups: { all: [ann] }
rules:
  - id: everything
    allow: { actors: { group: all }, actions: [read, change, export], branch_scope: any }
"""


@pytest.fixture
def providers() -> Iterator[tuple[Provider, Provider]]:
    with embedding_server() as one, embedding_server() as other:
        yield one, other


def profile(provider: Provider, key: str, model: str = "small") -> dict[str, str]:
    return {"kind": "openai-compatible", "base_url": provider.url, "model": model, "api_key": f"${{{key}}}"}


def written(folder: Path, one: Provider, other: Provider) -> WrittenCluster:
    """Two graphs, each with a provider of its own."""
    cluster = WrittenCluster(folder / "c")
    cluster.provider("one", profile(one, "KEY_OF_ONE"))
    cluster.provider("other", profile(other, "KEY_OF_OTHER", "large"))
    for graph_id in ("one", "other"):
        cluster.graph(graph_id, schema=SCHEMA, provider=graph_id)
    cluster.policy("rules", POLICY, applies_to=["graph.one", "graph.other"])
    cluster.write()
    return cluster


def running(cluster: WrittenCluster, folder: Path, **extra: str) -> Any:
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0")
    return serving(command, folder, **{TOKENS_JSON: json.dumps({"ann": "t-ann"}), **extra})


def add(server: HttpServer, graph_id: str, slug: str, body: str) -> int:
    asked = {"query": INSERT, "params": {"s": slug, "b": body}}
    return server.send("POST", f"/graphs/{graph_id}/mutate", json=asked, token="t-ann").status


def vectors(server: HttpServer, graph_id: str) -> dict[str, Any]:
    lines = server.send("POST", f"/graphs/{graph_id}/export", json={}, token="t-ann").lines
    return {line["data"]["slug"]: line["data"]["emb"] for line in lines}


def asked(provider: Provider) -> list[tuple[str, str, list[str]]]:
    """The key, the model and the texts of every request."""
    return [
        (each["headers"]["authorization"], each["body"]["model"], each["body"]["input"]) for each in provider.requests
    ]


def test_each_graph_embeds_with_its_own_provider_and_key(tmp_path: Path, providers: tuple[Provider, Provider]) -> None:
    one, other = providers
    cluster = written(tmp_path, one, other)
    with running(cluster, tmp_path, KEY_OF_ONE="sesame", KEY_OF_OTHER="open-up") as server:
        assert (add(server, "one", "a", "alpha"), add(server, "other", "a", "omega")) == (200, 200)
        line = b'{"type":"Note","data":{"slug":"b","body":"beta"}}\n'
        media = {"Content-Type": "application/x-ndjson"}
        path = "/graphs/one/load/ndjson?mode=merge"
        loaded = server.send("POST", path, body=line, headers=media, token="t-ann")
        assert loaded.status == 200, loaded.body
        found = server.send(
            "POST", "/graphs/one/query", json={"query": NEAREST, "params": {"t": "beta!"}}, token="t-ann"
        )
        assert found.status == 200, found.body
        assert all(vectors(server, "one").values())
        assert asked(one) == [("Bearer sesame", "small", [text]) for text in ("alpha", "beta", "beta!")]
        assert asked(other) == [("Bearer open-up", "large", ["omega"])]
        assert "sesame" not in server.log_text()


def test_a_graph_whose_key_is_not_set_is_not_served_and_the_others_are(
    tmp_path: Path, providers: tuple[Provider, Provider]
) -> None:
    cluster = written(tmp_path, *providers)
    with running(cluster, tmp_path, KEY_OF_ONE="sesame") as server:
        assert "needs the variable KEY_OF_OTHER" in server.log_text()
        assert server.send("GET", "/graphs/other/schema", token="t-ann").status == 503
        assert add(server, "one", "a", "alpha") == 200


def test_a_provider_that_is_applied_anew_is_used_without_a_restart(
    tmp_path: Path, providers: tuple[Provider, Provider]
) -> None:
    one, other = providers
    cluster = written(tmp_path, one, other)
    with running(cluster, tmp_path, KEY_OF_ONE="sesame", KEY_OF_OTHER="open-up") as server:
        assert add(server, "one", "a", "alpha") == 200
        cluster.provider("one", profile(other, "KEY_OF_OTHER", "new"))
        cluster.write()
        server.logged("revision served")
        assert add(server, "one", "b", "beta") == 200
        assert asked(one) == [("Bearer sesame", "small", ["alpha"])]
        assert asked(other) == [("Bearer open-up", "new", ["beta"])]


def test_the_mock_embeds_instead_of_every_profile_where_it_is_set(
    tmp_path: Path, providers: tuple[Provider, Provider]
) -> None:
    cluster = written(tmp_path, *providers)
    with running(cluster, tmp_path, OMNIGRAPH_EMBEDDINGS_MOCK="1") as server:
        assert add(server, "one", "a", "alpha") == 200
        assert vectors(server, "one")["a"]
    assert not any(each.requests for each in providers)


def test_without_a_profile_the_environment_says_who_embeds(
    tmp_path: Path, providers: tuple[Provider, Provider]
) -> None:
    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("plain", schema=SCHEMA)
    cluster.policy("rules", POLICY, applies_to=["graph.plain"])
    cluster.write()
    settings = {"OMNIGRAPH_EMBED_PROVIDER": "openai-compatible", "OMNIGRAPH_EMBED_BASE_URL": providers[0].url}
    with running(cluster, tmp_path, OPENAI_API_KEY="of-the-process", **settings) as server:
        assert add(server, "plain", "a", "alpha") == 200
    assert [key for key, _, _ in asked(providers[0])] == ["Bearer of-the-process"]
