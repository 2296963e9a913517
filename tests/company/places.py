"""The addresses that graphs come to lie at, what is known of the graph that lies there, and how it is moved about."""

from __future__ import annotations

import copy
import os
import shutil
from dataclasses import field
from pathlib import Path
from typing import Protocol

from obstore.store import S3Store

from company.pictures import Picture, Write
from company.worlds import Branch, World
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass


@dataclass(slots=True)
class Place:
    """One address. `genesis` numbers the graph that lies there: copies share it, and a new graph has its own."""

    uri: str
    genesis: int | None = None
    """None: nothing lies there."""
    branches: dict[str, Branch] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    keyed: list[tuple[str, Write]] = field(default_factory=list)
    """Writes with idempotency keys, and the branch that each was for."""
    epoch: int = 0
    """Grows with every replacement."""

    def begin(self, genesis: int) -> None:
        self.genesis = genesis
        self.branches, self.parents, self.keyed = {MAIN: Branch(MAIN, [World(Picture())])}, {}, []

    def take_from(self, other: Place) -> None:
        """What lies here is a copy of what lies there. Nobody works on what was under way."""
        self.genesis = other.genesis
        self.epoch += 1
        self.branches, self.parents = copy.deepcopy(other.branches), dict(other.parents)
        self.keyed = list(other.keyed)

    def clear(self) -> None:
        self.genesis = None
        self.epoch += 1
        self.branches, self.parents, self.keyed = {}, {}, []

    def create(self, name: str, source: str) -> None:
        self.branches[name] = self.branches[source].cut(name)
        self.parents[name] = source

    def drop(self, name: str) -> None:
        del self.branches[name], self.parents[name]

    def dependants(self, name: str) -> list[str]:
        return [child for child, parent in self.parents.items() if parent == name]


class Ground(Protocol):
    """Where the addresses are: a disk or an object store."""

    def uri(self, name: str) -> str: ...

    def remove(self, uri: str, how: str) -> None: ...


class Disk:
    """Graphs are folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._put_away = 0

    def uri(self, name: str) -> str:
        return str(self._folder / name)

    def remove(self, uri: str, how: str) -> None:
        if not os.path.exists(uri):
            return
        if how == "rename":
            self._put_away += 1
            os.rename(uri, f"{uri}.gone{self._put_away}")
        else:
            shutil.rmtree(uri)

    def copy(self, uri: str, to: str) -> None:
        shutil.copytree(uri, to)

    def move(self, uri: str, to: str) -> None:
        os.rename(uri, to)


class Bucket:
    """Graphs are prefixes."""

    def __init__(self, base: str, store: S3Store) -> None:
        self._base = base
        self._store = store

    def uri(self, name: str) -> str:
        return f"{self._base}/{name}"

    def remove(self, uri: str, how: str) -> None:
        """However it is asked for: an object cannot be given another name."""
        prefix = uri.partition("://")[2].partition("/")[2]
        for objects in self._store.list(f"{prefix}/"):
            if objects:
                self._store.delete([each["path"] for each in objects])
