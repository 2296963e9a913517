"""Commands on a server: addressing, tokens, stored queries, aliases, and the same output as on a store.

One real server process with the library of the command line; where it matters what was sent, a scripted one.
"""

from __future__ import annotations

import json
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from policy.library import SERVER
from support.clusters.written_ledger import WrittenCluster
from support.servers.http_server import TOKENS_JSON, HttpServer, server_command, serving
from support.servers.scripted_http import Scripted, scripted

DATA = Path(__file__).parent / "data" / "library"
SCHEMA, SEED = (DATA / "library.pg").read_text(), DATA / "seed.jsonl"
QUERIES = (DATA / "library.gq").read_text()
ALL = "query all() { match { $b: Book } return { $b.title } order { $b.title } }"
POLICY = """
version: 1
groups: { all: [cy, bo], editors: [cy] }
rules:
  - { id: read, allow: { actors: { group: all }, actions: [read, invoke_query] } }
  - id: write
    allow: { actors: { group: editors }, actions: [change, export, branch_create, branch_delete, branch_merge] }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Two graphs of the library; `cy` may do everything, `bo` may read."""
    folder = tmp_path_factory.mktemp("served")
    cluster = WrittenCluster(folder / "cluster")
    for name in ("catalog", "twin"):
        cluster.graph(name, schema=SCHEMA, queries={"books_by": QUERIES, "add_author": QUERIES})
        og.open(cluster.uri_of(name), actor="cy", durability="os").load(SEED, mode="append")
    cluster.policy("rules", POLICY, ["graph.catalog", "graph.twin"])
    cluster.policy("front-door", SERVER, ["cluster"])
    cluster.write()
    tokens = json.dumps({"cy": "t-cy", "bo": "t-bo"})
    command = server_command("--cluster", cluster.root, "--bind", "127.0.0.1:0")
    with serving(command, folder, **{TOKENS_JSON: tokens}) as running:
        running.extra["cluster"] = cluster.root
        yield running


@pytest.fixture
def prod(server: HttpServer, operator: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server by a name, with the token of cy in the environment."""
    operator(
        "operator: {actor: cy}\n"
        f"servers: {{prod: {{url: '{server.base}/'}}}}\n"
        "profiles: {live: {server: prod, default_graph: catalog}}\n"
        "aliases:\n"
        "  by: {server: prod, graph: catalog, query: books_by, args: [slug], format: csv}\n"
        "  add: {server: prod, graph: catalog, query: add_author}\n"
    )
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "t-cy")
    return "--server prod --graph catalog"


# --- addressing -----------------------------------------------------------------------------------------------


def test_as_is_refused_on_a_server_before_anything_is_sent(omnigraph: Any) -> None:
    """`cli-45`"""
    with scripted([Scripted(200)]) as never:
        line = f"mutate -e 'query a() {{ delete Author }}' --as a --server {never.base} --graph g"
        outcome = omnigraph(line)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert "--as does not apply" in outcome.stderr
        assert never.received == []


def test_a_condition_goes_to_the_route_of_conditions(omnigraph: Any) -> None:
    """`cli-50`"""
    with scripted([Scripted(404, b"")]) as old:
        line = (
            f"mutate -e 'query a() {{ delete Author where slug = \"x\" }}' --if-commit C --server {old.base} --graph g"
        )
        outcome = omnigraph(line)
        assert outcome.exit_code == 1
        assert [(each.method, each.path) for each in old.received] == [("POST", "/graphs/g/mutate/if-graph-commit")]
        assert old.received[0].headers["omnigraph-if-graph-commit"] == "C"
        assert "conditional writes" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("graphs list", ("needs a server scope",)),
        ("graphs list --server prod --graph g", ("--graph", "does not apply", "--server <name|url>")),
        ("graphs list --profile local", ("requires a server", "store")),
        ("graphs list --profile corp", ("requires a server", "cluster status")),
    ],
)
def test_the_list_of_graphs_needs_a_server(line: str, said: tuple[str, ...], omnigraph: Any, operator: Any) -> None:
    """`cli-85`"""
    operator("servers: {prod: {url: http://h}}\nprofiles: {local: {store: x}, corp: {cluster: c}}\n")
    outcome = omnigraph(line)
    assert outcome.exit_code == 1
    assert [text for text in said if text not in outcome.stderr] == []


def test_graphs_are_listed_where_the_policy_allows_it(
    omnigraph: Any, prod: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = json.loads(omnigraph("graphs list --profile live --json").stdout)["graphs"]
    assert [each["graph_id"] for each in listed] == ["catalog", "twin"]
    assert omnigraph("graphs list --server prod").stdout.splitlines()[0].startswith("catalog\t")
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "t-bo")
    denied = omnigraph("graphs list --server prod --json")
    assert (denied.exit_code, json.loads(denied.stdout)["error"]["code"]) == (3, "policy_denied")


def test_a_server_without_a_graph_names_its_graphs(omnigraph: Any, prod: str) -> None:
    """`cli-86`"""
    outcome = omnigraph("branch list --server prod")
    assert outcome.exit_code == 1
    assert [text for text in ("catalog", "twin", "--graph") if text not in outcome.stderr] == []
    assert omnigraph("branch list --profile live").stdout == "main\n"
    missing = omnigraph("branch list --server prod --graph nope --json")
    assert (missing.exit_code, "graph 'nope' not found" in missing.stderr) == (1, True)


def test_the_exit_code_tells_what_went_wrong(
    omnigraph: Any, prod: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(
        [Scripted(429, {"error": "enough", "code": "too_many_requests"}, (("Retry-After", "3600"),))]
    ) as busy:
        assert omnigraph(f"mutate -e 'query a() {{ delete Author }}' --server {busy.base} --graph g").exit_code == 6
        gone = busy.base
    assert omnigraph(f"branch list --server {gone} --graph g").exit_code == 8
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "wrong")
    assert omnigraph(f"branch list {prod}").exit_code == 3
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "t-bo")
    assert omnigraph(f"mutate -e 'query a() {{ delete Author }}' {prod}").exit_code == 3
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "t-cy")
    assert omnigraph(f"branch delete nope {prod}").exit_code == 1  # a server is not local: it asks first
    assert "refusing" in omnigraph(f"branch delete nope {prod}").stderr
    assert omnigraph(f"verify {prod}").exit_code == 1


# --- tokens ---------------------------------------------------------------------------------------------------


def test_login_keeps_a_token_for_its_owner_alone_and_others_may_not_see_it(
    omnigraph: Any, desk: Path, operator: Any
) -> None:
    """`cli-91`"""
    operator("servers: {dev: {url: http://h}}\n")
    path = desk.parent / "home" / "credentials"
    done = omnigraph("login dev --json", stdin="s3cret\n")
    assert json.loads(done.stdout) == {"server": "dev", "credentials_path": str(path), "declared": True}
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("[dev]\ntoken = s3cret\n", 0o600)
    assert "s3cret" not in done.stdout + done.stderr
    other = omnigraph("login new --token x")
    assert (other.exit_code, "declares no server 'new'" in other.stderr) == (0, True)
    assert omnigraph("login dev", stdin="again\n").exit_code == 0
    assert path.read_text() == "[new]\ntoken = x\n[dev]\ntoken = again\n"
    assert omnigraph("login dev", stdin="  \n").exit_code == 1
    path.chmod(0o644)
    for line in ("login dev --token y", "branch list --server dev --graph g", "logout dev"):
        refused = omnigraph(line)
        assert (refused.exit_code, "chmod 600" in refused.stderr) == (1, True), line
    assert path.read_text().endswith("token = again\n")


def test_login_with_an_address_keeps_nothing_and_says_where_names_come_from(omnigraph: Any, desk: Path) -> None:
    done = omnigraph("login http://127.0.0.1:8080 --token x")
    assert (done.exit_code, "config.yaml" in done.stderr) == (2, True)
    assert not (desk.parent / "home" / "credentials").exists()


def test_logout_forgets_a_token_and_may_be_repeated(omnigraph: Any, desk: Path) -> None:
    """`cli-93`"""
    path = desk.parent / "home" / "credentials"
    assert omnigraph("logout dev").exit_code == 0
    assert not path.exists()
    path.write_text("# mine\n[a]\ntoken = 1\n[dev]\ntoken = 2\nmore = x\n[b]\ntoken = '3'\n")
    path.chmod(0o600)
    for _ in range(2):
        done = omnigraph("logout dev --json")
        assert (done.exit_code, json.loads(done.stdout)) == (0, {"server": "dev", "credentials_path": str(path)})
        assert path.read_text() == "# mine\n[a]\ntoken = 1\n[b]\ntoken = '3'\n"


def test_a_token_goes_to_its_own_server_alone(
    omnigraph: Any, operator: Any, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cli-92`"""
    answer = Scripted(200, {"branches": ["main"]})
    with scripted([answer]) as a, scripted([answer]) as b:
        near = a.base[: -len(str(a.port))] + str(a.port)[:-1]  # the same address with a shorter port
        operator(f"servers: {{a: {{url: '{a.base}'}}, near: {{url: '{near}'}}}}\n")
        for name in ("a", "near"):
            omnigraph(f"login {name} --token file-{name}")

        def sent(url: str, scribe: Any) -> str | None:
            assert omnigraph(f"branch list --server {url} --graph g").exit_code == 0
            return scribe.received[-1].headers.get("authorization")

        assert sent("a", a) == "Bearer file-a"
        assert sent(a.base, a) == "Bearer file-a"
        assert sent(b.base, b) is None
        monkeypatch.setenv("OMNIGRAPH_TOKEN_A", "env-a")
        assert (sent("a", a), sent(b.base, b)) == ("Bearer env-a", None)
        monkeypatch.setenv("OMNIGRAPH_TOKEN_A", " ")
        monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "for-all")
        assert (sent("a", a), sent(b.base, b)) == ("Bearer file-a", "Bearer for-all")


# --- profiles -------------------------------------------------------------------------------------------------

PROFILES = """servers: {prod: {url: 'http://h/'}}
defaults: {server: prod, default_graph: books, output: csv}
profiles: {live: {server: prod}, both: {server: prod, store: x}, box: {store: lib.omni}, far: {server: gone}}
"""


def test_profiles_are_listed_with_the_active_one_and_the_invalid_ones(
    omnigraph: Any, operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cli-87`"""
    assert omnigraph("profile list").stdout == "no profiles are declared\n"
    operator(PROFILES)
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "live")
    listed = {each["name"]: each for each in json.loads(omnigraph("profile list --json").stdout)}
    assert (listed["both"]["valid"], listed["both"]["scope_kind"], listed["both"]["target"]) == (False, "invalid", None)
    assert [name for name, each in listed.items() if each["active"]] == ["live"]
    assert listed["live"]["binding"] == "server: prod"
    assert "live (active) server: prod" in omnigraph("profile list").stdout


def test_a_profile_is_shown_with_where_it_leads(omnigraph: Any, operator: Any) -> None:
    """`cli-88`"""
    operator(PROFILES)
    unknown = omnigraph("profile show nope")
    assert (unknown.exit_code, "unknown profile 'nope'" in unknown.stderr) == (1, True)
    assert omnigraph("profile show both").exit_code == 1
    assert json.loads(omnigraph("profile show live --json").stdout) == {
        "name": "live",
        "scope_kind": "server",
        "target": "prod",
        "endpoint": "http://h/",
        "default_graph": "books",
        "output_format": "csv",
    }
    assert json.loads(omnigraph("profile show far --json").stdout)["endpoint"] is None
    assert json.loads(omnigraph("profile show --json").stdout)["name"] == "(defaults)"


# --- stored queries and aliases -------------------------------------------------------------------------------


def test_a_name_alone_runs_a_stored_query_of_the_kind_that_the_verb_says(omnigraph: Any, prod: str) -> None:
    params = shlex.quote(json.dumps({"slug": "lem"}))
    found = json.loads(omnigraph(f"query books_by --params {params} {prod} --json").stdout)
    assert (found["query_name"], [row["b.title"] for row in found["rows"]]) == ("books_by", ["Solaris"])
    author = shlex.quote(json.dumps({"slug": "dick", "name": "Philip K. Dick"}))
    done = omnigraph(f"mutate add_author --params {author} --server prod --graph twin --json")
    assert json.loads(done.stdout)["actor_id"] == "cy"
    wrong = omnigraph(f"query add_author --params {author} {prod}")
    assert (wrong.exit_code, "is a mutation" in wrong.stderr) == (1, True)


def test_the_stored_queries_of_a_server_are_listed_like_those_of_its_cluster(
    omnigraph: Any, prod: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = f"--cluster {server.extra['cluster']} --graph catalog"
    for form in ("", "--json"):
        served = omnigraph(f"queries list {prod} {form}")
        assert (served.exit_code, served.stderr) == (0, "")
        assert served.stdout == omnigraph(f"queries list {applied} {form}").stdout
        assert served.stdout == omnigraph(f"queries list --profile live {form}").stdout
    assert "read  books_by($slug: String)\n" in omnigraph(f"queries list {prod}").stdout
    unnamed = omnigraph("queries list --server prod")
    assert (unnamed.exit_code, "catalog, twin" in unnamed.stderr) == (1, True)
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "t-bo")
    assert omnigraph(f"queries list {prod}").exit_code == 0
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", "wrong")
    assert omnigraph(f"queries list {prod}").exit_code == 3


def test_a_server_that_tells_only_the_kinds_of_parameters_is_listed_by_them(omnigraph: Any) -> None:
    params = [
        {"name": "s", "kind": "string", "nullable": False},
        {"name": "v", "kind": "vector", "vector_dim": 3, "nullable": True},
        {"name": "l", "kind": "list", "item_kind": "int", "nullable": False},
    ]
    entry = {"name": "q", "tool_name": "q", "mutation": False, "params": params}
    with scripted([Scripted(200, {"queries": [entry]}), Scripted(200, {"queries": []})]) as older:
        shown = omnigraph(f"queries list --server {older.base} --graph g")
        assert shown.stdout == "read  q($s: string, $v: vector(3)?, $l: [int])\n"
        assert omnigraph(f"queries list --server {older.base} --graph g").stdout == "no stored queries are served\n"


def test_an_alias_binds_its_arguments_and_never_writes(omnigraph: Any, prod: str) -> None:
    """`cli-94`"""
    assert omnigraph("alias by lem").stdout == "b.isbn,b.title\nb-sol,Solaris\n"
    assert omnigraph('alias by lem --params \'{"slug":"nobody"}\'').stdout == "b.isbn,b.title\n"
    assert json.loads(omnigraph("alias by lem --json").stdout)["row_count"] == 1
    unknown = omnigraph("alias nope")
    assert (unknown.exit_code, "add, by" in unknown.stderr) == (1, True)
    flagged = omnigraph("--store y --server x alias by")
    assert (flagged.exit_code, "--server, --store" in flagged.stderr) == (1, True)
    many = omnigraph("alias by a b")
    assert (many.exit_code, "takes 1" in many.stderr) == (1, True)
    before = omnigraph(f"commit list {prod}").stdout
    refused = omnigraph('alias add --params \'{"slug":"s","name":"n"}\'')
    assert (refused.exit_code, "is a mutation" in refused.stderr) == (1, True)
    assert omnigraph(f"commit list {prod}").stdout == before


# --- the same on a store and on a server ----------------------------------------------------------------------

SAME: tuple[tuple[str, int], ...] = (
    ("query -e QALL @ --json", 0),
    ("query -e QALL @ --format csv", 0),
    ("query -e QALL @ --branch nope --json", 1),
    ("query -e 'query q() { match { $b: Boook } return { $b.title } }' @ --json", 1),
    ("branch create review @ --json", 0),
    ("branch create review @ --json", 1),
    ("branch list @ --json", 0),
    ("branch list --details @ --json", 0),
    ("mutate add_author --query library.gq --params PADD --branch review @ --json", 0),
    ("mutate -e 'query gone() { delete Author where slug = \"zz\" }' --branch review @ --json", 0),
    ("mutate add_author --query library.gq --params PADD --branch review --if-commit 0123 @ --json", 4),
    ("load --data more.jsonl --mode append --branch review @ --json", 0),
    ("load --data more.jsonl --mode append --branch review @ --json", 5),
    ("load --data bad.jsonl --mode merge --branch review @ --json", 1),
    ("load --data more.jsonl --mode merge --branch nope @ --json", 1),
    ("snapshot --branch review @ --json", 0),
    ("export --branch review --type Author @", 0),
    ("export --type Nope @ --json", 2),
    ("schema show @ --json", 0),
    ("commit list --branch review @ --json", 0),
    ("commit show HEAD @ --json", 0),
    ("commit show nope @ --json", 1),
    ("commit changes HEAD @ --json", 0),
    ("commit changes HEAD --limit 1 @", 0),
    ("changes poll --branch review --start beginning --type Author @ --json", 0),
    ("changes poll --branch review --cursor x @ --json", 1),
    ("changes baseline --out base.jsonl --branch review @ --json", 0),
    ("log review @ --json", 0),
    ("diff main review @ --json", 0),
    ("diff main review @", 0),
    ("diff main review --stat @ --json", 0),
    ("tag create r1 @ --json", 0),
    ("tag list @ --json", 0),
    ("tag delete r1 @ --json", 0),
    ("indexes @ --json", 0),
    ("merge review --dry-run @", 0),
    ("branch merge review @ --json", 0),
    ("branch merge review @ --json", 0),
    ("revert HEAD --branch review --dry-run @", 0),
    ("restore main --branch review @ --json", 0),
    ("branch delete review @ --yes --json", 0),
    ("branch delete review @ --yes --json", 1),
    ("branch delete main @ --yes --json", 1),
)
ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
SCRUBBED = {
    "uri", "created_at", "updated_at", "authored_at", "engine", "files", "bytes", "seconds", "dataset_path",
    "resume_cursor", "cursor", "graph_manifest_version", "published_dataset_version", "hint",
}  # fmt: skip
"""Ids, times and places."""


ABSENT = ("files", "bytes", "seconds", "file")
"""What a server does not tell: how a load ran, and the names of files on this machine."""


def scrubbed(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "…" if name in SCRUBBED or (name == "id" and "name" in value) else scrubbed(each)
            for name, each in value.items()
            if name not in ABSENT
        }
    if isinstance(value, list):
        return [scrubbed(each) for each in value]
    if isinstance(value, str):
        return re.sub(r"authored_at: [0-9]+", "authored_at", ULID.sub("ULID", value))
    return value


def test_a_verb_prints_the_same_on_a_store_and_on_a_server(
    omnigraph: Any, prod: str, desk: Path, library: Path, operator: Any
) -> None:
    """`cli-139`: every verb on twin graphs, in one order, with the same exit codes."""
    omnigraph("load --data seed.jsonl --mode append lib.omni")
    add = {"slug": "butler", "name": "Octavia E. Butler"}
    (desk / "more.jsonl").write_text('{"type":"Author","data":{"slug":"x","name":"X"}}\n')
    (desk / "bad.jsonl").write_text('{"type":"Author","data":{"slug":"y"}}\n')

    def run(line: str, target: str) -> tuple[int, Any]:
        text = line.replace("@", target).replace("QALL", shlex.quote(ALL)).replace("PADD", shlex.quote(json.dumps(add)))
        if "HEAD" in text:
            listed = omnigraph(f"commit list {target} --branch review --limit 1 --json")
            text = text.replace("HEAD", json.loads(listed.stdout)["commits"][0]["graph_commit_id"])
        outcome = omnigraph(text)
        shown = json.loads(outcome.stdout) if "--json" in line and outcome.stdout else outcome.stdout
        return outcome.exit_code, scrubbed(shown)

    targets = ("--store lib.omni", "--server prod --graph catalog")
    differing = []
    for line, code in SAME:
        store, served = (run(line, target) for target in targets)
        if store != served or served[0] != code:
            differing.append((line, code, store, served))
    assert differing == []
