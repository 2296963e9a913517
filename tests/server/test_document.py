"""The API document: what is committed is what is served, and both follow the contract."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from omnigraph.server.openapi import api_document
from omnigraph.server.operations import OPERATIONS
from server.contract import OPERATIONS as CONTRACT_OPERATIONS
from server.contract import SCHEMAS
from support.servers.http_server import HttpServer

COMMITTED = Path(__file__).parent.parent.parent / "docs" / "openapi.json"
DOCUMENT = api_document(OPERATIONS)


def test_http_17_the_committed_document_is_the_one_that_is_served(library: HttpServer) -> None:
    text = json.dumps(DOCUMENT, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("OMNIGRAPH_UPDATE_OPENAPI") == "1":
        COMMITTED.write_text(text, encoding="utf-8")
    assert COMMITTED.read_text(encoding="utf-8") == text, "run this test with OMNIGRAPH_UPDATE_OPENAPI=1"
    assert library.send("GET", "/openapi.json").json == DOCUMENT


def test_operations_have_names_of_their_own() -> None:
    ids = [operation.id for operation in OPERATIONS]
    assert len(set(ids)) == len(ids)
    deprecated = {operation.id for operation in OPERATIONS if operation.is_deprecated}
    assert deprecated == {"cluster_read", "cluster_change", "cluster_ingest"}


# --- the schemas of the contract ------------------------------------------------------------------------------

_PLAIN: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "uint": {"type": "integer", "minimum": 0},
    "u32": {"type": "integer", "format": "int32", "minimum": 0},
    "u64": {"type": "integer", "format": "int64", "minimum": 0},
    "i64": {"type": "integer", "format": "int64"},
    "any": {},
}


def schema_of(text: str) -> dict[str, Any]:
    """`string|null`, `[Name]`, `Name` in the form of the document."""
    if text.endswith("|null"):
        inner = schema_of(text.removesuffix("|null"))
        return {"oneOf": [{"type": "null"}, inner]} if "$ref" in inner else inner | {"type": [inner["type"], "null"]}
    if text.startswith("["):
        return {"type": "array", "items": schema_of(text[1:-1])}
    return dict(_PLAIN[text]) if text in _PLAIN else {"$ref": f"#/components/schemas/{text}"}


def contract_schemas() -> list[Any]:
    found = [re.fullmatch(r"(\w+) \{ (.*) \}( closed)?", line) for line in SCHEMAS.splitlines()]
    return [pytest.param(each[1], each[2], each[3] is not None, id=each[1]) for each in found if each]


@pytest.mark.parametrize(("name", "members", "closed"), contract_schemas())
def test_a_schema_of_the_contract_is_in_the_document(name: str, members: str, closed: bool) -> None:
    """The members of the contract come first, in its order; members that were added are optional."""
    schema = DOCUMENT["components"]["schemas"][name]
    listed = [member.partition(": ") for member in re.split(r", (?![^\[]*\])", members)]
    names = [word.rstrip("*~") for word, _, _ in listed]
    required = [word.rstrip("*") for word, _, _ in listed if word.endswith("*")]
    assert [each for each in schema["properties"] if each in names] == names
    assert schema.get("required", []) == required
    assert schema.get("additionalProperties", True) is not closed
    for word, _, kind in listed:
        assert schema["properties"][word.rstrip("*~")] == schema_of(kind), word


@pytest.mark.parametrize("line", [line for line in SCHEMAS.splitlines() if re.fullmatch(r"\w+ = (?!oneOf).*", line)])
def test_an_enum_of_the_contract_is_in_the_document(line: str) -> None:
    name, _, values = line.partition(" = ")
    assert DOCUMENT["components"]["schemas"][name] == {"type": "string", "enum": values.split(" | ")}


def contract_operations() -> list[Any]:
    blocks = re.split(r"\n(?=(?:GET|POST|DELETE|HEAD) /)", f"\n{CONTRACT_OPERATIONS}")
    return [pytest.param(block, id=" ".join(block.split()[:2])) for block in blocks if block.strip()]


@pytest.mark.parametrize("block", contract_operations())
def test_an_operation_of_the_contract_is_in_the_document(block: str) -> None:
    first, *rest = block.strip().splitlines()
    method, path, name, tag, *flags = first.split()
    operation = DOCUMENT["paths"][path][method.lower()]
    assert (operation["operationId"], operation["tags"]) == (name, [tag])
    assert operation.get("deprecated", False) == ("deprecated" in flags)
    assert ("security" in operation) == ("public" not in flags)
    known = {(each["in"], each["name"].lower()): each for each in operation.get("parameters", ())}
    for line in rest:
        words = line.split()
        if words[0] in ("q", "h"):
            parameter = known["query" if words[0] == "q" else "header", words[1].rstrip("!").lower()]
            assert parameter["required"] == words[1].endswith("!")
        elif words[0][0].isdigit():
            _check_statuses(operation, words)


def _check_statuses(operation: dict[str, Any], words: list[str]) -> None:
    for status in words[0].split(","):
        if status == "405":
            continue  # cannot occur there
        described = operation["responses"][status]
        shape = next((word for word in words[1:] if word.endswith(("Output", "Response", "Record"))), None)
        if shape is not None:
            content = next(iter(described["content"].values()))
            assert content["schema"] == {"$ref": f"#/components/schemas/{shape}"}


def test_the_reference_page_needs_nothing_from_elsewhere(library: HttpServer) -> None:
    answer = library.send("GET", "/docs", token=None)
    assert (answer.status, answer.header("Content-Type")) == (200, "text/html; charset=utf-8")
    assert b"http://" not in answer.body
    assert b"https://" not in answer.body
    assert "default-src 'none'" in (answer.header("Content-Security-Policy") or "")
