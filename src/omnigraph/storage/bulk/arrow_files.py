"""Arrow's view of the store that a graph lies in, for files too large to be control objects: its client, our errors."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import Any, Self, TypeVar

import pyarrow as pa
from pyarrow import fs

from omnigraph.model.errors import Corrupt, OmniGraphError
from omnigraph.storage.objects import storage_error
from omnigraph.storage.root import S3_CONNECT_TIMEOUT_S, S3_REQUEST_TIMEOUT_S, S3_RETRIES_MAX, Root

FIRST_PAUSE_S = 0.1
READ_AGAIN_S_MAX = 5.0
"""No new try after this time: where Arrow's client tried by itself, the store had long enough to come back."""
_Read = TypeVar("_Read")


def filesystem(root: Root) -> fs.FileSystem:
    return fs.LocalFileSystem() if root.is_local else _s3(tuple(sorted(root.options.items())))


@lru_cache(maxsize=16)
def _s3(options: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    given = dict(options)
    endpoint = given.get("aws_endpoint", "")
    return fs.S3FileSystem(
        access_key=given.get("aws_access_key_id") or None,
        secret_key=given.get("aws_secret_access_key") or None,
        session_token=given.get("aws_session_token") or None,
        region=given.get("aws_region"),
        scheme="http" if endpoint.startswith("http://") else "https",
        endpoint_override=endpoint.partition("://")[2] or None,
        force_virtual_addressing=given.get("aws_virtual_hosted_style_request") == "true" and bool(endpoint),
        connect_timeout=S3_CONNECT_TIMEOUT_S,
        request_timeout=S3_REQUEST_TIMEOUT_S,
    )


@contextmanager
def reported(uri: str) -> Iterator[None]:
    """What Arrow and the operating system raise inside leaves this block as an error of ours about this file."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, uri) from error


@contextmanager
def _damage(uri: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        raise Corrupt(uri, str(error).splitlines()[0]) from error


class ArrowFileWriter:
    """An Arrow file that is being written. What fails here is told as this file's; what fails beside it, while it is
    open, is not."""

    def __init__(self, uri: str, sink: Any, schema: pa.Schema, codec: str | None) -> None:
        self._uri = uri
        self._sink = sink
        try:
            with reported(uri):
                self._writer = pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression=codec))
        except BaseException:
            sink.close()
            raise

    def write_batch(self, batch: pa.RecordBatch) -> None:
        with reported(self._uri):
            self._writer.write_batch(batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        try:
            with reported(self._uri), self._sink:
                self._writer.close()
        except OmniGraphError:
            if error is None:  # otherwise the file is given up anyway, for a reason of its own
                raise


def read_again(root: Root, uri: str, read: Callable[[], _Read]) -> _Read:
    """What `read` returns, after some tries where the file is an object of a bucket.

    Arrow's client does not try a request again when the store's refusal has more bytes than were asked for, and takes
    an answer that ends before its announced length for the whole of it.
    """
    begun = time.monotonic()
    with reported(uri), _damage(uri):
        for number in range(0 if root.is_local else S3_RETRIES_MAX):
            try:
                return read()
            except FileNotFoundError:
                raise
            except (OSError, pa.ArrowInvalid):
                if time.monotonic() - begun > READ_AGAIN_S_MAX:
                    raise
                time.sleep(FIRST_PAUSE_S * 2**number * random.uniform(0.5, 1.5))
        return read()
