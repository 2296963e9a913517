"""`omnigraph indexes`: the indexes of a graph and how much of their tables they cover."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniCommand, branch_option, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


@click.command("indexes", cls=OmniCommand, example="omnigraph indexes lib.omni")
@uri_argument
@branch_option
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, branch: str) -> None:
    """Show the indexes of a branch and how much they cover.

    Indexes make answers faster and never change them: rows that an index does not cover are scanned.
    """
    from omnigraph.cli.formats import table_lines

    with session.target(uri).open_for_reading() as graph:
        rows = [_document(status) for status in graph.indexes(branch)]
    shown = [{name: "" if value is None else value for name, value in row.items()} for row in rows]
    lines = [line.rstrip() for line in table_lines(list(rows[0]), shown)] if rows else ["no indexes are declared"]
    session.output.show({"indexes": list(rows)}, lines)


def _document(status: Any) -> dict[str, Json]:
    """The fields of a status, under their own names."""
    return {field.name: getattr(status, field.name) for field in fields(status)}
