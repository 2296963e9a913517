"""What a power cut leaves of a folder: a file is there if its content was synced, its name if the folder was.

The strictest reading of POSIX: every folder has the names that it shows and those that it had when it was synced last,
and after a power cut either may be there. Nothing here knows OmniGraph.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.faults.fault_shim import Call

WRITES = ("write", "pwrite", "pwrite64", "writev", "pwritev", "copy_file_range", "sendfile", "sendfile64")
Chance = Callable[[], bool]


@dataclass(eq=False)
class Node:
    """A file or a folder, whatever its names are."""

    is_folder: bool
    dirty: bool = False
    """Written to, and not synced since."""
    is_new: bool = True
    shown: dict[str, Node] = field(default_factory=dict)
    kept: dict[str, Node] = field(default_factory=dict)
    grave: int | None = None
    """The number of the call that took its name, under which its content is to be found."""


class Disk:
    """A folder as it is shown and as it is kept, call by call."""

    def __init__(self, folder: str) -> None:
        self._top = Node(is_folder=True, is_new=False)
        if os.path.isdir(folder):
            _fill(self._top, folder)

    def play(self, calls: Sequence[Call]) -> None:
        for number, call in enumerate(calls, 1):
            self._play(call, number)

    def rebuild(self, folder: Path, graveyard: Path, survives: Chance) -> None:
        """Makes the folder what is left of it; `survives` decides about everything that was not synced."""
        before = folder.with_name(f"{folder.name}.before")
        folder.rename(before)
        places = {id(node): before / path for path, node in _walk(self._top)}
        _put(self._top, folder, lambda node: _content(node, places, graveyard), survives)
        shutil.rmtree(before)

    # --- one call -----------------------------------------------------------------------------------------

    def _play(self, call: Call, number: int) -> None:
        folder, name = self._find(os.path.dirname(call.path)), os.path.basename(call.path)
        node = self._find(call.path)
        if call.name in ("fsync", "fdatasync"):
            _sync(node)
        elif folder is None or call.path == ".":
            return
        elif call.name.startswith(("open", "mkdir")) and node is None:
            folder.shown[name] = Node(is_folder=call.name.startswith("mkdir"))
        elif call.name in WRITES or "truncate" in call.name:
            if node is not None:
                node.dirty = True
        elif call.name in ("link", "linkat", "rename"):
            self._move(call, folder, name)
        elif call.name.startswith("unlink") or call.name in ("rmdir", "remove"):
            gone = folder.shown.pop(name, None)
            if gone is not None:
                gone.grave = number

    def _move(self, call: Call, folder: Node, name: str) -> None:
        source = self._find(os.path.dirname(call.origin))
        origin = os.path.basename(call.origin)
        if source is None or origin not in source.shown or (call.name != "rename" and name in folder.shown):
            return  # it failed
        node = source.shown[origin]
        if call.name == "rename":
            del source.shown[origin]
        folder.shown[name] = node

    def _find(self, path: str) -> Node | None:
        node: Node | None = self._top
        for part in path.split("/") if path not in ("", ".") else ():
            node = None if node is None else node.shown.get(part)
        return node


def _sync(node: Node | None) -> None:
    if node is None:
        return
    node.dirty = False
    node.kept = dict(node.shown)


def _fill(node: Node, folder: str) -> None:
    for entry in os.scandir(folder):
        child = Node(is_folder=entry.is_dir(), is_new=False)
        node.shown[entry.name] = node.kept[entry.name] = child
        if child.is_folder:
            _fill(child, entry.path)


def _walk(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    for name, child in node.shown.items():
        yield f"{path}{name}", child
        yield from _walk(child, f"{path}{name}/")


def _content(node: Node, places: dict[int, Path], graveyard: Path) -> Path | None:
    found = places.get(id(node))
    if found is None and node.grave is not None:
        found = graveyard / str(node.grave)
    return found if found is not None and found.exists() else None


def _put(node: Node, folder: Path, content: Callable[[Node], Path | None], survives: Chance) -> None:
    folder.mkdir()
    for name in sorted(node.shown.keys() | node.kept.keys()):
        shown, kept = node.shown.get(name), node.kept.get(name)
        child = shown if shown is kept or survives() else kept
        if child is None:
            continue
        if child.is_folder:
            _put(child, folder / name, content, survives)
            continue
        source = content(child)
        if child.is_new and child.dirty and not survives():
            (folder / name).touch()
        elif source is not None:
            shutil.copy2(source, folder / name)
