"""`omnigraph blob`: the bytes of one Blob value, or its facts without the bytes."""

from __future__ import annotations

import os
import stat as file_modes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from omnigraph.cli.frame import OmniCommand, OmniGroup, json_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.history import Blob
    from omnigraph.model.errors import Json

U64_MAX = 2**64 - 1


@click.group("blob", cls=OmniGroup)
def command() -> None:
    """Read Blob values: their bytes, or their size, kind and tag."""


def _selector(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--snapshot", metavar="REF", help="Read what this commit, tag or time shows."),
        click.option("--branch", metavar="BRANCH", help="The branch to read.  [default: main]"),
        click.argument("property_name", metavar="PROPERTY"),
        click.argument("entity_id", metavar="ID"),
        click.argument("type_name", metavar="TYPE"),
        click.argument("entity", metavar="ENTITY", type=click.Choice(["node", "edge"])),
    ):
        function = option(function)
    return function


@command.command("get", cls=OmniCommand, example="omnigraph blob get node Book b1 cover --store lib.omni")
@_selector
@click.option("--offset", type=click.IntRange(min=0), metavar="N", help="Begin at this byte.")
@click.option("--length", type=click.IntRange(min=0), metavar="N", help="Write at most so many bytes.")
@click.option("--out", metavar="PATH", help="Write to this file, which is replaced only when all bytes are there.")
@click.pass_obj
def get(
    session: Session,
    entity: str,
    type_name: str,
    entity_id: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
    offset: int | None,
    length: int | None,
    out: str | None,
) -> None:
    """Write the bytes of a Blob value.

    ENTITY is node or edge. External values are not followed. When it fails midway the bytes before are on stdout
    already, so check the exit code.
    """
    start, end = _range(offset, length)
    with _read(session, entity, type_name, entity_id, property_name, branch, snapshot) as blob:
        chunks = blob.chunks(start, end)
        if out is not None:
            _write_file(Path(out), chunks)
            return
        session.output.write_bytes(chunks)


@command.command("stat", cls=OmniCommand, example="omnigraph blob stat node Book b1 cover --store lib.omni")
@_selector
@json_option
@click.pass_obj
def stat(
    session: Session,
    entity: str,
    type_name: str,
    entity_id: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
) -> None:
    """Show the kind of a Blob value, its size and tag, or the address that it refers to. No byte is read.

    ENTITY is node or edge.
    """
    with _read(session, entity, type_name, entity_id, property_name, branch, snapshot) as blob:
        target: dict[str, Json] = {"branch": branch, "snapshot": snapshot}
        shown = {name: value for name, value in target.items() if value is not None}
        document = blob.to_json() | {"target": {**shown, "resolved_snapshot": snapshot or blob.snapshot}}
        session.output.show(document, _lines(blob))


def _lines(blob: Blob) -> Iterator[str]:
    yield f"{blob.entity_kind} {blob.type_name} '{blob.entity_id}' {blob.property}: {blob.kind}"
    for name, value in (("size", blob.size), ("etag", blob.etag), ("uri", blob.uri)):
        if value is not None:
            yield f"{name}: {value}"


def _range(offset: int | None, length: int | None) -> tuple[int, int | None]:
    """The bytes that are asked for; refused before anything is opened."""
    from omnigraph.model.errors import BadRequest

    start = offset or 0
    if length == 0:
        raise BadRequest("--length 0 asks for no byte", "leave it out to read to the end")
    end = None if length is None else start + length
    if start > U64_MAX or (end is not None and end > U64_MAX):
        raise BadRequest("--offset and --length reach behind the largest possible value")
    if offset == 0 and end is None:
        return 0, U64_MAX  # a range, which an empty value does not have
    return start, end


@contextmanager
def _read(
    session: Session,
    entity: str,
    type_name: str,
    entity_id: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
) -> Iterator[Blob]:
    if branch is not None and snapshot is not None:
        raise click.UsageError("--snapshot names a commit; it cannot be used with --branch")
    with session.target(None).open_for_reading() as graph:
        yield _found(graph, f"{entity}:{type_name}", entity_id, property_name, branch, snapshot)


def _found(
    graph: Graph, type_name: str, entity_id: str, property_name: str, branch: str | None, snapshot: str | None
) -> Blob:
    """The value; whatever is missing is told in the few sentences that every way to it has."""
    from omnigraph.cli.refusals import BlobReadFailed
    from omnigraph.errors import BlobNotFound, BranchNotFound, CommitNotFound, UnknownReference

    try:
        return graph.blob(type_name, entity_id, property_name, branch=branch, at=snapshot)
    except (CommitNotFound, UnknownReference) as error:
        raise BlobNotFound(error.sentence()) from error
    except BranchNotFound as error:
        raise BlobReadFailed("Blob read failed", error.sentence()) from error


def _write_file(path: Path, chunks: Iterator[bytes]) -> None:
    """A file that was there stays until all bytes are; a device or a pipe is written to."""
    from omnigraph.cli.refusals import UnwritableFile

    first = next(chunks, b"")
    try:
        if path.exists() and not file_modes.S_ISREG(path.stat().st_mode):
            with path.open("wb") as device:
                _write_all(device, first, chunks)
            return
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as file:
                _write_all(file, first, chunks)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableFile(str(path), (error.strerror or str(error)).lower()) from error


def _write_all(file: BinaryIO, first: bytes, chunks: Iterator[bytes]) -> None:
    file.write(first)
    file.writelines(chunks)
