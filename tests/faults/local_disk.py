"""Trials on a local disk: the n-th file-system call goes wrong."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from faults.bench import Bench
from faults.case import AnyFault, Case
from faults.children import Child
from faults.power_cut import Disk
from support.faults.fault_shim import Call, Fault, Shim, Way, compiled


class LocalBench(Bench):
    """Graphs in folders; the performer runs with the shim, the checker without."""

    def __init__(self, folder: Path, library: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._shim = Shim(folder, library or compiled(folder))
        self._graveyard = folder / "graveyard"
        self._disk: Disk | None = None
        super().__init__(folder)

    def catches_renames(self) -> bool:
        """True when the performer's kernel hands its renames over; known once it answers."""
        self._performer.ask("greet")
        return self._shim.catches_renames

    def close(self) -> None:
        super().close()
        self._shim.close()

    def _new_performer(self) -> Child:
        return self._child("perform", self._shim.environment)

    def _new_checker(self) -> Child:
        return self._child("check", {})

    def _counting(self, like: AnyFault) -> Fault:
        assert isinstance(like, Fault)
        return Fault(Way.COUNT, 0, kinds=like.kinds)

    def _arm(self, uri: str, fault: AnyFault) -> None:
        assert isinstance(fault, Fault)
        self._disk = Disk(uri) if fault.forgets else None
        if fault.forgets:
            shutil.rmtree(self._graveyard, ignore_errors=True)
            self._graveyard.mkdir()
        self._shim.arm(uri, fault, self._graveyard if fault.forgets else None)

    def _cut_power(self, case: Case, calls: list[Call]) -> None:
        """Forgets what was not synced. Of a process that died, calls from the fatal one on did not happen."""
        fault = case.fault
        if self._disk is None or not isinstance(fault, Fault) or not os.path.isdir(case.uri):
            return
        self._disk.play(calls[: fault.nth - 1])
        chance = random.Random(fault.nth)
        survives = (lambda: chance.random() < 0.5) if fault.forgets == "some" else (lambda: False)
        self._disk.rebuild(Path(case.uri), self._graveyard, survives)

    def _disarm(self) -> list[Call]:
        return self._shim.disarm()

    def _is_interrupted(self) -> bool:
        return self._shim.stopped() is not None

    def _let_go_on(self) -> None:
        self._shim.let_go_on()

    def _address(self, name: str) -> str:
        return str(self._folder / name)

    def _copy(self, template: str, uri: str) -> None:
        shutil.copytree(template, uri)

    def _clear(self, uri: str) -> None:
        shutil.rmtree(uri, ignore_errors=True)
