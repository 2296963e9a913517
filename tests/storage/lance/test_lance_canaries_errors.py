"""Canaries: the texts by which Lance's errors are told apart, each one provoked from the installed Lance itself."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.fs as fs
import pytest
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from lance.optimize import Compaction

from omnigraph.storage.lance.errors import _TEXTS, EnginePanic, Fault, classify, translated, without_panics
from omnigraph.storage.root import parse_root
from support.servers.s3_server import S3Server

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("v", pa.int64()),
    ]
)
Provoke = Callable[[str], object]


def rows(*ids: str) -> pa.Table:
    return pa.table({"id": list(ids), "v": list(range(len(ids)))}, schema=SCHEMA)


def staged(target: str | LanceDataset, mode: str, *ids: str) -> lance.Transaction:
    return write_fragments(rows(*ids), target, mode=mode, return_transaction=True, data_storage_version="2.2")


def commit(base: str | LanceDataset, transaction: lance.Transaction) -> LanceDataset:
    return LanceDataset.commit(base, transaction, max_retries=0, enable_stable_row_ids=True)


def fresh(uri: str, size: int = 200) -> LanceDataset:
    return commit(uri, staged(uri, "create", *(f"k{number}" for number in range(size))))


def upsert(handle: LanceDataset) -> lance.dataset.MergeInsertBuilder:
    return (
        handle.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .conflict_retries(0)
        .use_index(False)
    )


# --- commits, creations, refs -----------------------------------------------------------------------------


def lose_a_row(uri: str) -> None:
    fresh(uri)
    first, second = lance.dataset(uri), lance.dataset(uri)
    upsert(first).execute(rows("new"))
    upsert(second).execute(rows("new"))


def lose_an_update(uri: str) -> None:
    base = fresh(uri)
    effects = [upsert(base).execute_uncommitted(rows(key))[0] for key in ("k1", "k2")]
    for effect in effects:
        commit(base, effect)


def append_after_overwrite(uri: str) -> None:
    base = fresh(uri)
    late = staged(base, "append", "new")
    commit(base, staged(base, "overwrite", "all"))
    commit(base, late)


def overwrite_after_overwrite(uri: str) -> None:
    base = fresh(uri)
    late = staged(base, "overwrite", "late")
    commit(base, staged(base, "overwrite", "all"))
    commit(base, late)


def create_over(uri: str) -> None:
    fresh(uri)
    staged(uri, "create", "again")


def create_late(uri: str) -> None:
    late = staged(uri, "create", "late")
    fresh(uri)
    commit(uri, late)


def branch_twice(uri: str) -> None:
    base = fresh(uri)
    base.create_branch("b")
    base.create_branch("b")


def delete_a_parent(uri: str) -> None:
    base = fresh(uri)
    base.create_branch("parent")
    base.create_branch("child", reference=("parent", 1))
    base.branches.delete("parent")


def delete_no_branch(uri: str) -> None:
    fresh(uri).branches.delete("none")


def open_nothing(uri: str) -> None:
    lance.dataset(uri)


def open_no_version(uri: str) -> None:
    fresh(uri)
    lance.dataset(uri, version=7)


def write_where_no_folder_can_be(uri: str) -> None:
    staged("/proc/no-such-process/x", "create", "a")


# --- broken files -----------------------------------------------------------------------------------------


def broken(pattern: str, damage: Callable[[bytes], bytes], size: int = 200) -> Provoke:
    """A dataset with one row deleted, whose files of one kind were damaged, is read."""

    def provoke(uri: str) -> None:
        base = fresh(uri, size)
        shrunk = base.get_fragments()[0].delete_rows([0])
        LanceDataset.commit(base, Op.Delete([shrunk], [], "id = 'k0'"), read_version=1, max_retries=0)
        for path in Path(uri).glob(pattern):
            path.write_bytes(damage(path.read_bytes()))
        with without_panics():
            lance.dataset(uri, version=2, session=lance.Session()).to_table()

    return provoke


def overwritten(start: int, patch: bytes) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        changed = bytearray(data)
        position = start % len(changed)
        changed[position : position + len(patch)] = patch
        return bytes(changed)

    return damage


def zeroed(data: bytes) -> bytes:
    return bytes(len(data))


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def empty(data: bytes) -> bytes:
    return b""


def nearly_none(data: bytes) -> bytes:
    return b"abc"


def no_text(data: bytes) -> bytes:
    """The names of the column types are no longer text."""
    return data.replace(b"string", b"\xff" * len(b"string"))


# --- an S3 server that answers as told --------------------------------------------------------------------


@contextmanager
def server(status: int, code: str, missing: int = 0) -> Iterator[str]:
    """Answers everything with one error. Of the body that it announces, the last `missing` bytes never come."""
    body = f"<Error><Code>{code}</Code></Error>".encode()

    class Answer(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + missing))
            self.end_headers()
            self.close_connection = bool(missing)
            with suppress(BrokenPipeError):
                self.wfile.write(b"" if self.command == "HEAD" else body)

        do_GET = do_HEAD = do_PUT = do_POST = _answer  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    listener = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}"
    finally:
        listener.shutdown()
        listener.server_close()


def open_s3(endpoint: str, version: int | None) -> None:
    options = {
        "aws_region": "us-east-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_endpoint": endpoint,
        "allow_http": "true",
        "client_max_retries": "0",
        "client_retry_timeout": "1",
    }
    lance.dataset("s3://bucket/x", version=version, storage_options=options)


def answered(status: int, code: str, version: int | None = 1) -> Provoke:
    """With a version one HEAD request is made, whose answer has no body; without one a listing, which is slower."""

    def provoke(uri: str) -> None:
        with server(status, code) as endpoint:
            open_s3(endpoint, version)

    return provoke


def copied(status: int, code: str) -> Provoke:
    """By Arrow's client."""

    def provoke(uri: str) -> None:
        with server(status, code) as endpoint:
            once = fs.AwsStandardS3RetryStrategy(max_attempts=1)
            client = fs.S3FileSystem(
                access_key="a", secret_key="b", region="us-east-1", endpoint_override=endpoint, retry_strategy=once
            )
            client.copy_file("bucket/one", "bucket/other")

    return provoke


def cut_off(uri: str) -> None:
    with server(200, "None", missing=100) as endpoint:
        open_s3(endpoint, None)


def nobody_listens(uri: str) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else can answer here
        taken.bind(("127.0.0.1", 0))
        open_s3(f"http://127.0.0.1:{taken.getsockname()[1]}", 1)


# --- the table --------------------------------------------------------------------------------------------

PROVOKED: tuple[tuple[str, type[BaseException], Provoke], ...] = (
    ("too many concurrent writers", OSError, lose_a_row),
    ("retryable commit conflict", CommitConflictError, lose_an_update),
    ("incompatible transaction", CommitConflictError, append_after_overwrite),
    ("commit conflict for version", CommitConflictError, overwrite_after_overwrite),
    ("dataset already exists", OSError, create_over),
    ("_versions/0.manifest was not found", OSError, create_late),
    ("clone operation should not enter build_manifest", OSError, branch_twice),
    ("ref conflict error", OSError, delete_a_parent),
    ("invalidaccesskeyid", ValueError, answered(403, "InvalidAccessKeyId", None)),
    ("nosuchbucket", ValueError, answered(404, "NoSuchBucket", None)),
    ("403 forbidden", ValueError, answered(403, "AccessDenied")),
    ("aws error access_denied", OSError, copied(403, "AccessDenied")),
    ("aws error no_such_key", OSError, copied(404, "NoSuchKey")),
    ("aws error", OSError, copied(500, "InternalError")),
    ("aws error", OSError, copied(503, "SlowDown")),
    ("aws error", OSError, copied(404, "NoSuchBucket")),
    ("non-2xx status code: 5", ValueError, answered(503, "SlowDown")),
    ("error sending request", ValueError, nobody_listens),
    ("request or response body error", ValueError, cut_off),
    ("version not found error", ValueError, broken("_versions/*", zeroed)),
    ("not found", ValueError, open_nothing),
    ("not found", ValueError, open_no_version),
    ("not found", ValueError, delete_no_branch),
    ("no such file", OSError, write_where_no_folder_can_be),
    ("does not appear to be a lance", pa.ArrowInvalid, broken("data/*", zeroed)),
    ("failed to decode protobuf", ValueError, broken("_versions/*", no_text)),
    ("encountered corrupt", pa.ArrowInvalid, broken("_deletions/*", overwritten(256, b"\xff" * 8))),
    ("failed to fill whole buffer", pa.ArrowInvalid, broken("data/*", half, size=20_000)),
    ("file size is too small", ValueError, broken("_versions/*", half)),
    ("does not have sufficient data", ValueError, broken("_versions/*", nearly_none)),
    ("invalid range", ValueError, broken("_versions/*", empty)),
    ("is outside file of size", pa.ArrowInvalid, broken("data/*", overwritten(-40, b"\xff" * 24))),
    ("unknown lance storage version", pa.ArrowInvalid, broken("data/*", overwritten(-8, b"\x7f\x00\x7f\x00"))),
    ("lanceerror(arrow): parser error", pa.ArrowInvalid, broken("_deletions/*", zeroed)),
    ("invalid seek", pa.ArrowInvalid, broken("_deletions/*", empty)),
    ("out of range for slice", EnginePanic, broken("_versions/*", overwritten(0, b"\xff\xff\xff\x0f"))),
)

UNPROVOKED = {
    "permission denied": "the suite may run as root, whom nobody denies anything; its text is checked below",
    "operation not permitted": "as above",
    "read-only file system": "needs a mount",
    "no space left": "needs a full disk",
    "input/output error": "needs a failing disk; its text is checked below",
    "signaturedoesnotmatch": "the same answer as InvalidAccessKeyId with another code; two seconds each",
}


@pytest.mark.parametrize(
    ("text", "kind", "provoke"),
    [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(PROVOKED)],
)
def test_edge_23_errors_of_every_kind_share_classes_and_are_told_apart_by_text(
    text: str, kind: type[BaseException], provoke: Provoke, tmp_path: Path
) -> None:
    with pytest.raises(kind) as caught:
        provoke(str(tmp_path / "t"))
    assert text in str(caught.value).lower()
    assert classify(caught.value) is dict(_TEXTS)[text]


def test_every_text_is_provoked_or_listed_with_its_reason() -> None:
    provoked = {text for text, _, _ in PROVOKED}
    assert provoked | UNPROVOKED.keys() == {text for text, _ in _TEXTS}
    assert not provoked & UNPROVOKED.keys()


def test_lance_passes_on_the_words_of_the_operating_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file or directory \(os error 2\)"):
        write_where_no_folder_can_be(str(tmp_path))


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (errno.EACCES, Fault.READ_ONLY),
        (errno.EPERM, Fault.READ_ONLY),
        (errno.EROFS, Fault.READ_ONLY),
        (errno.ENOSPC, Fault.UNREACHABLE),
        (errno.EIO, Fault.UNREACHABLE),
        (errno.ENOENT, Fault.MISSING),
    ],
)
def test_the_words_of_the_operating_system_are_classified(number: int, fault: Fault) -> None:
    assert classify(OSError(number, os.strerror(number))) is fault
    assert classify(OSError(f"LanceError(IO): {os.strerror(number)} (os error {number})")) is fault


def test_a_wrong_signature_is_not_taken_for_a_missing_permission() -> None:
    text = "Server returned non-2xx status code: 403 Forbidden: <Code>SignatureDoesNotMatch</Code>"
    assert classify(ValueError(text)) is Fault.UNREACHABLE


def test_a_panic_of_lance_is_no_exception_until_it_is_turned_into_one(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    fresh(uri)
    for path in Path(uri).glob("_versions/*"):
        path.write_bytes(overwritten(0, b"\xff\xff\xff\x0f")(path.read_bytes()))
    with pytest.raises(BaseException, match="out of range") as caught:
        lance.dataset(uri, version=1, session=lance.Session())
    assert not isinstance(caught.value, Exception)
    with pytest.raises(EnginePanic), without_panics():
        lance.dataset(uri, version=1, session=lance.Session())


def test_a_lost_compaction_is_a_plain_os_error(tmp_path: Path) -> None:
    """Not a `CommitConflictError`, unlike a lost commit: the text is all there is."""
    uri = str(tmp_path / "t")
    base = commit(fresh(uri), staged(uri, "append", "more"))
    results = [task.execute(base) for task in Compaction.plan(base, {"target_rows_per_fragment": 1000}).tasks]
    lance.dataset(uri).delete("id = 'k1'")
    with pytest.raises(OSError, match=r"^Retryable commit conflict") as caught:
        Compaction.commit(base, results)
    assert not isinstance(caught.value, CommitConflictError)


@pytest.mark.parametrize(
    ("provoke", "retryable"),
    [(lose_an_update, True), (overwrite_after_overwrite, True), (append_after_overwrite, False)],
)
def test_a_conflict_says_whether_staging_again_can_help(provoke: Provoke, retryable: bool, tmp_path: Path) -> None:
    with pytest.raises(CommitConflictError) as caught:
        provoke(str(tmp_path / "t"))
    assert caught.value.retryable is retryable


@pytest.mark.s3
def test_a_late_creation_and_a_missing_version_read_the_same_on_s3(s3: S3Server, tmp_path: Path) -> None:
    options = parse_root(s3.uri(tmp_path.name)).lance_options
    uri = s3.uri(f"{tmp_path.name}/t")
    effects = [
        write_fragments(rows(key), uri, mode="create", return_transaction=True, storage_options=options)
        for key in ("first", "late")
    ]
    LanceDataset.commit(uri, effects[0], max_retries=0, storage_options=options)
    with pytest.raises(OSError, match="was not found") as late:
        LanceDataset.commit(uri, effects[1], max_retries=0, storage_options=options)
    assert classify(late.value) is Fault.EXISTS
    for version in (None, 9):
        with pytest.raises(ValueError, match="was not found") as missing:
            lance.dataset(uri if version else f"{uri}-none", version=version, storage_options=options)
        assert classify(missing.value) is Fault.MISSING


def test_an_interrupt_while_lance_reads_from_python_is_raised_as_an_interrupt(tmp_path: Path) -> None:
    """Lance reports it as an error of its own, with the name of what Python raised."""
    schema = pa.schema([("id", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([["a"]], schema=schema)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), translated(str(tmp_path)):
        lance.write_dataset(pa.RecordBatchReader.from_batches(schema, batches()), str(tmp_path / "t"))
