"""A proxy in front of the S3 server that counts requests, so that a test can say what an operation costs."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding"}


class Counter:
    """Requests seen, as `METHOD path`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[str] = []

    def add(self, request: str) -> None:
        with self._lock:
            self._seen.append(request)

    def take(self) -> list[str]:
        """What was seen since the last call."""
        with self._lock:
            seen, self._seen = self._seen, []
        return seen


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class Forwarding(BaseHTTPRequestHandler):
    """One request, read whole, that can be passed on and answered."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = (
        True  # an answer is sent in two parts: the second would wait for the first to be confirmed
    )
    port = 0

    def read_body(self) -> bytes | None:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return self._chunks()
        length = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(length) if length else None

    def _chunks(self) -> bytes:
        """A body of unknown length: its length is known when it is passed on."""
        del self.headers["Transfer-Encoding"]
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def forward(self, body: bytes | None) -> Answer:
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        upstream.request(self.command, self.path, body, dict(self.headers.items()))  # Host stays: it is signed
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        return Answer(answer.status, answer.reason, answer.getheaders(), data)

    def reply(self, answer: Answer) -> None:
        self.send_response(answer.status, answer.reason)
        for name, value in answer.headers:
            if name.lower() not in _HOP_BY_HOP | {"content-length"}:
                self.send_header(name, value)
        stated = {name.lower(): value for name, value in answer.headers}.get("content-length")
        size = stated if self.command == "HEAD" else None
        self.send_header("Content-Length", size or str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class names it so
        """Quiet: a test run is not a server log."""


@contextmanager
def proxy(port: int, handle: Callable[[Forwarding], None]) -> Iterator[str]:
    """The endpoint of a proxy to a loopback port; `handle` deals with every request."""

    class Handler(Forwarding):
        def _handle(self) -> None:
            handle(self)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle  # noqa: N815 — the names that the base class calls

    Handler.port = port
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def counting_proxy(port: int) -> Iterator[tuple[str, Counter]]:
    """The endpoint of a proxy to a loopback port, and its counter."""
    counter = Counter()

    def handle(request: Forwarding) -> None:
        counter.add(f"{request.command} {request.path}")
        request.reply(request.forward(request.read_body()))

    with proxy(port, handle) as endpoint:
        yield endpoint, counter
