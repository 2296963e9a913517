"""A proxy in front of the S3 server that lets the n-th request go wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from urllib.parse import unquote

from omnigraph.model.late_dataclass import dataclass
from support.faults.fault_shim import Call
from support.servers.counting_proxy import Answer, Forwarding, proxy

HELD_MAX_S = 60.0


class StoreWay(Enum):
    """In which way a request goes wrong."""

    COUNT = "counted"
    REFUSED = "500, nothing done"
    BUSY = "503, nothing done"
    CLOSED = "connection closed, nothing done"
    LOST = "done, connection closed"
    DENIED_AFTER = "done, answered 500"
    CUT = "done, answer cut in the middle"
    HELD = "held, with all that follow, until another writer was there"
    KILL = "killed before it"
    KILL_AFTER = "killed after it"


@dataclass(frozen=True, slots=True)
class StoreFault:
    """The n-th request goes wrong, and its next tries too, as many as are said: clients try again by themselves."""

    way: StoreWay
    nth: int
    tries: int = 1

    @property
    def title(self) -> str:
        return f"{self.way.name.lower()}{f' x{self.tries}' if self.tries > 1 else ''}"

    @property
    def is_deadly(self) -> bool:
        return self.way in (StoreWay.KILL, StoreWay.KILL_AFTER)


class FaultProxy:
    """Counts the requests of one process, and fails those that it is told to."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._lock = threading.Lock()
        self._fault: StoreFault | None = None
        self._kill: Callable[[], None] = lambda: None
        self._prefix = ""
        self._seen: list[Call] = []
        self._target: Call | None = None
        self._left = 0
        self._released = threading.Event()
        self.holds = threading.Event()

    def arm(self, prefix: str, fault: StoreFault | None, kill: Callable[[], None]) -> None:
        """Begins to count; `kill` ends the process that the requests come from."""
        with self._lock:
            self._fault, self._kill, self._prefix = fault, kill, prefix
            self._seen, self._target, self._left = [], None, 0 if fault is None else fault.tries
            self._released.clear()
            self.holds.clear()

    def disarm(self) -> list[Call]:
        with self._lock:
            self._fault = None
            seen = self._seen
        self.release()
        return seen

    def release(self) -> None:
        """Lets everything go on that is held."""
        self._released.set()

    def handle(self, request: Forwarding) -> None:
        body = request.read_body()
        match self._way_of(request):
            case StoreWay.REFUSED:
                request.reply(_error(500, "Internal Server Error"))
            case StoreWay.BUSY:
                request.reply(_error(503, "Slow Down"))
            case StoreWay.CLOSED:
                request.close_connection = True
            case StoreWay.CUT if request.command != "HEAD":
                _reply_half(request, request.forward(body))
            case StoreWay.LOST | StoreWay.CUT:
                request.forward(body)
                request.close_connection = True
            case StoreWay.DENIED_AFTER:
                request.forward(body)
                request.reply(_error(500, "Internal Server Error"))
            case StoreWay.HELD:
                self.holds.set()
                self._released.wait(HELD_MAX_S)
                _reply(request, request.forward(body))
            case StoreWay.KILL:
                self._kill()
            case StoreWay.KILL_AFTER:
                request.forward(body)
                self._kill()
            case _:
                _reply(request, request.forward(body))

    def _way_of(self, request: Forwarding) -> StoreWay:
        call = Call(request.command, unquote(request.path).removeprefix(self._prefix).lstrip("/") or ".")
        with self._lock:
            self._seen.append(call)
            fault = self._fault
            if fault is None:
                return StoreWay.COUNT
            if len(self._seen) == fault.nth:
                self._target = call
            follows = fault.way is StoreWay.HELD and len(self._seen) > fault.nth
            if self._target is None or not (follows or (call == self._target and self._left > 0)):
                return StoreWay.COUNT
            self._left -= 1
        return fault.way


@contextmanager
def fault_proxy(port: int) -> Iterator[FaultProxy]:
    faults = FaultProxy()
    with proxy(port, faults.handle) as endpoint:
        faults.endpoint = endpoint
        try:
            yield faults
        finally:
            faults.release()


def _error(status: int, reason: str) -> Answer:
    body = f"<Error><Code>{'SlowDown' if status == 503 else 'InternalError'}</Code><Message>injected</Message></Error>"
    return Answer(status, reason, [("Content-Type", "application/xml")], body.encode())


def _reply(request: Forwarding, answer: Answer) -> None:
    try:
        request.reply(answer)
    except (BrokenPipeError, ConnectionResetError):
        request.close_connection = True  # whoever asked is gone


def _reply_half(request: Forwarding, answer: Answer) -> None:
    """The whole length is announced; half of it comes."""
    request.send_response(answer.status, answer.reason)
    for name, value in answer.headers:
        if name.lower() not in {"connection", "keep-alive", "transfer-encoding", "content-length"}:
            request.send_header(name, value)
    request.send_header("Content-Length", str(max(len(answer.body), 2)))
    request.end_headers()
    request.wfile.write(answer.body[: len(answer.body) // 2])
    request.wfile.flush()
    request.close_connection = True
