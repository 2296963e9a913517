"""A server that answers by a script, and a proxy that loses answers: what a client meets on a bad day."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DROP = "the connection is closed without an answer"
FORWARD = "the request goes to the server behind, and its answer comes back"
FORWARD_AND_DROP = "the request goes to the server behind, and its answer is lost"
HOP = ("host", "connection", "content-length", "transfer-encoding")
"""What belongs to one connection and is not passed on."""


@dataclass(frozen=True)
class Scripted:
    """One answer."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Received:
    """One request, as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedServer:
    """Answers in the order of the script; the last answer is repeated."""

    port: int
    script: list[Scripted | str]
    behind: int | None
    received: list[Received] = field(default_factory=list)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def graph(self) -> str:
        return f"{self.base}/graphs/library"

    def next(self) -> Scripted | str:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def forward(self, request: Received) -> Scripted:
        assert self.behind is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=30)
        kept = {name: value for name, value in request.headers.items() if name not in HOP}
        connection.request(request.method, request.path, request.body, kept)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        headers = tuple((name, value) for name, value in answer.getheaders() if name.lower() not in HOP)
        return Scripted(answer.status, body, headers)


@contextmanager
def scripted(script: Sequence[Scripted | str], behind: int | None = None) -> Iterator[ScriptedServer]:
    """Runs one in a thread of this process."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self._body()
            request = Received(
                self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body
            )
            state.received.append(request)
            step = state.next()
            if step in (FORWARD, FORWARD_AND_DROP):
                answer = state.forward(request)
                step = DROP if step == FORWARD_AND_DROP else answer
            if isinstance(step, str):
                self.close_connection = True
                self.connection.close()
                return
            self._answer(step)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            pieces = []
            while size := int(self.rfile.readline().strip() or b"0", 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def _answer(self, step: Scripted) -> None:
            body = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
            self.send_response(step.status)
            for name, value in step.headers:
                self.send_header(name, value)
            if not any(name.lower() == "content-type" for name, _ in step.headers):
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - the names that the base class calls

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A connection that was dropped on purpose."""

    running = Quiet(("127.0.0.1", 0), Handler)
    state = ScriptedServer(running.server_address[1], list(script), behind)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        running.shutdown()
        running.server_close()
        thread.join()
