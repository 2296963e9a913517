"""Copying files between two roots, on disk or on S3, several at a time and each a few megabytes at a time."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from omnigraph.model.errors import Unreachable
from omnigraph.storage.bulk import filesystem
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import sync_files
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.objects import storage_error
from omnigraph.storage.root import Root

COPIES_AT_ONCE = 8
QUEUED_MAX = 4 * COPIES_AT_ONCE
CHUNK_BYTES = 4 * 1024 * 1024


def copy_files(
    source: GraphStorage,
    target: GraphStorage,
    folder: str,
    files: Sequence[tuple[str, int]],
    done: Callable[[int], None],
) -> None:
    """Copies files below a folder of one root to the same place below another; `done` hears of the bytes of each.

    Files that must come last are the caller's care: these are copied in no particular order. An error, also one that
    `done` raises, ends all of it.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(COPIES_AT_ONCE, thread_name_prefix="omnigraph-copy") as pool:
        waiting: set[Future[int]] = set()
        try:
            for path, size in files:
                waiting.add(pool.submit(_copy, source.root, target.root, f"{folder}/{path}", size, stop))
                if len(waiting) >= QUEUED_MAX:
                    waiting = _collect(waiting, done)
            while waiting:
                waiting = _collect(waiting, done)
        except BaseException:
            stop.set()
            for each in waiting:
                each.cancel()
            raise


def _collect(waiting: set[Future[int]], done: Callable[[int], None]) -> set[Future[int]]:
    finished, others = wait(waiting, return_when=FIRST_COMPLETED)
    for each in finished:
        done(each.result())
        reach(Point.CLONE_FILE_COPIED)
    return others


def sync_copied(target: GraphStorage, folder: str, files: Sequence[tuple[str, int]]) -> None:
    """Makes copied files survive a power cut."""
    if target.root.is_local and target.durability == "full":
        sync_files((target.root.join(f"{folder}/{path}") for path, _ in files), target.root.uri)


def _copy(source: Root, target: Root, path: str, size: int, stop: threading.Event) -> int:
    if source.is_local and target.is_local:
        copied = _copy_on_disk(source.join(path), target.join(path))
    else:
        copied = _copy_streams(source, target, path, stop)
    if copied != size and not stop.is_set():
        raise Unreachable(f"'{source.join(path)}' has {size} bytes, and {copied} of them were copied")
    return copied


def _copy_on_disk(source: str, target: str) -> int:
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        return os.path.getsize(target)
    except FileNotFoundError as error:
        raise _gone(source) from error
    except OSError as error:
        raise storage_error(error, target) from error


def _copy_streams(source: Root, target: Root, path: str, stop: threading.Event) -> int:
    reader, writer = filesystem(source), filesystem(target)
    begin, end = (root.join(path).removeprefix("s3://") for root in (source, target))
    copied = 0
    with _reported(source.join(path), target.join(path)):
        if target.is_local:
            os.makedirs(os.path.dirname(end), exist_ok=True)
        with reader.open_input_stream(begin) as read, writer.open_output_stream(end) as write:
            while chunk := read.read(CHUNK_BYTES):
                if stop.is_set():
                    return copied
                write.write(chunk)
                copied += len(chunk)
    return copied


@contextmanager
def _reported(source: str, target: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _gone(source) from error
    except OSError as error:
        if error.errno is not None and not target.startswith("s3://"):
            raise storage_error(error, target) from error
        raise Unreachable(f"cannot copy '{source}' to '{target}': {str(error).splitlines()[0]}") from error


def _gone(source: str) -> Unreachable:
    return Unreachable(f"'{source}' is gone: it was removed while it was copied", "clone again")
