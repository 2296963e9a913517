"""`omnigraph diff`, which is also `omnigraph branch diff`: what differs between two commits, entity by entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.inputs import filter_options, filters
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.history.diff import Diff
    from omnigraph.language.schema import Catalog
    from omnigraph.model.errors import Json

F = TypeVar("F", bound=Callable[..., Any])


def diff_command(path: str) -> click.Command:
    """The command under one of its two names."""
    made = click.command(path.split()[-1], cls=OmniCommand, example=f"omnigraph {path} main review --store lib.omni")
    return made(_options(click.pass_obj(_diff)))


def _options(command: F) -> F:
    for decorate in (
        json_option,
        uri_option,
        click.option("--stat", is_flag=True, help="Show only how many entities of each type differ."),
        filter_options,
        click.argument("after", default="main", metavar="[AFTER]"),
        click.argument("before"),
    ):
        command = decorate(command)
    return command


def _diff(
    session: Session,
    before: str,
    after: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    stat: bool,
    uri: str | None,
) -> None:
    """Show what differs between two branches, tags, commits or times.

    AFTER is main by default. Each changed entity is shown with its properties before and after; one that was there in
    between and is gone again does not differ.
    """
    with session.target(uri).open_for_reading() as graph:
        difference = graph.diff(before, after, **filters(kinds, types, ops))
        if session.json:
            lines = _stat_document(difference) if stat else _document(difference)
        else:
            lines = _stat(difference) if stat else _lines(difference, graph.schema.catalog)
        for line in lines:
            session.output.write(line)


def _document(difference: Diff) -> Iterator[str]:
    """The document of `Diff.to_json()`, written while it is read: a diff may be larger than memory."""
    from omnigraph.cli.formats import json_stream

    return json_stream(
        _ends(difference),
        "changes",
        (change.to_json() for change in difference),
        lambda: {"stats": difference.stats.to_json()},
    )


def _stat_document(difference: Diff) -> Iterator[str]:
    from omnigraph.cli.output import to_json_text

    document: dict[str, Json] = {**_ends(difference), "stats": difference.stats.to_json()}
    yield to_json_text(document)


def _ends(difference: Diff) -> dict[str, Json]:
    ends = (("from", difference.before), ("to", difference.after))
    return {name: {"commit": snapshot.commit_id, "branch": snapshot.branch} for name, snapshot in ends}


def _stat(difference: Diff) -> Iterator[str]:
    from omnigraph.cli.formats import stat_lines

    return stat_lines(difference.stats.to_json())


def _lines(difference: Diff, catalog: Catalog) -> Iterator[str]:
    from omnigraph.cli.formats import diff_lines, with_dates

    shown = False
    for line in diff_lines(with_dates(change.to_json(), catalog) for change in difference):
        shown = True
        yield line
    if not shown:
        yield "no differences"


command = diff_command("diff")
