"""`omnigraph export`: the entities of a branch as JSON lines, or as a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.inputs import engine_options, refuse_master_without_spark
from omnigraph.cli.session import Session, Target

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.pipeline.export import ExportResult


@click.command("export", cls=OmniCommand, example="omnigraph export lib.omni --type Author > authors.jsonl")
@uri_argument
@click.option("--branch", metavar="BRANCH", help="The branch to read.  [default: main]")
@click.option("--type", "types", multiple=True, metavar="NAME", help="Only this node or edge type; may be repeated.")
@click.option(
    "--dates",
    type=click.Choice(["raw", "iso"]),
    help="Dates as days and milliseconds since 1970, or as text.  [default: iso for csv, else raw]",
)
@click.option("--snapshot", metavar="REF", help="Export what this commit, tag or time shows, instead of a branch.")
@click.option("--manifest", is_flag=True, help="End with a line that has the counts and a SHA-256; load checks it.")
@click.option("--output", metavar="DIR", help="Write files into this empty folder (a path or s3://…), in parallel.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["jsonl", "parquet", "csv"]),
    help="With --output: what the files are.  [default: jsonl]",
)
@engine_options
@click.option("--jsonl", is_flag=True, hidden=True)
@json_option
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    branch: str | None,
    types: tuple[str, ...],
    dates: str | None,
    snapshot: str | None,
    manifest: bool,
    output: str | None,
    file_format: str | None,
    engine: str,
    spark: str | None,
    jsonl: bool,
) -> None:
    """Write the entities of a branch as JSON lines, Parquet or CSV.

    One snapshot. On stdout: nodes before edges, each type in the order of its ids; when it fails midway the lines
    before are on stdout already, so check the exit code. With --output: a folder of files per type, complete or empty;
    `load` reads either back.
    """
    if jsonl:
        session.output.warn("`--jsonl` is deprecated: an export on stdout is always JSON lines")
    refuse_master_without_spark(engine, spark)
    if branch is not None and snapshot is not None:
        raise click.UsageError("--snapshot names a commit; it cannot be used with --branch")
    if output is not None:
        if manifest:
            raise click.UsageError("--manifest is for stdout: a folder has its _manifest.json")
        _to_folder(session, uri, output, branch, snapshot, types, dates, file_format or "jsonl", engine, spark)
        return
    _refuse_folder_options(session, file_format, engine, spark)
    with session.target(uri).open_for_reading() as graph:
        raw = cast("Literal['raw', 'iso']", dates or "raw")
        lines = graph.export(branch, at=snapshot, types=types or None, dates=raw, manifest=manifest)
        session.output.write_bytes(lines)


def _refuse_folder_options(session: Session, file_format: str | None, engine: str, spark: str | None) -> None:
    given = ((file_format is not None, "--format"), (engine != "auto", "--engine"), (spark is not None, "--spark"))
    for is_given, option in (*given, (session.json, "--json")):
        if is_given:
            raise click.UsageError(f"{option} needs --output: stdout takes JSON lines")


def _to_folder(
    session: Session,
    uri: str | None,
    folder: str,
    branch: str | None,
    snapshot: str | None,
    types: tuple[str, ...],
    dates: str | None,
    file_format: str,
    engine: str,
    spark: str | None,
) -> None:
    from omnigraph.cli.progress import progress_line

    line = progress_line(quiet=session.quiet)
    target = session.target(uri)
    try:
        with target.open_for_reading() as graph:
            result = graph.export_to(
                folder,
                format=cast("Any", file_format),
                branch=branch,
                at=snapshot,
                types=types or None,
                dates=cast("Any", dates),
                engine=cast("Any", engine),
                spark=spark,
                progress=line,
            )
    finally:
        if line is not None:
            line.wipe()
    session.output.show(_document(target, result), _lines(target, result))


def _document(target: Target, result: ExportResult) -> dict[str, Json]:
    return {
        "uri": target.uri,
        "branch": result.branch,
        "commit_id": result.commit_id,
        "output": result.folder,
        "format": result.format,
        "engine": result.engine,
        "nodes": [{"name": name, "entities_exported": count} for name, count in sorted(result.nodes.items())],
        "edges": [{"name": name, "entities_exported": count} for name, count in sorted(result.edges.items())],
        "total_entities": result.total_entities,
        "files": len(result.files),
        "bytes": result.bytes,
        "seconds": result.seconds,
    }


def _lines(target: Target, result: ExportResult) -> Iterator[str]:
    counted = f"{result.total_entities} entities to {len(result.files)} {result.format} files"
    yield f"exported {target.uri} of branch {result.branch}: {counted} in {result.folder}"
    yield f"{result.bytes} bytes in {result.seconds:.1f}s with the {result.engine} engine"
