"""One bench of each kind per test process, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.local_disk import LocalBench
from faults.object_store import StoreBench
from support.faults.fault_proxy import fault_proxy
from support.faults.fault_shim import COMPILER
from support.servers.s3_server import S3Server


@pytest.fixture(scope="session")
def local_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBench]:
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang): the library that makes calls fail cannot be built")
    with LocalBench(tmp_path_factory.mktemp("local-faults")) as bench:
        if not bench.catches_renames():
            pytest.skip("this kernel does not hand renames to the library that makes calls fail (seccomp)")
        yield bench


@pytest.fixture(scope="session")
def store_bench(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> Iterator[StoreBench]:
    folder = tmp_path_factory.mktemp("store-faults")
    with fault_proxy(s3_server.port) as proxy, StoreBench(folder, s3_server, proxy, folder.name) as bench:
        yield bench
