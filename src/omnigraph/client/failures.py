"""Failures: an answer that is an error becomes the error that `Graph` would have raised, with its facts."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from omnigraph.client.refusals import NotAuthenticated, ServerFailed, TooManyRequests
from omnigraph.client.requests import Answer
from omnigraph.model import errors
from omnigraph.model.errors import OmniGraphError

Body = Mapping[str, Any]
TEXT_MAX = 500
_BRANCH = re.compile(r"branch '([^']+)' not found")
CURSOR_REJECTED = "change cursor rejected: "
"""The one sentence that every server begins in the same way."""


def error_of(answer: Answer) -> OmniGraphError:
    """The error that an answer carries: by its detail, else by its code, else by its status."""
    body = _body(answer)
    text = str(body.get("error") or _plain(answer))
    hint = body.get("hint") if isinstance(body.get("hint"), str) else None
    for member, make in DETAILS.items():
        if isinstance(body.get(member), dict | list):
            made = make(body)
            if made is not None:
                return made
    if text.startswith(CURSOR_REJECTED):
        body = {"error_code": "change_cursor_rejected", **body}
    return _by_code(body, text, hint) or _by_status(answer, text, hint)


def _body(answer: Answer) -> Body:
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(answer: Answer) -> str:
    text = answer.body[:TEXT_MAX].decode("utf-8", "replace").strip()
    return f"the server answered {answer.status}: {text}" if text else f"the server answered {answer.status}"


# --- by detail ------------------------------------------------------------------------------------------------


def _table_key(facts: Body) -> str:
    return f"{facts['entity_kind']}:{facts['type_name']}"


def _key_conflict(body: Body) -> OmniGraphError:
    facts = body["key_conflict"]
    return errors.KeyConflict(_table_key(facts), facts.get("entity_id"))


def _stale_table(body: Body) -> OmniGraphError:
    facts = body["published_dataset_version_conflict"]
    versions = (facts["expected_published_dataset_version"], facts["actual_published_dataset_version"])
    return errors.ExpectedVersionMismatch(_table_key(facts), *versions)


def _read_set(body: Body) -> OmniGraphError:
    facts = body["read_set_conflict"]
    return errors.ReadSetChanged(facts["member"], facts.get("expected"), facts.get("actual"))


def _precondition(body: Body) -> OmniGraphError:
    facts = body["precondition_failure"]
    branch = str(body.get("error", "")).partition("branch '")[2].partition("'")[0] or "main"
    return errors.PreconditionFailed(branch, facts["expected"], facts.get("actual"))


def _limit(body: Body) -> OmniGraphError:
    facts = body["resource_limit"]
    return errors.ResourceLimitExceeded(facts["resource"], facts["limit"], facts["actual"])


def _blob_range(body: Body) -> OmniGraphError:
    from omnigraph.history import BlobRangeNotSatisfiable

    facts = body["blob_range"]
    return BlobRangeNotSatisfiable(facts["start"], facts["end"], facts["length"])


def _recovery(body: Body) -> OmniGraphError:
    reason = str(body.get("error", "")).partition(": ")[2] or "the server could not resolve it"
    return errors.RecoveryRequired(body["recovery_required"]["operation_id"], reason)


def _provider(body: Body) -> OmniGraphError:
    facts = body["embedding_provider"]
    reason = str(body.get("error", "")).partition(": ")[2] or "it failed"
    return errors.EmbeddingProviderFailed(facts["provider"], facts.get("status"), reason)


def _conflicts(body: Body) -> OmniGraphError | None:
    from omnigraph.client.wire import conflicts_error

    return conflicts_error(body)


def _violations(body: Body) -> OmniGraphError:
    from omnigraph.write.rules import ValidationFailed, Violation

    listed = tuple(Violation(**each) for each in body["violations"])
    kind = ValidationFailed
    if body.get("error_code") == "schema_rows_refused":
        from omnigraph.write.evolution import SchemaRowsRefused

        kind = SchemaRowsRefused
    return kind(listed, body.get("violations_total", len(listed)))


def _gap(body: Body) -> OmniGraphError | None:
    from omnigraph.history.feed import ChangeFeedGap

    return _built(ChangeFeedGap, body["change_feed_gap"])


def _refusal(body: Body) -> OmniGraphError | None:
    from omnigraph.history.feed import ChangeSchemaBoundary, CommitHasNoParent

    facts = body["change_diff_refusal"]
    kind = CommitHasNoParent if facts.get("reason") == "parentless_commit" else ChangeSchemaBoundary
    return _built(kind, facts)


DETAILS: dict[str, Callable[[Body], OmniGraphError | None]] = {
    "key_conflict": _key_conflict,
    "published_dataset_version_conflict": _stale_table,
    "read_set_conflict": _read_set,
    "precondition_failure": _precondition,
    "resource_limit": _limit,
    "blob_range": _blob_range,
    "recovery_required": _recovery,
    "embedding_provider": _provider,
    "merge_conflicts": _conflicts,
    "violations": _violations,
    "change_feed_gap": _gap,
    "change_diff_refusal": _refusal,
}


# --- by code and status ---------------------------------------------------------------------------------------


def _unsupported_change(facts: Body) -> OmniGraphError:
    from omnigraph.language.schema import UnsupportedChange
    from omnigraph.write.evolution import SchemaChangeUnsupported

    listed = (
        UnsupportedChange(entity=each["entity"], reason=each["reason"], code=each.get("code"))
        for each in facts.get("steps", ())
    )
    return SchemaChangeUnsupported(tuple(listed))


def _blocking_branches(facts: Body) -> OmniGraphError:
    from omnigraph.write.evolution import BlockingBranch, SchemaBlockedByBranches

    return SchemaBlockedByBranches(tuple(BlockingBranch(**each) for each in facts.get("blocking_branches", ())))


FACTS: dict[str, Callable[[Body], OmniGraphError]] = {
    "schema_change_unsupported": _unsupported_change,
    "schema_blocked_by_branches": _blocking_branches,
}
"""Errors whose facts are more than texts and numbers."""


def _by_code(body: Body, text: str, hint: str | None) -> OmniGraphError | None:
    """The class that the code names, if it is known here: a newer server may have others."""
    code, details = body.get("error_code"), body.get("details")
    if not isinstance(code, str):
        return None
    facts = {**(details if isinstance(details, dict) else {}), **({"remedy": hint} if hint else {})}
    if "diagnostics" in facts:
        return _compile_error(facts["diagnostics"])
    if code in FACTS:
        return FACTS[code](facts)
    name = "".join(word.capitalize() for word in code.split("_"))
    try:
        kind = getattr(import_module("omnigraph.errors"), name)
    except AttributeError:
        return None
    return _built(kind, facts) or _built(kind, _facts_of(kind, text)) or _told(kind, text, hint)


def _facts_of(kind: type[OmniGraphError], text: str) -> Body:
    """The one fact of an error whose sentence is all that came: what stands in quotes, or behind the colon."""
    required = [name for name, each in _fields(kind).items() if each.default is dataclasses.MISSING]
    if len(required) != 1:
        return {}
    quoted = text.partition("'")[2].rpartition("'")[0]
    return {required[0]: quoted or text.partition(": ")[2] or text}


def _built(kind: type[OmniGraphError], facts: Body) -> OmniGraphError | None:
    """An error from its facts; None if a fact is missing that it cannot do without."""
    known = _fields(kind)
    if not known:
        return None
    required = [
        name
        for name, each in known.items()
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    ]
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in facts.items() if name in known
    }
    for name in required:
        if name not in values:
            if "None" not in str(known[name].type):
                return None
            values[name] = None
    make: Any = kind
    made: OmniGraphError = make(**values)
    return made


def _fields(kind: type[OmniGraphError]) -> dict[str, dataclasses.Field[Any]]:
    """The facts that an error has as fields."""
    found: dict[str, dataclasses.Field[Any]] = getattr(kind, "__dataclass_fields__", {})
    return found


def _told(kind: type[OmniGraphError], text: str, hint: str | None) -> OmniGraphError | None:
    """An error that is only its sentence."""
    if _fields(kind):
        return None
    error = kind.__new__(kind)
    Exception.__init__(error, text)
    error.message, error.advice = text, hint
    return error


def _compile_error(diagnostics: list[Body]) -> OmniGraphError:
    from omnigraph.language import CompileError, Diagnostic

    return CompileError(tuple(Diagnostic.from_json(each) for each in diagnostics))


def _by_status(answer: Answer, text: str, hint: str | None) -> OmniGraphError:
    if answer.status == 401:
        return NotAuthenticated(text)
    if answer.status == 429:
        return TooManyRequests(text)
    if 300 <= answer.status < 400:
        return errors.BadRequest(f"the server answered {answer.status}, and redirects are not followed")
    branch = _BRANCH.match(text)
    if answer.status == 404 and branch is not None:
        return errors.BranchNotFound(branch[1])
    family = FAMILIES.get(answer.status, errors.BadRequest if answer.status < 500 else ServerFailed)
    return family(text, hint)


FAMILIES: dict[int, type[OmniGraphError]] = {
    403: errors.Denied,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Gone,
    412: errors.Conflict,
    413: errors.LimitExceeded,
    424: errors.Conflict,
    502: errors.Unreachable,
    503: errors.Unreachable,
    504: errors.Unreachable,
}
