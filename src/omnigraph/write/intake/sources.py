"""Sources: what a load reads, as work items that any process can read on its own.

A source is a list of *items*. An item is a small picklable value that names a part of the input (a byte range of a
file, a row group, a whole compressed file) and yields what stands there, in order:

- a `Record` for what can be read. `line` counts from 1 and grows; `offset` is anything that names the
  record within its item's file for all time: ids of records that state none are made from (load id, file, offset), so
  a task that is run again makes the same ids, and two items of one file must never use an offset twice.
- an `Unreadable` for what cannot be read: the line, the text as it came (it goes to the reject file), the violation.

Properties are not the item's business: types, defaults, keys and rules are checked by whoever runs the items. Values in
`Record.data` are JSON values, as strict decoding expects them.

Lines are those of the file. An item that starts in the middle of a file and cannot know how many lines lie before it
counts from 1 and says so by `counts_own_lines`; the lines of the items before it are added later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from omnigraph.language.schema import Catalog
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake.records import Record
from omnigraph.write.rules import Violation


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something in the input that is no record."""

    line: int
    text: bytes
    violation: Violation


@runtime_checkable
class SourceItem(Protocol):
    """One part of an input. Picklable; reads nothing before it is asked to."""

    @property
    def file(self) -> str | None:
        """The file as messages and generated ids name it; None when the input has no name."""

    @property
    def counts_own_lines(self) -> bool:
        """True when lines count from this item's start and not from the file's."""

    @property
    def size(self) -> int:
        """Bytes to read, roughly; 0 when unknown. For progress and for the choice of the engine."""

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        """What stands there, in order."""


@dataclass(frozen=True, slots=True)
class ItemSource:
    """A whole input: its items in order. Items of one file follow each other."""

    items: tuple[SourceItem, ...]

    @property
    def size(self) -> int:
        return sum(item.size for item in self.items)

    @property
    def files(self) -> tuple[str | None, ...]:
        return tuple(dict.fromkeys(item.file for item in self.items))


def record_text(record: Record) -> bytes:
    """A record as a line that `load` reads: how records of other formats look in a reject file."""
    data: dict[str, Any] = dict(record.data) if record.id is None else {"id": record.id, **record.data}
    if record.kind == "node":
        return json.dumps({"type": record.type_name, "data": data}, ensure_ascii=False, default=str).encode()
    envelope = {"edge": record.type_name, "from": record.src, "to": record.dst, "data": data}
    return json.dumps(envelope, ensure_ascii=False, default=str).encode()
