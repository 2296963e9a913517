"""The stages of the pipeline without Spark: every kernel runs here, and what travels is pickled as Spark would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

STAND_IN = object()
"""Given instead of a session."""


def inline_run(spark: Any, kernel: Callable[[Any], Any], items: Sequence[Any], *, stage: Any) -> list[Any]:
    assert spark is STAND_IN
    return [pickle.loads(pickle.dumps(kernel(pickle.loads(pickle.dumps(item))))) for item in items]


def run_inline(patched: pytest.MonkeyPatch) -> None:
    """Makes the load job run its kernels in this process."""
    for module in ("spark_job", "spark_write"):
        patched.setattr(f"omnigraph.pipeline.load.{module}.run", inline_run)
