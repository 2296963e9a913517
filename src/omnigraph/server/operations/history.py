"""History: the log, differences, tags, and bringing back what was."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any

from omnigraph.server.call import Call, branch_name
from omnigraph.server.http import Parameter, Reply, bad_request
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.branches import WEIGHT
from omnigraph.server.operations.headers import CONDITION, condition
from omnigraph.server.operations.parameters import BRANCH, KIND, LIMIT, OP, TYPE
from omnigraph.server.operations.writes import WRITE_ERRORS
from omnigraph.server.wire import bodies, change_answers

DIFF_DEFAULT, DIFF_MAX = 1000, 8192
LOG_DEFAULT, LOG_MAX = 1000, 8192


def _page(call: Call, default: int, most: int) -> int:
    limit = call.parameters.number("limit")
    if limit is None:
        return default
    if not 1 <= limit <= most:
        raise bad_request(f"'limit' must be from 1 to {most}")
    return limit


async def log(call: Call) -> Reply:
    """The commits that a reference contains, newest first; `before` the last of a page gives the next one."""
    parameters = call.parameters
    options: dict[str, Any] = dict(parameters.given("message", "since", "before"))
    options |= {"actor": parameters.many("actor"), "kind": parameters.many("kind"), "full": parameters.flag("full")}
    options |= {"type_name": parameters.many("type"), "limit": _page(call, LOG_DEFAULT, LOG_MAX)}
    at = parameters.text("at")
    entries = await call.read(lambda: [each.to_json() for each in call.graph.log(at, **options)])
    return Reply.of(change_answers.LogOutput(commits=entries))


async def diff(call: Call) -> Reply:
    """What differs between two references: the statistics count everything, the list ends at `limit`."""
    parameters = call.parameters
    before, after = parameters.text("from") or "", parameters.text("to")
    limit = _page(call, DIFF_DEFAULT, DIFF_MAX)
    filters = {"kinds": parameters.many("kind"), "types": parameters.many("type"), "ops": parameters.many("op")}

    def found() -> change_answers.DiffOutput:
        difference = call.graph.diff(before, after, **filters)  # type: ignore[arg-type]
        ends = [{"commit": end.commit_id, "branch": end.branch} for end in (difference.before, difference.after)]
        listed = list(islice(difference, limit + 1))
        changes = [change.to_json() for change in listed[:limit]]
        output = change_answers.DiffOutput(from_=ends[0], to=ends[1], changes=changes, stats=difference.stats.to_json())
        if len(listed) > limit:
            output.truncated = True
        return output

    return Reply.of(await call.read(found))


async def indexes(call: Call) -> Reply:
    branch = branch_name(call.parameters.text("branch"))
    return Reply.of(
        change_answers.IndexesOutput(
            indexes=[asdict(each) for each in await call.read(lambda: call.graph.indexes(branch))]
        )
    )


# --- bringing back ----------------------------------------------------------------------------------------


def _if_commit(call: Call) -> str | None:
    return condition(call) if call.request.headers.getlist(CONDITION) else None


async def restore(call: Call) -> Reply:
    body = await call.body(bodies.RestoreRequest)
    branch, head = branch_name(body.branch), _if_commit(call)
    options: dict[str, Any] = {"message": body.message, "dry_run": body.dry_run, "if_commit": head}
    result = await call.write(
        partial(call.graph.authorize, "change", branch=branch),
        WEIGHT,
        lambda: call.graph.branch(branch).restore(body.to, **options),
        branch,
        is_long=True,
    )
    call.note_commit(result.commit_id)
    return Reply.of(result.to_json(), commit_id=result.commit_id)


async def revert(call: Call) -> Reply:
    body = await call.body(bodies.RevertRequest)
    branch, head = branch_name(body.branch), _if_commit(call)
    options: dict[str, Any] = {"message": body.message, "dry_run": body.dry_run, "if_commit": head}
    options |= {"mainline": body.mainline, "on_conflict": body.on_conflict, "resolve": body.resolve}
    result = await call.write(
        partial(call.graph.authorize, "change", branch=branch),
        WEIGHT,
        lambda: call.graph.branch(branch).revert(body.what, **options),
        branch,
        is_long=True,
    )
    call.note_commit(result.commit_id)
    return Reply.of(result.to_json(), commit_id=result.commit_id)


# --- tags -------------------------------------------------------------------------------------------------


async def list_tags(call: Call) -> Reply:
    return Reply.of({"tags": [tag.to_json() for tag in await call.read(call.graph.tags)]})


async def create_tag(call: Call) -> Reply:
    body = await call.body(bodies.TagRequest)
    tag = await call.write(lambda: None, WEIGHT, lambda: call.graph.tag(body.name, body.commit, force=body.force))
    return Reply.of(tag.to_json())


async def delete_tag(call: Call) -> Reply:
    name = call.path["tag"]
    tag = await call.write(lambda: None, WEIGHT, lambda: call.graph.delete_tag(name))
    return Reply.of(tag.to_json())


_MANY = {"repeats": True, "nullable": False}
_READ_ERRORS = (400, 401, 403, 404, 409, 410, 500, 503)
_TAG_ERRORS = (400, 401, 403, 404, 408, 409, 410, 413, 415, 429, 500, 503)
_IF = Parameter(CONDITION, place="header", nullable=False)
OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/log"),
        id="cluster_log",
        tag="commits",
        summary="The commits that a branch, tag or commit contains, newest first.",
        handler=log,
        parameters=(
            Parameter("at", nullable=False),
            Parameter("full", "boolean", nullable=False),
            Parameter("actor", **_MANY),  # type: ignore[arg-type]
            Parameter("kind", **_MANY),  # type: ignore[arg-type]
            TYPE,
            Parameter("message", nullable=False),
            Parameter("since", nullable=False),
            Parameter("before", nullable=False),
            LIMIT,
        ),
        answers={200: Answer(shape=change_answers.LogOutput)},
        errors=_READ_ERRORS,
    ),
    Operation(
        method="GET",
        path=on_graph("/diff"),
        id="cluster_diff",
        tag="changes",
        summary="What differs between two branches, tags, commits or times.",
        handler=diff,
        parameters=(
            Parameter("from", required=True, nullable=False),
            Parameter("to", nullable=False),
            LIMIT,
            KIND,
            TYPE,
            OP,
        ),
        answers={200: Answer(shape=change_answers.DiffOutput)},
        errors=_READ_ERRORS,
    ),
    Operation(
        method="GET",
        path=on_graph("/indexes"),
        id="cluster_indexes",
        tag="snapshots",
        summary="The indexes of a branch and how much they cover.",
        handler=indexes,
        parameters=(BRANCH,),
        answers={200: Answer(shape=change_answers.IndexesOutput)},
        errors=_READ_ERRORS,
    ),
    Operation(
        method="POST",
        path=on_graph("/restore"),
        id="cluster_restore",
        tag="mutations",
        summary="Give a branch the entities of an earlier commit again, as a new commit.",
        is_write=True,
        handler=restore,
        parameters=(_IF,),
        body=bodies.RestoreRequest,
        answers={200: Answer(shape=dict)},
        errors=(*WRITE_ERRORS, 412),
    ),
    Operation(
        method="POST",
        path=on_graph("/revert"),
        id="cluster_revert",
        tag="mutations",
        summary="Take back what a commit changed, as a new commit.",
        is_write=True,
        handler=revert,
        parameters=(_IF,),
        body=bodies.RevertRequest,
        answers={200: Answer(shape=dict)},
        errors=(*WRITE_ERRORS, 412),
    ),
    Operation(
        method="GET",
        path=on_graph("/tags"),
        id="cluster_listTags",
        tag="commits",
        summary="Every tag, sorted by name.",
        handler=list_tags,
        answers={200: Answer(shape=change_answers.TagListOutput)},
        errors=_READ_ERRORS,
    ),
    Operation(
        method="POST",
        path=on_graph("/tags"),
        id="cluster_createTag",
        tag="commits",
        summary="Give a commit a name.",
        is_write=True,
        handler=create_tag,
        body=bodies.TagRequest,
        answers={200: Answer(shape=change_answers.TagOutput)},
        errors=_TAG_ERRORS,
    ),
    Operation(
        method="DELETE",
        path=on_graph("/tags/{tag}"),
        id="cluster_deleteTag",
        tag="commits",
        summary="Remove a tag; its commit stays.",
        is_write=True,
        handler=delete_tag,
        answers={200: Answer(shape=change_answers.TagOutput)},
        errors=_TAG_ERRORS,
    ),
)
