"""`omnigraph load`: entities from JSON lines, CSV, JSON, Parquet or anything that Spark reads, as one commit."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.inputs import (
    condition_options,
    engine_options,
    key_values,
    read_mapping,
    refuse_master_without_spark,
)
from omnigraph.cli.output import to_json_text
from omnigraph.cli.progress import ProgressLine, progress_line
from omnigraph.cli.session import Session, Target

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.write import LoadResult

STDIN = "-"
REMOTE = "s3://"
Mode = Literal["append", "merge", "overwrite"]


@click.command("load", cls=OmniCommand, example="omnigraph load --data seed.jsonl --mode append lib.omni")
@uri_argument
@click.option(
    "--data",
    "paths",
    required=True,
    multiple=True,
    metavar="FILE",
    help="The records: a file, a folder or a pattern; may be repeated; - reads JSON lines from stdin.",
)
@click.option(
    "--mode",
    type=click.Choice(["overwrite", "append", "merge"]),
    help="append refuses existing ids, merge replaces them, overwrite replaces every type in the input.  [required]",
)
@click.option(
    "--format",
    "source_format",
    metavar="NAME",
    help="jsonl, csv, json, parquet, or any format of Spark.  [default: by the name of each file]",
)
@click.option(
    "--option", "pairs", multiple=True, metavar="NAME=VALUE", help="An option of the format; may be repeated."
)
@click.option("--type", "type_name", metavar="NAME", help="Every row is an entity of this type.")
@click.option("--mapping", metavar="FILE", help="Which column becomes which property, as JSON or YAML.")
@click.option("--suggest-mapping", is_flag=True, help="Print a mapping for the input and load nothing.")
@engine_options
@click.option("--branch", metavar="BRANCH", default="main", show_default=True, help="The branch to write.")
@click.option("--from", "base", metavar="BRANCH", help="Create the branch from this one if it does not exist.")
@click.option("--patch", is_flag=True, help="merge: a property that a record leaves out keeps its stored value.")
@click.option(
    "--match-edges",
    type=click.Choice(["endpoints"]),
    help="merge: an edge record without an id is the stored edge with the same endpoints.",
)
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="skip loads the valid records and rejects the others.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Report at most N violations; all are counted.",
)
@click.option("--reject-file", metavar="FILE", help="Write the rejected records to this file, unchanged.")
@click.option("--dry-run", is_flag=True, help="Check everything and write nothing.")
@condition_options
@json_option
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    paths: tuple[str, ...],
    mode: str | None,
    source_format: str | None,
    pairs: tuple[str, ...],
    type_name: str | None,
    mapping: str | None,
    suggest_mapping: bool,
    engine: str,
    spark: str | None,
    branch: str,
    base: str | None,
    patch: bool,
    match_edges: str | None,
    on_error: str,
    max_errors: int,
    reject_file: str | None,
    dry_run: bool,
    if_commit: str | None,
    idempotency_key: str | None,
    message: str | None,
) -> None:
    """Load entities from files or tables as one commit.

    Every record is checked before anything is written: all of them become visible together, or none. An overwrite of a
    graph that is not on this machine asks first, and a script must pass --yes.
    """
    tabular = {
        "format": source_format,
        "type": type_name,
        "mapping": None if mapping is None else read_mapping(mapping),
        "options": key_values(pairs),
    }
    if suggest_mapping:
        _suggest(session, uri, paths, tabular)
        return
    if mode is None:
        context = click.get_current_context()
        raise click.MissingParameter(ctx=context, param=next(p for p in context.command.params if p.name == "mode"))
    _refuse_merge_options(mode, patch=patch, match_edges=match_edges)
    refuse_master_without_spark(engine, spark)
    target = session.target(uri)
    if not dry_run:
        target.announce("load")
        if mode == "overwrite":
            target.confirm("load --mode overwrite")
    options = {
        "mode": mode,
        "branch": branch,
        "base": base,
        "patch": patch,
        "match_edges": match_edges,
        "on_error": on_error,
        "max_errors": max_errors,
        "reject_file": None if reject_file is None else Path(reject_file),
        "dry_run": dry_run,
        "if_commit": if_commit,
        "idempotency_key": idempotency_key,
        "message": message,
    }
    source = _source(paths, source_format)
    result = _load(session, target, source, options, partial(_asked, tabular, engine, spark))
    _report_trouble(session, result)
    happened = "nothing was written" if dry_run else f"the load is done, as commit {result.commit_id}"
    session.output.show_receipt(_document(target, result, base, on_error), _lines(target, result), happened)


def _load(
    session: Session,
    target: Target,
    source: Any,
    options: dict[str, Any],
    asked: Callable[[ProgressLine | None], dict[str, Any]],
) -> LoadResult:
    """Runs the load with a progress line that is gone when it ends."""
    from omnigraph import LoadInterrupted

    logging.getLogger("omnigraph.graph.load").addHandler(logging.NullHandler())  # its warnings are reported once, by us
    line = progress_line(quiet=session.quiet)
    try:
        with target.open_for_reading() if options["dry_run"] else target.open_for_writing() as graph:
            result: LoadResult = graph.load(source, **options, **asked(line))
            return result
    except LoadInterrupted as interrupted:  # too late: the load is done
        return interrupted.result
    finally:
        if line is not None:
            line.wipe()


def _asked(tabular: dict[str, Any], engine: str, spark: str | None, line: ProgressLine | None) -> dict[str, Any]:
    """The arguments that differ from those of a plain load."""
    plain = {"options": {}, "engine": "auto"}
    given = tabular | {"engine": engine, "spark": spark, "progress": line}
    return {name: value for name, value in given.items() if value is not None and value != plain.get(name)}


def format_of(paths: tuple[str, ...]) -> str:
    """The format of a table to suggest a mapping for, by the first name."""
    name = paths[0].removesuffix(".gz").removesuffix(".zst")
    endings = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
    return next((known for ending, known in endings.items() if name.endswith(ending)), "jsonl")


def _suggest(session: Session, uri: str | None, paths: tuple[str, ...], tabular: dict[str, Any]) -> None:
    with session.target(uri).open_for_reading() as graph:
        found = graph.suggest_mapping(
            list(paths), format=tabular["format"] or format_of(paths), type=tabular["type"], options=tabular["options"]
        )
    for note in found.notes:
        session.output.warn(note)
    session.output.write(to_json_text(found.mapping))


def _refuse_merge_options(mode: str, *, patch: bool, match_edges: str | None) -> None:
    for given, option in ((patch, "--patch"), (match_edges is not None, "--match-edges")):
        if given and mode != "merge":
            raise click.UsageError(f"{option} needs --mode merge")


def _source(paths: tuple[str, ...], source_format: str | None) -> Any:
    """The files, if they can be read at all; the load itself streams them. Other formats find their own errors."""
    from omnigraph.cli.refusals import UnreadableFile

    if paths == (STDIN,):
        if source_format not in (None, "jsonl"):
            raise click.UsageError("stdin must be JSON lines; pass other formats as files")
        return sys.stdin.buffer
    if STDIN in paths:
        raise click.UsageError("--data - cannot be combined with other files")
    for path in paths if source_format in (None, "jsonl") else ():
        if path.startswith(REMOTE) or Path(path).is_dir() or any(sign in path for sign in "*?["):
            continue
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise UnreadableFile(path, (error.strerror or str(error)).lower()) from error
    is_one_file = len(paths) == 1 and source_format in (None, "jsonl") and not paths[0].startswith(REMOTE)
    return Path(paths[0]) if is_one_file else list(paths)


def _document(target: Target, result: LoadResult, base: str | None, on_error: str) -> dict[str, Json]:
    from omnigraph.cli.commands.commit import commit_document

    document: dict[str, Json] = {"uri": target.uri, "branch": result.branch, "mode": result.mode}
    if base is not None:
        document["base_branch"] = result.base_branch or base
    document |= {
        "branch_created": result.branch_created,
        "nodes": _counts(result.nodes),
        "edges": _counts(result.edges),
        "total_entities": result.total_entities,
        "commit": None if result.commit is None else commit_document(result.commit),
    }
    if on_error == "skip":
        document["rejected"] = result.rejected
        document["violations"] = [violation.to_json() for violation in result.violations]
    if result.dry_run:
        document["dry_run"] = True
    if result.replayed:
        document["replayed"] = True
    if result.warnings:
        document["warnings"] = list(result.warnings)
    document["engine"] = result.engine
    if result.report is not None:
        report = result.report.to_json()
        document |= {name: report[name] for name in ("files", "bytes", "seconds")}
    return document


def _counts(types: Mapping[str, int]) -> list[Json]:
    return [{"name": name, "entities_loaded": types[name]} for name in sorted(types)]


def _lines(target: Target, result: LoadResult) -> Iterator[str]:
    verb = "checked" if result.dry_run else "loaded"
    types = f"{len(result.nodes)} node types and {len(result.edges)} edge types"
    counted = f"{result.total_entities} entities across {types}"
    nothing = "; nothing was written" if result.dry_run else ""
    where = " on Spark" if result.engine == "spark" else ""
    yield f"{verb} {target.uri} on branch {result.branch} with {result.mode}: {counted}{where}{nothing}"
    if result.branch_created:
        yield f"created branch {result.branch} from {result.base_branch}"
    if result.rejected:
        yield f"rejected {result.rejected} records"
    if result.replayed:
        yield f"already done: commit {result.commit_id} has this idempotency key; nothing was written again"


def _report_trouble(session: Session, result: LoadResult) -> None:
    """What went wrong after the commit, and the rejected records, always on stderr."""
    for warning in result.warnings:
        session.output.warn(f"the load is done; {warning}")
    for violation in result.violations:
        file = f"{violation.file}, " if violation.file and violation.line else ""
        session.output.warn(f"rejected: {file}{violation}")
