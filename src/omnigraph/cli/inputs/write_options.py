"""Options that every data write shares: under which condition, as which request, with which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def condition_options(command: F) -> F:
    """--if-commit, --idempotency-key and --message."""
    for decorate in (
        click.option("--message", metavar="TEXT", help="Words to keep with the commit."),
        click.option("--idempotency-key", metavar="KEY", help="Write at most once for this key; a repeat is answered."),
        click.option("--if-commit", metavar="ID", help="Write only if this commit is still the head; else exit 4."),
    ):
        command = decorate(command)
    return command
