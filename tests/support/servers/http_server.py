"""A real server process, and a client that sends exactly what a test says: raw paths, repeated headers."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_SECONDS = 60
PREFIX = "OMNIGRAPH_LISTEN_ADDR="
TOKENS_JSON = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class HttpServer:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    output: Path
    default_token: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "",
        json: Any = ...,
        body: bytes | None = None,
        headers: Sequence[tuple[str, str]] | Mapping[str, str] = (),
        timeout: float = 60,
    ) -> Answer:
        """One request on a connection of its own. `token` None sends none; empty sends the usual one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            return self.send_on(connection, method, path, token=token, json=json, body=body, headers=headers)
        finally:
            connection.close()

    def send_on(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        *,
        token: str | None = "",
        json: Any = ...,
        body: bytes | None = None,
        headers: Sequence[tuple[str, str]] | Mapping[str, str] = (),
    ) -> Answer:
        listed = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        if json is not ...:
            body = to_bytes(json)
            if not any(name.lower() == "content-type" for name, _ in listed):
                listed.append(("Content-Type", "application/json"))
        chosen = self.default_token if token == "" else token
        if chosen is not None and not any(name.lower() == "authorization" for name, _ in listed):
            listed.append(("Authorization", f"Bearer {chosen}"))
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in listed:
            connection.putheader(name, value)
        if body is not None and not any(name.lower() == "content-length" for name, _ in listed):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def logged(self, *words: str, times: int = 1) -> str:
        """The first line of the log with all of these words; an answer may arrive before its line is written."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [line for line in self.log_text().splitlines() if all(word in line for word in words)]
            if len(found) >= times:
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"no line of the log has {words}:\n{self.log_text()[-4000:]}")

    def stop(self, number: int = signal.SIGTERM, timeout: float = 60) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout)


def to_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def server_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "omnigraph.server", *arguments]


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_SERVER")}
    return kept | {"OMNIGRAPH_CACHE_DIR": kept.get("OMNIGRAPH_CACHE_DIR", "")} | extra


def start(command: Sequence[str], folder: Path, **extra: str) -> HttpServer:
    """Starts a server and waits for its address. Raises with its log if it does not come up."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("server-*.log")))
    log, output = folder / f"server-{number}.log", folder / f"server-{number}.out"
    variables = {name: value for name, value in environment(**extra).items() if value}
    with log.open("wb") as errors, output.open("wb") as told:
        process = subprocess.Popen(command, stdout=told, stderr=errors, env=variables)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = [line for line in output.read_text().splitlines() if line.startswith(PREFIX)]
        if found and output.read_text().endswith("\n"):
            return HttpServer(process, int(found[0].rpartition(":")[2]), log, output)
        if process.poll() is not None:
            break
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


@contextmanager
def serving(command: Sequence[str], folder: Path, **extra: str) -> Iterator[HttpServer]:
    server = start(command, folder, **extra)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()


def failing(command: Sequence[str], **extra: str) -> tuple[int, str]:
    """Runs a server that must not start: its exit code, and what it says on stderr."""
    variables = {name: value for name, value in environment(**extra).items() if value}
    done = subprocess.run(command, capture_output=True, env=variables, timeout=START_SECONDS, check=False)
    return done.returncode, done.stderr.decode()
