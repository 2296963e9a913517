"""Agents use a graph through the official MCP client: over stdio, over HTTP, and through a server with a policy."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import omnigraph as og
from omnigraph.mcp import make_toolbox
from policy.library import LIBRARY
from server.served_library import library_server

READING = {
    "health", "schema_get", "branches_list", "snapshot", "commits_list", "commits_get", "commit_changes",
    "changes_poll", "diff", "blob_stat", "merge_propose", "query", "explain",
}  # fmt: skip
WRITING = {"mutate", "mutate_if_commit", "load_ndjson", "branches_create", "branches_delete", "branches_merge"}
ALL = "query all() { match { $a: Author } return { $a.handle, $a.born } order { $a.handle } }"
Work = Callable[[Client], Awaitable[None]]


def with_client(server: StdioServerParameters | str, work: Work) -> None:
    """Runs the work of an agent; nothing of it may take longer than a minute."""

    async def run() -> None:
        with anyio.fail_after(60):
            async with Client(server) as client:
                await work(client)

    anyio.run(run)


async def call(client: Client, name: str, /, **arguments: Any) -> Any:
    """A call that succeeds: the text and the structured content say the same."""
    result = await client.call_tool(name, arguments)
    document = json.loads(result.content[0].text)
    assert not result.is_error, document
    assert result.structured_content == document
    return document


async def refused(client: Client, name: str, /, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert result.is_error, result
    return json.loads(result.content[0].text)["error"]


def test_an_agent_lists_tools_queries_writes_on_a_branch_and_proposes_a_merge(shelf: Path, command: Any) -> None:
    og.init(shelf / "work.omni", schema=(og.open(shelf / "lib.omni").schema_source), durability="os")

    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == READING | WRITING | {"born_after", "add_author"}
        assert tools["query"].annotations.read_only_hint is True
        assert tools["mutate"].annotations.destructive_hint is True
        assert tools["born_after"].description == "Authors born after a year. Pass y."
        assert tools["born_after"].input_schema["properties"]["n"] == {
            "type": ["string", "null"],
            "pattern": r"^-?\d+$",
        }
        assert tools["born_after"].input_schema["required"] == ["y"]
        assert "node Author" in (await call(client, "schema_get"))["schema_source"]
        assert (await call(client, "branches_create", name="agent/1"))["from"] == "main"
        add = "query add($h: String) { insert Author { handle: $h } }"
        done = await call(client, "mutate", query=add, params={"h": "butler"}, branch="agent/1", message="found one")
        assert (done["affected_nodes"], done["commit"]["graph_branch"], done["actor_id"]) == (1, "agent/1", "bot")
        assert (await call(client, "add_author", h="lem", branch="agent/1"))["affected_nodes"] == 1
        loaded = await call(client, "load_ndjson", branch="agent/1", data='{"type":"Author","data":{"handle":"x"}}')
        assert loaded["nodes"] == {"Author": 1}
        rows = (await call(client, "query", query=ALL, branch="agent/1"))["rows"]
        assert [row["a.handle"] for row in rows] == ["butler", "lem", "x"]
        assert (await call(client, "query", query=ALL))["rows"] == []
        proposal = await call(client, "merge_propose", source="agent/1")
        assert (proposal["proposal"]["outcome"], proposal["proposal"]["commit"]) == ("fast_forward", None)
        assert [change["id"] for change in proposal["changes"]] == ["butler", "lem", "x"]
        assert "ready" in proposal["advice"]
        assert (await call(client, "query", query=ALL))["rows"] == [], "a proposal changes nothing"
        merged = await call(client, "branches_merge", source="agent/1", delete_branch=True)
        assert (merged["outcome"], merged["branch_deleted"]) == ("fast_forward", True)
        changed = await call(client, "commit_changes", commit_id=merged["commit"])
        assert len(changed["changes"]) == 3
        late = await refused(client, "mutate_if_commit", query=add, params={"h": "y"}, branch="main", if_commit="0123")
        assert (late["code"], "hint" in late or late["details"]["expected"]) == ("precondition_failed", "0123")
        resources = {str(each.uri) for each in (await client.list_resources()).resources}
        assert resources == {"omnigraph://schema", "omnigraph://branches"}
        read = await client.read_resource("omnigraph://branches")
        assert json.loads(read.contents[0].text) == {"branches": ["main"]}
        assert (await client.list_prompts()).prompts == []

    with_client(command("work.omni", "--allow-writes", "--queries", "library.gq", "--as", "bot"), work)


def test_reading_is_all_that_an_agent_gets_unless_the_operator_says_more(command: Any) -> None:
    async def work(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING | {"born_after"}
        for name in ("mutate", "add_author", "branches_create", "nope"):
            with pytest.raises(MCPError) as unknown:
                await client.call_tool(name, {})
            assert (unknown.value.code, unknown.value.message) == (-32602, f"unknown tool '{name}'")
        wrong = await refused(client, "query", query="query q() { match { $a: Autor } return { $a.handle } }")
        assert (wrong["code"], "Author" in wrong["hint"]) == ("compile_error", True)
        assert (await refused(client, "query", query=ALL, branch="nope"))["code"] == "branch_not_found"
        insert = 'query add() { insert Author { handle: "x" } }'
        assert (await refused(client, "query", query=insert))["code"] == "wrong_query_kind"

    with_client(command("lib.omni", "--queries", "library.gq"), work)


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("query", {}, "'query' needs the argument 'query'", "query: The text of the query"),
    ("query", {"query": None}, "'query' needs the argument 'query'", "query: The text of the query"),
    ("query", {"query": 5}, "'query' must be text, not 5", "query: The text of the query"),
    ("query", {"query": ALL, "brnch": "main"}, "'query' has no argument 'brnch'", "did you mean 'branch'?"),
    ("query", {"query": ALL, "x": 1}, "'query' has no argument 'x'", "query, name, params, branch, snapshot, offset"),
    ("query", {"query": ALL, "params": "y"}, "'params' must be an object, not 'y'", "params: The parameters by name"),
    ("query", {"query": ALL, "offset": -1}, "'offset' must be an integer of 0 or more, not -1", "offset: Go on"),
    ("commits_list", {"limit": True}, "'limit' must be an integer of 1 or more, not true", "limit: At most"),
    ("health", {"x": 1}, "'health' has no argument 'x'", "it takes no arguments"),
    ("blob_stat", {"type": "T"}, "'blob_stat' needs the arguments 'entity', 'id', 'property'", "entity: node or edge."),
    (
        "blob_stat",
        {"entity": "nod", "type": "T", "id": "x", "property": "p"},
        "'entity' must be one of node, edge, not 'nod'",
        "did you mean 'node'?",
    ),
    (
        "diff",
        {"before": "main", "kinds": ["nod"]},
        "'kinds' must be a list of node, edge, not [\"nod\"]",
        "kinds: Only",
    ),
    ("born_after", {"y": "1900"}, "'y' must be an integer, not '1900'", ""),
    ("born_after", {"y": 1, "n": 1.5}, "'n' must be text, not 1.5", ""),
]


def test_a_call_with_wrong_arguments_is_answered_with_what_is_right(command: Any) -> None:
    """An agent reads results and corrects itself; of a protocol error it sees nothing."""

    async def work(client: Client) -> None:
        for name, arguments, message, hint in WRONG:
            told = await refused(client, name, **arguments)
            assert (told["code"], told["message"]) == ("invalid_arguments", message)
            assert hint in told.get("hint", ""), told
        misspelt = await refused(client, "query", query=ALL, branch="mian")
        assert (misspelt["code"], misspelt["hint"]) == ("branch_not_found", "did you mean 'main'?")

    with_client(command("lib.omni", "--queries", "library.gq"), work)


def test_a_large_result_comes_in_parts_of_one_state(shelf: Path, command: Any) -> None:
    async def work(client: Client) -> None:
        first = await call(client, "query", query=ALL)
        assert len(json.dumps(first)) < 16_000
        rows, rest, parts = first["rows"], first["rest"], 1
        og.open(shelf / "lib.omni").create_branch("elsewhere")
        while rest is not None:
            part = await call(client, "query", query=ALL, snapshot=rest["snapshot"], offset=rest["offset"])
            rows, rest, parts = rows + part["rows"], part.get("rest"), parts + 1
        assert (len(rows), rows[0]["a.handle"], rows[-1]["a.handle"]) == (2000, "a0000", "a1999")
        assert parts > 3
        stored = await call(client, "born_after", y=0)
        assert stored["rest"]["remaining"] + len(stored["rows"]) == 1999

    with_client(command("lib.omni", "--max-bytes", "8192", "--queries", "library.gq"), work)


def test_a_policy_hides_what_its_actor_may_never_do(shelf: Path, command: Any) -> None:
    (shelf / "policy.yaml").write_text(LIBRARY)

    async def reader(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == READING - {"merge_propose"}, "bo may read, and nothing else"
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("mutate", {"query": "q", "branch": "main"})

    async def editor(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"mutate", "branches_create"} <= names
        assert "branches_merge" not in names
        denied = await refused(client, "mutate", query='query a() { insert Author { handle: "z" } }', branch=" main ")
        assert denied["code"] == "policy_denied"

    options = ("lib.omni", "--allow-writes", "--policy", "policy.yaml")
    with_client(command(*options, "--as", "bo"), reader)
    with_client(command(*options, "--as", "ann"), editor)


OWN_BRANCHES = """
version: 1
groups: { team: [ada] }
rules:
  - { id: reading, allow: { actors: { group: team }, actions: [read], branch_scope: any } }
  - id: own-branches
    allow: { actors: { group: team }, actions: [branch_create, branch_delete], branches: ["ada/*"] }
  - { id: own-work, allow: { actors: { group: team }, actions: [change], branches: ["ada/*"] } }
"""


def test_a_tool_that_is_allowed_on_branches_of_some_name_is_there(shelf: Path) -> None:
    (shelf / "own.yaml").write_text(OWN_BRANCHES)
    with og.open(shelf / "lib.omni", policy=shelf / "own.yaml", actor="ada") as graph:
        names = {tool.name for tool in make_toolbox(graph, allow_writes=True).tools}
        assert {"branches_create", "branches_delete", "mutate"} <= names
        assert "branches_merge" not in names
        assert graph.allows("branch_create", on_some_branch=True)
        assert not graph.allows("branch_merge", on_some_branch=True)


def test_a_stored_mutation_must_be_given_its_branch(shelf: Path) -> None:
    from omnigraph.mcp import queries_of_file

    stored = queries_of_file(str(shelf / "library.gq"))
    for queries in (stored, stored * 13):
        toolbox = make_toolbox(og.open(shelf / "lib.omni"), allow_writes=True, queries=queries)
        name, given = ("add_author", {"h": "new"}) if queries is stored else ("stored_query_run", {})
        arguments = given or {"name": "add_author", "params": {"h": "new"}}
        told, is_error = toolbox.run(name, arguments)
        assert (is_error, told["error"]["code"]) == (True, "invalid_arguments")
        assert "needs the argument 'branch'" in told["error"]["message"]


def test_over_http_agents_of_this_machine_are_served_and_foreign_pages_are_not(shelf: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "omnigraph.cli", "mcp", "lib.omni", "--http", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=shelf,
    )
    try:
        assert started.stdout is not None
        address = started.stdout.readline().split()[-1]

        async def work(client: Client) -> None:
            assert {tool.name for tool in (await client.list_tools()).tools} == READING
            counted = await call(client, "snapshot")
            assert {each["type_name"]: each["entity_count"] for each in counted["types"]}["Author"] == 2000

        with_client(address, work)
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        foreign = httpx2.post(address, json=body, headers=accept | {"Origin": "https://evil.example"})
        rebound = httpx2.post(address, json=body, headers=accept | {"Host": "evil.example"})
        assert (foreign.status_code, rebound.status_code) == (403, 421)
    finally:
        started.send_signal(signal.SIGINT)
        assert started.wait(30) is not None


def test_through_a_server_the_token_decides_and_stored_queries_are_tools(tmp_path: Path) -> None:
    with library_server(tmp_path) as server:
        toolbox = make_toolbox(og.open(f"{server.base}/graphs/library", token="t-ann"), allow_writes=True)
        assert {"all_authors", "born_after", "add_author"} <= {tool.name for tool in toolbox.tools}
        rows, is_error = toolbox.run("born_after", {"y": 1900})
        assert (is_error, rows["rows"]) == (False, [{"a.handle": "le-guin", "a.born": 1929}])
        denied, is_error = toolbox.run("add_author", {"h": "x", "branch": "main"})
        assert (is_error, denied["error"]["code"]) == (True, "policy_denied")
        done, _ = toolbox.run("add_author", {"h": "x", "branch": "drafts"})
        assert (done["affected_nodes"], done["actor_id"]) == (1, "ann")
        denied, is_error = toolbox.run("merge_propose", {"source": "drafts"})
        assert (is_error, denied["error"]["code"]) == (True, "policy_denied")
        merger = make_toolbox(og.open(f"{server.base}/graphs/library", token="t-mo"))
        proposal, is_error = merger.run("merge_propose", {"source": "drafts"})
        assert (is_error, [change["id"] for change in proposal["changes"]]) == (False, ["x"])


def test_many_stored_queries_are_two_tools(tmp_path: Path, shelf: Path) -> None:
    from omnigraph.mcp import queries_of_file

    text = "\n".join(f"query q{n}() {{ match {{ $a: Author }} return {{ count($a) as n }} }}" for n in range(25))
    (tmp_path / "many.gq").write_text(text)
    toolbox = make_toolbox(og.open(shelf / "lib.omni"), queries=queries_of_file(str(tmp_path / "many.gq")))
    names = {tool.name for tool in toolbox.tools}
    assert {"stored_query_list", "stored_query_run"} <= names
    assert "q1" not in names
    listed, _ = toolbox.run("stored_query_list", {})
    assert len(listed["queries"]) == 25
    assert toolbox.run("stored_query_run", {"name": "q7"})[0]["rows"] == [{"n": 2000}]
    told, is_error = toolbox.run("stored_query_run", {"name": "qq7"})
    assert (is_error, told["error"]["hint"]) == (True, "did you mean 'q7'?")
    assert "stored_query_list" in toolbox.run("stored_query_run", {"name": "nope"})[0]["error"]["hint"]


def test_without_the_extra_the_command_exits_1_and_names_it(shelf: Path) -> None:
    hidden = (
        "import sys; sys.modules['mcp_types'] = None\n"
        "from omnigraph.cli.root import root\nroot.main(['mcp', 'lib.omni'])"
    )
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, cwd=shelf, check=False)
    assert (done.returncode, "omnigraph[mcp]" in done.stderr, done.stdout) == (1, True, "")


def test_a_policy_without_an_actor_is_refused_at_the_start(shelf: Path) -> None:
    policy = shelf / "policy.yaml"
    policy.write_text(LIBRARY)
    command = [sys.executable, "-m", "omnigraph.cli", "mcp", str(shelf / "lib.omni"), "--policy", str(policy)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert (ended.returncode, "--as" in ended.stderr) == (1, True), ended.stderr
