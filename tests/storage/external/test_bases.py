"""Which addresses a base allows: exactly those below it, however they are spelled, and no link leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.model.errors import BadRequest, OmniGraphError
from omnigraph.storage.external import (
    ExternalBlobDenied,
    ExternalBlobSource,
    InvalidBlobBase,
    blob_bases,
    external_bytes,
    external_size,
)

REFUSED_BASES = [
    "",
    "data",
    "/data",
    "https://host/data/",
    "http://127.0.0.1/",
    "s3://",
    "s3:///folder/",
    "s3://user:secret@bucket/folder/",
    "s3://bucket:9000/folder/",
    "s3://Bucket/folder/",
    "s3://bucket/a//b/",
    "s3://bucket/a/../b/",
    "s3://bucket/a/./b/",
    "s3://bucket/%2e%2e/b/",
    "s3://bucket/folder/?versionId=1",
    "s3://bucket/folder/#part",
    "s3://bucket/fol der/",
    "file://host/data/",
    "file://",
    "file:///",
    "file:///no/such/folder/of/mine/",
    "FILE:///tmp/",
    "s3://bucket/" + "a" * 70_000,
]
REFUSED_ADDRESSES = [
    "s3://bucket/data",
    "s3://bucket/data/",
    "s3://bucket/database/x",
    "s3://bucket/data/../secret",
    "s3://bucket/data/a/../../secret",
    "s3://bucket/data/%2e%2e/secret",
    "s3://bucket/data/..%2fsecret",
    "s3://bucket/data//x",
    "s3://bucket/data/./x",
    "s3://bucket/data\\..\\x",
    "s3://bucket/data/x?versionId=1",
    "s3://bucket/data/x#y",
    "s3://bucket/data/x\n",
    "s3://bucket/data/\x00x",
    "s3://bucket@evil/data/x",
    "s3://bucket:80/data/x",
    "S3://bucket/data/x",
    "s3://Bucket/data/x",
    "s3://bucket2/data/x",
    "file:///data/x",
    "https://bucket/data/x",
    "data/x",
    "",
]


@pytest.mark.parametrize("base", REFUSED_BASES)
def test_a_base_is_a_plain_absolute_address(base: str) -> None:
    with pytest.raises(InvalidBlobBase) as refused:
        blob_bases([base])
    assert "secret" not in str(refused.value)


def test_bases_are_several_sorted_and_apart(tmp_path: Path) -> None:
    bases = blob_bases(["s3://zebra/b", f"file://{tmp_path}", "s3://apple/", "s3://zebra/b/"])
    assert bases.texts() == (f"file://{tmp_path}/", "s3://apple/", "s3://zebra/b/")
    with pytest.raises(InvalidBlobBase, match="overlap"):
        blob_bases(["s3://bucket/a/", "s3://bucket/a/b/"])
    for wrong in ("s3://bucket/a/", [1], [None]):
        with pytest.raises(BadRequest):
            blob_bases(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_an_address_that_is_not_plainly_below_a_base_is_denied(address: str) -> None:
    with pytest.raises(ExternalBlobDenied):
        blob_bases(["s3://bucket/data/"]).find(address)


def test_an_address_below_a_base_is_found_in_its_parts() -> None:
    place, base = blob_bases(["s3://bucket/data/"]).find("s3://bucket/data/a/ü~(1).bin")
    assert (place.path, base.path) == ("data/a/ü~(1).bin", "data")


def test_a_message_has_neither_credentials_nor_queries() -> None:
    with pytest.raises(ExternalBlobDenied) as refused:
        blob_bases(["s3://bucket/data/"]).find("s3://user:hunter2@bucket/data/x?token=abc")
    assert "hunter2" not in str(refused.value)
    assert "token" not in str(refused.value)


def test_a_file_below_its_base_is_read(tmp_path: Path) -> None:
    (tmp_path / "base" / "a").mkdir(parents=True)
    (tmp_path / "base" / "a" / "b.bin").write_bytes(b"bytes")
    bases = blob_bases([f"file://{tmp_path}/base"])
    assert external_size(bases, f"file://{tmp_path}/base/a/b.bin") == 5
    assert external_bytes(bases, f"file://{tmp_path}/base/a/b.bin") == b"bytes"


@pytest.mark.parametrize(
    "way", ["file link", "folder link", "link upwards", "folder", "pipe", "missing", "file as folder"]
)
def test_links_devices_and_folders_are_refused(way: str, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_bytes(b"secret")
    path = "key"
    match way:
        case "file link":
            (base / "key").symlink_to(tmp_path / "secret" / "key")
        case "folder link":
            (base / "in").symlink_to(tmp_path / "secret")
            path = "in/key"
        case "link upwards":
            (base / "up").symlink_to("..")
            path = "up/secret/key"
        case "folder":
            (base / "key").mkdir()
        case "pipe":
            os.mkfifo(base / "key")
        case "file as folder":
            (base / "file").write_bytes(b"")
            path = "file/key"
    bases = blob_bases([f"file://{base}"])
    for read in (external_bytes, external_size):
        with pytest.raises(ExternalBlobSource):
            read(bases, f"file://{base}/{path}")


def test_an_object_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(33 * 1024 * 1024)
    with pytest.raises(OmniGraphError, match="external Blob object bytes limit is 33554432"):
        external_bytes(blob_bases([f"file://{tmp_path}"]), f"file://{tmp_path}/large")
