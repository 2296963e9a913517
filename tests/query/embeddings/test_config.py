"""The settings of the embedding client, from the environment and from the profile of a cluster."""

from __future__ import annotations

import pytest

from omnigraph.embeddings import (
    EmbeddingConfig,
    config_from_environment,
    config_from_profile,
    embedder_from_environment,
    is_chosen,
    require_embedder,
)
from omnigraph.model.errors import BadRequest, EmbeddingNotConfigured

GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
DEFAULTS = [
    (
        {"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"},
        ("openai-compatible", "openai/text-embedding-3-large", "https://openrouter.ai/api/v1", "r"),
    ),
    (
        {"OPENAI_API_KEY": "o"},
        ("openai-compatible", "openai/text-embedding-3-large", "https://openrouter.ai/api/v1", "o"),
    ),
    (
        {"OMNIGRAPH_EMBED_PROVIDER": "openai", "OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"},
        ("openai", "text-embedding-3-large", "https://api.openai.com/v1", "o"),
    ),
    (
        {"OMNIGRAPH_EMBED_PROVIDER": "gemini", "GEMINI_API_KEY": "g"},
        ("gemini", "gemini-embedding-2", GEMINI_URL, "g"),
    ),
    ({"OMNIGRAPH_EMBED_PROVIDER": "mock"}, ("mock", "mock", "", None)),
    ({"OMNIGRAPH_EMBEDDINGS_MOCK": "Yes"}, ("mock", "mock", "", None)),
    ({"OMNIGRAPH_EMBED_PROVIDER": "offline"}, ("offline", "omnigraph-hashing-1", "", None)),
    (
        {"OMNIGRAPH_EMBED_PROVIDER": "mock", "OMNIGRAPH_EMBED_MODEL": "m", "OMNIGRAPH_EMBED_BASE_URL": "http://h/v1/"},
        ("mock", "m", "http://h/v1", None),
    ),
]


@pytest.mark.parametrize(("environ", "expected"), DEFAULTS)
def test_defaults_of_each_provider(environ: dict[str, str], expected: tuple[str, str, str, str | None]) -> None:
    config = config_from_environment(environ)
    assert config is not None
    assert (config.provider, config.model, config.base_url, config.api_key) == expected


PROFILES = [
    (
        {"api_key": "${MINE}"},
        ("openai-compatible", "openai/text-embedding-3-large", "https://openrouter.ai/api/v1", "k"),
    ),
    (
        {"kind": "openai-compatible", "base_url": "http://h/v1/", "model": "m", "api_key": "${MINE}"},
        ("openai-compatible", "m", "http://h/v1", "k"),
    ),
    ({"kind": "gemini", "api_key": "${MINE}"}, ("gemini", "gemini-embedding-2", GEMINI_URL, "k")),
    ({"kind": "mock"}, ("mock", "mock", "", None)),
    ({"kind": "offline", "api_key": "${UNSET}"}, ("offline", "omnigraph-hashing-1", "", None)),
]


@pytest.mark.parametrize(("profile", "expected"), PROFILES)
def test_a_profile_names_provider_model_address_and_the_variable_with_the_key(
    profile: dict[str, str], expected: tuple[str, str, str, str | None]
) -> None:
    config = config_from_profile(profile, {"MINE": " k ", "OPENAI_API_KEY": "another", "OMNIGRAPH_EMBED_MODEL": "x"})
    assert (config.provider, config.model, config.base_url, config.api_key) == expected


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ({"kind": "oracle"}, "unknown embedding provider 'oracle'"),
        ({"kind": "openai", "api_key": "${UNSET}"}, "needs the variable UNSET"),
        ({"kind": "openai", "api_key": "${BLANK}"}, "needs the variable BLANK"),
        ({"kind": "openai"}, "names no variable"),
        ({"kind": "openai", "api_key": "sk-plain"}, "names no variable"),
    ],
)
def test_a_profile_that_cannot_embed_is_refused_without_showing_a_key(profile: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=message) as refused:
        config_from_profile(profile, {"BLANK": "  "})
    assert "sk-plain" not in str(refused.value)


def test_the_mock_embeds_instead_of_a_profile_and_needs_no_key() -> None:
    with pytest.warns(UserWarning, match="the mock embeds instead of 'openai'"):
        config = config_from_profile(
            {"kind": "openai", "model": "m", "api_key": "${A}"}, {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
        )
    assert (config.provider, config.model) == ("mock", "m"), "the model that a schema may ask for"


def test_nothing_chosen_and_no_key_is_no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "OMNIGRAPH_EMBED_PROVIDER", "OMNIGRAPH_EMBEDDINGS_MOCK"):
        monkeypatch.delenv(name, raising=False)
    assert config_from_environment({}) is None
    assert embedder_from_environment() is None
    with pytest.raises(EmbeddingNotConfigured, match=r"OPENROUTER_API_KEY or OPENAI_API_KEY"):
        require_embedder()


def test_a_key_alone_is_no_choice_of_a_provider() -> None:
    assert not is_chosen({"OPENAI_API_KEY": "o"})
    assert is_chosen({"OMNIGRAPH_EMBED_PROVIDER": "openai"})
    assert is_chosen({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"})
    assert not is_chosen({"OMNIGRAPH_EMBEDDINGS_MOCK": "0"})


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(BadRequest, match="unknown embedding provider 'cohere'") as caught:
        config_from_environment({"OMNIGRAPH_EMBED_PROVIDER": "cohere"})
    assert caught.value.hint == "use one of openai-compatible, openai, gemini, mock, offline"


def test_the_mock_warns_when_it_replaces_a_chosen_provider() -> None:
    with pytest.warns(UserWarning, match="the mock embeds instead of 'openai'"):
        config = config_from_environment({"OMNIGRAPH_EMBEDDINGS_MOCK": "on", "OMNIGRAPH_EMBED_PROVIDER": "openai"})
    assert config is not None
    assert config.provider == "mock"


def test_limits_are_read_and_zero_is_no_deadline() -> None:
    config = config_from_environment(
        {
            "OMNIGRAPH_EMBED_PROVIDER": "mock",
            "OMNIGRAPH_EMBED_DEADLINE_MS": "0",
            "OMNIGRAPH_EMBED_TIMEOUT_MS": "1500",
            "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "2",
            "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": "50",
        }
    )
    assert config is not None
    assert (config.deadline_s, config.timeout_s, config.attempts, config.backoff_s) == (None, 1.5, 2, 0.05)


def test_a_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(BadRequest, match="OMNIGRAPH_EMBED_TIMEOUT_MS is 'soon'"):
        config_from_environment({"OMNIGRAPH_EMBED_PROVIDER": "mock", "OMNIGRAPH_EMBED_TIMEOUT_MS": "soon"})


def test_the_key_does_not_show() -> None:
    assert "secret" not in repr(EmbeddingConfig(provider="openai", model="m", api_key="secret"))
