"""Mappings: which column of a tabular source becomes what. A small document, checked against the schema.

    {"type": "Person", "columns": {"full_name": "name", "years": "age"}, "ignore": ["row_no"]}
    {"edge": "Knows", "from": "person", "to": "friend", "constants": {"source": "crm"}}
    {"sources": {"people*.csv": {"type": "Person"}, "knows.csv": {"edge": "Knows"}}}

A column whose name is a property's (or `id`, `from`, `to`) needs no line: a mapping says only what differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Literal

from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.model.errors import BadRequest, InvalidValue
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import coerce_json

EVERYTHING_ELSE = "*"
_MEMBERS = ("type", "edge", "id", "from", "to", "columns", "constants", "ignore", "empty", "nulls")
_ENDS = ("from", "to")


@dataclass(eq=False)
class InvalidMapping(BadRequest):
    """A mapping that does not fit its schema or its source. Nothing was read."""

    _hint = "see the mapping section of docs/spark.md, or start from `load --suggest-mapping`"

    reason: str
    advice: str | None = None

    def sentence(self) -> str:
        return f"the mapping does not fit: {self.reason}"


@dataclass(frozen=True, slots=True)
class TypeMapping:
    """How the rows of one source become entities of one type."""

    entity: NodeType | EdgeType
    columns: Mapping[str, str] = field(default_factory=dict)
    """Source column → property, or `id`, `from`, `to`."""
    ends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`from` and `to` by the key of their node: the columns of its members, in the order of the key."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    empty: Literal["null", "absent"] = "null"
    """What a cell without a value means: null, or as if there were no such column (a default fills, a patch keeps)."""
    nulls: frozenset[str] = frozenset()
    """Texts of a CSV file that mean "no value", besides the empty cell."""


@dataclass(frozen=True, slots=True)
class MappingSet:
    """One mapping for every source, or one per pattern of file names. Without any, names decide."""

    catalog: Catalog
    only: TypeMapping | None = None
    by_pattern: tuple[tuple[str, TypeMapping], ...] = ()

    def of(self, path: PurePath) -> TypeMapping:
        """The mapping of a file: the stated one, or that of the type which the file or its folder is named after."""
        if self.only is not None:
            return self.only
        for pattern, mapping in self.by_pattern:
            if fnmatchcase(path.name, pattern) or fnmatchcase(str(path), pattern):
                return mapping
        for part in (path.name.split(".")[0], *reversed(path.parts[:-1])):
            if "=" in part:
                continue  # a partition of a lake folder
            found = _named(self.catalog, part, _kind_by_folder(path))
            if found is not None:
                return TypeMapping(found)
        raise InvalidMapping(
            f"the type of the rows of '{path}' is unknown",
            "pass `type` (--type) or a mapping, or name the file or its folder after the type",
        )


def read_mappings(document: object, catalog: Catalog, *, type_name: str | None = None) -> MappingSet:
    """The mappings of a parsed document, or of a type's name alone; None means that names decide."""
    if document is None:
        return MappingSet(catalog, None if type_name is None else TypeMapping(_entity(catalog, type_name)))
    if not isinstance(document, dict):
        raise InvalidMapping(f"a mapping must be one object, not {type(document).__name__}")
    if "sources" not in document:
        return MappingSet(catalog, _type_mapping(document, catalog, type_name))
    _refuse_unknown(document, ("sources",), "a mapping of several sources")
    sources = document["sources"]
    if not isinstance(sources, dict) or type_name is not None:
        raise InvalidMapping("'sources' must be an object of file patterns, each with its own type")
    each = tuple((str(pattern), _type_mapping(inner, catalog, None)) for pattern, inner in sources.items())
    return MappingSet(catalog, by_pattern=each)


def _type_mapping(document: object, catalog: Catalog, type_name: str | None) -> TypeMapping:
    if not isinstance(document, dict):
        raise InvalidMapping(f"a mapping must be one object, not {type(document).__name__}")
    _refuse_unknown(document, _MEMBERS, "a mapping")
    entity = _entity_of(document, catalog, type_name)
    columns = _texts(document, "columns")
    ignored = {name for name, target in columns.items() if target is None} | set(_list(document, "ignore"))
    targets = {name: target for name, target in columns.items() if target is not None}
    ends: dict[str, tuple[str, ...]] = {}
    for word in ("id", *_ENDS):
        if word not in document:
            continue
        stated = document[word]
        if isinstance(stated, str):
            targets[stated] = word
        elif word in _ENDS and isinstance(stated, list) and stated and all(isinstance(name, str) for name in stated):
            ends[word] = tuple(stated)
        else:
            raise InvalidMapping(f"'{word}' names a column" + (" or the columns of a key" if word in _ENDS else ""))
    empty = document.get("empty", "null")
    if empty not in ("null", "absent"):
        raise InvalidMapping(f'\'empty\' must be "null" or "absent", not {empty!r}')
    constants = document.get("constants", {})
    if not isinstance(constants, dict):
        raise InvalidMapping("'constants' must be an object: property → value")
    mapping = TypeMapping(
        entity, targets, ends, dict(constants), frozenset(ignored), empty, frozenset(_list(document, "nulls"))
    )
    _check_targets(mapping, catalog)
    return mapping


def with_type(mappings: MappingSet, entity: NodeType | EdgeType) -> MappingSet:
    """The same, for rows that are all of one type."""
    only = mappings.only
    return replace(mappings, only=TypeMapping(entity) if only is None else replace(only, entity=entity))


# --- types ------------------------------------------------------------------------------------------------


def _entity_of(document: Mapping[str, Any], catalog: Catalog, type_name: str | None) -> NodeType | EdgeType:
    if "type" in document and "edge" in document:
        raise InvalidMapping("a mapping has exactly one of 'type' and 'edge'")
    if "edge" in document:
        edge = catalog.edge_word(str(document["edge"]))
        if edge is None:
            raise _unknown_type(str(document["edge"]), catalog.edge_types)
        found: NodeType | EdgeType = edge
    elif "type" in document:
        found = _entity(catalog, str(document["type"]))
    elif type_name is not None:
        return _entity(catalog, type_name)
    else:
        raise InvalidMapping("the type is missing", "add a member 'type' (a node type) or 'edge' (an edge type)")
    if type_name is not None and _entity(catalog, type_name) != found:
        raise InvalidMapping(f"it is for {found.name}, but `type` is {type_name}")
    return found


def _entity(catalog: Catalog, name: str) -> NodeType | EdgeType:
    found = _named(catalog, name, None)
    if found is None:
        raise _unknown_type(name, [entity.name for entity in catalog.entities])
    return found


def _named(catalog: Catalog, name: str, kind: str | None) -> NodeType | EdgeType | None:
    if kind == "edge":
        return catalog.edge_word(name)
    return catalog.node(name) or (catalog.edge_word(name) if kind is None else None)


def _kind_by_folder(path: PurePath) -> str | None:
    """An export keeps nodes and edges apart, as their names may be the same."""
    return "edge" if "edges" in path.parts else "node" if "nodes" in path.parts else None


def _unknown_type(name: str, known: Iterable[str]) -> InvalidMapping:
    near = difflib.get_close_matches(name, list(known), n=1)
    return InvalidMapping(f"there is no type '{name}'", f"did you mean '{near[0]}'?" if near else None)


# --- parts ------------------------------------------------------------------------------------------------


def _refuse_unknown(document: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in document:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"{what} has: {', '.join(known)}"
            raise InvalidMapping(f"unknown member '{name}'", hint)


def _texts(document: Mapping[str, Any], member: str) -> dict[str, str | None]:
    found = document.get(member, {})
    if not isinstance(found, dict) or not all(value is None or isinstance(value, str) for value in found.values()):
        raise InvalidMapping(f"'{member}' must be an object: source column → property, or null to leave it out")
    return {str(name): value for name, value in found.items()}


def _list(document: Mapping[str, Any], member: str) -> list[str]:
    found = document.get(member, [])
    if not isinstance(found, list) or not all(isinstance(value, str) for value in found):
        raise InvalidMapping(f"'{member}' must be a list of texts")
    return found


def _check_targets(mapping: TypeMapping, catalog: Catalog) -> None:
    entity = mapping.entity
    words = ("id", *_ENDS) if entity.kind == "edge" else ("id",)
    seen: set[str] = set(mapping.ends)
    for source, target in [*mapping.columns.items(), *((None, name) for name in mapping.constants)]:
        if target not in words and entity.property(target) is None:
            near = difflib.get_close_matches(target, [*words, *entity.by_name], n=1)
            hint = f"did you mean '{near[0]}'?" if near else None
            raise InvalidMapping(f"{entity.name} has no property '{target}'", hint)
        if target in seen:
            raise InvalidMapping(f"'{target}' is mapped twice" + (f", also by '{source}'" if source else ""))
        seen.add(target)
    if mapping.ends and not isinstance(entity, EdgeType):
        raise InvalidMapping(f"{entity.name} is a node type: it has no 'from' and 'to'")
    for name, value in mapping.constants.items():
        prop = entity.property(name)
        if prop is None and not isinstance(value, str):
            raise InvalidMapping(f"the constant of '{name}' must be a text")
        if prop is not None:
            try:
                coerce_json(value, prop.type, f"{entity.name}.{name}")
            except InvalidValue as error:
                raise InvalidMapping(f"a constant: {error}") from error
