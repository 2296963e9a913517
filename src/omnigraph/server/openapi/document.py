"""The OpenAPI document, generated from the table of operations. The committed copy is compared with it by a test."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from omnigraph.server.http import Parameter
from omnigraph.server.openapi.schemas import Schema, Schemas
from omnigraph.server.operation import Answer, Operation
from omnigraph.server.version import WIRE_VERSION
from omnigraph.server.wire import change_answers

INVOKED = "InvokeStoredQueryResponse"
PREFER = Parameter("Prefer", place="header", nullable=False)
ON_EVERY_GRAPH = (400, 401, 404, 500, 503)
"""No graph id, no token, no such graph, a failure of the server, a graph that is not available."""


@lru_cache(maxsize=4)
def api_document(operations: tuple[Operation, ...], *, with_security: bool = True) -> dict[str, Any]:
    """The whole document. Without security schemes for a server that asks for no tokens."""
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        if operation.is_listed:
            described = _operation(operation, schemas, with_security=with_security)
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
    components: dict[str, Any] = {"schemas": dict(sorted(schemas.named.items()))}
    if with_security:
        components["securitySchemes"] = {"bearer_token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Omnigraph API",
            "description": "HTTP API for the Omnigraph graph database",
            "license": {"name": "MIT", "identifier": "MIT"},
            "version": WIRE_VERSION,
        },
        "paths": dict(sorted(paths.items())),
        "components": components,
    }


def _operation(operation: Operation, schemas: Schemas, *, with_security: bool) -> Schema:
    described: Schema = {"tags": [operation.tag], "summary": operation.summary, "operationId": operation.id}
    own = (*operation.parameters, PREFER) if operation.is_write else operation.parameters
    parameters = [*_path_parameters(operation.path), *(_parameter(each, schemas) for each in own)]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        schema = schemas.of(operation.body)
        if not operation.body_required:
            schema = {"oneOf": [{"type": "null"}, schema]}
        content = {operation.body_media: {"schema": schema}}
        described["requestBody"] = {"content": content} | ({"required": True} if operation.body_required else {})
    described["responses"] = _responses(operation, schemas)
    if operation.is_deprecated:
        described["deprecated"] = True
    if with_security and not operation.is_public:
        described["security"] = [{"bearer_token": []}]
    return described


def _path_parameters(path: str) -> Iterable[Schema]:
    for part in path.split("/"):
        if part.startswith("{"):
            yield {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}


def _parameter(parameter: Parameter, schemas: Schemas) -> Schema:
    schema: Schema = {"string": {"type": "string"}, "boolean": {"type": "boolean"}}.get(
        parameter.kind, {"type": "integer", "minimum": 0}
    )
    schema = dict(schema)
    if parameter.enum_name is not None:
        schemas.named[parameter.enum_name] = {"type": "string", "enum": list(parameter.enum)}
        schema = {"$ref": f"#/components/schemas/{parameter.enum_name}"}
    elif parameter.enum:
        schema["enum"] = list(parameter.enum)
    if parameter.repeats:
        schema = {"type": "array", "items": schema}
    elif parameter.nullable and not parameter.required:
        schema = {"oneOf": [{"type": "null"}, schema]} if "$ref" in schema else schema | {"type": ["string", "null"]}
    return {"name": parameter.name, "in": parameter.place, "required": parameter.required, "schema": schema}


def _responses(operation: Operation, schemas: Schemas) -> Schema:
    answers = dict(operation.answers)
    if operation.is_write:
        answers[202] = Answer(shape=change_answers.OperationOutput, headers={"Location": "string"})
    error: Any = operation.error_shape
    always = ON_EVERY_GRAPH if operation.on_graph else ()
    for status in {*operation.errors, *always, *((408, 413) if operation.body is not None else ())}:
        answers.setdefault(status, Answer(shape=None if operation.method == "HEAD" else error))
    return {str(status): _answer(status, answers[status], error, schemas) for status in sorted(answers)}


def _answer(status: int, answer: Answer, error: Any, schemas: Schemas) -> Schema:
    described: Schema = {"description": HTTPStatus(status).phrase}
    if answer.headers:
        described["headers"] = {name: {"schema": _header(kind)} for name, kind in answer.headers.items()}
    shape = error if answer.shape == "error" else answer.shape
    if isinstance(shape, tuple):
        schemas.named[INVOKED] = schemas.of(shape)
        described["content"] = {answer.media: {"schema": {"$ref": f"#/components/schemas/{INVOKED}"}}}
    elif shape is not None:
        described["content"] = {answer.media: {"schema": schemas.of(shape)}}
    elif answer.media == "application/x-ndjson":
        described["content"] = {answer.media: {}}
    return described


def _header(kind: str) -> Schema:
    return {"type": "integer", "format": "int64", "minimum": 0} if kind == "u64" else {"type": "string"}
