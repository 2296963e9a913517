"""Refusals of schema changes keep their facts on the way over HTTP, whatever these are made of."""

from __future__ import annotations

import pytest

from omnigraph.client.failures import error_of
from omnigraph.client.requests import Answer
from omnigraph.language.schema import UnsupportedChange
from omnigraph.model.errors import OmniGraphError
from omnigraph.server.failures import failure_of
from omnigraph.server.http import to_json
from omnigraph.write.evolution import (
    BlockingBranch,
    SchemaBlockedByBranches,
    SchemaBlockedByTags,
    SchemaChangeUnsupported,
    SchemaRowsRefused,
)
from omnigraph.write.rules import Violation

STEP = UnsupportedChange(entity="node:Person.age", reason="the type changed", code="OG-MF-106")
VIOLATION = Violation(
    rule="required",
    message="a value is required",
    entity_kind="node",
    type_name="Person",
    entity_id="ada",
    property="email",
)
REFUSALS: list[OmniGraphError] = [
    SchemaChangeUnsupported((STEP, STEP)),
    SchemaBlockedByBranches((BlockingBranch("draft", "0123", 1_700_000_000_000_000),)),
    SchemaBlockedByTags(("v1", "v2")),
    SchemaRowsRefused((VIOLATION,), 7),
]


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
def test_a_refused_schema_change_is_the_same_error_behind_a_server(error: OmniGraphError) -> None:
    failure = failure_of(error, "request")
    found = error_of(Answer(failure.status, {"content-type": "application/json"}, to_json(failure.body)))
    assert type(found) is type(error)
    assert (str(found), found.hint, found.details()) == (str(error), error.hint, error.details())
