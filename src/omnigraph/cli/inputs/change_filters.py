"""The options of commands that show changes: which kinds, types and operations are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from omnigraph import PageLimits

F = TypeVar("F", bound=Callable[..., Any])
PAGE = click.IntRange(1, 8192)
"""How many changes a page may have."""


def filter_options(command: F) -> F:
    """`--kind`, `--type`, `--op`: each may be repeated, and without one of them everything is wanted."""
    for decorate in (
        click.option(
            "--op",
            "ops",
            multiple=True,
            type=click.Choice(["insert", "update", "delete"]),
            help="Only these operations; may be repeated.",
        ),
        click.option("--type", "types", multiple=True, metavar="NAME", help="Only this type; may be repeated."),
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            type=click.Choice(["node", "edge"]),
            help="Only nodes or only edges.",
        ),
    ):
        command = decorate(command)
    return command


def filters(kinds: tuple[str, ...], types: tuple[str, ...], ops: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of `Graph`: None where nothing was named."""
    return {"kinds": kinds or None, "types": types or None, "ops": ops or None}


def page_limits(max_changes: int | None) -> PageLimits | None:
    """How many changes a page has at most."""
    if max_changes is None:
        return None
    from omnigraph import PageLimits

    return PageLimits(max_changes=max_changes)
