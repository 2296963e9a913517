"""Reading the object behind an allowed address: its size, its bytes. On disk no link is followed on the way to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omnigraph.model.errors import Json, ResourceLimitExceeded, Unreachable
from omnigraph.storage.external.bases import BlobBases, Place, shown
from omnigraph.storage.root import parse_root

OBJECT_BYTES_MAX = 32 * 1024 * 1024
"""Of one object that is copied into a graph."""


class ExternalBlobSource(Unreachable):
    """An allowed external blob that cannot be read. Nothing was changed."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(
            f"external blob source '{shown(uri)}' is unavailable: {reason}",
            "check that the object exists and is readable",
        )
        self.uri = shown(uri)
        self.reason = reason

    def details(self) -> dict[str, Json]:
        return {"uri": self.uri, "reason": self.reason}


def external_size(bases: BlobBases, uri: str) -> int:
    """Looks whether an allowed object is there, without reading it."""
    place, base = bases.find(uri)
    if place.scheme == "file":
        with _opened(place, base, uri) as handle:
            return os.fstat(handle).st_size
    return _s3_size(place, uri)


def external_bytes(bases: BlobBases, uri: str) -> bytes:
    """The bytes of an allowed object, if it is not too large to be copied."""
    place, base = bases.find(uri)
    if place.scheme == "s3":
        size = _s3_size(place, uri)
        _refuse_large(size)
        return _s3_bytes(place, uri, size)
    with _opened(place, base, uri) as handle:
        _refuse_large(os.fstat(handle).st_size)
        try:
            with os.fdopen(os.dup(handle), "rb") as file:
                data = file.read(OBJECT_BYTES_MAX + 1)
        except OSError as error:
            raise ExternalBlobSource(uri, error.strerror or "it cannot be read") from error
    _refuse_large(len(data))
    return data


def _refuse_large(size: int) -> None:
    if size > OBJECT_BYTES_MAX:
        raise ResourceLimitExceeded("external Blob object bytes", OBJECT_BYTES_MAX, size)


# --- on disk ----------------------------------------------------------------------------------------------


@contextmanager
def _opened(place: Place, base: Place, uri: str) -> Iterator[int]:
    """The file, reached folder by folder from its base. A link on the way is refused, however it came there."""
    folder_flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    held: list[int] = []
    try:
        try:
            held.append(os.open(f"/{base.path}", folder_flags))
            *folders, name = place.parts[len(base.parts) :]
            for part in folders:
                held.append(os.open(part, folder_flags | os.O_NOFOLLOW, dir_fd=held[-1]))
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            held.append(os.open(name, flags, dir_fd=held[-1]))
        except OSError as error:
            raise ExternalBlobSource(uri, _why(error)) from error
        if not stat.S_ISREG(os.fstat(held[-1]).st_mode):
            raise ExternalBlobSource(uri, "it is not a file")
        yield held[-1]
    finally:
        for handle in held:
            os.close(handle)


def _why(error: OSError) -> str:
    if error.errno in (40, 20):  # ELOOP, ENOTDIR: a link where a folder or the file should be, or a file as a folder
        return "a part of its path is a link or not a folder"
    return (error.strerror or "it cannot be opened").lower()


# --- on S3 ------------------------------------------------------------------------------------------------


def _s3_store(place: Place) -> tuple[Any, str]:
    from omnigraph.storage.objects import bucket_store

    root = parse_root(place.uri)
    return bucket_store(root), place.path


def _s3_size(place: Place, uri: str) -> int:
    import obstore

    store, key = _s3_store(place)
    with _s3_errors(uri):
        return int(obstore.head(store, key)["size"])


def _s3_bytes(place: Place, uri: str, size: int) -> bytes:
    import obstore

    store, key = _s3_store(place)
    with _s3_errors(uri):
        data = bytes(obstore.get(store, key).bytes()) if size else b""
    _refuse_large(len(data))
    return data


@contextmanager
def _s3_errors(uri: str) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise ExternalBlobSource(uri, "there is no such object") from error
    except (BaseError, OSError) as error:
        raise ExternalBlobSource(uri, "the store did not give it") from error
