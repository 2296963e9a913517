"""`omnigraph explain`: how a query would run, or how it ran."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniCommand, branch_option, json_option
from omnigraph.cli.inputs import QuerySource, source_options
from omnigraph.cli.session import Session


@click.command(
    "explain",
    cls=OmniCommand,
    example='omnigraph explain books_by --query library.gq --params \'{"slug":"lem"}\' --store lib.omni',
)
@source_options
@branch_option
@click.option("--analyze", is_flag=True, help="Run the query, and show the rows and the time of each step.")
@json_option
@click.pass_obj
def command(
    session: Session,
    name: str | None,
    file: str | None,
    text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str,
    analyze: bool,
) -> None:
    """Show the plan of a query.

    Without --analyze nothing is read but statistics. A mutation has no plan: it is refused.
    """
    source = QuerySource(name, file, text, params, params_file)
    target = session.target(None)
    query = source.query_text(target, "explain")
    parameters = source.parameters()
    with target.open_for_reading() as graph:
        explanation = graph.explain(query, parameters, query_name=name, branch=branch, analyze=analyze)
    session.output.show(explanation.to_json(), explanation.text.splitlines())
