"""The embedder: texts in, unit vectors out, from any provider. Thread-safe; made once per configuration.

Every vector is checked (length, finite numbers, not zero) and scaled to length one before anyone sees it. Recent ones
are remembered by model, dimension, role and a hash of the text.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from omnigraph.embeddings.arithmetic import mock_values, offline_values
from omnigraph.embeddings.config import PROVIDER, EmbeddingConfig, config_from_environment
from omnigraph.embeddings.providers import Caller, Role, call_for, texts_per_call
from omnigraph.model.errors import EmbeddingModelMismatch, EmbeddingNotConfigured, EmbeddingProviderFailed

Vector = npt.NDArray[np.float32]
CACHE_BYTES_MAX = 64 * 1024 * 1024
"""Vectors that are remembered; the least recently used go first."""
KEY_BYTES = 200

_Key = tuple[str, int, Role, bytes]


class Embedder:
    """One provider and one model."""

    def __init__(self, config: EmbeddingConfig, *, wait: Callable[[float], None] = time.sleep) -> None:
        self.config = config
        self._caller = Caller(config, wait)
        self._lock = threading.Lock()
        self._cache: OrderedDict[_Key, Vector] = OrderedDict()
        self._cached_bytes = 0

    @property
    def provider(self) -> str:
        return self.config.provider

    @property
    def model(self) -> str:
        return self.config.model

    def embed_query(self, text: str, dimension: int, model_required: str | None = None) -> Vector:
        """The vector of a question."""
        return self._embed([text], dimension, "query", model_required)[0]

    def embed_documents(self, texts: Sequence[str], dimension: int, model_required: str | None = None) -> list[Vector]:
        """The vectors of texts to be found, in their order."""
        return self._embed(texts, dimension, "document", model_required)

    def _embed(self, texts: Sequence[str], dimension: int, role: Role, model_required: str | None) -> list[Vector]:
        if model_required is not None and model_required != self.model:
            raise EmbeddingModelMismatch(model_required, self.model)
        keys = [self._key(text, dimension, role) for text in texts]
        known = self._remembered(keys)
        missing = list(dict.fromkeys(text for text, key in zip(texts, keys, strict=True) if key not in known))
        made = dict(zip(missing, self._made(missing, dimension, role), strict=True))
        fresh = {self._key(text, dimension, role): vector for text, vector in made.items()}
        self._remember(fresh)
        return [known[key] if key in known else fresh[key] for key in keys]

    # --- making -------------------------------------------------------------------------------------------

    def _made(self, texts: Sequence[str], dimension: int, role: Role) -> list[Vector]:
        if self.config.provider == "mock":
            return [self._checked(mock_values(text, dimension), dimension) for text in texts]
        if self.config.provider == "offline":
            return [self._checked(offline_values(text, dimension), dimension) for text in texts]
        return self._asked(texts, dimension, role)

    def _asked(self, texts: Sequence[str], dimension: int, role: Role) -> list[Vector]:
        ends = None if self.config.deadline_s is None else time.monotonic() + self.config.deadline_s
        size = texts_per_call(self.config)
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        calls = [call_for(self.config, batch, dimension, role) for batch in batches]
        if len(calls) <= 1:
            answers = [self._caller.send(call, ends) for call in calls]
        else:
            with ThreadPoolExecutor(min(self.config.concurrency, len(calls)), "omnigraph-embed") as pool:
                answers = list(pool.map(lambda call: self._caller.send(call, ends), calls))
        return [self._checked(values, dimension) for answer in answers for values in answer]

    def _checked(self, values: Sequence[float] | Vector, dimension: int) -> Vector:
        """A vector of length one, or a failure that says what is wrong with this one."""
        try:
            vector = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise self._refused("it has entries that are not numbers") from None
        if vector.shape != (dimension,):
            raise self._refused(f"it has {vector.size} numbers, expected {dimension}")
        if not np.isfinite(vector).all():
            raise self._refused("it has numbers that are not finite")
        norm = float(np.linalg.norm(vector))
        if norm == 0.0 or not np.isfinite(norm):
            raise self._refused("its length is zero or too large")
        return (vector / norm).astype(np.float32)

    def _refused(self, reason: str) -> EmbeddingProviderFailed:
        return EmbeddingProviderFailed(self.provider, None, f"a vector of model '{self.model}' was refused: {reason}")

    # --- remembering --------------------------------------------------------------------------------------

    def _key(self, text: str, dimension: int, role: Role) -> _Key:
        return (self.model, dimension, role, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())

    def _remembered(self, keys: Sequence[_Key]) -> dict[_Key, Vector]:
        with self._lock:
            found = {key: self._cache[key] for key in keys if key in self._cache}
            for key in found:
                self._cache.move_to_end(key)
            return found

    def _remember(self, vectors: dict[_Key, Vector]) -> None:
        with self._lock:
            for key, vector in vectors.items():
                if key in self._cache:
                    continue
                vector.flags.writeable = False
                self._cache[key] = vector
                self._cached_bytes += vector.nbytes + KEY_BYTES
            while self._cached_bytes > CACHE_BYTES_MAX:
                _, dropped = self._cache.popitem(last=False)
                self._cached_bytes -= dropped.nbytes + KEY_BYTES


@lru_cache(maxsize=16)
def embedder_of(config: EmbeddingConfig) -> Embedder:
    """The embedder of a configuration: the same one for the same settings, so that they share what they remember."""
    return Embedder(config)


def embedder_from_environment() -> Embedder | None:
    """The embedder that the environment describes; None when it describes none. The same one for the same settings."""
    config = config_from_environment()
    return None if config is None else embedder_of(config)


def require_embedder() -> Embedder:
    """The embedder of the environment, or an error that says how to name one."""
    embedder = embedder_from_environment()
    if embedder is None:
        raise EmbeddingNotConfigured(
            "openai-compatible",
            "no API key in OPENROUTER_API_KEY or OPENAI_API_KEY, and no other provider is chosen",
            f"set OPENROUTER_API_KEY or OPENAI_API_KEY, choose a provider with {PROVIDER}, or pass the vector itself",
        )
    return embedder
