"""Which provider embeds, with which model, and how patiently: read from the environment, kept as one frozen value."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, get_args

from omnigraph.model.errors import BadRequest, EmbeddingNotConfigured
from omnigraph.model.late_dataclass import dataclass

ProviderName = Literal["openai-compatible", "openai", "gemini", "mock", "offline"]
PROVIDERS: tuple[ProviderName, ...] = get_args(ProviderName)

MOCK = "OMNIGRAPH_EMBEDDINGS_MOCK"
PROVIDER = "OMNIGRAPH_EMBED_PROVIDER"
BASE_URL = "OMNIGRAPH_EMBED_BASE_URL"
MODEL = "OMNIGRAPH_EMBED_MODEL"
_YES = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class _Defaults:
    base_url: str
    model: str
    key_variables: tuple[str, ...] = ()


_DEFAULTS: Mapping[ProviderName, _Defaults] = {
    "openai-compatible": _Defaults(
        "https://openrouter.ai/api/v1", "openai/text-embedding-3-large", ("OPENROUTER_API_KEY", "OPENAI_API_KEY")
    ),
    "openai": _Defaults("https://api.openai.com/v1", "text-embedding-3-large", ("OPENAI_API_KEY",)),
    "gemini": _Defaults("https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2", ("GEMINI_API_KEY",)),
    "mock": _Defaults("", "mock"),
    "offline": _Defaults("", "omnigraph-hashing-1"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """Everything that an embedder needs to know. The key does not show when this is printed."""

    provider: ProviderName
    model: str
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    deadline_s: float | None = 60.0
    """The whole call with all its retries; None: no end."""
    timeout_s: float = 30.0
    """One HTTP request."""
    attempts: int = 4
    backoff_s: float = 0.2
    batch_texts: int = 64
    concurrency: int = 4
    requests_per_minute: int = 0
    """0: as fast as the provider answers."""

    @property
    def key_variables(self) -> tuple[str, ...]:
        return _DEFAULTS[self.provider].key_variables

    def required_key(self) -> str:
        if self.api_key is None:
            named = " or ".join(self.key_variables)
            raise EmbeddingNotConfigured(self.provider, f"no API key in {named}", f"set {named}")
        return self.api_key


def is_chosen(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a provider is configured. A key alone does not count: it may be there for another program."""
    environ = os.environ if environ is None else environ
    return _is_mock(environ) or any(environ.get(name) for name in (PROVIDER, BASE_URL, MODEL))


def config_from_environment(environ: Mapping[str, str] | None = None) -> EmbeddingConfig | None:
    """The configured provider; None when none is chosen and there is no key for the default one."""
    environ = os.environ if environ is None else environ
    provider = _provider(environ)
    defaults = _DEFAULTS[provider]
    key = next((environ[name] for name in defaults.key_variables if environ.get(name)), None)
    if not is_chosen(environ) and key is None:
        return None
    deadline = _number(environ, "OMNIGRAPH_EMBED_DEADLINE_MS", 60_000)
    return EmbeddingConfig(
        provider=provider,
        model=environ.get(MODEL) or defaults.model,
        base_url=(environ.get(BASE_URL) or defaults.base_url).rstrip("/"),
        api_key=key,
        deadline_s=deadline / 1000 if deadline else None,
        timeout_s=_number(environ, "OMNIGRAPH_EMBED_TIMEOUT_MS", 30_000) / 1000,
        attempts=max(1, _number(environ, "OMNIGRAPH_EMBED_RETRY_ATTEMPTS", 4)),
        backoff_s=_number(environ, "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", 200) / 1000,
        batch_texts=max(1, _number(environ, "OMNIGRAPH_EMBED_BATCH", 64)),
        concurrency=max(1, _number(environ, "OMNIGRAPH_EMBED_CONCURRENCY", 4)),
        requests_per_minute=_number(environ, "OMNIGRAPH_EMBED_REQUESTS_PER_MINUTE", 0),
    )


def _provider(environ: Mapping[str, str]) -> ProviderName:
    named = (environ.get(PROVIDER) or "").strip().lower()
    if named and named not in PROVIDERS:
        raise BadRequest(f"unknown embedding provider '{named}' in {PROVIDER}", f"use one of {', '.join(PROVIDERS)}")
    if _is_mock(environ):
        if named not in ("", "mock"):
            warnings.warn(f"{MOCK} is set: the mock embeds instead of '{named}'", stacklevel=4)
        return "mock"
    return named or "openai-compatible"


def _is_mock(environ: Mapping[str, str]) -> bool:
    return (environ.get(MOCK) or "").strip().lower() in _YES


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = (environ.get(name) or "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise BadRequest(f"{name} is '{text}', expected a non-negative whole number")
    return int(text)
