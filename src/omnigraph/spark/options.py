"""Options of `format("omnigraph")`, read strictly: a misspelt option is an error."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from omnigraph.model.errors import BadRequest
from omnigraph.model.identifiers import TableKey

READ = ("uri", "path", "type", "kind", "branch", "commit", "timestamp", "columns", "filter", "pushdown")
WRITE = ("uri", "path", "type", "kind", "branch", "base", "mode", "mapping", "patch", "match_edges", "actor", "message")
_TRUTHS = {"true": True, "false": False}


def check(options: Mapping[str, str], known: tuple[str, ...]) -> None:
    folded = {name.lower() for name in known}
    for name in options:
        if name.lower() not in folded:
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the options are {', '.join(known)}"
            raise BadRequest(f"format omnigraph has no option '{name}'", hint)


def graph_uri(options: Mapping[str, str]) -> str:
    uri = options.get("uri") or options.get("path")
    if not uri:
        raise BadRequest("no graph is given", 'write .option("uri", "people.omni"), or .load("people.omni")')
    return uri


def table_key(options: Mapping[str, str], tables: list[TableKey]) -> TableKey:
    """The table of the named type."""
    name, kind = options.get("type"), options.get("kind")
    names = sorted({key.type_name for key in tables})
    if not name:
        raise BadRequest("no type is given", f'write .option("type", …); the types are {", ".join(names)}')
    if kind not in (None, "node", "edge"):
        raise BadRequest(f"'kind' must be node or edge, not '{kind}'")
    found = [key for key in tables if key.type_name == name and kind in (None, key.kind)]
    if not found:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"the types are {', '.join(names)}"
        raise BadRequest(f"there is no type '{name}'", hint)
    if len(found) > 1:
        raise BadRequest(f"'{name}' is a node type and an edge type", 'add .option("kind", "node") or "edge"')
    return found[0]


def truth(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false")
    if text.lower() not in _TRUTHS:
        raise BadRequest(f"'{name}' must be true or false, not '{text}'")
    return _TRUTHS[text.lower()]


def columns(options: Mapping[str, str]) -> list[str] | None:
    text = options.get("columns")
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def filter_terms(options: Mapping[str, str]) -> list[list[Any]]:
    """`[["age", ">", 26], ["name", "in", ["Ada", "Bela"]], ["born", "is null"]]`: a row must match all of them."""
    text = options.get("filter")
    if text is None:
        return []
    shape = BadRequest(f'\'filter\' must be JSON such as [["age", ">", 26]], got {text}')
    try:
        terms = json.loads(text)
    except ValueError as error:
        raise shape from error
    if not isinstance(terms, list) or not all(isinstance(term, list) and len(term) in (2, 3) for term in terms):
        raise shape
    return terms


def mapping(options: Mapping[str, str]) -> dict[str, Any] | None:
    """A mapping is given as JSON text."""
    text = options.get("mapping")
    if text is None:
        return None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadRequest(f"'mapping' must be JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest("'mapping' must be one JSON object")
    return document
