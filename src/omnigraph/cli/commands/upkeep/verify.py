"""`omnigraph verify`: check a whole graph without changing it."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session


@click.command("verify", cls=OmniCommand, example="omnigraph verify lib.omni")
@uri_argument
@click.option("--shallow", is_flag=True, help="Check the files only; read no rows and no indexes.")
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, shallow: bool) -> None:
    """Check a whole graph without changing it.

    Errors exit 1; warnings, such as an interrupted write that waits for recovery, do not.
    """
    from dataclasses import replace

    from omnigraph.cli.refusals import ReportedFailure
    from omnigraph.graph import verify

    target = session.target(uri)
    # Not through an opened graph: opening refuses some of the damage that this command has to report.
    found = verify(target.uri, deep=not shallow)
    report = replace(found, uri=target.uri)
    session.output.show(report.to_json(), [report.render()])
    if not report.ok:
        raise ReportedFailure(f"verify found {report.count('error')} error(s) in '{target.uri}'")
