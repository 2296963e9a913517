"""Copying files between two roots, on disk or on S3, several at a time and each some megabytes at a time."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain, islice

from omnigraph.model.errors import Unreachable
from omnigraph.storage.failpoints import Point, reach
from omnigraph.storage.files import sync_files
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.objects import bucket_store, storage_error
from omnigraph.storage.root import Root

COPIES_AT_ONCE = 8
QUEUED_MAX = 4 * COPIES_AT_ONCE
CHUNK_BYTES = 8 * 1024 * 1024
PARTS_AT_ONCE = 2
"""Of one object: eight copies hold at most two hundred megabytes."""


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
    with _reported(source.join(path), target.join(path)):
        return _write(target, path, _chunks(source, path, stop))


def _chunks(root: Root, path: str, stop: threading.Event) -> Iterator[bytes]:
    """The bytes of a file; it ends early when somebody else has failed."""
    if root.is_local:
        with open(root.join(path), "rb") as file:
            while not stop.is_set() and (chunk := file.read(CHUNK_BYTES)):
                yield chunk
        return
    import obstore

    for chunk in obstore.get(bucket_store(root), _key(root, path)).stream(min_chunk_size=CHUNK_BYTES):
        if stop.is_set():
            return
        yield bytes(chunk)


def _write(root: Root, path: str, chunks: Iterator[bytes]) -> int:
    """A small object is written in one request; a larger one in parts, and appears when they are all there."""
    copied = 0
    if root.is_local:
        os.makedirs(os.path.dirname(root.join(path)), exist_ok=True)
        with open(root.join(path), "wb") as file:
            for chunk in chunks:
                copied += file.write(chunk)
        return copied
    import obstore

    first = list(islice(chunks, 2))
    if len(first) < 2:
        data = b"".join(first)
        obstore.put(bucket_store(root), _key(root, path), data, use_multipart=False)
        return len(data)
    sizes: list[int] = []

    def counted() -> Iterator[bytes]:
        for chunk in chain(first, chunks):
            sizes.append(len(chunk))
            yield chunk

    obstore.put(bucket_store(root), _key(root, path), counted(), use_multipart=True, max_concurrency=PARTS_AT_ONCE)
    return sum(sizes)


def _key(root: Root, path: str) -> str:
    return f"{root.prefix}/{path}"


@contextmanager
def _reported(source: str, target: str) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise _gone(source) from error
    except (BaseError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise storage_error(error, source if target.startswith("s3://") else target) from error
        raise Unreachable(f"cannot copy '{source}' to '{target}': {str(error).splitlines()[0]}") from error


def _gone(source: str) -> Unreachable:
    return Unreachable(f"'{source}' is gone: it was removed while it was copied", "clone again")
