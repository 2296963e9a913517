"""Options that writes share: under which condition, as which request, with which words."""

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


def undo_options(command: F) -> F:
    """--branch, --message, --if-commit and --dry-run, for commands that bring back what was."""
    for decorate in (
        click.option("--dry-run", is_flag=True, help="Show what would change; change nothing."),
        click.option(
            "--if-commit", metavar="ID", help="Write only if this commit is still the head; exit 4 otherwise."
        ),
        click.option("--message", metavar="TEXT", help="A message to keep with the commit."),
        click.option("--branch", metavar="BRANCH", default="main", show_default=True, help="The branch to write."),
    ):
        command = decorate(command)
    return command
