"""`omnigraph lint`: check a query file against a schema, from a file or from a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.language.query import LintReport
    from omnigraph.language.schema import Catalog
    from omnigraph.model.errors import Json

_WORDS = {"error": "ERROR", "warning": "WARN ", "info": "INFO "}


@click.command("lint", cls=OmniCommand, example="omnigraph lint --schema library.pg --query library.gq")
@uri_argument
@click.option("--query", "query_file", required=True, metavar="FILE", help="The queries, a .gq file.")
@click.option("--schema", "schema_file", metavar="FILE", help="Check against this .pg file instead of a graph.")
@json_option
@click.pass_obj
def command(session: Session, uri: str | None, query_file: str, schema_file: str | None) -> None:
    """Check a query file against a schema.

    Warnings do not fail. With --schema no graph is needed, and the flags that address one are ignored.
    """
    from omnigraph.cli.inputs import read_text
    from omnigraph.cli.refusals import ReportedFailure
    from omnigraph.language.query import lint_queries

    catalog, source = _catalog(session, uri, schema_file)
    text = read_text(query_file)
    report = lint_queries(text, catalog, file=query_file)
    session.output.show(
        report.to_json(schema_source=source, query_path=query_file),
        _lines(report),
    )
    if report.status == "error":
        raise ReportedFailure(f"lint found errors in '{query_file}'")


def _catalog(session: Session, uri: str | None, schema_file: str | None) -> tuple[Catalog, dict[str, Json]]:
    """The catalog to check against, and how the report names it."""
    if schema_file is not None:
        from omnigraph.cli.inputs import compile_file

        return compile_file(session, schema_file).catalog, {"kind": "file", "path": schema_file}
    target = session.target(uri, offline="--schema <file.pg>")
    with target.open_for_reading() as graph:
        return graph.schema.catalog, {"kind": "graph", "uri": target.uri}


def _lines(report: LintReport) -> Iterator[str]:
    """One line per query, its faults with their source lines below it, then the findings and the counts."""
    for result in report.results:
        word = "OK   " if result.status == "ok" else "ERROR"
        yield f"{word} query `{result.name}` ({result.kind})"
        yield from (fault.render() for fault in result.diagnostics if fault.severity == "error")
        yield from (f"WARN  query `{result.name}`: {warning}" for warning in result.warnings)
    for finding in report.findings:
        yield f"{_WORDS[finding.severity]} {finding.code}: {finding.message}"
    yield from (fault.render() for fault in report.diagnostics)
    yield (
        f"INFO  Lint complete: {len(report.results)} queries processed "
        f"({report.errors} error(s), {report.warnings} warning(s), {report.infos} info item(s))"
    )
