"""Boot: what starts, what does not and why, and what is left out."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import signal
from pathlib import Path

import pytest

from omnigraph.server.__main__ import main
from omnigraph.server.settings import settings_from
from policy.library import LIBRARY
from server.served_library import TOKENS, open_server, write_library
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import TOKENS_JSON, server_command, serving
from support.servers.http_server import failing as failing_process

ONE_TOKEN = "OMNIGRAPH_SERVER_BEARER_TOKEN"
ALL = {TOKENS_JSON: json.dumps(TOKENS)}


def failing(command: list[str], **variables: str) -> tuple[int, str]:
    """A server that must not start, in this process: its exit code, and what it says on stderr."""
    told = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(told):
        for name, value in variables.items():
            patch.setenv(name, value)
        return main(command[3:]), told.getvalue()


def boot(cluster: str, *arguments: str) -> list[str]:
    return server_command("--cluster", cluster, "--bind", "127.0.0.1:0", *arguments)


@pytest.fixture
def plain(tmp_path: Path) -> WrittenCluster:
    """One empty graph, no policy."""
    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("one", queries={"all": "query all() { match { $t: Thing } return { $t.name } }"})
    cluster.write()
    return cluster


def test_http_1_a_server_boots_from_a_cluster() -> None:
    code, told = failing_process(server_command())
    assert (code != 0, "boots from a cluster" in told) == (True, True)


def test_http_2_a_cluster_that_nothing_was_applied_to_is_refused(tmp_path: Path) -> None:
    code, told = failing_process(boot(str(tmp_path)), **ALL)
    assert (code != 0, "[cluster_state_missing]" in told) == (True, True)


def test_http_3_a_stored_query_that_was_altered_is_refused(plain: WrittenCluster) -> None:
    (Path(plain.root) / plain.query_payload("one", "all")).write_text("query all() {}")
    code, told = failing(boot(plain.root), **ALL)
    assert code != 0
    assert "catalog_payload_digest_mismatch" in told
    assert "cluster refresh" in told


def test_http_4_without_tokens_and_policy_the_flag_is_needed(plain: WrittenCluster, tmp_path: Path) -> None:
    code, told = failing(boot(plain.root), OMNIGRAPH_UNAUTHENTICATED="false")
    assert (code != 0, "--unauthenticated" in told) == (True, True)
    with serving(boot(plain.root), tmp_path, OMNIGRAPH_UNAUTHENTICATED="1") as server:
        assert server.send("GET", "/healthz").status == 200


def test_without_tokens_only_this_machine_is_served(plain: WrittenCluster) -> None:
    command = server_command("--cluster", plain.root, "--bind", "0.0.0.0:0", "--unauthenticated")
    code, told = failing(command)
    assert (code != 0, "this machine only" in told) == (True, True)


def test_http_5_a_policy_without_tokens_is_refused(plain: WrittenCluster) -> None:
    plain.policy("rules", LIBRARY, ["graph.one"])
    plain.write()
    code, told = failing(boot(plain.root, "--unauthenticated"))
    assert code != 0
    assert "policy file is configured but no bearer tokens" in told
    assert "every request would 401" in told


def test_http_6_the_address_is_printed_once_and_logs_go_to_stderr(plain: WrittenCluster, tmp_path: Path) -> None:
    with serving(boot(plain.root, "--unauthenticated"), tmp_path) as server:
        assert server.send("GET", "/healthz").status == 200
        assert server.output.read_text() == f"OMNIGRAPH_LISTEN_ADDR=127.0.0.1:{server.port}\n"
        assert "\x1b" not in server.log_text()


def test_http_7_a_graph_that_cannot_open_is_left_out(tmp_path: Path) -> None:
    cluster = write_library(tmp_path)
    shutil.rmtree(Path(cluster.uri_of("spare")) / "__manifest")
    with serving(boot(cluster.root), tmp_path, **ALL) as server:
        server.default_token = "t-cy"
        assert [each["graph_id"] for each in server.send("GET", "/graphs").json["graphs"]] == ["library"]
        assert server.send("GET", "/graphs/spare/schema").status == 404
        assert server.send("GET", "/graphs/library/schema").status == 200
        assert server.send("GET", "/readyz").json["graphs"][1] == {"graph_id": "spare", "state": "unavailable"}
    code, told = failing(boot(cluster.root, "--require-all-graphs"), **ALL)
    assert (code != 0, "spare" in told) == (True, True)


def test_http_8_a_stored_query_that_does_not_fit_the_schema_leaves_its_graph_out(tmp_path: Path) -> None:
    cluster = WrittenCluster(tmp_path / "c")
    cluster.graph("one")
    cluster.graph("two", queries={"bad": "query bad() { match { $n: Nowhere } return { $n.x } }"})
    cluster.write()
    with serving(boot(cluster.root, "--unauthenticated"), tmp_path) as server:
        assert server.send("GET", "/graphs/two/schema").status == 404
        line = server.logged("graph skipped")
        assert all(word in line for word in ("graph=two", "bad", "schema check", "Nowhere"))


def test_http_9_two_actors_with_one_token_are_refused(plain: WrittenCluster) -> None:
    code, told = failing(boot(plain.root), **{TOKENS_JSON: '{"ann":"same-secret","bo":"same-secret"}'})
    assert (code != 0, "same bearer token" in told, "same-secret" in told) == (True, True, False)


def test_http_10_the_single_token_is_added_to_the_others(plain: WrittenCluster, tmp_path: Path) -> None:
    with serving(boot(plain.root), tmp_path, **{ONE_TOKEN: "x", TOKENS_JSON: '{"ann":"y"}'}) as server:
        for token in ("x", "y"):
            assert server.send("GET", "/graphs/one/schema", token=token).status == 200
        server.logged("actor_id=default")


def test_http_11_a_secret_without_its_library_is_refused(plain: WrittenCluster) -> None:
    secret = {"OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET": "arn:x", ONE_TOKEN: "x"}
    code, told = failing(boot(plain.root), **secret)
    assert (code != 0, "boto3" in told) == (True, True)


def test_http_12_a_rule_about_a_graph_in_the_policy_of_the_server_is_refused(plain: WrittenCluster) -> None:
    wrong = "version: 1\ngroups: {g: [ann]}\nrules: [{id: r, allow: {actors: {group: g}, actions: [read]}}]"
    plain.policy("front-door", wrong, ["cluster"])
    plain.write()
    code, told = failing(boot(plain.root), **ALL)
    assert (code != 0, "per-graph" in told) == (True, True)


def test_http_13_a_server_that_is_told_to_stop_exits_with_success(tmp_path: Path) -> None:
    with open_server(tmp_path) as server:
        assert server.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "is not a JSON object"),
        ('{"":"x"}', "blank"),
        ('{"ann":" "}', "blank"),
        ('{"ann":"x","ann":"y"}', "twice"),
        ("{", "not valid JSON"),
    ],
)
def test_tokens_that_cannot_be_used_are_refused(plain: WrittenCluster, text: str, reason: str) -> None:
    code, told = failing(boot(plain.root), **{TOKENS_JSON: text})
    assert (code != 0, reason in told) == (True, True)


def test_a_limit_that_is_no_number_counts_as_unset() -> None:
    settings, warnings = settings_from({"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "many"})
    assert (settings.inflight_max, len(warnings)) == (16, 1)
