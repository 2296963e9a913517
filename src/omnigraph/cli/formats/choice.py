"""The choice of a format: the command line before the operator's configuration."""

from __future__ import annotations

from enum import StrEnum


class ResultFormat(StrEnum):
    """How the rows of a read are printed, in the order of the help."""

    TABLE = "table"
    KV = "kv"
    CSV = "csv"
    JSONL = "jsonl"
    JSON = "json"


def chosen_format(*, json: bool, given: str | None, configured: str) -> ResultFormat:
    """`--json`, else `--format`, else the configured default."""
    return ResultFormat.JSON if json else ResultFormat(given or configured)
