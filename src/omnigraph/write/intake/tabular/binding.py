"""Bindings: a mapping laid over the columns that a source really has; every row becomes a record, or a violation."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.language.schema import Catalog, EdgeType, NodeType, Property
from omnigraph.model.errors import InvalidValue
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import canonical_text, coerce_json, node_id
from omnigraph.write.intake.records import Record
from omnigraph.write.intake.sources import Unreadable, record_text
from omnigraph.write.intake.tabular.arrow_values import json_values
from omnigraph.write.intake.tabular.mapping import EVERYTHING_ELSE, InvalidMapping, TypeMapping
from omnigraph.write.intake.tabular.text_values import Converter, converter
from omnigraph.write.rules import Violation

_TABLE_NAMES = {"src": "from", "dst": "to"}
_TEXT = PropType(Scalar.STRING)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a row names a node: one column with its id, or the columns of its key."""

    places: tuple[int, ...]
    members: tuple[PropType, ...]
    """The types of the key's members; of one member also when the column has the id, for numbers in it."""
    by_key: bool

    def id(self, values: Sequence[Any]) -> Any:
        """The id that these cells name. What is none stays as it is: decoding refuses it."""
        if not self.by_key:
            return entity_id(values[0], self.members[0] if len(self.members) == 1 else None)
        if any(value is None for value in values):
            return None
        try:
            stored = [coerce_json(value, kind, "key") for value, kind in zip(values, self.members, strict=True)]
        except InvalidValue:
            return list(values)
        return node_id([canonical_text(value, kind) for value, kind in zip(stored, self.members, strict=True)])


@dataclass(frozen=True, slots=True)
class Binding:
    """The columns of a source, each with what becomes of it."""

    entity: NodeType | EdgeType
    width: int
    properties: tuple[tuple[int, Property, Converter | None], ...]
    id_place: int | None
    src: Endpoint | None
    dst: Endpoint | None
    constants: Mapping[str, Any]
    empty_is_absent: bool
    nulls: frozenset[str]
    file: str

    # --- rows of text -------------------------------------------------------------------------------------

    def text_record(self, cells: Sequence[str | None], line: int, offset: int) -> Record | Violation:
        """The record of one row of texts; None is a cell without a value."""
        if self.nulls:
            cells = [None if cell in self.nulls else cell for cell in cells]
        data = dict(self.constants)
        for place, prop, convert in self.properties:
            cell = cells[place]
            if cell is not None:
                data[prop.name] = cell if convert is None else convert(cell)
            elif not self.empty_is_absent:
                data[prop.name] = None
        given = None if self.id_place is None else cells[self.id_place]
        return self.checked(
            self._record(data, given, self._end(self.src, cells), self._end(self.dst, cells), line, offset)
        )

    def _end(self, end: Endpoint | None, cells: Sequence[str | None]) -> Any:
        if end is None:
            return None
        texts = [cells[place] for place in end.places]
        if not end.by_key:
            return texts[0]  # a text is the id itself
        values = []
        for text, kind in zip(texts, end.members, strict=True):
            convert = converter(kind)
            values.append(text if text is None or convert is None else convert(text))
        return end.id(values)

    # --- rows of Arrow ------------------------------------------------------------------------------------

    def batch_records(self, batch: pa.RecordBatch, first_line: int) -> Iterator[Record | Unreadable]:
        """The records of a batch, whose rows are lines that count up from the first one."""
        rows = batch.num_rows
        columns = [(prop.name, json_values(batch.column(place), prop.type)) for place, prop, _ in self.properties]
        nothing = [None] * rows
        ids = nothing if self.id_place is None else _ids(batch.column(self.id_place))
        src, dst = (nothing if end is None else _ends(end, batch) for end in (self.src, self.dst))
        for row in range(rows):
            data = dict(self.constants)
            for name, values in columns:
                value = values[row]
                if value is not None or not self.empty_is_absent:
                    data[name] = value
            record = self._record(data, ids[row], src[row], dst[row], first_line + row, first_line + row)
            checked = self.checked(record)
            yield checked if isinstance(checked, Record) else Unreadable(record.line, record_text(record), checked)

    # --- the record ---------------------------------------------------------------------------------------

    def _record(self, data: dict[str, Any], given: Any, src: Any, dst: Any, line: int, offset: int) -> Record:
        if self.entity.kind == "edge":
            src, dst = data.pop("from", src), data.pop("to", dst)
        return Record(line, offset, self.entity.kind, self.entity.name, data.pop("id", given), src, dst, data)

    def checked(self, record: Record) -> Record | Violation:
        """An edge names both of its nodes; everything else is for strict decoding to say."""
        if record.kind == "edge":
            for word, value in (("from", record.src), ("to", record.dst)):
                if value is None:
                    return self.violation("record", f"{record.type_name}: '{word}' has no value", record.line)
        return record

    def violation(self, rule: str, message: str, line: int) -> Violation:
        return Violation(
            rule=rule,
            message=message,
            entity_kind=self.entity.kind,
            type_name=self.entity.name,
            file=self.file,
            line=line,
        )


def entity_id(value: Any, key: PropType | None) -> Any:
    """A cell that names an entity, as its id: texts as they are, other values as the key of the type writes them."""
    if value is None or isinstance(value, str):
        return value
    if key is not None:
        try:
            return canonical_text(coerce_json(value, key, "key"), key)
        except InvalidValue:
            return value
    return str(value) if type(value) is int else value


def _ends(end: Endpoint, batch: pa.RecordBatch) -> list[Any]:
    kinds = end.members if end.by_key else (end.members[0] if len(end.members) == 1 else None,)
    columns = [json_values(batch.column(place), kind) for place, kind in zip(end.places, kinds, strict=True)]
    return [end.id(values) for values in zip(*columns, strict=True)]


def _ids(column: pa.Array) -> list[Any]:
    return [entity_id(value, None) for value in json_values(column, None)]


# --- binding ----------------------------------------------------------------------------------------------


def bind(mapping: TypeMapping, columns: Sequence[str], catalog: Catalog, file: str) -> Binding:
    """Lays a mapping over columns. Nothing is dropped in silence: a column is mapped, ignored, or refused."""
    places = {name: place for place, name in enumerate(columns)}
    if len(places) != len(columns):
        twice = next(name for name in columns if list(columns).count(name) > 1)
        raise InvalidMapping(f"'{file}' has the column '{twice}' twice")
    _refuse_missing(mapping, places, file)
    targets = _targets(mapping, columns, file)
    entity = mapping.entity
    wanted = [(places[name], entity.by_name[target]) for name, target in targets.items() if target in entity.by_name]
    properties = tuple((place, prop, converter(prop.type)) for place, prop in wanted)
    filled = {*targets.values(), *mapping.ends, *mapping.constants}
    if isinstance(entity, EdgeType):
        for word in ("from", "to"):
            if word not in filled:
                raise InvalidMapping(
                    f"no column of '{file}' is the '{word}' of {entity.name}",
                    f'map one: {{"{word}": <column>}}; the columns are {_listed(columns)}',
                )
    elif missing := [name for name in entity.key or () if name not in filled]:
        raise InvalidMapping(
            f"no column of '{file}' is the key '{missing[0]}' of {entity.name}",
            f'map one: {{"columns": {{<column>: "{missing[0]}"}}}}; the columns are {_listed(columns)}',
        )
    by_target = {target: places[name] for name, target in targets.items()}
    src, dst = (_endpoint(mapping, word, by_target, places, catalog) for word in ("from", "to"))
    return Binding(
        entity=entity,
        width=len(columns),
        properties=properties,
        id_place=by_target.get("id"),
        src=src,
        dst=dst,
        constants=mapping.constants,
        empty_is_absent=mapping.empty == "absent",
        nulls=mapping.nulls,
        file=file,
    )


def _refuse_missing(mapping: TypeMapping, places: Mapping[str, int], file: str) -> None:
    stated = [*mapping.columns, *(name for names in mapping.ends.values() for name in names)]
    for name in stated:
        if name not in places:
            near = difflib.get_close_matches(name, list(places), n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the columns are {_listed(list(places))}"
            raise InvalidMapping(f"'{file}' has no column '{name}'", hint)


def _targets(mapping: TypeMapping, columns: Sequence[str], file: str) -> dict[str, str]:
    """Source column → target, with the defaults: a column is what its name says."""
    entity = mapping.entity
    used = {name for names in mapping.ends.values() for name in names}
    taken = {*mapping.columns.values(), *mapping.ends, *mapping.constants}
    targets, unknown = dict(mapping.columns), []
    for name in columns:
        if name in targets or name in used or name in mapping.ignored:
            continue
        target = target_of(entity, name)
        if target is not None and target not in taken and target not in targets.values():
            targets[name] = target
        elif EVERYTHING_ELSE not in mapping.ignored:
            unknown.append(name)
    if unknown:
        near = difflib.get_close_matches(unknown[0], list(entity.by_name), n=1)
        meant = f"did you mean the property '{near[0]}'? " if near and near[0] not in targets.values() else ""
        raise InvalidMapping(
            f"'{file}' has columns that {entity.name} does not: {_listed(unknown)}",
            f"{meant}map them in 'columns', or leave them out with 'ignore' (\"*\": all that are not mapped)",
        )
    return targets


def target_of(entity: NodeType | EdgeType, name: str) -> str | None:
    """What a column is by its name alone. Edges may use the names of their table, `src` and `dst`."""
    if entity.property(name) is not None or name == "id":
        return name
    if entity.kind == "edge":
        return name if name in ("from", "to") else _TABLE_NAMES.get(name)
    return None


def _endpoint(
    mapping: TypeMapping, word: str, by_target: Mapping[str, int], places: Mapping[str, int], catalog: Catalog
) -> Endpoint | None:
    entity = mapping.entity
    if not isinstance(entity, EdgeType):
        return None
    end_type = entity.from_type if word == "from" else entity.to_type
    kinds = key_types(catalog, end_type)
    if word not in mapping.ends:
        return None if word not in by_target else Endpoint((by_target[word],), kinds or (_TEXT,), by_key=False)
    stated = mapping.ends[word]
    if len(stated) != len(kinds):
        raise InvalidMapping(f"the key of {end_type} has {len(kinds)} members, '{word}' names {len(stated)} columns")
    return Endpoint(tuple(places[name] for name in stated), kinds, by_key=True)


def key_types(catalog: Catalog, node_type: str) -> tuple[PropType, ...]:
    """The types of a node type's key members, in the order of the key; empty without a key."""
    node = catalog.node(node_type)
    return () if node is None or node.key is None else tuple(node.by_name[name].type for name in node.key)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Arrow batches of a source that has no files (a DataFrame) to records. Picklable: it travels to executors."""

    mapping: TypeMapping
    catalog: Catalog
    name: str

    def __call__(self, batch: pa.RecordBatch, first_line: int) -> Iterator[Record | Unreadable]:
        binding = bind(self.mapping, batch.schema.names, self.catalog, self.name)
        return binding.batch_records(batch, first_line)
