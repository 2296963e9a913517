"""Records: the strict grammar of a load's lines, one JSON object per line, before any property is looked at.

A byte order mark at the start of the input is skipped; anywhere else it is refused with its line.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import EntityKind
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.strict_json import DECODER
from omnigraph.write.rules import Violation

LINE_BYTES_MAX = 32 * 1024 * 1024
STRUCTURAL_CHARACTERS_MAX = 131_072
"""Of `{}[],:` outside of strings, in one line."""

RESERVED_NAMES = frozenset(
    ("_tombstone", "_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
)
"""Names of the storage engine: no record may carry them."""

_NODE_MEMBERS = frozenset(("type", "data"))
_EDGE_MEMBERS = frozenset(("edge", "from", "to", "data"))
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_JSON_SPACE = b" \t\r\n"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STRUCTURAL = re.compile(r"[{}\[\],:]")


class Record(NamedTuple):
    """One entity as a line states it. `data` holds the properties without `id`, not yet checked against the type."""

    line: int
    offset: int
    """Of the line's first byte in its file: what generated ids are made from."""
    kind: EntityKind
    type_name: str
    """As the schema spells it."""
    id: str | None
    src: str | None
    dst: str | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads the lines of one file against one catalog. Holds nothing else, so it travels to other processes."""

    catalog: Catalog
    file: str | None = None

    def parse_bytes(self, raw: bytes, number: int, offset: int = 0) -> Record | Violation | None:
        """One line as it lies in the file; None for a blank one. `number` counts from 1."""
        if offset == 0 and number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if not raw.strip(_JSON_SPACE):
            return None
        if len(raw) > LINE_BYTES_MAX and len(raw.rstrip(b"\r\n")) > LINE_BYTES_MAX:
            return self._limit("graph_batch_line_bytes", LINE_BYTES_MAX, len(raw.rstrip(b"\r\n")), number)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            reason = f"not valid UTF-8 at byte {error.start + 1} of the line"
            return self._bad("encoding", reason, number)
        return self.parse_line(text, number, offset)

    def parse_line(self, text: str, number: int, offset: int = 0) -> Record | Violation:
        """One line that is not blank."""
        if len(text) > STRUCTURAL_CHARACTERS_MAX:
            slots = structural_characters(text)
            if slots > STRUCTURAL_CHARACTERS_MAX:
                resource = "graph_batch_json_structural_slots"
                return self._limit(resource, STRUCTURAL_CHARACTERS_MAX, slots, number)
        try:
            envelope = _json(text)
        except json.JSONDecodeError as error:
            return self._bad("json", _syntax(error), number)
        except RecursionError:
            return self._bad("json", "nested too deeply for a record", number)
        except StopIteration:
            return self._bad("json", "not valid JSON: the line ends where a value is expected", number)
        except ValueError as error:
            reason = str(error)
            return self._bad("json", "a number with too many digits" if "int_max_str" in reason else reason, number)
        try:
            if type(envelope) is not dict:
                _refuse(f"a record is one JSON object, got {_kind(envelope)}")
            return self._record(envelope, number, offset)
        except _Malformed as error:
            return self._bad("record", str(error), number, envelope if type(envelope) is dict else None)

    def _record(self, envelope: dict[str, Any], number: int, offset: int) -> Record:
        if "type" in envelope and "edge" not in envelope:
            if not envelope.keys() <= _NODE_MEMBERS:
                _refuse_members(envelope, _NODE_MEMBERS, "a node record has 'type' and 'data'")
            node = self.catalog.node(_text(envelope, "type"))
            if node is None:
                _refuse_type("node", envelope["type"], self.catalog.node_types)
            data, given = _data(envelope)
            return Record(number, offset, "node", node.name, given, None, None, data)
        if "edge" not in envelope or "type" in envelope:
            if envelope.keys() == {"export"}:
                _refuse("the last line of an export is not the last line of this input")
            _refuse("a record has exactly one of 'type' (a node) and 'edge' (an edge)")
        if not envelope.keys() <= _EDGE_MEMBERS:
            _refuse_members(envelope, _EDGE_MEMBERS, "an edge record has 'edge', 'from', 'to' and 'data'")
        edge = self.catalog.edge_word(_text(envelope, "edge"))
        if edge is None:
            _refuse_type("edge", envelope["edge"], self.catalog.edge_types)
        src, dst = _text(envelope, "from"), _text(envelope, "to")
        data, given = _data(envelope)
        return Record(number, offset, "edge", edge.name, given, src, dst, data)

    def _bad(self, rule: str, reason: str, number: int, envelope: dict[str, Any] | None = None) -> Violation:
        kind: EntityKind | None = None
        name = None
        if envelope is not None and ("type" in envelope) != ("edge" in envelope):
            kind = "node" if "type" in envelope else "edge"
            word = envelope["type" if kind == "node" else "edge"]
            name = word if isinstance(word, str) else None
        return Violation(rule=rule, message=reason, entity_kind=kind, type_name=name, file=self.file, line=number)

    def _limit(self, resource: str, limit: int, actual: int, number: int) -> Violation:
        reason = f"resource limit exceeded: {resource} limit is {limit}, actual {actual}"
        return self._bad(resource, reason, number)


def structural_characters(text: str) -> int:
    """How many of `{}[],:` a text has outside of its strings."""
    return sum(1 for _ in _STRUCTURAL.finditer(_STRING.sub("", text)))


# --- parts ------------------------------------------------------------------------------------------------


class _Malformed(ValueError):
    """The reason why a JSON object is no record."""


def _refuse(reason: str) -> NoReturn:
    raise _Malformed(reason)


def _refuse_members(envelope: dict[str, Any], allowed: frozenset[str], expected: str) -> NoReturn:
    name = min(envelope.keys() - allowed)
    word = "reserved" if name in RESERVED_NAMES else "unknown"
    _refuse(f"{word} member '{name}': {expected}")


def _refuse_type(kind: str, word: str, declared: Iterable[str]) -> NoReturn:
    near = difflib.get_close_matches(word, list(declared), n=1)
    _refuse(f"unknown {kind} type '{word}'" + (f"; did you mean '{near[0]}'?" if near else ""))


def _text(envelope: dict[str, Any], name: str) -> str:
    value = envelope.get(name)
    if type(value) is not str:
        _refuse(f"'{name}' must be a string, got {_kind(value) if name in envelope else 'nothing'}")
    return value


def _data(envelope: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The properties, and the explicit id if there is one."""
    data = envelope.get("data")
    if type(data) is not dict:
        if "data" in envelope:
            _refuse(f"'data' must be an object, got {_kind(data)}")
        return {}, None
    if "id" not in data:
        return data, None
    given = data.pop("id")
    if type(given) is not str:
        _refuse(f"'id' must be a string, got {_kind(given)}")
    return data, given


def _json(text: str) -> Any:
    """The one value of a line. Lines that begin and end as records mostly do skip the decoder's search for blanks."""
    if text[:1] == "{":
        value, end = _SCAN(text, 0)
        if text[end:].strip(" \t\r\n") == "":
            return value
    return DECODER.decode(text)


def _syntax(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return f"more than one JSON value on the line (the second starts at column {error.colno})"
    return f"not valid JSON: {error.msg} at column {error.colno}"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number"}
    return names.get(type(value), "a number")


_SCAN: Callable[[str, int], tuple[Any, int]] = DECODER.scan_once  # type: ignore[attr-defined]
