"""Blobs: what one read gives, where external ones may lie, and what each kind of write makes of them.

The rows of the HTTP contract that concern the engine are tested here under their ids; the wire is the server's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.history.blobs import CHUNK_BYTES, strong_etag
from omnigraph.storage.external import copies
from support.graphs.library import SCHEMA, base64_of, book, fill
from support.servers.s3_server import S3Server

RENAME = 'query q() { update Book set { title: "other" } where isbn = "b4" }'


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


@pytest.fixture
def library(tmp_path: Path, outside: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "lib"), SCHEMA, durability="os", blob_bases=[f"file://{outside}/"])
    fill(graph, outside)
    return graph


@pytest.fixture
def bare(tmp_path: Path, outside: Path) -> Graph:
    """No book yet, and no edge that needs one."""
    return Graph.init(str(tmp_path / "bare"), SCHEMA, durability="os", blob_bases=[f"file://{outside}/"])


# --- reading ----------------------------------------------------------------------------------------------


def test_http_111_a_managed_value_has_its_size_a_strong_tag_and_its_bytes(library: Graph) -> None:
    cover = library.blob("Book", "b1", "cover")
    assert (cover.kind, cover.size, cover.uri) == ("managed", 11, None)
    assert len(cover.etag or "") == 34
    assert cover.snapshot.startswith("manifest:main:v")
    assert cover.read() == b"hello world"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(1, 5, b"ello"), (6, None, b"world"), (6, 99, b"world"), (0, 1, b"h"), (10, 11, b"d")],
)
def test_http_112_a_range_gives_its_bytes_and_ends_with_the_value(
    start: int, end: int | None, expected: bytes, library: Graph
) -> None:
    assert library.blob("Book", "b1", "cover").read(start, end) == expected


@pytest.mark.parametrize(
    ("book_id", "start", "end", "told"),
    [("b1", 99, None, (99, 11, 11)), ("b1", 11, 12, (11, 12, 11)), ("b2", 0, 1, (0, 1, 0))],
    ids=["http-113 behind the end", "http-113 at the end", "http-114 of an empty value"],
)
def test_a_range_that_begins_behind_the_end_is_refused_with_the_length(
    book_id: str, start: int, end: int | None, told: tuple[int, int, int], library: Graph
) -> None:
    with pytest.raises(og.errors.BlobRangeNotSatisfiable) as refused:
        library.blob("Book", book_id, "cover").read(start, end)
    assert refused.value.details() == dict(zip(("start", "end", "length"), told, strict=True))


def test_http_114_an_empty_value_is_read_whole_as_no_bytes(library: Graph) -> None:
    empty = library.blob("Book", "b2", "cover")
    assert (empty.size, empty.read(), list(empty.chunks()), empty.open().read()) == (0, b"", [], b"")


def test_http_115_the_tag_follows_the_recipe_of_the_contract() -> None:
    vector = strong_etag((1, 2, 3, 4, 5), "6-00000000000000000000000000000007.txn")
    assert vector == '"f0e89bc86388accc9a7877df658a1f1c"'


def test_http_115_other_bytes_have_another_tag_and_a_copied_snapshot_keeps_it(library: Graph) -> None:
    before = library.blob("Book", "b1", "cover")
    commit = library.snapshot().commit_id or ""
    library.load([book("b1", cover=base64_of(b"HELLO WORLD"))], mode="merge")
    assert library.blob("Book", "b1", "cover").etag != before.etag
    assert library.blob("Book", "b1", "cover", at=commit).etag == before.etag
    assert before.read() == b"hello world"


@pytest.mark.parametrize(
    ("selector", "refusal"),
    [
        (("Book", "b3", "cover"), og.errors.BlobNotFound),
        (("Book", "zz", "cover"), og.errors.BlobNotFound),
        (("Book", "b1", "title"), og.errors.InvalidBlobSelector),
        (("Book", "b1", "nope"), og.errors.InvalidBlobSelector),
        (("Nope", "b1", "cover"), og.errors.InvalidBlobSelector),
        (("edge:Book", "b1", "cover"), og.errors.InvalidBlobSelector),
    ],
    ids=["http-117 null", "http-117 entity", "http-117 text", "http-117 property", "http-117 type", "http-117 kind"],
)
def test_what_is_not_there_and_what_is_no_blob_are_told_apart(
    selector: tuple[str, str, str], refusal: type[Exception], library: Graph
) -> None:
    with pytest.raises(refusal):
        library.blob(*selector)


def test_http_118_an_external_value_shows_its_address_and_is_never_followed(library: Graph, outside: Path) -> None:
    (outside / "b4.bin").unlink()
    cover = library.blob("Book", "b4", "cover")
    assert (cover.kind, cover.uri, cover.size, cover.etag) == ("external", f"file://{outside}/b4.bin", None, None)
    for read in (cover.read, cover.chunks, cover.open):
        with pytest.raises(og.errors.BlobIsExternal):
            read()


def test_a_value_is_read_on_any_branch_at_any_commit_and_tag(library: Graph) -> None:
    first = library.snapshot().commit_id or ""
    library.tag("first", first)
    draft = library.create_branch("draft")
    draft.load([book("b1", cover=base64_of(b"draft"))], mode="merge")
    library.load([book("b1")], mode="merge")
    assert draft.blob("Book", "b1", "cover").read() == b"draft"
    assert library.blob("Book", "b1", "cover", branch="draft").read() == b"draft"
    for at in (first, "first", "tag:first"):
        assert library.blob("Book", "b1", "cover", at=at).read() == b"hello world"
    assert library.at("first").blob("Book", "b1", "cover").snapshot == first
    with pytest.raises(og.errors.BlobNotFound):
        library.blob("Book", "b1", "cover")
    with pytest.raises(og.BranchNotFound):
        library.blob("Book", "b1", "cover", branch="nope")
    with pytest.raises(og.BadRequest):
        library.blob("Book", "b1", "cover", branch="draft", at=first)


def test_the_blob_of_an_edge_is_read_by_the_id_of_the_edge(library: Graph) -> None:
    edges = [json.loads(line) for line in library.export(types=["Cites"])]
    scanned = next(edge["data"]["id"] for edge in edges if edge["data"]["scan"])
    assert library.blob("Cites", scanned, "scan").read() == b"scan"


def test_a_large_value_streams_in_chunks_and_can_be_sought_in(tmp_path: Path) -> None:
    data = os.urandom(CHUNK_BYTES * 2 + 17)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load([book("big", cover=base64_of(data))], mode="append")
    cover = graph.blob("Book", "big", "cover")
    assert [len(chunk) for chunk in cover.chunks()] == [CHUNK_BYTES, CHUNK_BYTES, 17]
    with cover.open() as file:
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(data).digest()
        file.seek(-20, os.SEEK_END)
        assert file.read() == data[-20:]
    assert cover.read(CHUNK_BYTES - 2, CHUNK_BYTES + 2) == data[CHUNK_BYTES - 2 : CHUNK_BYTES + 2]


def test_no_query_returns_a_blob_by_accident(library: Graph) -> None:
    rows = library.query('query q() { match { $b: Book { isbn: "b1" } } return { $b.* } }').rows()
    assert "cover" not in json.dumps(rows, default=str)
    with pytest.raises(og.CompileError, match="T24"):
        library.query("query q() { match { $b: Book } return { $b.cover } }")


# --- external blobs ---------------------------------------------------------------------------------------


def test_schema_D36_http_86_without_bases_every_address_is_denied_and_nothing_is_contacted(
    tmp_path: Path, outside: Path
) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    (outside / "a").write_bytes(b"a")
    for address in (f"file://{outside}/a", "s3://bucket/a", "https://h/x", "http://169.254.169.254/latest", "../a"):
        for mode in ("append", "merge", "overwrite"):
            with pytest.raises(og.ValidationFailed, match="denied by the blob policy"):
                graph.load([book("x", cover=address)], mode=mode)  # type: ignore[arg-type]
        with pytest.raises(og.ValidationFailed, match="denied by the blob policy"):
            graph.mutate('query q($c: String) { insert Book { isbn: "x", cover: $c } }', c=address)
    assert list(graph.export()) == []


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_http_86_append_and_merge_copy_an_allowed_object(mode: str, library: Graph, outside: Path) -> None:
    (outside / "new").write_bytes(b"new bytes")
    library.load([book("x", cover=f"file://{outside}/new")], mode=mode)  # type: ignore[arg-type]
    (outside / "new").unlink()
    assert library.blob("Book", "x", "cover").read() == b"new bytes"


def test_http_86_a_mutation_copies_an_allowed_object(library: Graph, outside: Path) -> None:
    (outside / "new").write_bytes(b"new bytes")
    library.mutate('query q($c: Blob) { insert Book { isbn: "x", cover: $c } }', c=f"file://{outside}/new")
    assert library.blob("Book", "x", "cover").read() == b"new bytes"


def test_http_86_overwrite_keeps_the_address_and_looks_whether_the_object_is_there(bare: Graph, outside: Path) -> None:
    (outside / "new").write_bytes(b"new bytes")
    bare.load([book("x", cover=f"file://{outside}/new")], mode="overwrite")
    assert bare.blob("Book", "x", "cover").uri == f"file://{outside}/new"
    before = list(bare.export())
    with pytest.raises(og.errors.ExternalBlobSource) as refused:
        bare.load([book("y", cover=f"file://{outside}/missing")], mode="overwrite")
    assert refused.value.details()["uri"] == f"file://{outside}/missing"
    assert list(bare.export()) == before


def test_an_update_of_another_property_copies_the_object(library: Graph) -> None:
    library.mutate(RENAME)
    assert library.blob("Book", "b4", "cover").read() == b"external bytes"
    assert library.blob("Book", "b1", "cover").read() == b"hello world"


@pytest.mark.parametrize("surface", ["update", "patch", "merge", "restore"])
def test_a_handle_without_the_base_follows_no_address_that_another_one_stored(
    surface: str, bare: Graph, outside: Path
) -> None:
    """Nor does the storage library by itself, which would read any file."""
    (outside / "a").write_bytes(b"a")
    draft = bare.create_branch("draft")
    draft.load([book("b4", cover=f"file://{outside}/a")], mode="overwrite")
    first = draft.snapshot().commit_id or ""
    if surface == "restore":
        draft.load([book("b4")], mode="merge")
    before = list(bare.export("draft"))
    other = Graph.open(bare.uri, branch="draft")
    calls: dict[str, Callable[[], object]] = {
        "update": lambda: other.mutate(RENAME),
        "patch": lambda: other.load([book("b4", title="other")], mode="merge", patch=True),
        "merge": lambda: other.merge("draft", into="main"),
        "restore": lambda: other.restore(first),
    }
    with pytest.raises(og.errors.ExternalBlobDenied):
        calls[surface]()
    assert (list(bare.export("draft")), list(bare.export())) == (before, [])


def test_a_merge_of_branches_copies_the_object(library: Graph, outside: Path) -> None:
    draft = library.create_branch("draft")
    (outside / "new").write_bytes(b"new bytes")
    books = [line for line in library.export("draft", types=["Book"]) if b'"b4"' not in line]
    draft.load([*books, book("b4", cover=f"file://{outside}/new")], mode="overwrite")
    library.merge("draft", into="main")
    assert library.blob("Book", "b4", "cover").read() == b"new bytes"


def test_limits_of_external_blobs_are_told(library: Graph, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (outside / "a").write_bytes(b"0123456789")
    address = f"file://{outside}/a"
    monkeypatch.setattr(copies, "CELLS_MAX", 2)
    with pytest.raises(og.LimitExceeded, match="external Blob reference cells limit is 2, actual 3"):
        library.load([book(f"x{n}", cover=address) for n in range(3)], mode="append")
    monkeypatch.setattr(copies, "COPIED_BYTES_MAX", 15)
    with pytest.raises(og.LimitExceeded, match="materialized external blob payload bytes limit is 15, actual 20"):
        library.load([book(f"x{n}", cover=address) for n in range(2)], mode="append")
    with pytest.raises(og.LimitExceeded, match="external Blob URI bytes"):
        library.load([book("x", cover=f"file://{outside}/{'a' * 70_000}")], mode="append")


@pytest.mark.s3
def test_objects_on_s3_are_copied_and_referred_to_below_their_base_alone(
    bare: Graph, s3: S3Server, tmp_path: Path
) -> None:
    from omnigraph.write.intake.source_files import remote

    base = s3.uri(f"{tmp_path.name}/blobs")
    for name in ("blobs/a", "other"):
        files, key = remote(s3.uri(f"{tmp_path.name}/{name}"))
        with files.open_output_stream(key, compression=None) as out:
            out.write(b"on s3")
    graph = Graph.open(bare.uri, blob_bases=[base])
    graph.load([book("x", cover=f"{base}/a")], mode="append")
    assert graph.blob("Book", "x", "cover").read() == b"on s3"
    graph.load([book("x", cover=f"{base}/a")], mode="overwrite", branch="refers", base="main")
    assert graph.blob("Book", "x", "cover", branch="refers").uri == f"{base}/a"
    for refused in (s3.uri(f"{tmp_path.name}/other"), f"{base}/../other", f"{base}-more/a"):
        with pytest.raises(og.ValidationFailed, match="blob policy"):
            graph.load([book("y", cover=refused)], mode="append")
    with pytest.raises(og.errors.ExternalBlobSource):
        graph.load([book("y", cover=f"{base}/missing")], mode="append")


def test_an_export_with_external_blobs_is_loaded_by_a_handle_that_allows_their_base(
    library: Graph, tmp_path: Path, outside: Path
) -> None:
    lines = list(library.export(manifest=True))
    with pytest.raises(og.ValidationFailed, match="blob policy"):
        Graph.init(str(tmp_path / "one"), SCHEMA, durability="os").load(lines, mode="overwrite")
    copy = Graph.init(str(tmp_path / "two"), SCHEMA, durability="os", blob_bases=[f"file://{outside}"])
    copy.load(lines, mode="overwrite")
    assert list(copy.export()) == lines[:-1]
