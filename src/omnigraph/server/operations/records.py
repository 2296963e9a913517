"""Records of the JSON envelope: values one after another, in any layout, as the lines that a load reads.

Members and properties that are not known are left out, as the envelope's contract has it. Each record keeps the line
that it begins on, so a refusal names the right place.
"""

from __future__ import annotations

import json
from typing import Any

from omnigraph.language.schema import Catalog
from omnigraph.model.strict_json import DECODER
from omnigraph.server.http import bad_request

_BLANK = " \t\r\n"
_MEMBERS = {"type": ("type", "data"), "edge": ("edge", "from", "to", "data")}


def record_lines(text: str, catalog: Catalog) -> bytes:
    """One line for each record, with blank lines between where the text had some. Raises 400 with the line."""
    written: list[str] = []
    place, line = _after_blanks(text, 0, 1)
    while place < len(text):
        try:
            value, end = DECODER.raw_decode(text, place)
        except (ValueError, RecursionError, StopIteration) as error:
            where = line + text.count("\n", place, getattr(error, "pos", place))
            raise bad_request(f"line {where}: not valid JSON: {_reason(error)}") from None
        written += [""] * (line - 1 - len(written))
        written.append(json.dumps(_known(value, catalog), ensure_ascii=False))
        line += text.count("\n", place, end)
        place, line = _after_blanks(text, end, line)
    return "\n".join(written).encode("utf-8", "surrogatepass")


def _after_blanks(text: str, place: int, line: int) -> tuple[int, int]:
    while place < len(text) and text[place] in _BLANK:
        line += text[place] == "\n"
        place += 1
    return place, line


def _known(value: Any, catalog: Catalog) -> Any:
    """A record without what nobody knows; whatever is no record is refused by the load, with its line."""
    if not isinstance(value, dict):
        return value
    kind = next((name for name in _MEMBERS if name in value), None)
    if kind is None or ("type" in value) == ("edge" in value):
        return value
    kept = {name: value[name] for name in _MEMBERS[kind] if name in value}
    word, data = kept[kind], kept.get("data")
    entity = None
    if isinstance(word, str):
        entity = catalog.node(word) if kind == "type" else catalog.edge_word(word)
    if entity is not None and isinstance(data, dict):
        names = {prop.name for prop in entity.properties} | {"id"}
        kept["data"] = {name: given for name, given in data.items() if name in names}
    return kept


def _reason(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RecursionError):
        return "nested too deeply for a record"
    return "the text ends where a value is expected" if isinstance(error, StopIteration) else str(error)
