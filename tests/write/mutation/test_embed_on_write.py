"""Vectors that follow their text, in mutations and loads, when a provider is chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.embeddings import Embedder, EmbeddingConfig
from omnigraph.graph import Graph
from omnigraph.language.diagnostics import CompileError
from omnigraph.model.errors import EmbeddingModelMismatch, EmbeddingNotConfigured, EmbeddingProviderFailed
from omnigraph.write.intake.embedding import embedded_records
from omnigraph.write.rules import ValidationFailed
from support.servers.embedding_server import Failure, embedding_server

SCHEMA = """
node Doc {
    slug: String @key
    body: String?
    note: String?
    emb: Vector(3)? @embed("body")
}
node Strict { slug: String @key  body: String  emb: Vector(3) @embed("body", model="m1") }
"""
PROVIDERS = (
    "OMNIGRAPH_EMBED_PROVIDER",
    "OMNIGRAPH_EMBEDDINGS_MOCK",
    "OMNIGRAPH_EMBED_MODEL",
    "OMNIGRAPH_EMBED_BASE_URL",
)
KEYS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")


@pytest.fixture(autouse=True)
def nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROVIDERS, *KEYS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "m1")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")


def of(text: str) -> Any:
    vector = Embedder(EmbeddingConfig(provider="mock", model="m1")).embed_documents([text], 3)[0]
    return pytest.approx(vector.tolist(), abs=1e-6)


def vectors(graph: Graph, type_name: str = "Doc") -> dict[str, Any]:
    records = [json.loads(line) for line in graph.export(types=[type_name])]
    return {record["data"]["slug"]: record["data"]["emb"] for record in records}


def load(graph: Graph, *data: dict[str, Any], type_name: str = "Doc", **options: Any) -> None:
    lines = [json.dumps({"type": type_name, "data": each}).encode() + b"\n" for each in data]
    graph.load(lines, **{"mode": "merge", **options})


INSERT = "query i($s: String, $b: String?) { insert Doc { slug: $s, body: $b } }"

# --- mutations --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("mock")
def test_an_insert_that_states_the_text_has_it_embedded(graph: Graph) -> None:
    graph.mutate(INSERT, s="a", b="alpha")
    graph.mutate('query i() { insert Doc { slug: "b" } }')
    graph.mutate('query i() { insert Strict { slug: "c", body: "gamma" } }')
    assert vectors(graph) == {"a": of("alpha"), "b": None}
    assert vectors(graph, "Strict") == {"c": of("gamma")}


@pytest.mark.usefixtures("mock")
def test_a_stated_vector_or_null_wins(graph: Graph) -> None:
    graph.mutate('query i() { insert Doc { slug: "a", body: "alpha", emb: [1.0, 2.0, 3.0] } }')
    graph.mutate('query i() { insert Doc { slug: "b", body: "beta", emb: null } }')
    assert vectors(graph) == {"a": [1.0, 2.0, 3.0], "b": None}


@pytest.mark.usefixtures("mock")
def test_an_update_of_the_text_embeds_again_and_any_other_update_does_not(graph: Graph) -> None:
    graph.mutate(INSERT, s="a", b="alpha")
    graph.mutate('query u() { update Doc set { note: "x" } where slug = "a" }')
    assert vectors(graph) == {"a": of("alpha")}
    graph.mutate('query u() { update Doc set { body: "omega" } where slug = "a" }')
    assert vectors(graph) == {"a": of("omega")}
    graph.mutate('query u() { update Doc set { body: "psi", emb: [0.0, 1.0, 0.0] } where slug = "a" }')
    assert vectors(graph) == {"a": [0.0, 1.0, 0.0]}
    graph.mutate('query u() { update Doc set { body: null } where slug = "a" }')
    assert vectors(graph) == {"a": None}


def test_without_a_provider_a_nullable_vector_stays_null(graph: Graph) -> None:
    graph.mutate(INSERT, s="a", b="alpha")
    load(graph, {"slug": "b", "body": "beta"})
    assert vectors(graph) == {"a": None, "b": None}


def test_without_a_provider_a_required_vector_is_missing(graph: Graph) -> None:
    with pytest.raises(CompileError, match="T12"):
        graph.mutate('query i() { insert Strict { slug: "c", body: "gamma" } }')
    with pytest.raises(ValidationFailed, match="missing value for non-nullable property 'emb'"):
        load(graph, {"slug": "c", "body": "gamma"}, type_name="Strict")
    graph.mutate('query i() { insert Strict { slug: "c", body: "gamma", emb: [1.0, 0.0, 0.0] } }')


def test_a_key_in_the_environment_alone_sends_nothing_anywhere(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody else's")
    graph.mutate(INSERT, s="a", b="alpha")
    assert vectors(graph) == {"a": None}


def test_a_chosen_provider_without_its_key_is_said_loudly(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "gemini")
    with pytest.raises(EmbeddingNotConfigured, match="GEMINI_API_KEY"):
        graph.mutate(INSERT, s="a", b="alpha")
    assert len(graph.commits()) == 1


def test_another_model_than_the_recorded_one_writes_nothing(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    with pytest.raises(EmbeddingModelMismatch, match=r"'m1'.*'mock'"):
        graph.mutate('query i() { insert Strict { slug: "c", body: "gamma" } }')


# --- loads ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("mock")
def test_a_load_embeds_the_texts_that_come_without_a_vector(graph: Graph) -> None:
    load(
        graph,
        {"slug": "a", "body": "alpha"},
        {"slug": "b", "body": "beta", "emb": [1.0, 2.0, 3.0]},
        {"slug": "c", "body": "gamma", "emb": None},
        {"slug": "d"},
        {"slug": "e", "body": None},
    )
    load(graph, {"slug": "s", "body": "alpha"}, type_name="Strict", mode="append")
    assert vectors(graph) == {"a": of("alpha"), "b": [1.0, 2.0, 3.0], "c": None, "d": None, "e": None}
    assert vectors(graph, "Strict") == {"s": of("alpha")}


@pytest.mark.usefixtures("mock")
def test_a_patch_embeds_again_only_what_it_states(graph: Graph) -> None:
    load(graph, *({"slug": slug, "body": "old"} for slug in "abc"))
    load(graph, {"slug": "a", "note": "x"}, {"slug": "b", "body": "new"}, {"slug": "c", "body": None}, patch=True)
    assert vectors(graph) == {"a": of("old"), "b": of("new"), "c": None}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with embedding_server() as provider:
        monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "openai")
        monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk")
        yield provider


def test_a_load_asks_the_provider_in_batches(graph: Graph, served: Any) -> None:
    load(graph, *({"slug": f"s{i}", "body": f"text {i}"} for i in range(70)))
    assert sorted(len(request["body"]["input"]) for request in served.requests) == [6, 64]
    assert None not in vectors(graph).values()


def test_a_provider_that_fails_fails_the_write_and_nothing_is_written(graph: Graph, served: Any) -> None:
    served.script = [Failure(401)] * 2
    with pytest.raises(EmbeddingProviderFailed, match="HTTP 401"):
        load(graph, {"slug": "a", "body": "alpha"})
    with pytest.raises(EmbeddingProviderFailed, match="HTTP 401"):
        graph.mutate(INSERT, s="a", b="alpha")
    assert vectors(graph) == {}
    assert len(graph.commits()) == 1


def test_types_without_embed_never_look_at_the_environment(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "no such provider")
    plain = Graph.init(graph.uri + "2", "node P { name: String @key }", durability="os").schema.catalog.nodes[0]
    records: list[dict[str, Any]] = [{"name": "x"}]
    assert embedded_records(plain, records, {}, None, patch=False) is records


# --- a text that changes without a provider --------------------------------------------------------------------

GIVEN = [1.0, 2.0, 3.0]


def with_vectors(graph: Graph) -> None:
    """Vectors that somebody gave, of texts that are known."""
    load(graph, *({"slug": slug, "body": "old", "emb": GIVEN} for slug in "abc"))
    load(graph, {"slug": "s", "body": "old", "emb": GIVEN}, type_name="Strict")


@pytest.mark.parametrize("body", ['"new"', "null"])
def test_an_update_of_the_text_takes_its_vector_away_when_nobody_can_embed_it(graph: Graph, body: str) -> None:
    with_vectors(graph)
    graph.mutate(f'query u() {{ update Doc set {{ body: {body} }} where slug = "a" }}')
    graph.mutate('query u() { update Doc set { body: "old", note: "the same text" } where slug = "b" }')
    assert vectors(graph) == {"a": None, "b": GIVEN, "c": GIVEN}


def test_an_update_that_states_the_vector_keeps_it(graph: Graph) -> None:
    with_vectors(graph)
    graph.mutate('query u() { update Doc set { body: "new", emb: [3.0, 2.0, 1.0] } where slug = "a" }')
    assert vectors(graph) == {"a": [3.0, 2.0, 1.0], "b": GIVEN, "c": GIVEN}


def test_an_update_of_the_text_of_a_required_vector_is_refused(graph: Graph) -> None:
    with_vectors(graph)
    head = graph.snapshot().commit_id
    with pytest.raises(CompileError, match="T12") as refused:
        graph.mutate('query u() { update Strict set { body: "new" } where slug = "s" }')
    assert "update" in str(refused.value)
    assert "OMNIGRAPH_EMBED_PROVIDER" in (refused.value.diagnostics[0].hint or "")
    assert graph.snapshot().commit_id == head
    graph.mutate('query u() { update Strict set { body: "old" } where slug = "s" }')
    graph.mutate('query u() { update Strict set { body: "new" } where slug = "nobody" }')
    assert vectors(graph, "Strict") == {"s": GIVEN}


def test_a_merge_of_a_changed_text_takes_its_vector_away(graph: Graph) -> None:
    with_vectors(graph)
    load(graph, {"slug": "a", "body": "new"})
    assert vectors(graph) == {"a": None, "b": GIVEN, "c": GIVEN}
    with pytest.raises(ValidationFailed, match="missing value for non-nullable property 'emb'"):
        load(graph, {"slug": "s", "body": "new"}, type_name="Strict")


def test_a_patch_of_the_text_takes_its_vector_away_when_nobody_can_embed_it(graph: Graph) -> None:
    with_vectors(graph)
    load(graph, {"slug": "a", "body": "new"}, {"slug": "b", "body": None}, {"slug": "c", "note": "x"}, patch=True)
    assert vectors(graph) == {"a": None, "b": None, "c": GIVEN}
    load(graph, {"slug": "c", "body": "old"}, {"slug": "d", "body": "fresh"}, patch=True)
    assert vectors(graph) == {"a": None, "b": None, "c": GIVEN, "d": None}
    load(graph, {"slug": "c", "body": "new", "emb": [3.0, 2.0, 1.0]}, patch=True)
    assert vectors(graph)["c"] == [3.0, 2.0, 1.0]


def test_a_patch_of_the_text_of_a_required_vector_is_refused(graph: Graph) -> None:
    with_vectors(graph)
    with pytest.raises(ValidationFailed, match=r"non-nullable property 'emb'.*OMNIGRAPH_EMBED_PROVIDER"):
        load(graph, {"slug": "s", "body": "new"}, type_name="Strict", patch=True)
    load(graph, {"slug": "s", "body": "old"}, type_name="Strict", patch=True)
    assert vectors(graph, "Strict") == {"s": GIVEN}


@pytest.mark.usefixtures("mock")
def test_a_null_text_never_keeps_a_required_vector(tmp_path: Path) -> None:
    schema = 'node Doc { slug: String @key  body: String?  emb: Vector(3) @embed("body") }'
    graph = Graph.init(str(tmp_path / "null"), schema, durability="os")
    load(graph, {"slug": "a", "body": "alpha"})
    with pytest.raises(CompileError, match="T12"):
        graph.mutate('query u() { update Doc set { body: null } where slug = "a" }')
    with pytest.raises(ValidationFailed, match="non-nullable property 'emb'"):
        load(graph, {"slug": "a", "body": None}, patch=True)
    assert vectors(graph) == {"a": of("alpha")}
