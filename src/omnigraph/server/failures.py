"""Failures: how an error becomes a status and a body. One table by the error's code, then one by its family.

What the caller did wrong is told in full. What went wrong here is told with a fixed text and the request's id, because
it may name places in the storage; the log has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.language import CompileError
from omnigraph.model.errors import (
    BadRequest,
    CommitNotDurable,
    Conflict,
    Denied,
    Gone,
    Json,
    LimitExceeded,
    NotFound,
    OmniGraphError,
    OutcomeUnknown,
)
from omnigraph.server.http import HttpRefusal, Overloaded, StillUnavailable

Body = dict[str, Json]


@dataclass(slots=True)
class Failure:
    """A status, the members of the body in their order, and headers."""

    status: int
    body: Body
    headers: list[tuple[str, str]]
    is_hidden: bool = False
    """The caller was told nothing of the reason: the log must."""
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """How errors of one code or family look on the wire."""

    status: int
    code: str | None
    detail: Callable[[Any], Body] | None = None
    sentence: Callable[[Any], str] | None = None
    retry_after: int | None = None


def failure_of(error: BaseException, request_id: str = "") -> Failure:
    if isinstance(error, HttpRefusal):
        return _refusal(error)
    if isinstance(error, Overloaded):
        body = _body(error, Shape(429, "too_many_requests"))
        return Failure(429, body, [("Retry-After", str(error.retry_after))])
    if isinstance(error, StillUnavailable):
        return Failure(503, _body(error, Shape(503, None)), [("Retry-After", "5")])
    if isinstance(error, CommitNotDurable | OutcomeUnknown):
        return _unconfirmed(error, request_id)
    shape = _line_limit(error) or shape_of(error)
    if shape is None or not isinstance(error, OmniGraphError):
        return _hidden(request_id)
    headers = [] if shape.retry_after is None else [("Retry-After", str(shape.retry_after))]
    return Failure(shape.status, _body(error, shape), headers)


def shape_of(error: BaseException) -> Shape | None:
    """None for what the caller is not told."""
    if not isinstance(error, OmniGraphError):
        return None
    known = SHAPES.get(error.code)
    if known is not None:
        return known
    return next((shape for family, shape in FAMILIES if isinstance(error, family)), None)


def _refusal(error: HttpRefusal) -> Failure:
    body: Body = {"error": error.sentence()}
    if error.wire_code is not None:
        body["code"] = error.wire_code
    body["error_code"] = error.error_code
    if error.hint:
        body["hint"] = error.hint
    return Failure(error.status, body, list(error.headers), closes=error.closes)


def _hidden(request_id: str) -> Failure:
    return hidden_failure(f"internal error; the server's log has the reason under request id {request_id}")


def _unconfirmed(error: CommitNotDurable | OutcomeUnknown, request_id: str) -> Failure:
    """A write that may have happened: its caller must know that, and which commit to look for. The reason is for the
    log alone."""
    reason = f"the server's log has the reason under request id {request_id}"
    told = replace(error, reason=reason)
    body: Body = {"error": told.sentence(), "code": "internal", "error_code": told.code}
    body["hint"] = "look for the commit before you write it again; a repeat with the same Idempotency-Key is safe"
    return Failure(500, body | {"details": _facts(told)}, [], is_hidden=True)


def hidden_failure(text: str) -> Failure:
    """What the caller is told of a failure whose reason is for the log alone."""
    return Failure(500, {"error": text, "code": "internal", "error_code": "server_failed"}, [], is_hidden=True)


def _body(error: OmniGraphError, shape: Shape) -> Body:
    body: Body = {"error": shape.sentence(error) if shape.sentence else error.sentence()}
    if shape.code is not None:
        body["code"] = shape.code
    detail = shape.detail(error) if shape.detail else {}
    body |= detail
    body["error_code"] = error.error_code if isinstance(error, CompileError) else error.code
    if error.hint:
        body["hint"] = error.hint
    if not detail and (facts := _facts(error)):
        body["details"] = facts
    return body


def _facts(error: OmniGraphError) -> Body:
    """What the error knows, without places in the storage."""
    facts: Body = {name: value for name, value in error.details().items() if name not in ("uri", "path", "file")}
    return facts


# --- details ----------------------------------------------------------------------------------------------


def _type_of(table_key: str) -> Body:
    kind, _, name = table_key.partition(":")
    return {"entity_kind": kind, "type_name": name}


def _key_conflict(error: Any) -> Body:
    detail = _type_of(error.table_key)
    if error.id is not None:
        detail["entity_id"] = error.id
    return {"key_conflict": detail}


def _stale_table(error: Any) -> Body:
    versions: Body = {
        "expected_published_dataset_version": error.expected,
        "actual_published_dataset_version": error.actual,
    }
    return {"published_dataset_version_conflict": _type_of(error.table_key) | versions}


def _read_set(error: Any) -> Body:
    return {"read_set_conflict": {"member": error.member, "expected": error.expected, "actual": error.actual}}


def _read_set_sentence(error: Any) -> str:
    states = f"expected {error.expected or 'absent'}, current {error.actual or 'absent'}"
    return f"write authority '{error.member}' changed during preparation ({states}); read again and retry"


def _precondition(error: Any) -> Body:
    failure: Body = {"expected": error.expected}
    if error.actual is not None:
        failure["actual"] = error.actual
    return {"precondition_failure": failure}


def _precondition_sentence(error: Any) -> str:
    now = error.actual or "<absent>"
    return f"precondition failed on branch '{error.branch}': expected head '{error.expected}' but current is {now}"


def _limit(error: Any) -> Body:
    return {"resource_limit": {"resource": error.resource, "limit": error.limit, "actual": error.actual}}


def _limit_sentence(error: Any) -> str:
    return f"resource limit exceeded for {error.resource}: actual {error.actual}, limit {error.limit}"


def _conflicts(error: Any) -> Body:
    found = []
    for each in error.conflicts:
        document = each.to_json()
        document.setdefault("entity_id", None)
        found.append(document)
    return {"merge_conflicts": found}


def _conflicts_sentence(error: Any) -> str:
    shown = []
    for each in error.conflicts[:3]:
        which = f", entity id '{each.entity_id}'" if each.entity_id is not None else ""
        shown.append(f"{each.entity_kind} type '{each.type_name}'{which} ({each.kind})")
    more = f"; and {error.total - len(shown)} more" if error.total > len(shown) else ""
    return f"merge conflicts: {'; '.join(shown)}{more}"


def _violations(error: Any) -> Body:
    """The file is a temporary one of the server, and says nothing."""
    listed = [{name: value for name, value in each.to_json().items() if name != "file"} for each in error.violations]
    return {"violations": listed, "violations_total": error.total}


def _line_limit(error: BaseException) -> Shape | None:
    """A line that is larger than lines may be is a violation in a report, and a limit on the wire."""
    if not isinstance(error, OmniGraphError) or error.code != "validation_failed":
        return None
    first = error.violations[0]  # type: ignore[attr-defined]
    found = _LIMIT_TEXT.search(first.message)
    if found is None or first.rule not in LINE_LIMITS:
        return None
    limit: Body = {"resource": first.rule, "limit": int(found[1]), "actual": int(found[2])}
    return Shape(413, "bad_request", lambda _: {"resource_limit": limit})


LINE_LIMITS = ("graph_batch_line_bytes", "graph_batch_json_structural_slots")
_LIMIT_TEXT = re.compile(r"limit is ([0-9]+), actual ([0-9]+)")


def _own_details(error: Any) -> Body:
    facts: Body = error.details()
    return facts


def _reclaimed_sentence(error: Any) -> str:
    return f"historical published dataset version {error.version} was reclaimed"


CURSOR_REJECTED = Shape(400, "bad_request")
SHAPES: dict[str, Shape] = {
    "policy_denied": Shape(403, "forbidden"),
    "key_conflict": Shape(409, "conflict", _key_conflict),
    "expected_version_mismatch": Shape(409, "conflict", _stale_table),
    "read_set_changed": Shape(409, "conflict", _read_set, _read_set_sentence),
    "merge_conflicts": Shape(409, "conflict", _conflicts, _conflicts_sentence),
    "revert_conflicts": Shape(409, "conflict", _conflicts, _conflicts_sentence),
    "commit_has_no_parent": Shape(409, "conflict", _own_details),
    "change_schema_boundary": Shape(409, "conflict", _own_details),
    "change_feed_gap": Shape(410, None, _own_details),
    "historical_version_reclaimed": Shape(410, None, None, _reclaimed_sentence),
    "precondition_failed": Shape(412, None, _precondition, _precondition_sentence),
    "resource_limit_exceeded": Shape(413, "bad_request", _limit, _limit_sentence),
    "blob_range_not_satisfiable": Shape(416, "bad_request", lambda error: {"blob_range": error.details()}),
    "external_blob_source": Shape(424, None, lambda error: {"external_blob_source": error.details()}),
    "recovery_required": Shape(
        503, None, lambda error: {"recovery_required": {"operation_id": error.operation_id}}, retry_after=1
    ),
    "embedding_provider_failed": Shape(502, None, _own_details),
    "validation_failed": Shape(400, "bad_request", _violations),
    "restore_refused": Shape(409, "conflict", _conflicts),
    "schema_rows_refused": Shape(400, "bad_request", _violations),
    "query_timeout": Shape(504, None),
    "java_missing": Shape(503, None),
    "lease_timeout": Shape(409, "conflict", retry_after=1),
}
FAMILIES: tuple[tuple[type[OmniGraphError], Shape], ...] = (
    (BadRequest, Shape(400, "bad_request")),
    (NotFound, Shape(404, "not_found")),
    (Conflict, Shape(409, "conflict")),
    (Denied, Shape(403, "forbidden")),
    (Gone, Shape(410, None)),
    (LimitExceeded, Shape(413, "bad_request")),
)
