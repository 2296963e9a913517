"""How conflicts are decided on the command line: one side for all of them, one for each kind, or a resolution file."""

from __future__ import annotations

import json
from typing import Any

import click

from omnigraph.cli.inputs.files import read_text
from omnigraph.cli.refusals import UnreadableFile

on_conflict_option = click.option(
    "--on-conflict",
    multiple=True,
    metavar="[KIND=]SIDE",
    help="Decide conflicts: ours keeps the target's entity, theirs takes the source's. With a KIND it decides only "
    "conflicts of this kind, and may be repeated.",
)
resolve_option = click.option("--resolve", metavar="FILE", help="Decide single entities: a JSON list of resolutions.")


def word_or_pairs(option: str, given: tuple[str, ...]) -> str | dict[str, str] | None:
    """`theirs` for everything, or `NAME=theirs` for each name; None when the option is absent."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = dict[str, str]()
    for text in given:
        name, sign, word = text.partition("=")
        if not sign:
            raise click.UsageError(f"{option} takes one word for everything, or NAME=WORD for each name; not both")
        if name in pairs:
            raise click.UsageError(f"{option} names '{name}' twice")
        pairs[name] = word
    return pairs


def read_resolutions(path: str) -> list[Any]:
    """The list of a resolution file; what its entries say is checked by the merge."""
    text = read_text(path)
    try:
        listed = json.loads(text)
    except ValueError as error:
        raise UnreadableFile(path, f"not valid JSON: {error}") from error
    if not isinstance(listed, list):
        raise UnreadableFile(path, "a resolution file is a JSON list, with one object for each entity")
    return listed
