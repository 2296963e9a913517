"""Local limits: how many bytes of a job this process does by itself before Spark is asked."""

from __future__ import annotations

import os

from omnigraph.model.errors import BadRequest


def local_limit(variable: str, default: int) -> int:
    """What the environment variable says, in bytes, or the default."""
    text = os.environ.get(variable, "")
    if not text:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise BadRequest(f"{variable} must be a number of bytes, not '{text}'") from error
