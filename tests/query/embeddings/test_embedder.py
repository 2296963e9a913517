"""The embedder against a real HTTP server, and the embedders that need none."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from omnigraph.cli.exit_codes import exit_code_of
from omnigraph.embeddings import Embedder, EmbeddingConfig
from omnigraph.model.errors import EmbeddingModelMismatch, EmbeddingNotConfigured, EmbeddingProviderFailed
from support.servers.embedding_server import Failure, Provider, embedding_server

CONFIG = EmbeddingConfig(provider="openai", model="m1", api_key="sk-secret", backoff_s=0.01)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with embedding_server() as running:
        yield running


class Waits(list[float]):
    """Notes the pauses instead of making them."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def embedder(server: Provider, waits: Waits | None = None, **changes: Any) -> Embedder:
    config = replace(CONFIG, base_url=server.url, **changes)
    return Embedder(config, wait=Waits() if waits is None else waits)


def unit(*numbers: float) -> list[float]:
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


# --- shapes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai", "openai-compatible"])
def test_the_openai_shape(provider: Provider, name: Any) -> None:
    vector = embedder(provider, provider=name).embed_query("hi", 3)
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx(unit(3, 4, 5))
    [request] = provider.requests
    assert request["path"] == "/v1/embeddings"
    assert request["headers"]["authorization"] == "Bearer sk-secret"
    assert request["body"] == {"model": "m1", "input": ["hi"], "dimensions": 3}


@pytest.mark.parametrize(("role", "task"), [("query", "RETRIEVAL_QUERY"), ("document", "RETRIEVAL_DOCUMENT")])
def test_the_gemini_shape(provider: Provider, role: str, task: str) -> None:
    client = embedder(provider, provider="gemini")
    vector = client.embed_query("hi", 2) if role == "query" else client.embed_documents(["hi"], 2)[0]
    assert vector.tolist() == pytest.approx(unit(3, 4))
    [request] = provider.requests
    assert request["path"] == "/v1/models/m1:embedContent"
    assert request["headers"]["x-goog-api-key"] == "sk-secret"
    assert request["body"] == {
        "model": "models/m1",
        "content": {"parts": [{"text": "hi"}]},
        "taskType": task,
        "outputDimensionality": 2,
    }


def test_documents_go_in_batches_each_text_once_and_come_back_in_order(provider: Provider) -> None:
    texts = [f"text {'x' * (number % 7)}" for number in range(20)]
    vectors = embedder(provider, batch_texts=3).embed_documents(texts, 2)
    assert [vector.tolist() for vector in vectors] == [
        pytest.approx(unit(len(text) + 1, len(text) + 2)) for text in texts
    ]
    assert sorted(len(request["body"]["input"]) for request in provider.requests) == [1, 3, 3]


def test_what_was_embedded_is_remembered_by_text_dimension_and_role(provider: Provider) -> None:
    client = embedder(provider)
    for _ in range(3):
        client.embed_query("hi", 2)
    assert len(provider.requests) == 1
    client.embed_query("hi", 3)
    client.embed_documents(["hi", "hi"], 2)
    client.embed_query("ho", 2)
    assert len(provider.requests) == 4


# --- failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_may_pass_is_tried_again_with_growing_pauses(provider: Provider, status: int) -> None:
    provider.script = [Failure(status), Failure(status), Failure(status)]
    waits = Waits()
    embedder(provider, waits).embed_query("hi", 2)
    assert len(provider.requests) == 4
    assert waits == [0.01, 0.02, 0.04]


def test_retry_after_is_honoured(provider: Provider) -> None:
    provider.script = [Failure(429, {"Retry-After": "7"})]
    waits = Waits()
    embedder(provider, waits).embed_query("hi", 2)
    assert waits == [7.0]


def test_retry_after_beyond_the_deadline_is_not_waited_for(provider: Provider) -> None:
    provider.script = [Failure(429, {"Retry-After": "3600"}, "slow down")]
    waits = Waits()
    with pytest.raises(EmbeddingProviderFailed, match=r"HTTP 429\): slow down"):
        embedder(provider, waits).embed_query("hi", 2)
    assert waits == []


def test_after_the_last_attempt_the_failure_has_the_provider_and_its_status(provider: Provider) -> None:
    provider.script = [Failure(503)] * 4
    with pytest.raises(EmbeddingProviderFailed) as caught:
        embedder(provider).embed_query("hi", 2)
    assert len(provider.requests) == 4
    assert caught.value.details() == {"embedding_provider": {"provider": "openai", "status": 503}}
    assert caught.value.code == "embedding_provider_failed"
    assert exit_code_of(caught.value) == 8
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_tried_again_and_never_shows_the_key(provider: Provider, status: int) -> None:
    provider.script = [Failure(status, body="bad key sk-secret")]
    with pytest.raises(EmbeddingProviderFailed, match=r"bad key \*\*\*"):
        embedder(provider).embed_query("hi", 2)
    assert len(provider.requests) == 1


def test_a_provider_that_cannot_be_reached_is_tried_again(provider: Provider) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    waits = Waits()
    client = Embedder(replace(CONFIG, base_url=nobody, attempts=3), wait=waits)
    with pytest.raises(EmbeddingProviderFailed, match="ConnectError"):
        client.embed_query("hi", 2)
    assert len(waits) == 2


BAD_ANSWERS = [
    ("too-short", {"data": [{"index": 0, "embedding": [1.0]}]}, "it has 1 numbers, expected 2"),
    ("too-long", {"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]}, "it has 3 numbers, expected 2"),
    ("zero", {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "its length is zero"),
    ("not-finite", {"data": [{"index": 0, "embedding": [1.0, float("inf")]}]}, "not finite"),
    ("text", {"data": [{"index": 0, "embedding": ["a", "b"]}]}, "not numbers"),
    ("no-data", {"error": "?"}, "contains no embedding"),
    ("another-index", {"data": [{"index": 1, "embedding": [1.0, 2.0]}]}, "contains no embedding"),
]


@pytest.mark.parametrize(("answer", "reason"), [row[1:] for row in BAD_ANSWERS], ids=[row[0] for row in BAD_ANSWERS])
def test_an_answer_that_is_no_embedding_is_refused(provider: Provider, answer: Any, reason: str) -> None:
    provider.script = [answer]
    with pytest.raises(EmbeddingProviderFailed, match=reason):
        embedder(provider).embed_query("hi", 2)


def test_another_model_than_the_property_s_is_refused_and_both_are_named(provider: Provider) -> None:
    with pytest.raises(EmbeddingModelMismatch, match=r"'m2'.*'m1'"):
        embedder(provider).embed_query("hi", 2, "m2")
    assert provider.requests == []
    embedder(provider).embed_query("hi", 2, "m1")


@pytest.mark.parametrize(("name", "variables"), [("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")])
def test_a_missing_key_names_the_variables(provider: Provider, name: Any, variables: str) -> None:
    with pytest.raises(EmbeddingNotConfigured, match=variables):
        embedder(provider, provider=name, api_key=None).embed_query("hi", 2)


def test_a_stated_rate_spaces_the_requests(provider: Provider) -> None:
    waits = Waits()
    client = embedder(provider, waits, requests_per_minute=1)  # minutes apart: however slow the machine is, it shows
    for text in ("a", "b", "c"):
        client.embed_query(text, 2)
    assert [round(pause / 60) for pause in waits] == [1, 2]


# --- without a server -------------------------------------------------------------------------------------


def test_mock_vectors_are_those_of_the_reference() -> None:
    client = Embedder(EmbeddingConfig(provider="mock", model="mock"))
    assert client.embed_query("alpha", 4).tolist() == pytest.approx([-0.54205, -0.47180, 0.16091, 0.67653], abs=1e-5)
    assert client.embed_query("hello", 2).tolist() == pytest.approx([-0.52340, 0.85209], abs=1e-5)


def test_offline_vectors_bring_texts_with_shared_words_together() -> None:
    client = Embedder(EmbeddingConfig(provider="offline", model="omnigraph-hashing-1"))
    near, same, far = client.embed_documents(["databases of graphs", "Graph Databases", "cooking pasta"], 256)
    query = client.embed_query("graph database", 256)
    assert query @ same > query @ near > 0.3 > query @ far
    for text in ("", "!!!", "日本語"):
        assert np.linalg.norm(client.embed_query(text, 8)) == pytest.approx(1.0)


def test_offline_vectors_never_change() -> None:
    client = Embedder(EmbeddingConfig(provider="offline", model="omnigraph-hashing-1"))
    assert client.embed_query("graph", 4).tolist() == pytest.approx(OFFLINE_GRAPH, abs=1e-6)


OFFLINE_GRAPH = [-0.5570861, 0.7427813, -0.3713907, 0.0]
