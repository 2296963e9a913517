"""Bases: which addresses a graph may refer to. Pure: addresses are compared by their parts, nothing is contacted.

An address that is not spelled in the one plain way is refused instead of being read in some way: `..`, empty parts,
percent signs, user names, ports, queries. What is left compares exactly, scheme, bucket and folder by folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Literal

from omnigraph.model.errors import BadRequest, ResourceLimitExceeded
from omnigraph.model.late_dataclass import dataclass

URI_BYTES_MAX = 65_536
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKET = re.compile(r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
_REFUSED = frozenset('%?#\\*"<>|^`{}')
_HOW = "write s3://bucket/folder/ or file:///folder/"


class InvalidBlobBase(BadRequest):
    """A base for external blobs that is not a plain, absolute `s3://` or `file://` address."""

    code = "invalid_external_blob_base"


class ExternalBlobDenied(BadRequest):
    """An external blob outside of the bases that this handle allows. Nothing was read, nothing was changed."""

    def __init__(self, shown: str, reason: str) -> None:
        super().__init__(
            f"external blobs are denied by the blob policy: '{shown}' {reason}",
            "allow its base with og.open(…, blob_bases=[…]) or `external_blobs.allow` of the operator's config.yaml, "
            "or give the bytes as base64:<payload>",
        )


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """An address in its parts."""

    scheme: Literal["file", "s3"]
    bucket: str
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        return "/".join(self.parts)

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.path}"

    def is_within(self, base: Place) -> bool:
        same = (self.scheme, self.bucket) == (base.scheme, base.bucket)
        return same and len(self.parts) > len(base.parts) and self.parts[: len(base.parts)] == base.parts


@dataclass(frozen=True, slots=True)
class BlobBases:
    """The bases of one handle. None of them: every external blob is denied."""

    places: tuple[Place, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.places)

    def find(self, uri: str) -> tuple[Place, Place]:
        """The parts of an allowed address, and the base that allows it. Raises for any other."""
        if len(uri.encode(errors="replace")) > URI_BYTES_MAX:
            raise ResourceLimitExceeded("external Blob URI bytes", URI_BYTES_MAX, len(uri.encode(errors="replace")))
        if not self.places:
            raise ExternalBlobDenied(shown(uri), "is an address, and this handle allows none")
        place, fault = parsed(uri)
        if place is None:
            raise ExternalBlobDenied(shown(uri), fault)
        for base in self.places:
            if place.is_within(base):
                return place, base
        raise ExternalBlobDenied(shown(uri), "is outside of the allowed bases")

    def texts(self) -> tuple[str, ...]:
        return tuple(f"{place.uri.rstrip('/')}/" for place in self.places)


def blob_bases(given: Iterable[str | os.PathLike[str]]) -> BlobBases:
    """The bases that a caller names: `s3://bucket/folder/`, `file:///folder/`. Overlapping ones are refused."""
    if isinstance(given, str | os.PathLike):
        raise InvalidBlobBase("blob_bases must be a list of bases, not one text", "pass [base]")
    places = sorted({_base(base) for base in given})
    for one in places:
        for other in places:
            if other.is_within(one):
                raise InvalidBlobBase(f"the blob bases '{one.uri}' and '{other.uri}' overlap", "keep the wider one")
    return BlobBases(tuple(places))


def _base(base: object) -> Place:
    if not isinstance(base, str):
        raise InvalidBlobBase(f"a blob base must be text, not {type(base).__name__}", _HOW)
    if not _SCHEME.match(base):
        raise InvalidBlobBase(f"the blob base '{shown(base)}' is not an address", _HOW)
    if len(base.encode(errors="replace")) > URI_BYTES_MAX:
        raise InvalidBlobBase("the blob base is longer than 64 KiB", _HOW)
    place, fault = parsed(base.removesuffix("/") if not base.endswith("://") else base)
    if place is None:
        raise InvalidBlobBase(f"the blob base '{shown(base)}' {fault}", _HOW)
    if place.scheme == "file" and not place.parts:
        raise InvalidBlobBase("the whole disk cannot be a blob base", "name a folder: file:///folder/")
    if place.scheme == "file" and not os.path.isdir(f"/{place.path}"):
        raise InvalidBlobBase(f"the blob base '{base}' is not a folder of this machine", "create it, or correct it")
    return place


def parsed(uri: str) -> tuple[Place | None, str]:
    """The parts of a plain address; else None and what is wrong with it."""
    found = _SCHEME.match(uri)
    scheme = found.group(1) if found else ""
    if found is None or scheme not in ("file", "s3"):
        return None, "is not an s3:// or file:// address"
    if any(ord(char) < 33 or ord(char) == 127 or char in _REFUSED for char in uri):
        return None, "has a character that an address of a blob cannot have"
    bucket, slash, path = uri[found.end() :].partition("/")
    if scheme == "file" and (bucket or not slash):
        return None, "is not an absolute file:/// address"
    if scheme == "s3" and not _BUCKET.match(bucket):
        return None, "has no plain bucket name: user names, ports and capitals are refused"
    parts = tuple(path.split("/")) if path else ()
    if any(part in ("", ".", "..") for part in parts):
        return None, "has an empty part, or '.' or '..'"
    return Place("file" if scheme == "file" else "s3", bucket, parts), ""


def shown(uri: str) -> str:
    """An address as a message may have it: short, and without credentials."""
    without = re.sub(r"//[^/@]*@", "//…@", uri.partition("?")[0].partition("#")[0])
    return without if len(without) <= 120 else f"{without[:117]}…"
