"""Options that every data write shares: under which condition, as which request, with which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def condition_options(command: F) -> F:
    """--if-commit, --idempotency-key and --message."""
    for decorate in (
        click.option("--message", metavar="TEXT", help="A message to keep with the commit."),
        click.option(
            "--idempotency-key",
            metavar="KEY",
            help="Write at most once for this key; a repeated call returns the first commit.",
        ),
        click.option(
            "--if-commit", metavar="ID", help="Write only if this commit is still the head; exit 4 otherwise."
        ),
    ):
        command = decorate(command)
    return command
