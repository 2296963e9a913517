"""Options that `load`, `export` and schema changes share: the engine, its master, and options of a format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

ENGINES = ("auto", "local", "spark")


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--engine` and `--spark`."""
    for option in reversed(
        (
            click.option(
                "--engine",
                type=click.Choice(ENGINES),
                default="auto",
                show_default=True,
                help="local works in this process, spark on a cluster; auto chooses by size.",
            ),
            click.option(
                "--spark",
                metavar="MASTER",
                help="The Spark master: local[4], spark://host:7077, sc://host … [env: OMNIGRAPH_SPARK].",
            ),
        )
    ):
        command = option(command)
    return command


def refuse_master_without_spark(engine: str, spark: str | None) -> None:
    if spark is not None and engine == "local":
        raise click.UsageError("--spark needs --engine spark or auto")


def key_values(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--option name=value`, repeated."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--option takes name=value, got '{pair}'")
        found[name] = value
    return found
