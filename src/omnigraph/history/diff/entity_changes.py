"""Entity changes: one node or edge that differs between two snapshots, with its image before and after."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Literal, TypeVar

from omnigraph.history.diff.images import Image
from omnigraph.history.diff.row_diff import Op
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import EntityKind, TableKey
from omnigraph.model.late_dataclass import dataclass

T = TypeVar("T")
OpName = Literal["insert", "update", "delete"]
_NAMES: dict[Op, OpName] = {Op.INSERT: "insert", Op.UPDATE: "update", Op.DELETE: "delete"}


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One entity that differs. An insert has only `after`, a delete only `before`, an update both."""

    kind: EntityKind
    type_name: str
    type_id: str
    id: str
    op: OpName
    before: Image | None
    after: Image | None

    @property
    def changed_properties(self) -> tuple[str, ...]:
        """The properties of an update whose values differ, in byte order of the names."""
        if self.before is None or self.after is None:
            return ()
        old, new = self.before.properties, self.after.properties
        names = sorted({*old, *new}, key=str.encode)
        return tuple(name for name in names if (name in old, old.get(name)) != (name in new, new.get(name)))

    def to_json(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "kind": self.kind,
            "type": {"id": self.type_id, "name": self.type_name},
            "id": self.id,
            "op": self.op,
        }
        for name, image in (("before", self.before), ("after", self.after)):
            if image is not None:
                members[name] = image.to_json()
        return members


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes are wanted. None stands for all; a type that does not exist matches nothing."""

    kinds: frozenset[EntityKind] | None = None
    types: frozenset[str] | None = None
    ops: frozenset[OpName] | None = None

    def wants_table(self, key: TableKey) -> bool:
        return (self.kinds is None or key.kind in self.kinds) and (self.types is None or key.type_name in self.types)

    def wants_op(self, op: Op) -> bool:
        return self.ops is None or _NAMES[op] in self.ops


def change_filter(
    *, kinds: Iterable[str] | None = None, types: Iterable[str] | None = None, ops: Iterable[str] | None = None
) -> ChangeFilter:
    """A filter from what a caller wrote; a word that is neither a kind nor an operation is refused."""
    return ChangeFilter(
        None if kinds is None else frozenset(_known("kind", kinds, _KINDS)),
        None if types is None else frozenset([types] if isinstance(types, str) else types),
        None if ops is None else frozenset(_known("operation", ops, {name: name for name in _NAMES.values()})),
    )


_KINDS: dict[str, EntityKind] = {"node": "node", "edge": "edge"}


def _known(what: str, words: Iterable[str], known: dict[str, T]) -> list[T]:
    wanted = [words] if isinstance(words, str) else list(words)
    for word in wanted:
        if word not in known:
            raise BadRequest(f"unknown {what} '{word}'", f"use {', '.join(known)}")
    return [known[word] for word in wanted]


def op_name(op: int) -> OpName:
    return _NAMES[Op(op)]


def type_id(genesis: str, key: TableKey) -> str:
    """The opaque id of a type in change objects: the same for every reader of one graph, another one in each graph."""
    digest = hashlib.sha256(f"{genesis}\x1f{key}".encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
