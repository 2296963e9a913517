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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
from obstore.store import S3Store

START_TIMEOUT_S = 60
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
    """A running server with one bucket."""
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-weed-"))
    ports = _free_ports(4)
    (folder / "s3.json").write_text(json.dumps(_identities()))
    process = subprocess.Popen(
        _command(folder, ports),
        cwd=folder,
        stdout=(folder / "log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    server = S3Server(ports[0])
    try:
        _wait_until_ready(server, process, folder / "log")
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


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
    """Ports whose gRPC twin (port + 10000) is free too."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(12000, 45000)
        if port not in found and all(_is_free(number) for number in (port, port + 10000)):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _wait_until_ready(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Ready means that an object can be put, which also makes the bucket. Asked again within a stated time."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"SeaweedFS ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            obstore.put(server.store(), "ready", b"1")
            return
        except Exception:
            time.sleep(0.1)
    raise RuntimeError(f"SeaweedFS did not become ready: {log.read_text(errors='replace')[-2000:]}")

