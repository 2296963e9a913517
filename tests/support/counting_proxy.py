"""A proxy in front of the S3 server that counts requests, so that a test can say what an operation costs."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def counting_proxy(port: int) -> Iterator[tuple[str, Counter]]:
    """The endpoint of a proxy to a loopback port, and its counter."""
    counter = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            counter.add(f"{self.command} {self.path}")
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            upstream.request(self.command, self.path, body, dict(self.headers.items()))  # Host stays: it is signed
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in _HOP_BY_HOP | {"content-length"}:
                    self.send_header(name, value)
            size = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", size or str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815 — the names that the base class calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class names it so
            """Quiet: a test run is not a server log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", counter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
