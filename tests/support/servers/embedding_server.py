"""A provider of embeddings on the loopback interface: answers in both shapes, and fails as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Failure:
    """An answer that is not an embedding."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str = "not now"


@dataclass
class Provider:
    """What the server was asked, and what it will answer next; an empty script answers with embeddings."""

    url: str = ""
    script: list[Failure | Any] = field(default_factory=list)
    """Failures, or whole JSON bodies to send with status 200."""
    requests: list[dict[str, Any]] = field(default_factory=list)

    def vector(self, text: str, dimension: int) -> list[float]:
        """Another vector for another text, and not of length one."""
        return [float(len(text) + place) for place in range(1, dimension + 1)]

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        if path.endswith(":embedContent"):
            [part] = body["content"]["parts"]
            return {"embedding": {"values": self.vector(part["text"], body["outputDimensionality"])}}
        entries = [
            {"index": index, "embedding": self.vector(text, body["dimensions"])}
            for index, text in enumerate(body["input"])
        ]
        return {"data": entries[::-1]}


@contextmanager
def embedding_server() -> Iterator[Provider]:
    provider = Provider()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                provider.requests.append({"path": self.path, "headers": headers, "body": body})
                next_answer = provider.script.pop(0) if provider.script else None
            if isinstance(next_answer, Failure):
                self._send(next_answer.status, next_answer.body.encode(), next_answer.headers)
            else:
                answer = provider.answer(self.path, body) if next_answer is None else next_answer
                self._send(200, json.dumps(answer).encode(), {})

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """The test says what it saw."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
