"""`queries`, `policy` and maintenance on a cluster: rows 132 to 134 of the contract, and what its "Do better" adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.library import LIBRARY, SERVER
from support.clusters.written_ledger import WrittenCluster

SCHEMA = (Path(__file__).parent / "data" / "library" / "library.pg").read_text()
BOOKS_BY = """query books_by($slug: String, $born: I32?)
@description("Titles written by one author.
The oldest comes first.") @instruction("Pass the slug.") {
  match { $a: Author { slug: $slug }  $a wrote $b }
  return { $b.isbn, $b.title }
}
query add_author($slug: String, $name: String) { insert Author { slug: $slug, name: $name } }
"""
CASES = """version: 1
cases:
  - { id: drafts, actor: ann, action: change, branch: drafts, expect: allow }
  - { id: main, actor: ann, action: change, branch: main, expect: %s }
"""


@pytest.fixture
def cluster(desk: Path) -> WrittenCluster:
    """`c`: the graph `catalog` with two stored queries and a bundle."""
    made = WrittenCluster(desk / "c")
    made.graph("catalog", schema=SCHEMA, queries={"books_by": BOOKS_BY, "add_author": BOOKS_BY})
    made.policy("rules", LIBRARY, ["graph.catalog"])
    made.write()
    return made


def test_stored_queries_are_listed_with_typed_parameters_and_aligned_notes(
    omnigraph: Any, cluster: WrittenCluster
) -> None:
    """`cli-132`"""
    shown = omnigraph("queries list --cluster c")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "mutation  add_author($slug: String, $name: String)",
        "read  books_by($slug: String, $born: I32?)",
        "  description: Titles written by one author.",
        "               The oldest comes first.",
        "  instruction: Pass the slug.",
    ]
    listed = json.loads(omnigraph("queries list --cluster c --json").stdout)["queries"]
    assert listed[0] == {
        "name": "add_author",
        "mcp_expose": True,
        "tool_name": "add_author",
        "mutation": True,
        "params": [
            {"name": "slug", "type": "String", "nullable": False},
            {"name": "name", "type": "String", "nullable": False},
        ],
        "graph": "catalog",
    }
    assert listed[1]["params"][1] == {"name": "born", "type": "I32", "nullable": True}
    assert listed[1]["instruction"] == "Pass the slug."


def test_queries_of_two_graphs_keep_their_graphs_and_an_unknown_graph_is_refused(
    omnigraph: Any, cluster: WrittenCluster
) -> None:
    """`DB-13`"""
    cluster.graph("other", schema=SCHEMA, queries={"books_by": BOOKS_BY}, create=False)
    cluster.write()
    listed = json.loads(omnigraph("queries list --cluster c --json").stdout)["queries"]
    assert [(each["graph"], each["name"]) for each in listed] == [
        ("catalog", "add_author"),
        ("catalog", "books_by"),
        ("other", "books_by"),
    ]
    narrowed = json.loads(omnigraph("queries list --cluster c --graph other --json").stdout)["queries"]
    assert [each["graph"] for each in narrowed] == ["other"]
    refused = omnigraph("queries list --cluster c --graph nope")
    assert (refused.exit_code, "catalog, other" in refused.stderr) == (1, True)
    cluster.graph("empty", create=False)
    cluster.write()
    assert omnigraph("queries list --cluster c --graph empty").stdout == "no stored queries are applied\n"


def test_validate_checks_every_stored_query_against_its_graph(omnigraph: Any, cluster: WrittenCluster) -> None:
    checked = omnigraph("queries validate --cluster c --json")
    assert (checked.exit_code, json.loads(checked.stdout)) == (0, {"ok": True, "breakages": [], "warnings": []})
    broken = "query gone() { match { $p: Publisher } return { $p.name } }"
    cluster.graph("catalog", schema=SCHEMA, queries={"gone": broken, "books_by": BOOKS_BY, "other": BOOKS_BY})
    cluster.write()
    failed = omnigraph("queries validate --cluster c --json")
    document = json.loads(failed.stdout)
    assert (failed.exit_code, document["ok"]) == (1, False)
    assert [(each["query"], each["graph"]) for each in document["breakages"]] == [
        ("gone", "catalog"),
        ("other", "catalog"),
    ]
    assert "Publisher" in document["breakages"][0]["message"]
    assert "ERROR catalog `gone`" in omnigraph("queries validate --cluster c").stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("queries validate", ("needs a cluster",)),
        ("--store x queries list", ("`queries list`", "--store", "does not apply")),
        ("--server p policy validate", ("`policy`", "--server", "--cluster <dir|uri>")),
        ("policy validate --profile shop", ("needs a cluster",)),
        ("queries list --profile shop", ("needs a server or a cluster", "--server", "--cluster")),
        ("queries list", ("needs a server or a cluster", "--server", "--cluster")),
        ("queries list --cluster nowhere", ("config_dir_not_found",)),
        ("queries list --cluster .", ("cluster_state_missing",)),
    ],
)
def test_a_command_about_clusters_names_what_it_needs(
    line: str, said: tuple[str, ...], omnigraph: Any, operator: Any
) -> None:
    """`cli-133`"""
    operator("profiles: {shop: {store: lib.omni}}\n")
    outcome = omnigraph(line)
    assert outcome.exit_code == 1
    assert [text for text in said if text not in outcome.stderr] == []


def test_policy_tests_and_explanations_tell_what_the_policy_decides(
    omnigraph: Any, desk: Path, cluster: WrittenCluster
) -> None:
    """`cli-134`, `http-129`"""
    assert omnigraph("policy validate --cluster c").stdout == "policy valid: bundle 'rules' [5 actors]\n"
    (desk / "right.yaml").write_text(CASES % "deny")
    (desk / "wrong.yaml").write_text(CASES % "allow")
    passed = omnigraph("policy test --tests right.yaml --cluster c")
    assert (passed.exit_code, passed.stdout) == (0, "policy tests passed: 2 cases\n")
    failed = omnigraph("policy test --tests wrong.yaml --cluster c")
    assert (failed.exit_code, failed.stdout) == (1, "main: expected Allow but got deny\n")
    document = json.loads(omnigraph("policy test --tests wrong.yaml --cluster c --json").stdout)
    assert document == {"ok": False, "cases": 2, "mismatches": [{"id": "main", "expect": "allow", "got": "deny"}]}
    denied = omnigraph("policy explain --actor ann --action change --branch main --cluster c")
    assert denied.exit_code == 0
    assert denied.stdout.splitlines() == [
        "decision: deny",
        "actor: ann",
        "action: change",
        "branch: main",
        "message: policy denied action 'change' on branch 'main' for actor 'ann'",
    ]
    other = omnigraph("policy explain --actor ann --action branch-merge --branch main --cluster c").stdout
    assert "hint: rules look at the target branch of branch_merge: give --target-branch\n" in other
    allowed = omnigraph("policy explain --actor ann --action change --branch drafts --cluster c --json")
    assert json.loads(allowed.stdout)["matched_rule"] == "draft-write"


def test_the_bundle_is_chosen_by_what_it_is_bound_to(omnigraph: Any, cluster: WrittenCluster) -> None:
    """`DB-14`: a graph's own bundle wins over that of the cluster, which is compiled as one of the server."""
    cluster.policy("front-door", SERVER, ["cluster"])
    cluster.write()
    several = omnigraph("policy validate --cluster c")
    assert (several.exit_code, "--bundle" in several.stderr, "front-door" in several.stderr) == (1, True, True)
    for options, bundle, kind in (
        ("--graph catalog", "rules", "graph"),
        ("--bundle rules", "rules", "graph"),
        ("--bundle front-door", "front-door", "server"),
        ("--server-scope", "front-door", "server"),
        ("--graph other", "front-door", "server"),
    ):
        document = json.loads(omnigraph(f"policy validate --cluster c --json {options}").stdout)
        assert (document["bundle"], document["kind"]) == (bundle, kind), options
    for word in ("graph-list", "graph_list"):
        shown = omnigraph(f"policy explain --server-scope --actor cy --action {word} --cluster c").stdout
        assert "decision: allow\n" in shown
    assert omnigraph("policy explain --actor cy --action fly --bundle rules --cluster c").exit_code == 2
    assert omnigraph("policy validate --cluster c --bundle nope").exit_code == 1


def test_a_policy_file_is_checked_before_anything_is_applied(omnigraph: Any, desk: Path) -> None:
    """`DB-14`: no cluster is needed, and `kind` is checked against the use."""
    (desk / "graph.yaml").write_text(LIBRARY.replace("version: 1", "version: 1\nkind: graph"))
    (desk / "server.yaml").write_text(SERVER)
    (desk / "bad.yaml").write_text("version: 1\nkind: both\n")
    assert json.loads(omnigraph("policy validate --policy graph.yaml --json").stdout)["kind"] == "graph"
    assert json.loads(omnigraph("policy validate --policy server.yaml --json").stdout)["kind"] == "server"
    mixed = omnigraph("policy validate --policy graph.yaml --server-scope")
    assert (mixed.exit_code, "kind: graph" in mixed.stderr) == (1, True)
    bad = omnigraph("policy validate --policy bad.yaml --json")
    assert (bad.exit_code, json.loads(bad.stdout)["error"]["code"]) == (1, "invalid_policy")
    assert omnigraph("policy validate --policy graph.yaml --bundle rules").exit_code == 2


def test_maintenance_finds_the_graph_of_a_cluster_in_its_ledger(omnigraph: Any, cluster: WrittenCluster) -> None:
    """`cli-130`"""
    cluster.store.delete_tree("__cluster/resources")
    assert omnigraph("verify --cluster c").exit_code == 0
    cluster.graph("other", create=False)
    cluster.write()
    several = omnigraph("verify --cluster c")
    assert (several.exit_code, "catalog, other" in several.stderr) == (1, True)
    unknown = omnigraph("verify --cluster c --graph nope --json")
    assert (unknown.exit_code, json.loads(unknown.stdout)["error"]["code"]) == (1, "graph_not_applied")
    assert omnigraph("verify --cluster c --graph catalog").exit_code == 0
