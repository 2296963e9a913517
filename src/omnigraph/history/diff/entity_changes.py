"""Entity changes: one node or edge that differs between two snapshots, with its image before and after."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Literal, TypeVar

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

    def __str__(self) -> str:
        """`~ node Person Ada: age 36 -> 37`, with days and moments as such."""
        rows = self._rows()
        if self.op == "update":
            told = [f"{name} {old} -> {new}" for name, old, new in rows]
        else:
            told = [f"{name} {new if self.op == 'insert' else old}" for name, old, new in rows]
        return f"{_SIGNS[self.op]} {self.kind} {self.type_name} {self.id}{': ' if told else ''}{', '.join(told)}"

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._rows())
        name = f"<b>{self.op}</b> {self.kind} {escape(self.type_name)} {escape(self.id)}"
        head = "<tr><th>property</th><th>before</th><th>after</th></tr>"
        return f"<p>{name}</p><table><thead>{head}</thead><tbody>{cells}</tbody></table>"

    def _rows(self) -> list[tuple[str, str, str]]:
        """What differs, for people: the property, its value before and after."""
        old, new = ({} if each is None else each.values() | _ends(each) for each in (self.before, self.after))
        return [
            (name, _text(old, name), _text(new, name))
            for name in sorted({*old, *new}, key=str.encode)
            if self.op != "update" or (name in old, old.get(name)) != (name in new, new.get(name))
        ]

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


_SIGNS: dict[OpName, str] = {"insert": "+", "update": "~", "delete": "-"}


def _text(values: Mapping[str, Any], name: str) -> str:
    """A value for people; null is a word, and what is not there is nothing."""
    value = values.get(name, "")
    return "null" if value is None else str(value)


def _ends(image: Image) -> dict[str, Json]:
    return {} if image.endpoints is None else image.endpoints.to_json()


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
