"""Log lines: what happened, as plain `name=value` lines on stderr. Never a token, a payload or a header."""

from __future__ import annotations

import datetime as dt
import logging
import os
import sys
import traceback

LOGGER = logging.getLogger("omnigraph.server")
LEVEL_VARIABLE = "OMNIGRAPH_LOG"


class _Plain(logging.Formatter):
    """Time in UTC, level, text: no colours, one line each."""

    def format(self, record: logging.LogRecord) -> str:
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        return f"{at.replace('+00:00', 'Z')} {record.levelname.lower()} {record.getMessage()}"


def start_logging() -> None:
    """Logs to stderr from now on, from the level that OMNIGRAPH_LOG names (default: info)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain())
    for name in ("omnigraph.server", "uvicorn.error", "opentelemetry"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL_VARIABLE, "info").upper(), logging.INFO)
    LOGGER.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(max(level, logging.WARNING))


def event(what: str, *, level: int = logging.INFO, **facts: object) -> None:
    """One line about something that happened; facts that are None are left out."""
    if LOGGER.isEnabledFor(level):
        told = [f"{name}={_value(value)}" for name, value in facts.items() if value is not None]
        LOGGER.log(level, "%s", " ".join([what, *told]))


def failure(what: str, error: BaseException, **facts: object) -> None:
    """Something that the caller was not told: the whole reason, with its traceback, on lines of their own."""
    event(what, level=logging.ERROR, error=type(error).__name__, **facts)
    for line in "".join(traceback.format_exception(error)).rstrip().splitlines():
        LOGGER.error("  %s", line)


def _value(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    plain = text.isascii() and text.isprintable() and text and not any(sign in text for sign in ' "=')
    return text if plain else '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'
