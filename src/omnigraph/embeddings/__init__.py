"""Embeddings: texts become vectors, by a provider over HTTP or by a function of this package. Start with `Embedder`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.embeddings.config import EmbeddingConfig as EmbeddingConfig
    from omnigraph.embeddings.config import config_from_environment as config_from_environment
    from omnigraph.embeddings.config import config_from_profile as config_from_profile
    from omnigraph.embeddings.config import is_chosen as is_chosen
    from omnigraph.embeddings.embedder import Embedder as Embedder
    from omnigraph.embeddings.embedder import embedder_from_environment as embedder_from_environment
    from omnigraph.embeddings.embedder import embedder_of as embedder_of
    from omnigraph.embeddings.embedder import require_embedder as require_embedder
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "config": (
                "EmbeddingConfig",
                "config_from_environment",
                "config_from_profile",
                "is_chosen",
            ),
            "embedder": (
                "Embedder",
                "embedder_from_environment",
                "embedder_of",
                "require_embedder",
            ),
        },
    )
