"""Control objects: the small files beside the tables. One protocol; a local directory and S3 implement it.

Every path is relative to the graph root. A reader sees the old object or the new one, never a part of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from omnigraph.model.errors import ConditionalPutsUnsupported
from omnigraph.model.identifiers import new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.root import Root


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The bytes of an object and the tag that names exactly these bytes to `write_if_match`."""

    data: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a folder, as a listing shows it."""

    name: str
    size: int
    modified_at: float
    """Seconds since the epoch, by the clock of the store."""


class ObjectStore(Protocol):
    """What OmniGraph needs of a store of small objects."""

    def read(self, path: str) -> StoredObject | None:
        """The object, or None when there is none."""

    def write(self, path: str, data: bytes) -> str:
        """Creates or replaces the object atomically; returns its etag."""

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        """Creates the object; of several callers exactly one gets an etag, the others None."""

    def write_if_match(self, path: str, data: bytes, etag: str) -> str | None:
        """Replaces the object if it is still the one with this etag; None when it is not."""

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """What changes whenever the object does, without reading it; None when there is none, or no cheap way."""

    def etag(self, path: str) -> str | None:
        """The tag of an object, without its bytes where the store can tell; None when there is none."""

    def first_names(self, folder: str, count: int) -> list[tuple[str, str]]:
        """The first names directly in a folder, in their order, each with its etag."""

    def exists(self, path: str) -> bool:
        """True when there is an object at exactly this path."""

    def list_names(self, folder: str) -> list[str]:
        """The names of the objects directly in a folder, sorted; a missing folder is empty."""

    def list_files(self, folder: str) -> list[ListedFile]:
        """The files directly in a folder, of whatever size; a missing folder is empty."""

    def tree_size(self, folder: str) -> tuple[int, int]:
        """How many files lie below a folder, and how many bytes they have in all."""

    def now(self) -> float:
        """The time by the clock of the store: what a file that is written now is dated with."""

    def has_any(self, folder: str) -> bool:
        """True when anything lies below this folder."""

    def delete(self, path: str, *, lasting: bool = True) -> None:
        """Removes the object; a missing one is already removed. Unless `lasting`, a power cut may bring it back."""

    def delete_files(self, paths: Sequence[str], *, lasting: bool, folders: Sequence[str] = ()) -> None:
        """Removes files of whatever size; missing ones are already removed. Unless `lasting`, a power cut may bring
        some back. Where there are folders, those that are named go too, if they are empty then."""

    def delete_tree(self, folder: str) -> None:
        """Removes everything below a folder."""

    def require_conditional_puts(self) -> None:
        """Refuses a store that would let two writers overwrite each other. Leaves nothing behind."""


def open_store(root: Root, *, durable: bool = True) -> ObjectStore:
    """The object store of a root. Connects to nothing yet."""
    if root.is_local:
        from omnigraph.storage.objects.local import LocalObjects

        return LocalObjects(root.uri, durable=durable)
    from omnigraph.storage.objects.s3 import S3Objects

    return S3Objects(root)


def probe_conditional_puts(store: ObjectStore, uri: str) -> None:
    """Puts a key twice with If-None-Match and once with a wrong If-Match; an honest store refuses two of the three.

    It may refuse the first one, too: when its answer was lost, the client has tried again by itself.
    """
    path = f"__create_if_absent_probe_{new_ulid()}"
    try:
        created = store.write_if_absent(path, b"1") is not None or store.read(path) is not None
        second = store.write_if_absent(path, b"2")
        third = store.write_if_match(path, b"3", '"0123456789abcdef0123456789abcdef"')
    finally:
        store.delete(path)
    if not created or second is not None or third is not None:
        raise ConditionalPutsUnsupported(f"the store of '{uri}' ignores conditional puts; it is not safe for writing")
