"""Loads: records as one commit, from a JSON envelope or as lines. Large bodies wait on disk, not in memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from omnigraph.model.errors import BranchNotFound, ResourceLimitExceeded
from omnigraph.server.call import Call, branch_name
from omnigraph.server.documents import commit_output, declarations
from omnigraph.server.http import Parameter, Reply, bad_request, not_found, wrong_media
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.headers import idempotency_key
from omnigraph.server.operations.parameters import BRANCH, KEY
from omnigraph.server.operations.records import record_lines
from omnigraph.server.operations.spool import Spool
from omnigraph.server.operations.writes import WRITE_ERRORS
from omnigraph.server.wire import answers, bodies

if TYPE_CHECKING:
    from omnigraph.write import LoadResult

LOCAL_MAX = 64 * 1024 * 1024
"""Records beyond this are loaded on Spark, whose memory is bounded."""
UNBOUNDED = 1 << 62


async def load(call: Call) -> Reply:
    """The envelope: `data` is a string of records."""
    body = await call.body(bodies.IngestRequest, call.state.settings.load_body_max or UNBOUNDED)
    options = _options(call, body.branch, body.from_, body.mode)
    options["message"] = body.message

    def run() -> LoadResult:
        catalog = call.served.bare.schema.catalog
        return _load(call, io.BytesIO(record_lines(body.data, catalog)), options)

    await call.read(_allow(call, options))
    result = await call.begin(len(body.data.encode()), run, options["branch"], is_long=True)
    call.note_commit(result.commit_id)
    output = answers.IngestOutput(uri=call.graph.uri, **_members(call, result))
    return Reply.of(output, commit_id=result.commit_id)


async def load_lines(call: Call) -> Reply:
    """The lines themselves. The policy decides before anything of the body is looked at."""
    parameters = call.parameters
    options = _options(call, parameters.text("branch"), parameters.text("from"), parameters.text("mode"))
    await call.read(_allow(call, options))
    _require_lines(call)
    with Spool() as spool:
        await _receive(call, spool)
        work = spool.given_to(lambda: _load(call, spool.source(), options, spool.size))
        running = call.begin(spool.size, work, options["branch"], is_long=True)
        spool.keep()  # the request may end before the work does, the body may not
    result = await running
    call.note_commit(result.commit_id)
    return Reply.of(answers.GraphBatchLoadOutput(**_members(call, result)), commit_id=result.commit_id)


# --- the request ------------------------------------------------------------------------------------------


def _options(call: Call, branch: str | None, base: str | None, mode: str | None) -> dict[str, Any]:
    return {
        "branch": branch_name(branch),
        "base": None if base is None else branch_name(base),
        "mode": mode or "merge",
        "idempotency_key": idempotency_key(call),
    }


def _allow(call: Call, options: dict[str, Any]) -> Callable[[], None]:
    """Asks the policy, in a thread: whether a load makes a branch takes a look at the branches there are."""
    return partial(call.graph.authorize_load, options["branch"], options["base"])


def _require_lines(call: Call) -> None:
    media = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-ndjson":
        raise wrong_media("the content type must be application/x-ndjson")


async def _receive(call: Call, spool: Spool) -> None:
    """The body into the spool; a larger one than allowed is refused as soon as that is known."""
    most = call.state.settings.load_body_max
    declared = call.request.content_length
    if most and declared is not None and declared > most:
        raise _too_large(most, declared)
    while (part := await call.request.chunk()) is not None:
        if most and spool.size + len(part) > most:
            raise _too_large(most, spool.size + len(part))
        spool.write(part)


class BodyTooLarge(ResourceLimitExceeded):
    """A load whose body is larger than the server takes."""

    code = "resource_limit_exceeded"


def _too_large(limit: int, actual: int) -> BodyTooLarge:
    return BodyTooLarge("graph_batch_request_bytes", limit, actual)


# --- the load ---------------------------------------------------------------------------------------------


def _load(call: Call, source: Any, options: dict[str, Any], size: int = 0) -> LoadResult:
    from omnigraph.graph import with_nearest_branch

    try:
        return call.graph.load(source, format="jsonl", engine="local" if size <= LOCAL_MAX else "auto", **options)
    except BranchNotFound as error:
        if options["base"] is None and error.branch == options["branch"]:
            text = f"branch '{error.branch}' not found; pass `from` to create it"
            raise not_found(text, with_nearest_branch(call.unheard, error).hint, error_code=error.code) from None
        raise
    except UnicodeDecodeError:
        raise bad_request("the body is not valid UTF-8") from None


def _members(call: Call, result: LoadResult) -> dict[str, Any]:
    return {
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.branch_created,
        "mode": result.mode,
        "nodes": declarations(result.nodes),
        "edges": declarations(result.edges),
        "total_entities": result.total_entities,
        "actor_id": call.actor,
        "commit": None if result.commit is None else commit_output(result.commit),
        "replayed": True if result.replayed else UNSET,
        "warnings": list(result.warnings) or UNSET,
    }


_MODE = Parameter("mode", enum=("overwrite", "append", "merge"), enum_name="LoadMode")
OPERATIONS = (
    Operation(
        method="POST",
        path=on_graph("/load"),
        id="cluster_load",
        tag="mutations",
        summary="Load records as one commit.",
        is_write=True,
        handler=load,
        parameters=(KEY,),
        body=bodies.IngestRequest,
        answers={200: Answer(shape=answers.IngestOutput)},
        errors=WRITE_ERRORS,
    ),
    Operation(
        method="POST",
        path=on_graph("/ingest"),
        id="cluster_ingest",
        tag="mutations",
        summary="Load records; use /load instead.",
        is_write=True,
        handler=load,
        parameters=(KEY,),
        body=bodies.IngestRequest,
        answers={200: Answer(shape=answers.IngestOutput)},
        errors=WRITE_ERRORS,
        is_deprecated=True,
        successor="load",
    ),
    Operation(
        method="POST",
        path=on_graph("/load/ndjson"),
        id="cluster_loadNdjson",
        tag="mutations",
        summary="Load lines of records as one commit.",
        is_write=True,
        handler=load_lines,
        parameters=(BRANCH, Parameter("from"), _MODE, KEY),
        body=str,
        body_media="application/x-ndjson",
        answers={200: Answer(shape=answers.GraphBatchLoadOutput)},
        errors=WRITE_ERRORS,
    ),
)
