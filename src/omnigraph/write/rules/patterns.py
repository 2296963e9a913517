"""`@check` patterns: RE2 through pyarrow. Linear time, so no pattern can hang a load."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def check_pattern(pattern: str) -> str | None:
    """None when the pattern compiles, else the reason. Handed to the schema compiler, which stays pure."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None
