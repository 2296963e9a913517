"""What changes while a server runs: tokens, the applied revision, graphs that come back, recoveries."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.server.boot import watching
from omnigraph.server.boot.launch import Launch
from omnigraph.server.boot.opening import open_generation
from omnigraph.server.boot.run import boot
from omnigraph.server.serving import Serving
from omnigraph.server.state import Generation
from omnigraph.storage import open_storage
from server.served_library import (
    ADD_AUTHOR,
    ALL_AUTHORS,
    BORN_AFTER,
    SCHEMA,
    TOKENS,
    G,
    fill_library,
    library_server,
    write_library,
)
from support.clusters.written_ledger import WrittenCluster
from support.processes.interrupted_writes import PERSON, interrupted
from support.processes.interrupted_writes import SCHEMA as PEOPLE
from support.servers.http_server import TOKENS_JSON, HttpServer, server_command, serving

TOKENS_FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"


def test_tokens_are_read_again_when_their_file_changes_or_on_a_signal(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"ann": "old"}))
    cluster = write_library(tmp_path)
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0")
    with serving(command, tmp_path, **{TOKENS_FILE: str(file)}) as server:

        def status(token: str) -> int:
            return server.send("GET", f"{G}/schema", token=token).status

        assert (status("old"), status("new")) == (200, 401)
        file.write_text(json.dumps({"ann": "new"}))
        server.process.send_signal(signal.SIGHUP)
        server.logged("bearer tokens reloaded")
        assert (status("old"), status("new")) == (401, 200)
        file.write_text("{ broken")
        server.logged("kept as they were")
        assert status("new") == 200
        file.write_text(json.dumps({"ann": "newer", "bo": "other"}))
        server.logged("bearer tokens reloaded", "actors=2")
        assert (status("newer"), status("new")) == (200, 401)
        assert "newer" not in server.log_text()


def test_an_applied_revision_is_served_without_a_restart(tmp_path: Path) -> None:
    with library_server(tmp_path) as server:
        cluster: WrittenCluster = server.extra["cluster"]
        assert server.send("POST", f"{G}/queries/born_before", json={}).status == 404
        queries = {"one": "query one() { match { $a: Author } return { $a.handle } limit 1 }"}
        cluster.graph("library", schema="", queries=queries, create=False)
        cluster.write()
        server.logged("revision served")
        assert server.send("POST", f"{G}/queries/one", json={}).json["row_count"] == 1
        assert [each["name"] for each in server.send("GET", f"{G}/queries").json["queries"]] == ["one"]
        Path(cluster.root, "__cluster", "state.json").write_text("{ broken")
        server.logged("what is served stays as it was")
        assert server.send("POST", f"{G}/queries/one", json={}).status == 200


def test_one_served_graph_has_the_queries_of_a_file_and_follows_its_changes(tmp_path: Path) -> None:
    uri, file = str(tmp_path / "library.omni"), tmp_path / "books.gq"
    fill_library(Graph.init(uri, SCHEMA).uri, tmp_path / "assets")
    file.write_text(f"{ALL_AUTHORS}\n{ADD_AUTHOR}\n")
    command = [sys.executable, "-m", "omnigraph.cli", "serve", uri, "--port", "0", "--queries", str(file)]
    with serving(command, tmp_path) as server:

        def names() -> list[str]:
            return [each["name"] for each in server.send("GET", f"{G}/queries").json["queries"]]

        assert names() == ["add_author", "all_authors"]
        assert server.send("POST", f"{G}/queries/add_author", json={"params": {"h": "eco"}}).status == 200
        assert server.send("POST", f"{G}/queries/all_authors", json={}).json["row_count"] == 4
        file.write_text(BORN_AFTER)
        server.logged("revision served")
        assert names() == ["born_after"]
        file.write_text("query broken() { match { $a: Nobody } return { $a.x } }")
        server.logged("what is served stays as it was")
        assert names() == ["born_after"]
        file.write_text(ALL_AUTHORS)
        server.logged("revision served", times=2)
        assert names() == ["all_authors"]


def test_one_served_graph_with_queries_that_do_not_fit_does_not_start_and_says_which(tmp_path: Path) -> None:
    uri, file = str(tmp_path / "library.omni"), tmp_path / "books.gq"
    Graph.init(uri, SCHEMA).close()
    file.write_text("query broken() { match { $a: Nobody } return { $a.x } }")
    command = [sys.executable, "-m", "omnigraph.cli", "serve", uri, "--port", "0", "--queries", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "query 'broken'" in ended.stderr
    assert "Nobody" in ended.stderr
    missing = subprocess.run([*command[:-1], str(file) + "x"], capture_output=True, text=True, timeout=60, check=False)
    assert missing.returncode == 1
    assert "query file" in missing.stderr


def test_what_cannot_be_served_is_tried_again_less_and_less_often_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, file = str(tmp_path / "library.omni"), tmp_path / "books.gq"
    Graph.init(uri, SCHEMA, durability="os").close()
    file.write_text(ALL_AUTHORS)
    booted = boot(Launch(store=uri, graph_id="library", queries_file=str(file), unauthenticated=True))
    tried: list[float] = []

    def counted(serving: Serving, **given: Any) -> Generation:
        tried.append(now)
        return open_generation(serving, **given)

    monkeypatch.setattr(watching, "open_generation", counted)
    file.write_text("query broken() { match { $a: Nobody } return { $a.x } }")
    for now in map(float, range(0, 40, 2)):
        booted.watcher._reload_serving(now)
    assert tried == [0, 2, 6, 14, 30]
    file.write_text(BORN_AFTER)
    now = 40.0
    booted.watcher._reload_serving(now)
    assert list(booted.state.generation.graphs["library"].stored) == ["born_after"]


def test_serving_what_is_no_graph_ends_with_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "omnigraph.cli", "serve", str(tmp_path / "nowhere.omni"), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "no graph at" in ended.stderr.splitlines()[-1], ended.stderr


def test_a_graph_that_could_not_be_served_comes_back_and_is_unavailable_until_then(tmp_path: Path) -> None:
    cluster = write_library(tmp_path)
    manifest, away = Path(cluster.uri_of("library")) / "__manifest", tmp_path / "away"
    shutil.move(manifest, away)
    tokens = {TOKENS_JSON: json.dumps(TOKENS)}
    with serving(server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0"), tmp_path, **tokens) as server:
        waiting = server.send("GET", f"{G}/schema", token="t-bo")
        assert (waiting.status, "code" in waiting.json, waiting.header("Retry-After")) == (503, False, "5")
        assert str(tmp_path).encode() not in waiting.body
        assert server.send("GET", f"{G}/schema", token="t-zed").status == 404, "who may not read it learns nothing"
        shutil.move(away, manifest)
        server.logged("revision served", "skipped=0")
        assert server.send("GET", f"{G}/schema", token="t-bo").status == 200


@pytest.fixture
def people(tmp_path: Path) -> WrittenCluster:
    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("people", schema=PEOPLE)
    cluster.write()
    return cluster


def test_http_63_replaced_a_write_that_another_process_left_is_resolved_by_the_next_one(
    people: WrittenCluster, tmp_path: Path
) -> None:
    """The contract had 503 until a restart; whoever writes next finishes the interrupted write or takes it back."""
    command = server_command("--cluster", people.root, "--bind", "127.0.0.1:0", "--unauthenticated")
    with serving(command, tmp_path) as server:
        left = interrupted(open_storage(people.uri_of("people")), commits=[PERSON])
        pending = server.send("GET", "/graphs/people/recovery").json
        assert [each["operation_id"] for each in pending["pending"]] == [left.operation_id]
        body = {"query": 'query q() { insert Person { name: "Ada" } }'}
        assert server.send("POST", "/graphs/people/mutate", json=body).status == 200
        after = server.send("GET", "/graphs/people/recovery").json
        assert (after["pending"], [each["operation_id"] for each in after["resolved"]]) == ([], [left.operation_id])


def test_http_63_a_recovery_that_cannot_be_done_is_told(people: WrittenCluster, tmp_path: Path) -> None:
    command = server_command("--cluster", people.root, "--bind", "127.0.0.1:0", "--unauthenticated")
    with serving(command, tmp_path) as server:
        left = interrupted(open_storage(people.uri_of("people")), commits=[PERSON])
        sidecar = next(Path(people.uri_of("people")).glob("__recovery/*"))
        sidecar.write_text(sidecar.read_text().replace("/nodes/", "/gone/"))
        body = {"query": 'query q() { insert Person { name: "Ada" } }'}
        answer = server.send("POST", "/graphs/people/mutate", json=body)
        assert (answer.status, "code" in answer.json) == (503, False)
        assert answer.json["recovery_required"] == {"operation_id": left.operation_id}
        assert answer.header("Retry-After") == "1"
        assert server.send("GET", "/graphs/people/snapshot").status == 200, "reads go on"


def test_metrics_count_operations_and_statuses_and_no_actors(library: HttpServer) -> None:
    library.send("GET", f"{G}/schema")
    library.send("POST", f"{G}/mutate", token="t-bo", json={"query": ADD_AUTHOR, "params": {"h": "x"}})
    assert library.send("GET", "/metrics", token=None).status == 401
    library.logged("status=403", "/mutate")
    text = library.send("GET", "/metrics").body.decode()
    assert 'omnigraph_requests_total{operation="cluster_getSchema",status="200"}' in text
    assert 'omnigraph_requests_total{operation="cluster_mutate",status="403"}' in text
    assert 'omnigraph_policy_decisions_total{action="change",decision="deny"}' in text
    assert 'omnigraph_request_seconds_bucket{operation="cluster_getSchema",le="+Inf"}' in text
    assert not any(f'"{actor}"' in text for actor in TOKENS)


def test_readiness_shows_graphs_to_known_callers_alone(library: HttpServer) -> None:
    assert library.send("GET", "/readyz", token=None).json == {"status": "ready"}
    assert library.send("GET", "/readyz").json["graphs"] == [
        {"graph_id": "library", "state": "serving"},
        {"graph_id": "spare", "state": "serving"},
    ]


ADMIN = """version: 1
groups: {all: [ann, cy], bosses: [cy]}
rules:
  - {id: work, allow: {actors: {group: all}, actions: [read, change]}}
  - {id: rule, allow: {actors: {group: bosses}, actions: [admin]}}
"""


def test_decisions_are_kept_for_those_who_administer(tmp_path: Path) -> None:
    with library_server(tmp_path, policy=ADMIN) as server:
        made = server.send(
            "POST",
            f"{G}/mutate",
            token="t-ann",
            json={"query": ADD_AUTHOR, "params": {"h": "x"}},
            headers={"X-Request-Id": "look"},
        ).json["commit"]["graph_commit_id"]
        server.send("POST", f"{G}/export", token="t-ann", json={})
        assert server.send("GET", f"{G}/decisions", token="t-ann").status == 403
        found = server.send("GET", f"{G}/decisions").json
        change = next(each for each in found["decisions"] if each["action"] == "change")
        assert (change["actor_id"], change["allowed"], change["rule"]) == ("ann", True, "work")
        assert (change["request_id"], change["graph_commit_id"], change["branch"]) == ("look", made, "main")
        denied = next(each for each in found["decisions"] if each["action"] == "export")
        assert (denied["allowed"], denied["rule"]) == (False, None)
        after = server.send("GET", f"{G}/decisions?after={found['next_cursor']}").json
        assert {each["action"] for each in after["decisions"]} <= {"admin"}
