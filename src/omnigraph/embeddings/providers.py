"""Providers over HTTP: the request and the answer of each, and one way to call them that retries what may pass.

Retried are failures to connect, time-outs, 429 and 5xx, within the attempts and the deadline; a provider's Retry-After
is honoured. Nothing else is retried.
"""

from __future__ import annotations

import email.utils
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.embeddings.config import EmbeddingConfig
from omnigraph.model.errors import EmbeddingProviderFailed
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    import httpx2

Role = Literal["query", "document"]
BACKOFF_DOUBLINGS_MAX = 10
REASON_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: where to, with what, and how to find the vectors in the answer."""

    url: str
    headers: dict[str, str]
    body: dict[str, Any]
    vectors: Callable[[Any], list[list[float]]]


def texts_per_call(config: EmbeddingConfig) -> int:
    return 1 if config.provider == "gemini" else config.batch_texts


def call_for(config: EmbeddingConfig, texts: Sequence[str], dimension: int, role: Role) -> Call:
    if config.provider == "gemini":
        [text] = texts
        return _gemini(config, text, dimension, role)
    return _openai(config, texts, dimension)


def _openai(config: EmbeddingConfig, texts: Sequence[str], dimension: int) -> Call:
    def vectors(answer: Any) -> list[list[float]]:
        by_index = {int(entry["index"]): list(entry["embedding"]) for entry in answer["data"]}
        return [by_index[index] for index in range(len(texts))]

    return Call(
        url=f"{config.base_url}/embeddings",
        headers={"authorization": f"Bearer {config.required_key()}"},
        body={"model": config.model, "input": list(texts), "dimensions": dimension},
        vectors=vectors,
    )


def _gemini(config: EmbeddingConfig, text: str, dimension: int, role: Role) -> Call:
    return Call(
        url=f"{config.base_url}/models/{config.model}:embedContent",
        headers={"x-goog-api-key": config.required_key()},
        body={
            "model": f"models/{config.model}",
            "content": {"parts": [{"text": text}]},
            "taskType": "RETRIEVAL_QUERY" if role == "query" else "RETRIEVAL_DOCUMENT",
            "outputDimensionality": dimension,
        },
        vectors=lambda answer: [list(answer["embedding"]["values"])],
    )


class Pace:
    """Spaces requests out over time, so that a stated rate is never passed."""

    def __init__(self, requests_per_minute: int, wait: Callable[[float], None]) -> None:
        self._gap = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._wait = wait
        self._lock = threading.Lock()
        self._next = 0.0

    def take_turn(self) -> None:
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            self._wait(turn - now)


class _Passing(Exception):
    """A failure that may pass: after `pause` seconds at the earliest, as the provider wants it."""

    def __init__(self, failure: EmbeddingProviderFailed, pause: float) -> None:
        super().__init__(failure.sentence())
        self.failure, self.pause = failure, pause


class Caller:
    """Carries calls out. Thread-safe; the connections are kept."""

    def __init__(self, config: EmbeddingConfig, wait: Callable[[float], None] = time.sleep) -> None:
        self._config = config
        self._wait = wait
        self._pace = Pace(config.requests_per_minute, wait)
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def send(self, call: Call, ends: float | None) -> list[list[float]]:
        """The vectors of the answer. `ends` is the moment of the clock that the whole work must be done at."""
        attempt = 1
        while True:
            self._pace.take_turn()
            try:
                return self._once(call, ends)
            except _Passing as passing:
                delay = max(passing.pause, self._config.backoff_s * 2 ** min(attempt - 1, BACKOFF_DOUBLINGS_MAX))
                too_late = ends is not None and time.monotonic() + delay >= ends
                if attempt >= self._config.attempts or too_late:
                    raise passing.failure from passing.__cause__
            self._wait(delay)
            attempt += 1

    def _once(self, call: Call, ends: float | None) -> list[list[float]]:
        import httpx2

        timeout = self._config.timeout_s
        if ends is not None:
            timeout = min(timeout, ends - time.monotonic())
            if timeout <= 0:
                raise self._failure(None, "the deadline has passed")
        try:
            response = self._connected().post(call.url, headers=call.headers, json=call.body, timeout=timeout)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise self._failure(None, f"the base URL '{self._config.base_url}' cannot be used: {error}") from error
        except httpx2.HTTPError as error:
            raise _Passing(self._failure(None, f"{type(error).__name__}: {error}"), 0.0) from error
        status = response.status_code
        if status == 429 or status >= 500:
            raise _Passing(
                self._failure(status, _brief(response.text)), _retry_after(response.headers.get("retry-after"))
            )
        if status >= 300:
            raise self._failure(status, _brief(response.text))
        try:
            return call.vectors(response.json())
        except (ValueError, KeyError, TypeError, IndexError) as error:
            reason = f"the answer contains no embedding ({type(error).__name__}: {error})"
            raise self._failure(status, reason) from error

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client()
            return self._client

    def _failure(self, status: int | None, reason: str) -> EmbeddingProviderFailed:
        key = self._config.api_key
        return EmbeddingProviderFailed(self._config.provider, status, reason.replace(key, "***") if key else reason)


def _retry_after(value: str | None) -> float:
    """Seconds, or a date; 0 when it says neither."""
    if not value:
        return 0.0
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _brief(text: str) -> str:
    return " ".join(text.split())[:REASON_CHARACTERS_MAX] or "no reason given"
