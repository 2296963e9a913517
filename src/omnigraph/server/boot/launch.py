"""A launch: everything that starts a server, as one value that a worker process can be handed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass

DEFAULT_BIND = "127.0.0.1:8080"


class BootRefused(BadRequest):
    """The server does not start like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the command line asked for. Either a cluster or one store."""

    cluster: str | None = None
    store: str | None = None
    graph_id: str | None = None
    policy_file: str | None = None
    queries_file: str | None = None
    token_file: str | None = None
    bind: str = DEFAULT_BIND
    unauthenticated: bool = False
    require_all_graphs: bool = False
    workers: int = 1
    upkeep: bool = False
    load_body_max: int | None = None
    drain_seconds: float | None = None
    query_seconds: float | None = None
    head_seconds: float | None = None
    idle_seconds: float | None = None

    @property
    def host(self) -> str:
        return self._address[0]

    @property
    def port(self) -> int:
        return self._address[1]

    @property
    def _address(self) -> tuple[str, int]:
        host, colon, port = self.bind.rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise BootRefused(f"'{self.bind}' is not an address to listen on", "write host:port, as 127.0.0.1:8080")
        return host.strip("[]"), int(port)

    @property
    def is_loopback(self) -> bool:
        import ipaddress

        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def served_id(self) -> str:
        """The id of a single graph: what was asked for, or the stem of its address."""
        stem = PurePath((self.store or "").rstrip("/")).stem
        kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in stem).strip("-")
        return self.graph_id or kept[:64] or "graph"

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Launch:
        given: dict[str, Any] = json.loads(text)
        return cls(**given)
