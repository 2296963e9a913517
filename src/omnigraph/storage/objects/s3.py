"""Control objects on S3: conditional puts (`If-None-Match`, `If-Match`) with the store library that Lance uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from omnigraph.model.errors import StorageReadOnly, Unreachable
from omnigraph.model.identifiers import new_ulid
from omnigraph.storage.objects.control_objects import ListedFile, StoredObject, probe_conditional_puts
from omnigraph.storage.root import S3_CONNECT_TIMEOUT_S, S3_REQUEST_TIMEOUT_S, S3_RETRIES_MAX, S3_RETRY_TIMEOUT_S, Root

_LANCE_ONLY = {"allow_http", "connect_timeout", "timeout", "client_max_retries", "client_retry_timeout"}


class S3Objects:
    """`ObjectStore` over one prefix of a bucket."""

    def __init__(self, root: Root) -> None:
        self._uri = root.uri
        self._store = _connect(root)

    def read(self, path: str) -> StoredObject | None:
        with self._errors(path):
            try:
                result = obstore.get(self._store, path)
            except FileNotFoundError:
                return None
            return StoredObject(bytes(result.bytes()), str(result.meta["e_tag"]))

    def write(self, path: str, data: bytes) -> str:
        with self._errors(path):
            return _etag_of(obstore.put(self._store, path, data, use_multipart=False))

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        with self._errors(path):
            try:
                return _etag_of(obstore.put(self._store, path, data, mode="create", use_multipart=False))
            except AlreadyExistsError:
                return None

    def write_if_match(self, path: str, data: bytes, etag: str) -> str | None:
        with self._errors(path):
            try:
                return _etag_of(obstore.put(self._store, path, data, mode={"e_tag": etag}, use_multipart=False))
            except (PreconditionError, FileNotFoundError):
                return None

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """A request would cost as much as reading a small object does."""
        return None

    def etag(self, path: str) -> str | None:
        with self._errors(path):
            try:
                return str(obstore.head(self._store, path)["e_tag"])
            except FileNotFoundError:
                return None

    def first_names(self, folder: str, count: int) -> list[tuple[str, str]]:
        with self._errors(folder):
            for page in obstore.list(self._store, folder, chunk_size=count):
                return [(str(item["path"]).rpartition("/")[2], str(item["e_tag"])) for item in page]
            return []

    def exists(self, path: str) -> bool:
        with self._errors(path):
            try:
                obstore.head(self._store, path)
            except FileNotFoundError:
                return False
            return True

    def list_names(self, folder: str) -> list[str]:
        with self._errors(folder):
            found = obstore.list_with_delimiter(self._store, folder)
            names = (str(item["path"]).rpartition("/")[2] for item in found["objects"])
            return sorted(name for name in names if name)  # some stores list the folder itself, without a name

    def list_files(self, folder: str) -> list[ListedFile]:
        with self._errors(folder):
            found = obstore.list_with_delimiter(self._store, folder)["objects"]
            return [
                ListedFile(str(each["path"]).rpartition("/")[2], int(each["size"]), each["last_modified"].timestamp())
                for each in found
            ]

    def tree_size(self, folder: str) -> tuple[int, int]:
        with self._errors(folder):
            sizes = [int(each["size"]) for page in obstore.list(self._store, folder) for each in page]
            return len(sizes), sum(sizes)

    def now(self) -> float:
        path = f"__clock_{new_ulid()}"
        with self._errors(path):
            obstore.put(self._store, path, b"", use_multipart=False)
            try:
                return float(obstore.head(self._store, path)["last_modified"].timestamp())
            finally:
                obstore.delete(self._store, path)

    def has_any(self, folder: str) -> bool:
        with self._errors(folder):
            return any(len(page) > 0 for page in obstore.list(self._store, folder, chunk_size=1))

    def delete(self, path: str, *, lasting: bool = True) -> None:
        with self._errors(path):
            try:
                obstore.delete(self._store, path)
            except FileNotFoundError:
                return

    def delete_files(self, paths: Sequence[str], *, lasting: bool, folders: Sequence[str] = ()) -> None:
        with self._errors(paths[0] if paths else ""):
            obstore.delete(self._store, list(paths))

    def delete_tree(self, folder: str) -> None:
        with self._errors(folder):
            for page in obstore.list(self._store, folder):
                obstore.delete(self._store, [item["path"] for item in page])

    def require_conditional_puts(self) -> None:
        probe_conditional_puts(self, self._uri)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise StorageReadOnly(f"the store refuses access to '{self._uri}/{path}': {_brief(error)}") from error
        except (BaseError, OSError) as error:
            hint = "check the endpoint, the credentials and the bucket"
            raise Unreachable(f"the store of '{self._uri}' failed: {_brief(error)}", hint) from error


def bucket_store(root: Root) -> S3Store:
    """A connection to the whole bucket of a root, for objects that are none of the graph's."""
    return _bucket_store(root.bucket, tuple(sorted(root.options.items())))


@lru_cache(maxsize=16)
def _bucket_store(bucket: str, options: tuple[tuple[str, str], ...]) -> S3Store:
    return _connect(Root(f"s3://{bucket}", "s3", dict(options)))


def _connect(root: Root) -> S3Store:
    config: Any = {name: value for name, value in root.options.items() if name not in _LANCE_ONLY}
    return S3Store(
        root.bucket,
        prefix=root.prefix or None,
        config=config,
        client_options={
            "allow_http": root.options.get("allow_http") == "true",
            "connect_timeout": timedelta(seconds=S3_CONNECT_TIMEOUT_S),
            "timeout": timedelta(seconds=S3_REQUEST_TIMEOUT_S),
        },
        retry_config={"max_retries": S3_RETRIES_MAX, "retry_timeout": timedelta(seconds=S3_RETRY_TIMEOUT_S)},
    )


def _etag_of(result: Any) -> str:
    return str(result["e_tag"])


def _brief(error: BaseException) -> str:
    """The first line of the client's report, without its debug dump."""
    return str(error).strip().splitlines()[0].strip() if str(error).strip() else type(error).__name__
