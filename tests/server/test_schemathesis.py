"""Random requests from our own document: no answer is one that the document does not promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from server.served_library import library_server
from support.servers.http_server import HttpServer
from support.size import IS_FULL, sized

pytestmark = pytest.mark.timeout(sized(300, 3600))


@schemathesis.serializer("application/x-ndjson")
def _lines(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with library_server(tmp_path_factory.mktemp("fuzzed")) as server:
        yield server


@pytest.fixture(scope="module")
def api(fuzzed: HttpServer) -> Any:
    """The document that the server itself gives, for its graph `library` alone."""
    document = fuzzed.send("GET", "/openapi.json").json
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "graph_id":
                    parameter["schema"] = {"type": "string", "enum": ["library"]}
    found = schemathesis.openapi.from_dict(document)
    found.config.phases.update(phases=["examples", "coverage", "fuzzing"] if IS_FULL else ["fuzzing"])
    return found


schema = schemathesis.pytest.from_fixture("api")


@schema.parametrize()
@settings(max_examples=sized(4, 200), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_the_document_promises(case: Any, fuzzed: HttpServer) -> None:
    response = case.call(base_url=fuzzed.base, headers={"Authorization": "Bearer t-cy"})
    assert response.status_code < 500, f"{case.method} {case.path}: {response.text}"
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400 and case.method != "HEAD":
        assert "error_code" in response.json(), f"{case.method} {case.path}: {response.text}"
