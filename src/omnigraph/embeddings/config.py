"""Which provider embeds, with which model, and how patiently: read from the environment or from a profile, kept as one
frozen value."""

from __future__ import annotations

import os
import re
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
_WITHOUT_KEY: tuple[ProviderName, ...] = ("mock", "offline")


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
    return _config(provider, environ.get(MODEL), environ.get(BASE_URL), key, environ)


def config_from_profile(profile: Mapping[str, str], environ: Mapping[str, str] | None = None) -> EmbeddingConfig:
    """What a profile of a cluster names: `kind`, `base_url`, `model`, and as `api_key` the variable `${NAME}` that has
    the key. The environment says how patiently to ask, and may have the mock embed instead.

    Raises BadRequest for a kind that is not known and for a key that cannot be had.
    """
    environ = os.environ if environ is None else environ
    provider = _unless_mock(_known(profile.get("kind", "openai-compatible"), "the profile of a provider"), environ)
    key = None
    if provider not in _WITHOUT_KEY:
        name = _variable(profile.get("api_key", ""))
        key = environ.get(name, "").strip()
        if not key:
            raise BadRequest(f"the embedding provider needs the variable {name}, which is not set", f"set {name}")
    return _config(provider, profile.get("model"), profile.get("base_url"), key, environ)


def _variable(text: str) -> str:
    named = re.fullmatch(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", text)
    if named is None:
        raise BadRequest(
            "the profile of an embedding provider names no variable with its key", 'write api_key: "${NAME}"'
        )
    return named[1]


def _config(
    provider: ProviderName, model: str | None, base_url: str | None, key: str | None, environ: Mapping[str, str]
) -> EmbeddingConfig:
    defaults = _DEFAULTS[provider]
    deadline = _number(environ, "OMNIGRAPH_EMBED_DEADLINE_MS", 60_000)
    return EmbeddingConfig(
        provider=provider,
        model=model or defaults.model,
        base_url=(base_url or defaults.base_url).rstrip("/"),
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
    if not named:
        return "mock" if _is_mock(environ) else "openai-compatible"
    return _unless_mock(_known(named, PROVIDER), environ)


def _unless_mock(named: ProviderName, environ: Mapping[str, str]) -> ProviderName:
    if not _is_mock(environ):
        return named
    if named != "mock":
        warnings.warn(f"{MOCK} is set: the mock embeds instead of '{named}'", stacklevel=5)
    return "mock"


def _known(name: str, place: str) -> ProviderName:
    for known in PROVIDERS:
        if name == known:
            return known
    raise BadRequest(f"unknown embedding provider '{name}' in {place}", f"use one of {', '.join(PROVIDERS)}")


def _is_mock(environ: Mapping[str, str]) -> bool:
    return (environ.get(MOCK) or "").strip().lower() in _YES


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = (environ.get(name) or "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise BadRequest(f"{name} is '{text}', expected a non-negative whole number")
    return int(text)
