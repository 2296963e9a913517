"""Durations as people write them: a whole number and a unit. Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from omnigraph.model.errors import BadRequest

_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WRITTEN = re.compile(r"([0-9]{1,9})([smhdw]?)")

Duration = timedelta | str | int | float
"""A `timedelta`, a number of seconds, or a text such as `90s`, `15m`, `6h`, `7d`, `2w`."""


def seconds_of(given: Duration, what: str) -> float:
    """How many seconds. `what` names the option in the error of one that is not a duration."""
    if isinstance(given, timedelta):
        given = given.total_seconds()
    if isinstance(given, str):
        found = _WRITTEN.fullmatch(given.strip())
        if found is None:
            raise BadRequest(
                f"'{given}' is not a duration for {what}", "write a whole number and one unit: 90s, 15m, 6h, 7d or 2w"
            )
        return float(int(found[1]) * _UNIT_SECONDS[found[2]])
    number: Any = given  # whatever a caller passes
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e12:
        raise BadRequest(f"{what} must be a duration of at least 0, not {number!r}")
    return float(number)
