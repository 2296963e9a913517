"""JSON per type as work items: plain objects without an envelope, one per line, or one array of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from omnigraph.language.schema import Catalog, EdgeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.strict_json import DECODER
from omnigraph.write.intake.records import LINE_BYTES_MAX, Record
from omnigraph.write.intake.source_files import is_packed, lines_until, open_bytes, size_of
from omnigraph.write.intake.sources import Unreadable
from omnigraph.write.intake.tabular.binding import entity_id, key_types, target_of
from omnigraph.write.intake.tabular.cuts import SPLIT_BYTES, Cut, line_cuts
from omnigraph.write.intake.tabular.mapping import EVERYTHING_ELSE, InvalidMapping, TypeMapping
from omnigraph.write.rules import Violation

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class JsonItem:
    """A file of JSON objects, or a part of its lines."""

    file: str
    mapping: TypeMapping
    size: int
    start: int = 0
    end: int | None = None
    lines_before: int = 0
    counts_own_lines: bool = False

    def records(self, catalog: Catalog) -> Iterator[Record | Unreadable]:
        if self.mapping.ends:
            raise InvalidMapping("JSON objects name an endpoint by its id: 'from' and 'to' are one member each")
        for each in _objects(self.file, self.start, self.end, self.lines_before):
            if each.fault is not None:
                yield self._bad(each.text, each.line, "json", each.fault)
            else:
                yield self._read(each.text, each.line, each.offset, catalog)

    def _read(self, raw: bytes, line: int, offset: int, catalog: Catalog) -> Record | Unreadable:
        if len(raw) > LINE_BYTES_MAX:
            return self._bad(raw, line, "json", f"an object of {len(raw)} bytes; at most {LINE_BYTES_MAX} are read")
        try:
            value = DECODER.decode(raw.decode())
        except UnicodeDecodeError as error:
            return self._bad(raw, line, "encoding", f"not valid UTF-8 at byte {error.start + 1} of the object")
        except json.JSONDecodeError as error:
            return self._bad(raw, line, "json", f"not valid JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            return self._bad(raw, line, "json", str(error))
        if not isinstance(value, dict):
            return self._bad(raw, line, "json", "a row is one JSON object")
        return self._record(value, raw, line, offset, catalog)

    def _record(
        self, members: dict[str, Any], raw: bytes, line: int, offset: int, catalog: Catalog
    ) -> Record | Unreadable:
        mapping, entity = self.mapping, self.mapping.entity
        data: dict[str, Any] = dict(mapping.constants)
        for name, value in members.items():
            if name in mapping.ignored or (value is None and mapping.empty == "absent"):
                continue
            target = mapping.columns.get(name) or target_of(entity, name)
            if target in data or (name not in mapping.columns and target in mapping.columns.values()):
                target = None  # the mapping fills it with something else
                if EVERYTHING_ELSE not in mapping.ignored:
                    return self._bad(raw, line, "record", f"member '{name}' is neither mapped nor ignored")
            if target is None and EVERYTHING_ELSE in mapping.ignored:
                continue
            data[target or name] = value  # a name that the type does not have is for decoding to refuse
        given = entity_id(data.pop("id", None), None)
        src = dst = None
        if isinstance(entity, EdgeType):
            kinds = (key_types(catalog, entity.from_type), key_types(catalog, entity.to_type))
            src, dst = (
                entity_id(data.pop(word, None), kind[0] if len(kind) == 1 else None)
                for word, kind in zip(("from", "to"), kinds, strict=True)
            )
            for word, value in (("from", src), ("to", dst)):
                if value is None:
                    return self._bad(raw, line, "record", f"{entity.name}: '{word}' has no value")
        return Record(line, offset, entity.kind, entity.name, given, src, dst, data)

    def _bad(self, raw: bytes, line: int, rule: str, message: str) -> Unreadable:
        entity = self.mapping.entity
        violation = Violation(
            rule=rule, message=message, entity_kind=entity.kind, type_name=entity.name, file=self.file, line=line
        )
        return Unreadable(line, raw, violation)


def json_items(path: str, mapping: TypeMapping, *, split_bytes: int = SPLIT_BYTES) -> list[JsonItem]:
    """The items of a file. Lines can be read in parts; an array is one part."""
    whole = JsonItem(path, mapping, size_of(path))
    if is_packed(path) or whole.size <= split_bytes or _is_array(path):
        return [whole]
    starts = [Cut(0, 0), *line_cuts(path, split_bytes)]
    ends = [*(cut.offset for cut in starts[1:]), whole.size]
    return [
        replace(whole, size=end - start, start=start, end=end, lines_before=lines)
        for (start, lines), end in zip(starts, ends, strict=True)
    ]


def _is_array(path: str) -> bool:
    with open_bytes(path) as file:
        first = next((line for line in file if line.removeprefix(_BYTE_ORDER_MARK).strip()), b"")
    return first.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"[")


class _Text(NamedTuple):
    """An object as it stands in the file; `fault` says why the text is none."""

    line: int
    offset: int
    text: bytes
    fault: str | None = None


def _objects(path: str, start: int = 0, end: int | None = None, lines_before: int = 0) -> Iterator[_Text]:
    """The texts of the objects. An array is read as a whole, lines are streamed."""
    with open_bytes(path, start) as file:
        offset, may_be_array = start, end is None
        for number, raw in enumerate(file if end is None else lines_until(file, end - start), lines_before + 1):
            text = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            stripped = text.strip(_SPACE.encode())
            if stripped:
                if may_be_array and stripped.startswith(b"["):
                    yield from _elements((text + file.read()).decode(errors="replace"), number, offset)
                    return
                may_be_array = False
                yield _Text(number, offset, stripped)
            offset += len(raw)


def _elements(text: str, first_line: int, first_offset: int) -> Iterator[_Text]:
    """The elements of an array; where it is broken, the rest of the text with the reason."""
    place, line, counted, wants_comma, after_comma = text.index("[") + 1, first_line, 0, False, False
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        line += text.count("\n", counted, place)
        counted = place
        here = _Text(line, first_offset + place, text[place:].encode())
        if place == len(text):
            yield here._replace(fault="the array has no end")
            return
        if text[place] == "]" and not after_comma:
            if text[place + 1 :].strip(_SPACE):
                yield here._replace(fault="there is more after the end of the array")
            return
        if wants_comma and text[place] != ",":
            yield here._replace(fault="not valid JSON: a comma is missing between two elements")
            return
        if wants_comma:
            place, wants_comma, after_comma = place + 1, False, True
            continue
        try:
            _, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            yield here._replace(fault=f"not valid JSON: {reason}")
            return
        yield here._replace(text=text[place:end].encode())
        place, wants_comma, after_comma = end, True, False


def sample_objects(path: str, most: int) -> list[dict[str, Any]]:
    """The first objects that can be read, to look at."""
    found: list[dict[str, Any]] = []
    for each in _objects(path):
        try:
            value = DECODER.decode(each.text.decode())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
        if len(found) >= most:
            break
    return found
