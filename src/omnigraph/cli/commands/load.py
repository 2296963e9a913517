"""`omnigraph load`: entities from JSON lines, as one commit."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_argument
from omnigraph.cli.session import Session, Target
from omnigraph.cli.write_options import condition_options

if TYPE_CHECKING:
    from omnigraph.graph.results import LoadResult
    from omnigraph.model.errors import Json

STDIN = "-"
Mode = Literal["append", "merge", "overwrite"]


@click.command("load", cls=OmniCommand, example="omnigraph load --data seed.jsonl --mode append lib.omni")
@uri_argument
@click.option("--data", required=True, metavar="FILE", help="The records, one JSON object per line; - reads stdin.")
@click.option(
    "--mode",
    required=True,
    type=click.Choice(["overwrite", "append", "merge"]),
    help="append refuses existing ids, merge replaces them, overwrite replaces every type in the file.",
)
@click.option("--branch", metavar="BRANCH", default="main", show_default=True, help="The branch to write.")
@click.option("--from", "base", metavar="BRANCH", help="Make the branch from this one if it does not exist.")
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
    help="skip loads the sound records and leaves the others out.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Report at most N violations; they are counted beyond it.",
)
@click.option("--reject-file", metavar="FILE", help="Write the rejected records here, as they came.")
@click.option("--dry-run", is_flag=True, help="Check everything and write nothing.")
@condition_options
@json_option
@click.pass_obj
def command(
    session: Session,
    uri: str | None,
    data: str,
    mode: str,
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
    """Load entities from JSON lines as one commit.

    Every record is checked before anything is written: all of them become visible together, or none. An overwrite of a
    graph that is not on this machine asks first, and a script must pass --yes.
    """
    _refuse_merge_options(mode, patch=patch, match_edges=match_edges)
    target = session.target(uri)
    if not dry_run:
        target.announce("load")
        if mode == "overwrite":
            target.confirm("load --mode overwrite")
    source = _source(data)
    with target.open_for_reading() if dry_run else target.open_for_writing() as graph:
        result = graph.load(
            source,
            mode=cast("Mode", mode),
            branch=branch,
            base=base,
            patch=patch,
            match_edges=cast("Literal['endpoints'] | None", match_edges),
            on_error=cast("Literal['fail', 'skip']", on_error),
            max_errors=max_errors,
            reject_file=None if reject_file is None else Path(reject_file),
            dry_run=dry_run,
            if_commit=if_commit,
            idempotency_key=idempotency_key,
            message=message,
        )
    _report_rejects(session, result)
    session.output.show(_document(target, result, base, on_error), _lines(target, result))


def _refuse_merge_options(mode: str, *, patch: bool, match_edges: str | None) -> None:
    for given, option in ((patch, "--patch"), (match_edges is not None, "--match-edges")):
        if given and mode != "merge":
            raise click.UsageError(f"{option} needs --mode merge")


def _source(data: str) -> Path | Iterable[bytes]:
    """The file, if it can be read at all; the load itself streams it."""
    from omnigraph.cli.refusals import UnreadableFile

    if data == STDIN:
        return sys.stdin.buffer
    try:
        with Path(data).open("rb"):
            return Path(data)
    except OSError as error:
        raise UnreadableFile(data, (error.strerror or str(error)).lower()) from error


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
    return document


def _counts(types: Mapping[str, int]) -> list[Json]:
    return [{"name": name, "entities_loaded": types[name]} for name in sorted(types)]


def _lines(target: Target, result: LoadResult) -> Iterator[str]:
    verb = "checked" if result.dry_run else "loaded"
    types = f"{len(result.nodes)} node types and {len(result.edges)} edge types"
    counted = f"{result.total_entities} entities across {types}"
    nothing = "; nothing was written" if result.dry_run else ""
    yield f"{verb} {target.uri} on branch {result.branch} with {result.mode}: {counted}{nothing}"
    if result.branch_created:
        yield f"created branch {result.branch} from {result.base_branch}"
    if result.rejected:
        yield f"rejected {result.rejected} records"


def _report_rejects(session: Session, result: LoadResult) -> None:
    """Records that were left out are named on stderr, so that a person sees them whatever the output is."""
    for violation in result.violations:
        session.output.warn(f"rejected: {violation}")
