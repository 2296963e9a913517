"""Control objects in a local directory: rename for atomicity, hard links for "if absent", a lock for "if match"."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from omnigraph.model.errors import OmniGraphError, StorageReadOnly, Unreachable
from omnigraph.model.identifiers import new_ulid
from omnigraph.storage.files import FileLock, sync_folder
from omnigraph.storage.objects.control_objects import ListedFile, StoredObject

_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


def storage_error(error: OSError, path: str) -> OmniGraphError:
    """What an operating-system error means to the caller."""
    if error.errno in _READ_ONLY:
        return StorageReadOnly(f"cannot write '{path}': {os.strerror(error.errno or 0)}")
    return Unreachable(f"storage failed at '{path}': {error.strerror or error}")


class LocalObjects:
    """`ObjectStore` over a directory. The etag is a digest of the content."""

    def __init__(self, root: str, *, durable: bool = True) -> None:
        self._root = root
        self._above = os.path.join(root, "")
        self._durable = durable

    def read(self, path: str) -> StoredObject | None:
        try:
            with open(self._at(path), "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise storage_error(error, self._at(path)) from error
        return StoredObject(data, _etag(data))

    def write(self, path: str, data: bytes) -> str:
        with self._complete_temp(path, data) as temp:
            os.replace(temp, self._at(path))
        self._settle(path)
        return _etag(data)

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        with self._complete_temp(path, data) as temp:
            try:
                os.link(temp, self._at(path))
            except FileExistsError:
                return None
        self._settle(path)
        return _etag(data)

    def write_if_match(self, path: str, data: bytes, etag: str) -> str | None:
        with self._folder_lock(path):
            current = self.read(path)
            if current is None or current.etag != etag:
                return None
            return self.write(path, data)

    def stamp(self, path: str) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._at(path))
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)

    def etag(self, path: str) -> str | None:
        stored = self.read(path)
        return None if stored is None else stored.etag

    def first_names(self, folder: str, count: int) -> list[tuple[str, str]]:
        named = ((name, self.etag(f"{folder}/{name}")) for name in self.list_names(folder)[:count])
        return [(name, etag) for name, etag in named if etag is not None]

    def exists(self, path: str) -> bool:
        return os.path.isfile(self._at(path))

    def list_names(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._at(folder)) as entries:
                return sorted([entry.name for entry in entries if entry.is_file() and not entry.name.endswith(".tmp")])
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise storage_error(error, self._at(folder)) from error

    def list_files(self, folder: str) -> list[ListedFile]:
        try:
            with os.scandir(self._at(folder)) as entries:
                return [_listed(entry) for entry in entries if entry.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise storage_error(error, self._at(folder)) from error

    def tree_size(self, folder: str) -> tuple[int, int]:
        try:
            files = [os.path.join(where, name) for where, _, names in os.walk(self._at(folder)) for name in names]
            return len(files), sum(os.stat(file).st_size for file in files)
        except OSError as error:
            raise storage_error(error, self._at(folder)) from error

    def now(self) -> float:
        """Of the file system, which need not be that of this machine."""
        with self._complete_temp("now", b"") as temp:
            return os.stat(temp).st_mtime

    def has_any(self, folder: str) -> bool:
        try:
            with os.scandir(self._at(folder)) as entries:
                return next(entries, None) is not None
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise storage_error(error, self._at(folder)) from error

    def delete(self, path: str, *, lasting: bool = True) -> None:
        try:
            os.unlink(self._at(path))
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, self._at(path)) from error
        if lasting:
            self._settle(path)

    def delete_files(self, paths: Sequence[str], *, lasting: bool, folders: Sequence[str] = ()) -> None:
        for path in paths:
            self.delete(path, lasting=False)
        for folder in folders:
            with suppress(OSError):
                os.rmdir(self._at(folder))  # only if it is empty
        if lasting and self._durable:
            for folder in sorted({os.path.dirname(path) for path in paths}):
                sync_folder(self._at(folder), self._root)

    def delete_tree(self, folder: str) -> None:
        try:
            shutil.rmtree(self._at(folder))
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, self._at(folder)) from error

    def require_conditional_puts(self) -> None:
        """A local file system needs no probe of its promises, only that this one allows writing."""
        if not os.access(self._root, os.W_OK | os.X_OK):
            raise StorageReadOnly(f"cannot write '{self._root}': {os.strerror(errno.EACCES)}")
        if os.statvfs(self._root).f_flag & os.ST_RDONLY:
            raise StorageReadOnly(f"cannot write '{self._root}': {os.strerror(errno.EROFS)}")

    # --- parts --------------------------------------------------------------------------------------------

    def _at(self, path: str) -> str:
        return self._above + path

    @contextmanager
    def _complete_temp(self, path: str, data: bytes) -> Iterator[str]:
        """A complete copy beside the target under a name that no listing takes for an object."""
        target = self._at(path)
        temp = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{new_ulid()}.tmp")
        try:
            self._write_whole(temp, data)
            yield temp
        except OSError as error:
            raise storage_error(error, target) from error
        finally:
            with suppress(OSError):  # a leftover that no listing shows; whether the write happened is decided elsewhere
                os.unlink(temp)

    def _write_whole(self, path: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags, 0o666)
        except FileNotFoundError:  # the first file of its folder
            os.makedirs(os.path.dirname(path), exist_ok=True)
            descriptor = os.open(path, flags, 0o666)
        with open(descriptor, "wb") as file:
            file.write(data)
            if self._durable:
                file.flush()
                os.fsync(descriptor)

    @contextmanager
    def _folder_lock(self, path: str) -> Iterator[None]:
        folder = os.path.dirname(self._at(path))
        try:
            lock = FileLock(folder, os.O_RDONLY | os.O_DIRECTORY)
            lock.wait()
        except OSError as error:
            raise storage_error(error, folder) from error
        try:
            yield
        finally:
            lock.close()

    def _settle(self, path: str) -> None:
        if self._durable:
            sync_folder(os.path.dirname(self._at(path)), self._root)


def _listed(entry: os.DirEntry[str]) -> ListedFile:
    found = entry.stat()
    return ListedFile(entry.name, found.st_size, found.st_mtime)


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
