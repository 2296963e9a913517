"""Staged Arrow files on S3: a request that failed once is made again, one that keeps failing is told as our error."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from omnigraph.model.errors import Unreachable
from omnigraph.storage.bulk import StagingFiles, arrow_files
from omnigraph.storage.root import parse_root
from support.faults.fault_proxy import FaultProxy, StoreFault, StoreWay, fault_proxy
from support.servers.s3_server import S3Server, environment_for

pytestmark = pytest.mark.s3
ROWS = pa.table({"name": ["Ann", "Ben"], "age": [1, 2]})
FILE = "rows.arrow"
WAYS = [StoreWay.REFUSED, StoreWay.BUSY, StoreWay.CLOSED, StoreWay.CUT]


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as faults:
        yield faults


@pytest.fixture
def files(
    proxy: FaultProxy, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[StagingFiles]:
    for name, value in environment_for(proxy.endpoint).items():
        monkeypatch.setenv(name, value)
    files = StagingFiles(parse_root(s3_server.uri(f"arrow-files/{abs(hash(request.node.name))}")), "load")
    files.write(FILE, ROWS.schema, ROWS.to_batches())
    yield files
    proxy.disarm()


def requests_of_a_read(files: StagingFiles, proxy: FaultProxy) -> int:
    proxy.arm("", StoreFault(StoreWay.COUNT, 0), lambda: None)
    files.read(FILE, ["name"])
    return len(proxy.disarm())


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name.lower())
def test_a_staged_file_is_read_whichever_request_failed_once(
    files: StagingFiles, proxy: FaultProxy, way: StoreWay
) -> None:
    for number in range(1, requests_of_a_read(files, proxy) + 1):
        proxy.arm("", StoreFault(way, number), lambda: None)
        assert files.read(FILE, ["name"]) == ROWS.select(["name"])
        proxy.disarm()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name.lower())
def test_the_batches_of_a_staged_file_are_read_whichever_request_failed_once(
    files: StagingFiles, proxy: FaultProxy, way: StoreWay
) -> None:
    for number in range(1, requests_of_a_read(files, proxy) + 1):
        proxy.arm("", StoreFault(way, number), lambda: None)
        assert pa.Table.from_batches(files.batches(FILE)) == ROWS
        proxy.disarm()


def test_a_store_that_keeps_failing_is_named_in_an_error_of_ours(
    files: StagingFiles, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_files, "READ_AGAIN_S_MAX", 0.1)
    proxy.arm("", StoreFault(StoreWay.REFUSED, 1, tries=1000), lambda: None)
    with pytest.raises(Unreachable, match=FILE):
        files.read(FILE)
    with pytest.raises(Unreachable, match=FILE):
        list(files.batches(FILE))
    proxy.disarm()


def test_a_staged_file_that_cannot_be_written_is_named_in_an_error_of_ours(
    files: StagingFiles, proxy: FaultProxy
) -> None:
    proxy.arm("", StoreFault(StoreWay.REFUSED, 1, tries=1000), lambda: None)
    with pytest.raises(Unreachable, match="other"):
        files.write("other.arrow", ROWS.schema, ROWS.to_batches())
    proxy.disarm()


def test_an_error_beside_an_open_staged_file_stays_what_it_is(files: StagingFiles) -> None:
    def write_from_a_lost_source() -> None:
        with files.writer("open.arrow", ROWS.schema) as writer:
            writer.write_batch(ROWS.to_batches()[0])
            raise FileNotFoundError("the source is gone")

    with pytest.raises(FileNotFoundError, match="the source"):
        write_from_a_lost_source()
