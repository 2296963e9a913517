"""Choices: options that are one of a few words. Any other word is refused, with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Collection

from omnigraph.language import did_you_mean
from omnigraph.model.errors import BadRequest


def require_choice(option: str, value: object, known: Collection[str]) -> None:
    """Raises unless the option has one of the known words."""
    if value in known:
        return
    near = did_you_mean(value, known) if isinstance(value, str) else None
    raise BadRequest(f"{option} must be {_listed(known)}, not {value!r}", near)


def _listed(known: Collection[str]) -> str:
    *others, last = [f"'{word}'" for word in known]
    return f"{', '.join(others)} or {last}" if others else last
