"""Descriptors: what a query reads, writes and returns, in the words of catalogues and tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal as OneOf

from omnigraph.language.query.ir import Param
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar

Kind = OneOf["string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list", "object"]

_KINDS: dict[Scalar, Kind] = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.BLOB: "blob",
    Scalar.VECTOR: "vector",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One output column, exactly as the result will have it."""

    name: str
    kind: Kind
    nullable: bool
    item_kind: Kind | None = None
    vector_dim: int | None = None
    type: PropType | None = None
    """None for a whole entity."""

    def to_json(self) -> dict[str, Json]:
        out: dict[str, Json] = {"name": self.name, "kind": self.kind}
        if self.item_kind is not None:
            out["item_kind"] = self.item_kind
        if self.vector_dim is not None:
            out["vector_dim"] = self.vector_dim
        out["nullable"] = self.nullable
        return out


@dataclass(frozen=True, slots=True)
class TypeRef:
    kind: EntityKind
    type_name: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "type_name": self.type_name}


@dataclass(frozen=True, slots=True)
class Operation:
    """The footprint of a query. `result` is empty for a mutation."""

    result: tuple[Column, ...]
    reads: tuple[TypeRef, ...]
    writes: tuple[TypeRef, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "result": [column.to_json() for column in self.result],
            "reads": [ref.to_json() for ref in self.reads],
            "writes": [ref.to_json() for ref in self.writes],
        }


def typed_column(name: str, kind: PropType) -> Column:
    """The column, or parameter, of a value of this type."""
    scalar = _KINDS[kind.scalar]
    if kind.is_list:
        return Column(name, "list", kind.nullable, item_kind=scalar, type=kind)
    return Column(name, scalar, kind.nullable, vector_dim=kind.dimension, type=kind)


def object_column(name: str, *, nullable: bool) -> Column:
    return Column(name, "object", nullable)


def describe_param(param: Param) -> dict[str, Json]:
    """`{name, kind, item_kind?, vector_dim?, nullable}`"""
    return typed_column(param.name, param.type).to_json()


def declared_type(param: Param) -> str:
    """The type as it was written, without the mark of those that may be null."""
    return str(param.type).removesuffix("?")


def listed_query(
    name: str, tool: str, *, mutation: bool, params: list[Json], description: str | None, instruction: str | None
) -> dict[str, Json]:
    """A stored query as lists of them show it. Each is a tool for agents."""
    notes = {"description": description, "instruction": instruction}
    said: dict[str, Json] = {word: text for word, text in notes.items() if text is not None}
    return {"name": name, "mcp_expose": True, "tool_name": tool, "mutation": mutation, **said, "params": params}


def type_refs(nodes: Iterable[str], edges: Iterable[str]) -> tuple[TypeRef, ...]:
    """Without repetition, nodes before edges, then by name."""
    return (
        *(TypeRef("node", name) for name in sorted(set(nodes))),
        *(TypeRef("edge", name) for name in sorted(set(edges))),
    )
