"""Branches: list, create, delete, merge."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.model.errors import BadRequest, ResourceLimitExceeded
from omnigraph.model.identifiers import MAIN
from omnigraph.server.call import Call, branch_name
from omnigraph.server.http import Parameter, Reply
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.parameters import CURSOR, LIMIT
from omnigraph.server.wire import answers, bodies

if TYPE_CHECKING:
    from omnigraph.merge import MergeResult

WEIGHT = 256
"""What a write of references counts in admission."""
PAGE_MAX = 1000


async def list_branches(call: Call) -> Reply:
    limit, cursor = call.parameters.number("limit"), call.parameters.text("cursor")
    names = await call.read(lambda: call.graph.branches())
    if cursor is not None:
        names = [name for name in names if name > cursor]
    more = limit is not None and len(names) > limit
    output = answers.BranchListOutput(branches=names[:limit] if limit is not None else names)
    if more and output.branches:
        output.next_cursor = output.branches[-1]
    if call.parameters.flag("details"):
        found = await call.read(lambda: call.graph.branch_details(output.branches))
        output.details = [each.to_json() for each in found]
    return Reply.of(output)


async def create_branch(call: Call) -> Reply:
    body = await call.body(bodies.BranchCreateRequest)
    name, source = branch_name(body.name), MAIN if body.from_ is None else _source(body.from_)
    ask = {"branch": _asked(source), "target_branch": name}
    await call.write(
        lambda: None if _asked(source) is None else call.graph.authorize("branch_create", **ask),
        WEIGHT,
        lambda: call.graph.create_branch(name, source=source),
    )
    uri = call.graph.uri
    return Reply.of(answers.BranchCreateOutput(uri=uri, from_=source, name=name, actor_id=call.actor))


def _source(text: str) -> str:
    """Where a branch begins: a branch in its one form, or a commit, a tag or a time as it is."""
    if not text.strip():
        raise BadRequest("branch name cannot be empty")
    return text.strip()


def _asked(source: str) -> str | None:
    """The branch that admission asks about first; None when only the graph can tell what the text names."""
    from omnigraph.model.errors import InvalidBranchName
    from omnigraph.model.identifiers import is_ulid, normalize_branch

    try:
        return None if is_ulid(source) or ":" in source else normalize_branch(source)
    except InvalidBranchName:
        return None


async def delete_branch(call: Call) -> Reply:
    name = branch_name(call.path["branch"])
    await call.write(
        partial(call.graph.authorize, "branch_delete", target_branch=name), WEIGHT, lambda: _delete(call, name)
    )
    return Reply.of(answers.BranchDeleteOutput(uri=call.graph.uri, name=name, actor_id=call.actor))


def _delete(call: Call, name: str) -> None:
    _refuse_while_exported(call, name)
    call.graph.delete_branch(name)


def _refuse_while_exported(call: Call, name: str) -> None:
    """The files of a branch stay while this process streams them to somebody."""
    if call.state.exports.get((call.served.graph_id, name)):
        raise ResourceLimitExceeded("stream_export_slots", 1, 2)


async def merge_branches(call: Call) -> Reply:
    body = await call.body(bodies.BranchMergeRequest)
    source, target = branch_name(body.source), branch_name(body.target)
    result = await call.write(
        partial(call.graph.authorize, "branch_merge", branch=source, target_branch=target),
        WEIGHT,
        lambda: _merge(call, body, source, target),
        target,
        is_long=True,
    )
    call.note_commit(result.commit_id)
    document = result.to_json()
    if not body.dry_run:
        for name in ("conflicts", "conflicts_total", "dry_run"):
            document.pop(name, None)
    return Reply.of(document, commit_id=result.commit_id)


def _merge(call: Call, body: bodies.BranchMergeRequest, source: str, target: str) -> MergeResult:
    options: dict[str, Any] = {"message": body.message, "dry_run": body.dry_run, "on_conflict": body.on_conflict}
    options |= {"resolve": body.resolve, "delete_branch": body.delete_branch}
    if body.merge_edges is not None:
        options["merge_edges"] = body.merge_edges
    return call.graph.merge(source, target, **options)


_REFERENCE_ERRORS = (400, 401, 403, 404, 409, 413, 415, 429, 500, 503)
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/branches"),
        id="cluster_listBranches",
        tag="branches",
        summary="The names of all branches, sorted.",
        handler=list_branches,
        parameters=(LIMIT, CURSOR, Parameter("details", "boolean", nullable=False)),
        answers={200: Answer(shape=answers.BranchListOutput)},
        errors=(400, 401, 403, 404, 409, 500, 503),
    ),
    Operation(
        method="POST",
        path=on_graph("/branches"),
        id="cluster_createBranch",
        tag="branches",
        summary="Create a branch.",
        is_write=True,
        handler=create_branch,
        body=bodies.BranchCreateRequest,
        answers={200: Answer(shape=answers.BranchCreateOutput)},
        errors=(*_REFERENCE_ERRORS, 410),
    ),
    Operation(
        method="DELETE",
        path=on_graph("/branches/{branch}"),
        id="cluster_deleteBranch",
        tag="branches",
        summary="Delete a branch.",
        is_write=True,
        handler=delete_branch,
        answers={200: Answer(shape=answers.BranchDeleteOutput)},
        errors=(400, 401, 403, 404, 409, 413, 429, 500, 503),
    ),
    Operation(
        method="POST",
        path=on_graph("/branches/merge"),
        id="cluster_mergeBranches",
        tag="branches",
        summary="Merge a branch into another one.",
        is_write=True,
        handler=merge_branches,
        body=bodies.BranchMergeRequest,
        answers={200: Answer(shape=answers.BranchMergeOutput)},
        errors=(*_REFERENCE_ERRORS, 410, 424),
    ),
)
