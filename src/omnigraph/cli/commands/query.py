"""`omnigraph query`: ask a graph a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import click

from omnigraph.cli.formats import ResultFormat, chosen_format
from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.inputs import QuerySource, source_options
from omnigraph.cli.session import Session, Target

if TYPE_CHECKING:
    from omnigraph.cli.formats import CellLayout
    from omnigraph.model.errors import Json


@click.command(
    "query",
    cls=OmniCommand,
    example="omnigraph query -e 'query all() { match { $b: Book } return { $b.title } }' --store lib.omni",
)
@source_options
@click.option("--branch", metavar="BRANCH", help="The branch to read.  [default: main]")
@click.option("--snapshot", metavar="REF", help="Read the graph as it was right after this commit, or at this tag.")
@click.option("--as-of", metavar="TIME", help="Read the branch as it was at this time, such as 2026-01-31T12:00:00Z.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End a query that takes longer."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in ResultFormat]),
    help="How the rows are printed.  [default: defaults.output of the configuration, else table]",
)
@json_option
@click.pass_obj
def command(
    session: Session,
    name: str | None,
    file: str | None,
    text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    as_of: str | None,
    timeout: float | None,
    form: str | None,
) -> None:
    """Ask a graph a question.

    The query is in a file or given with -e; NAME selects one when the source has several. All rows come from one
    snapshot: the head of a branch, or what a commit or a time says. Nothing is written.
    """
    source = QuerySource(name, file, text, params, params_file)
    _refuse_conflicts(session, branch=branch, snapshot=snapshot, as_of=as_of, form=form)
    target = session.target(None)
    if source.is_stored(target):
        _refuse_time(as_of, timeout)
        _run_stored(session, target, source, branch, snapshot, form)
        return
    query = source.query_text(target, "query")
    parameters = source.parameters()
    with target.open_for_reading() as graph:
        result = graph.query(
            query, parameters, query_name=name, branch=branch, commit=snapshot, as_of=as_of, timeout=timeout
        )
    show_result(session, result.to_json(), form)


def _run_stored(
    session: Session,
    target: Target,
    source: QuerySource,
    branch: str | None,
    snapshot: str | None,
    form: str | None,
) -> None:
    with target.open_for_reading() as graph:
        run = target.stored(graph)
        result = run(source.name, source.parameters(), branch=branch, commit=snapshot, expect_mutation=False)
    show_result(session, result.to_json(), form)


def _refuse_time(as_of: str | None, timeout: float | None) -> None:
    for option, value in (("--as-of", as_of), ("--timeout", timeout)):
        if value is not None:
            raise click.UsageError(f"{option} cannot be used with a stored query")


def _refuse_conflicts(
    session: Session, *, branch: str | None, snapshot: str | None, as_of: str | None, form: str | None
) -> None:
    if snapshot is not None and (branch is not None or as_of is not None):
        raise click.UsageError("--snapshot names a commit; it cannot be used with --branch or --as-of")
    if session.json and form is not None:
        raise click.UsageError("--json and --format cannot be used together")


def show_result(session: Session, document: Mapping[str, Json], form: str | None) -> None:
    """The rows in the format that was asked for."""
    from omnigraph.cli.formats import TableStyle, result_lines, view_of

    defaults = session.config.defaults
    chosen = chosen_format(json=session.json, given=form, configured=defaults.output)
    style = TableStyle(defaults.table_max_column_width, cast("CellLayout", defaults.table_cell_layout))
    for line in result_lines(view_of(document), chosen, style):
        session.output.write(line)
