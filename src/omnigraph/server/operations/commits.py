"""Commits: the history of a branch, and one commit by its id."""

from __future__ import annotations

from omnigraph.model.errors import CommitNotFound, Denied
from omnigraph.model.identifiers import MAIN
from omnigraph.server.call import Call, branch_name
from omnigraph.server.documents import commit_output
from omnigraph.server.http import Reply, bad_request
from omnigraph.server.operation import Answer, Operation, on_graph
from omnigraph.server.operations.parameters import BRANCH, CURSOR, LIMIT
from omnigraph.server.wire import answers


async def list_commits(call: Call) -> Reply:
    """Newest first. `limit` makes pages; `cursor` is the last commit of the page before."""
    parameters = call.parameters
    branch, limit, cursor = (
        branch_name(parameters.text("branch")),
        parameters.number("limit"),
        parameters.text("cursor"),
    )
    if limit == 0:
        raise bad_request("'limit' must be at least 1")
    wanted = None if limit is None or cursor is not None else limit + 1
    commits = await call.read(lambda: call.graph.commits(branch, limit=wanted))
    if cursor is not None:
        places = [place for place, each in enumerate(commits) if each.commit_id == cursor]
        if not places:
            raise bad_request(f"cursor '{cursor}' is not a commit of branch '{branch}'")
        commits = commits[places[0] + 1 :]
    page = commits if limit is None else commits[:limit]
    output = answers.CommitListOutput(commits=[commit_output(each) for each in page])
    if len(page) < len(commits):
        output.next_cursor = page[-1].commit_id
    return Reply.of(output)


async def get_commit(call: Call) -> Reply:
    """A commit that the caller may not read is one that does not exist."""
    commit_id = call.path["commit_id"]

    def found() -> answers.CommitOutput:
        commit = call.graph.commit(commit_id)
        try:
            call.graph.authorize("read", branch=commit.branch or MAIN)
        except Denied:
            raise CommitNotFound(commit_id) from None
        return commit_output(commit)

    return Reply.of(await call.read(found))


OPERATIONS = (
    Operation(
        method="GET",
        path=on_graph("/commits"),
        id="cluster_listCommits",
        tag="commits",
        summary="The commits of a branch, newest first.",
        handler=list_commits,
        parameters=(BRANCH, LIMIT, CURSOR),
        answers={200: Answer(shape=answers.CommitListOutput)},
        errors=(400, 401, 403, 404, 409, 500, 503),
    ),
    Operation(
        method="GET",
        path=on_graph("/commits/{commit_id}"),
        id="cluster_getCommit",
        tag="commits",
        summary="One commit, on any branch.",
        handler=get_commit,
        answers={200: Answer(shape=answers.CommitOutput)},
        errors=(400, 401, 403, 404, 409, 500, 503),
    ),
)
