"""Bodies of loads: JSON lines from files or from memory, in pieces, sent again where the source allows it."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from omnigraph.client.refusals import NotOverHttp
from omnigraph.model.errors import BadRequest

PIECE = 256 * 1024
ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


def load_body(source: Any) -> tuple[Callable[[], Iterator[bytes]], bool]:
    """What makes the body of a load, and whether it can be made twice."""
    if isinstance(source, str | os.PathLike):
        return _files([source]), True
    if not isinstance(source, Iterable):
        raise NotOverHttp(f"a load over HTTP takes JSON lines, not {type(source).__name__}")
    if isinstance(source, list | tuple):
        if source and all(isinstance(each, str | os.PathLike) for each in source):
            return _files(source), True
        return lambda: _lines(source), True
    return lambda: _lines(source), False


def _files(named: Iterable[str | os.PathLike[str]]) -> Callable[[], Iterator[bytes]]:
    paths = [path for each in named for path in _expanded(os.fspath(each))]
    for path in paths:
        if not path.name.endswith(ENDINGS):
            raise NotOverHttp(f"'{path}' is not JSON lines, which is what a load over HTTP takes")
    return lambda: _contents(paths)


def _expanded(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.name.endswith(ENDINGS))
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(each) for each in glob.glob(name))
    if not found:
        raise BadRequest(f"cannot read '{name}': there is no such file")
    return found


def _contents(paths: Iterable[Path]) -> Iterator[bytes]:
    """The files one after another; a line never goes on in the next one."""
    for path in paths:
        last = b"\n"
        try:
            with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
                while piece := file.read(PIECE):
                    last = piece[-1:]
                    yield piece
        except OSError as error:
            raise BadRequest(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from error
        if last != b"\n":
            yield b"\n"


def _lines(source: Iterable[Any]) -> Iterator[bytes]:
    """Lines of memory, gathered into pieces."""
    gathered = bytearray()
    for line in source:
        if not isinstance(line, bytes | str):
            raise NotOverHttp(f"a load over HTTP takes lines as bytes or text, not {type(line).__name__}")
        raw = line.encode() if isinstance(line, str) else line
        gathered += raw if raw.endswith(b"\n") else raw + b"\n"
        if len(gathered) >= PIECE:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)
