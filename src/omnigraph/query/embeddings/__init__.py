"""Embeddings: texts become vectors, by a provider over HTTP or by a function of this package."""

from omnigraph.query.embeddings.config import EmbeddingConfig, config_from_environment, is_chosen
from omnigraph.query.embeddings.embedder import Embedder, embedder_from_environment, require_embedder

__all__ = [
    "Embedder",
    "EmbeddingConfig",
    "config_from_environment",
    "embedder_from_environment",
    "is_chosen",
    "require_embedder",
]
