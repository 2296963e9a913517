"""A misspelt name is answered with the one that was probably meant, and nobody learns a name that is hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import omnigraph as og
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, QUERIES, G, author, library_server
from support.servers.http_server import Answer, HttpServer

LINES = {"Content-Type": "application/x-ndjson"}
BLOB = f"{G}/blob?entity=node&type=Book&id=b1&property=cover"
MISSPELT: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", f"{G}/snapshot?branch=draft", {}),
    ("GET", f"{G}/commits?branch=draft", {}),
    ("GET", f"{G}/indexes?branch=draft", {}),
    ("GET", f"{G}/changes?branch=draft&start=beginning", {}),
    ("GET", f"{G}/diff?from=draft", {}),
    ("GET", f"{G}/diff?from=branch:draft", {}),
    ("GET", f"{G}/log?at=draft", {}),
    ("GET", f"{G}/log?at=main&since=draft", {}),
    ("POST", f"{G}/query", {"json": {"query": ALL_AUTHORS, "branch": "draft"}}),
    ("POST", f"{G}/explain", {"json": {"query": ALL_AUTHORS, "branch": "draft"}}),
    ("POST", f"{G}/queries/all_authors", {"json": {"branch": "draft"}}),
    ("POST", f"{G}/export", {"json": {"branch": "draft"}}),
    ("POST", f"{G}/changes/baseline", {"json": {"branch": "draft"}}),
    ("POST", f"{G}/mutate", {"json": {"query": ADD_AUTHOR, "params": {"h": "x"}, "branch": "draft"}}),
    ("POST", f"{G}/load", {"json": {"data": author("x"), "branch": "draft"}}),
    ("POST", f"{G}/load/ndjson?branch=draft", {"body": author("x").encode(), "headers": LINES}),
    ("POST", f"{G}/branches", {"json": {"name": "more", "from": "draft"}}),
    ("POST", f"{G}/branches/merge", {"json": {"source": "draft"}}),
    ("POST", f"{G}/branches/merge", {"json": {"source": "main", "target": "draft"}}),
    ("POST", f"{G}/restore", {"json": {"branch": "draft", "to": "main"}}),
    ("POST", f"{G}/restore", {"json": {"to": "draft"}}),
    ("POST", f"{G}/revert", {"json": {"what": "draft"}}),
    ("DELETE", f"{G}/branches/draft", {}),
    ("DELETE", f"{G}/tags/draftz-1", {}),
    ("GET", f"{BLOB}&branch=draft", {}),
]
"""Every way to name a branch or a tag that is not there."""


def hint_of(answer: Answer) -> str:
    assert answer.status == 404, answer.body
    return str(answer.json.get("hint", ""))


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """The branch `drafts`, the tag `drafts-10`, and for each caller another part of what may be done."""
    with library_server(tmp_path_factory.mktemp("tagged"), policy=RULES) as server:
        assert server.send("POST", f"{G}/tags", json={"name": "drafts-10"}).status == 200
        yield server


RULES = """version: 1
groups: { all: [cy], blind: [bo], some: [ann], callers: [iv] }
protected_branches: [main]
rules:
  - id: everything
    allow:
      actors: { group: all }
      actions: [read, export, change, branch_create, branch_delete, branch_merge, invoke_query]
  - id: writes-and-sees-nothing
    allow: { actors: { group: blind }, actions: [change, export, branch_create, branch_delete, branch_merge] }
  - { id: reads-main, allow: { actors: { group: some }, actions: [read], branch_scope: protected } }
  - { id: reads-what-is-not-there, allow: { actors: { group: some }, actions: [read], branches: ["draft"] } }
  - { id: runs-one, allow: { actors: { group: some }, actions: [invoke_query], queries: [all_authors] } }
  - { id: runs, allow: { actors: { group: callers }, actions: [invoke_query] } }
"""


@pytest.mark.parametrize(("method", "path", "more"), MISSPELT)
def test_a_misspelt_branch_or_tag_is_answered_with_the_nearest(
    tagged: HttpServer, method: str, path: str, more: dict[str, Any]
) -> None:
    assert hint_of(tagged.send(method, path, **more)) in ("did you mean 'drafts'?", "did you mean 'drafts-10'?")


@pytest.mark.parametrize("actor", ["bo", "ann", "iv", "zed"])
@pytest.mark.parametrize(("method", "path", "more"), MISSPELT)
def test_who_may_not_list_the_branches_learns_none_by_misspelling(
    tagged: HttpServer, method: str, path: str, more: dict[str, Any], actor: str
) -> None:
    answer = tagged.send(method, path, token=f"t-{actor}", **more)
    assert answer.status in (403, 404)
    assert b"drafts" not in answer.body


@pytest.mark.parametrize("name", ["Author", "Autor", "Nothing"])
@pytest.mark.parametrize("actor", ["bo", "iv", "zed"])
def test_who_may_not_read_learns_no_type(tagged: HttpServer, name: str, actor: str) -> None:
    answer = tagged.send("GET", f"{G}/diff?from=main&type={name}", token=f"t-{actor}")
    assert (answer.status, b"Author" in answer.body) == (403, False)


def test_a_caller_who_is_not_told_the_name_is_told_how_to_find_it(tagged: HttpServer) -> None:
    """`ann` may read a branch of that name, and `bo` write one; neither may list the branches."""
    mutation = {"query": ADD_AUTHOR, "params": {"h": "x"}, "branch": "draft"}
    for answer in (
        tagged.send("GET", f"{G}/snapshot?branch=draft", token="t-ann"),
        tagged.send("GET", f"{G}/diff?from=draft", token="t-ann"),
        tagged.send("POST", f"{G}/mutate", token="t-bo", json=mutation),
    ):
        assert hint_of(answer) == "list the branches with `omnigraph branch list`"


def test_what_is_only_asked_for_a_hint_is_no_decision(tagged: HttpServer) -> None:
    tagged.send("GET", f"{G}/snapshot?branch=draft", headers={"X-Request-Id": "misspelt"})
    tagged.logged("request_id=misspelt", " request ")
    decided = [line for line in tagged.log_text().splitlines() if "misspelt" in line and "policy decision" in line]
    assert len(decided) == 1


# --- graphs ---------------------------------------------------------------------------------------------------


def test_a_misspelt_graph_is_answered_with_the_nearest_that_the_caller_may_read(library: HttpServer) -> None:
    for token, name, hint in (
        ("t-cy", "librari", "did you mean 'library'?"),
        ("t-zed", "librari", ""),
        ("t-iv", "librari", ""),
        ("t-zed", "spar", "did you mean 'spare'?"),
        ("t-cy", "nowhere", ""),
    ):
        answer = library.send("GET", f"/graphs/{name}/schema", token=token)
        assert answer.json["error"] == f"graph '{name}' not found"
        assert hint_of(answer) == hint, (token, name)
    assert "hint" not in library.send("GET", "/graphs/librari/schema", token=None).json


def test_an_open_server_names_its_graphs_and_branches(opened: HttpServer) -> None:
    assert hint_of(opened.send("GET", "/graphs/librari/schema")) == "did you mean 'library'?"
    assert hint_of(opened.send("GET", f"{G}/snapshot?branch=draft")) == "did you mean 'drafts'?"


# --- stored queries -------------------------------------------------------------------------------------------


def invoked(server: HttpServer, name: str, actor: str) -> Answer:
    return server.send("POST", f"{G}/queries/{name}", token=f"t-{actor}", json={})


def test_a_misspelt_stored_query_is_answered_with_the_nearest(library: HttpServer) -> None:
    for path in ("born_aftr", "born_aftr/if-graph-commit"):
        headers = {"Omnigraph-If-Graph-Commit": "x"} if "/" in path else {}
        answer = library.send("POST", f"{G}/queries/{path}", token="t-ann", json={}, headers=headers)
        assert hint_of(answer) == "did you mean 'born_after'?"


@pytest.mark.parametrize("actor", ["bo", "iv", "zed"])
def test_who_may_not_run_or_list_stored_queries_learns_none_by_misspelling(library: HttpServer, actor: str) -> None:
    """`bo` may list and not run them, `iv` run and not list them, `zed` neither."""
    answer = invoked(library, "born_aftr", actor)
    assert answer.body == invoked(library, "nope", actor).body
    assert all(name.encode() not in answer.body for name in QUERIES)


def test_a_query_that_may_not_be_run_is_told_like_one_that_does_not_exist(tagged: HttpServer) -> None:
    assert hint_of(invoked(tagged, "all_author", "ann")) == "did you mean 'all_authors'?"
    assert invoked(tagged, "born_after", "ann").body == invoked(tagged, "born_aftr", "ann").body
    assert hint_of(invoked(tagged, "born_aftr", "ann")) == ""


# --- the client -----------------------------------------------------------------------------------------------


def test_the_client_tells_what_the_server_suggests(tagged: HttpServer) -> None:
    graph = og.open(f"{tagged.base}/graphs/library", token="t-cy")
    with pytest.raises(og.BranchNotFound) as branch:
        graph.query(ALL_AUTHORS, branch="draft")
    assert branch.value.hint == "did you mean 'drafts'?"
    with pytest.raises(og.NotFound) as query:
        graph.run_stored("all_author")
    assert query.value.hint == "did you mean 'all_authors'?"
    with pytest.raises(og.NotFound) as wrong:
        og.open(f"{tagged.base}/graphs/librari", token="t-cy").snapshot()
    assert wrong.value.hint == "did you mean 'library'?"
    assert json.loads(json.dumps(branch.value.details())) == {"branch": "draft"}
