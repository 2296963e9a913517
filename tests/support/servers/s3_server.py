"""A real S3 server on loopback: SeaweedFS, started by the tests and ended with them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

START_TIMEOUT_S = 60
START_TRIES = 3
BUCKET = "graphs"


@dataclass(frozen=True)
class S3Server:
    """Where the server listens, and the variables that point OmniGraph at it."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return environment_for(self.endpoint)

    def uri(self, name: str) -> str:
        return f"s3://{BUCKET}/{name}"

    def store(self, prefix: str = "") -> S3Store:
        return store_at(self.endpoint, prefix)


def environment_for(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }


def store_at(endpoint: str, prefix: str = "") -> S3Store:
    return S3Store(
        BUCKET,
        prefix=prefix or None,
        endpoint=endpoint,
        access_key_id="key",
        secret_access_key="secret",
        region="us-east-1",
        client_options={"allow_http": True},
        virtual_hosted_style_request=False,
    )


@contextmanager
def seaweedfs() -> Iterator[S3Server]:
    """A running server with one bucket. Another program may take a port first; then others are tried."""
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-weed-"))
    (folder / "s3.json").write_text(json.dumps(_identities()))
    process, server = _started(folder)
    try:
        yield server
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path) -> tuple[subprocess.Popen[bytes], S3Server]:
    for attempt in range(START_TRIES):
        ports = _free_ports(4)
        log = folder / f"log-{attempt}"
        process = subprocess.Popen(
            _command(folder, ports),
            cwd=folder,
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = S3Server(ports[0])
        if _is_ready(server, process):
            return process, server
        _end(process)
    raise RuntimeError(f"SeaweedFS did not start: {log.read_text(errors='replace')[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command(folder: Path, ports: list[int]) -> list[str]:
    s3, master, volume, filer = ports
    weed = Path(sys.executable).parent / "weed"
    return [
        str(weed),
        "server",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-s3",
        f"-s3.port={s3}",
        f"-s3.config={folder / 's3.json'}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-master.port={master}",
        f"-volume.port={volume}",
        f"-filer.port={filer}",
        "-volume.max=20",
        "-master.volumeSizeLimitMB=64",
        "-master.telemetry=false",
    ]


def _identities() -> dict[str, object]:
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    return {
        "identities": [
            {"name": "t", "credentials": [{"accessKey": "key", "secretKey": "secret"}], "actions": actions},
        ]
    }


def _free_ports(count: int) -> list[int]:
    """Ports whose gRPC twin (port + 10000) is free too; all below the range that outgoing connections use."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(11000, 22000)
        if port not in found and all(_is_free(number) for number in (port, port + 10000)):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _is_ready(server: S3Server, process: subprocess.Popen[bytes]) -> bool:
    """Ready means that an object can be put, which also makes the bucket. Asks again within a stated time."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            obstore.put(server.store(), "ready", b"1")
            return True
        except (BaseError, OSError):
            time.sleep(0.1)
    return False
