"""Trials on S3: the n-th request goes wrong, on its way to a real server."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import obstore

from faults.bench import Bench
from faults.case import AnyFault, Case
from faults.children import Child
from support.faults.fault_operations import LEASE_TTL_VARIABLE, RETRIES_VARIABLE
from support.faults.fault_proxy import FaultProxy, StoreFault, StoreWay
from support.faults.fault_shim import Call
from support.servers.s3_server import BUCKET, S3Server, environment_for

LEASE_TTL_S = 1.0
RETRIES = 1
"""Of the performer's client, so that a fault of a few tries gets through them."""


class StoreBench(Bench):
    """Graphs under prefixes; the performer goes through the proxy, the checker straight to the server."""

    _patience_s = 4 * LEASE_TTL_S

    def __init__(self, folder: Path, server: S3Server, proxy: FaultProxy, prefix: str) -> None:
        self._server = server
        self._proxy = proxy
        self._prefix = prefix
        self._store = server.store()
        super().__init__(folder)

    def _new_performer(self) -> Child:
        settings = {RETRIES_VARIABLE: str(RETRIES), LEASE_TTL_VARIABLE: str(LEASE_TTL_S)}
        return self._child("perform", environment_for(self._proxy.endpoint) | settings)

    def _new_checker(self) -> Child:
        return self._child("check", self._server.environment | {LEASE_TTL_VARIABLE: str(LEASE_TTL_S)})

    def _counting(self, like: AnyFault) -> StoreFault:
        return StoreFault(StoreWay.COUNT, 0)

    def _arm(self, uri: str, fault: AnyFault) -> None:
        assert isinstance(fault, StoreFault)
        pid = self._performer.pid
        self._proxy.arm(f"/{uri.removeprefix('s3://')}", fault, lambda: os.kill(pid, signal.SIGKILL))

    def _disarm(self) -> list[Call]:
        return self._proxy.disarm()

    def _cut_power(self, case: Case, calls: list[Call]) -> None:
        """A store keeps what it has confirmed."""

    def _is_interrupted(self) -> bool:
        return self._proxy.holds.is_set()

    def _let_go_on(self) -> None:
        self._proxy.release()

    def _address(self, name: str) -> str:
        return self._server.uri(f"{self._prefix}/{name}")

    def _copy(self, template: str, uri: str) -> None:
        source, target = (address.removeprefix(f"s3://{BUCKET}/") for address in (template, uri))
        for batch in obstore.list(self._store, source):
            for found in batch:
                obstore.copy(self._store, found["path"], target + found["path"].removeprefix(source))

    def _clear(self, uri: str) -> None:
        """Every case has a prefix of its own, and the server is thrown away."""
